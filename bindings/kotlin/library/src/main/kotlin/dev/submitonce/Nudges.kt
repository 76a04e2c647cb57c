package dev.submitonce

import kotlinx.coroutines.flow.Flow
import kotlinx.coroutines.flow.MutableStateFlow
import kotlinx.coroutines.flow.emitAll
import kotlinx.coroutines.flow.flow
import kotlinx.coroutines.flow.onEach
import kotlinx.coroutines.flow.update

/** What stands in place of the number once the outbox is closed. */
private const val CLOSED = -1L

/**
 * The core's nudges as a flow: a number that grows. It is told at once, and again after each change;
 * a slow collector is told once of many. The core is listened to only while somebody collects, since
 * it looks for changes of other processes meanwhile.
 */
internal class Nudges(private val listen: (Boolean) -> Unit) {
    private val count = MutableStateFlow(0L)
    private var collectors = 0

    fun nudge() {
        count.update { if (it == CLOSED) CLOSED else it + 1 }
    }

    /** The outbox was closed: no nudge comes any more, and who waits for one learns why. */
    fun close() {
        count.value = CLOSED
    }

    fun flow(): Flow<Long> = flow {
        enter()
        try {
            // From here on nothing is missed: what changed before is read after the first number.
            emitAll(count.onEach { if (it == CLOSED) throw closed() })
        } finally {
            leave()
        }
    }

    @Synchronized
    private fun enter() {
        if (collectors == 0) {
            listen(true)
        }
        collectors += 1
    }

    @Synchronized
    private fun leave() {
        collectors -= 1
        if (collectors == 0) {
            listen(false)
        }
    }
}
