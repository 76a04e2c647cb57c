package dev.submitonce

import kotlinx.coroutines.currentCoroutineContext
import kotlinx.coroutines.ensureActive

/**
 * Runs code that isn't this library's: the app's or a scheduler's. Whatever it throws goes to
 * [otherwise], but for the cancellation of this coroutine.
 *
 * A time-out within such code, or a cancelled future, looks like a cancellation and isn't one; a class
 * that can't be linked, or a `TODO()`, is an [Error] and no reason to end either.
 */
internal suspend inline fun <T> guarded(call: () -> T, otherwise: (Throwable) -> T): T =
    try {
        call()
    } catch (problem: Throwable) {
        currentCoroutineContext().ensureActive()
        otherwise(problem)
    }

/** The same function, without what it throws itself: there is nobody left to tell of that. */
internal fun ((Throwable) -> Unit).neverThrowing(): (Throwable) -> Unit = { problem ->
    try {
        this(problem)
    } catch (_: Throwable) {
        // It has been told, and what became of that is its own.
    }
}
