package dev.submitonce.scenarios

import kotlinx.coroutines.CoroutineDispatcher
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.SupervisorJob
import kotlinx.coroutines.async
import kotlinx.coroutines.cancel
import kotlinx.coroutines.flow.Flow
import kotlinx.coroutines.flow.MutableStateFlow
import kotlinx.coroutines.flow.first
import kotlinx.coroutines.flow.mapNotNull
import kotlinx.coroutines.flow.update
import kotlinx.coroutines.withTimeoutOrNull
import kotlinx.serialization.json.JsonElement
import kotlin.coroutines.CoroutineContext

/** What one listener has heard, in order. */
class Ear {
    private val heard = MutableStateFlow(emptyList<JsonElement>())
    private val scope = CoroutineScope(SupervisorJob())

    fun hear(what: JsonElement) = heard.update { it + what }

    /** Waits until something that fits has been heard, now or before. */
    suspend fun waitFor(expected: JsonElement): JsonElement =
        withTimeoutOrNull(PATIENCE.toMillis()) {
            heard.mapNotNull { all -> all.find { misfit(expected, it) == null } }.first()
        } ?: broken("expected $expected\n   heard ${heard.value}")

    /** Hears all of a stream from now on. Fails if the stream can't be listened to. */
    suspend fun listenTo(stream: Flow<JsonElement>, dispatcher: WatchedDispatcher) {
        val listening = scope.async(dispatcher) { stream.collect(::hear) }
        dispatcher.idle()
        if (listening.isCompleted) listening.await()
    }

    fun close() = scope.cancel()
}

/**
 * A dispatcher that knows when nothing runs on it. Who collects a stream on it listens then: a
 * collector that waits doesn't run.
 */
class WatchedDispatcher : CoroutineDispatcher() {
    private val running = MutableStateFlow(0)

    override fun dispatch(context: CoroutineContext, block: Runnable) {
        running.update { it + 1 }
        Dispatchers.IO.dispatch(context) {
            try {
                block.run()
            } finally {
                running.update { it - 1 }
            }
        }
    }

    suspend fun idle() {
        running.first { it == 0 }
    }
}
