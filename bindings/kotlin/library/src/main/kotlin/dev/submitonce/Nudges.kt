package dev.submitonce

import kotlinx.coroutines.flow.Flow
import kotlinx.coroutines.flow.MutableStateFlow
import kotlinx.coroutines.flow.emitAll
import kotlinx.coroutines.flow.flow
import kotlinx.coroutines.flow.update

/**
 * The core's nudges as a flow: a number that grows. It is told at once, and again after each change;
 * a slow collector is told once of many. The core is listened to only while somebody collects, since
 * it looks for changes of other processes meanwhile.
 */
internal class Nudges(private val listen: (Boolean) -> Unit) {
    private val count = MutableStateFlow(0L)
    private var collectors = 0

    fun nudge() {
        count.update { it + 1 }
    }

    fun flow(): Flow<Long> = flow {
        enter()
        try {
            // From here on nothing is missed: what changed before is read after the first number.
            emitAll(count)
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
