package dev.submitonce.android

import android.content.Context
import dev.submitonce.Outbox
import kotlinx.coroutines.NonCancellable
import kotlinx.coroutines.sync.Mutex
import kotlinx.coroutines.sync.withLock
import kotlinx.coroutines.withContext
import java.util.concurrent.ConcurrentHashMap

/**
 * The outboxes of this process, shared by its screens and its background runs.
 *
 * ```
 * class App : Application() {
 *     override fun onCreate() {
 *         super.onCreate()
 *         SubmitOnce.register { open(baseUrl = "https://api.example.com") }
 *     }
 * }
 * ```
 *
 * Direct boot is not supported: until the user has unlocked the device for the first time, the outbox
 * can't be opened.
 */
public object SubmitOnce {
    /** The name of an outbox for which no other was chosen. */
    public const val DEFAULT_NAME: String = "outbox"

    private val outboxes = ConcurrentHashMap<String, Shared>()

    /**
     * Says how an outbox is opened, once somebody needs it. Call it in `Application.onCreate`, since
     * WorkManager may start the process for a run: one that finds nothing registered logs that, does
     * nothing, and comes back in a quarter of an hour.
     *
     * @param name of the outbox, of its folder and of its works: letters, digits, `-` and `_`.
     */
    public fun register(name: String = DEFAULT_NAME, open: suspend OutboxOpener.() -> Outbox) {
        require(name.matches(NAMES)) { "the name of an outbox is made of letters, digits, - and _" }
        outboxes[name] = Shared(name, open)
    }

    /**
     * The outbox of this name, opened at the first call. Don't close it: it lives as long as the
     * process. What opening throws is thrown here, and the next call tries again.
     */
    public suspend fun outbox(context: Context, name: String = DEFAULT_NAME): Outbox {
        val shared = checkNotNull(outboxes[name]) {
            "no outbox \"$name\" is registered in this process: call SubmitOnce.register in Application.onCreate"
        }
        return shared.outbox(context.applicationContext)
    }

    private val NAMES = Regex("[A-Za-z0-9_-]+")
}

private class Shared(private val name: String, private val open: suspend OutboxOpener.() -> Outbox) {
    private val opening = Mutex()
    private var outbox: Outbox? = null

    suspend fun outbox(context: Context): Outbox = opening.withLock {
        // Whoever waits for it may go away; an outbox that is open must not get lost.
        outbox ?: withContext(NonCancellable) { OutboxOpener(context, name).open() }.also { outbox = it }
    }
}
