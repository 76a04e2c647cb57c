package dev.submitonce.android

import android.annotation.SuppressLint
import android.content.Context
import android.os.UserManager
import android.provider.Settings
import android.util.Log
import dev.submitonce.CredentialsProvider
import dev.submitonce.InboxScope
import dev.submitonce.Limits
import dev.submitonce.Outbox
import dev.submitonce.ServerProfile
import dev.submitonce.SubmitOnceException
import dev.submitonce.TlsConfig
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.withContext
import java.io.File

/**
 * Opens an outbox as an Android app needs it; see [SubmitOnce.register].
 *
 * @property context the application's.
 * @property name of the outbox.
 */
public class OutboxOpener internal constructor(
    public val context: Context,
    public val name: String,
) {
    /**
     * Opens the outbox: in a folder of its own that no backup takes, told of networks by the system,
     * and delivered in the background by WorkManager.
     *
     * @param expedited asks for expedited runs, on Android 12 and later; they have a quota.
     * @param onCallbackError told of what credentials, networks and WorkManager threw.
     * @throws SubmitOnceException as [Outbox.open] does.
     */
    public suspend fun open(
        baseUrl: String? = null,
        profile: ServerProfile? = null,
        limits: Limits? = null,
        userAgent: String? = null,
        tls: TlsConfig? = null,
        inboxScopes: List<InboxScope> = emptyList(),
        credentials: CredentialsProvider? = null,
        expedited: Boolean = false,
        onCallbackError: (Throwable) -> Unit = ::log,
    ): Outbox = withContext(Dispatchers.IO) {
        // Whoever opens it first may be on the main thread; all of this asks the disk or another process.
        if (context.getSystemService(UserManager::class.java)?.isUserUnlocked == false) {
            throw SubmitOnceException.Storage.Unavailable("the device has not been unlocked since it started")
        }
        Outbox.open(
            database = database(),
            baseUrl = baseUrl,
            profile = profile,
            limits = limits,
            userAgent = userAgent,
            tls = tls,
            boot = boot(),
            installId = installId(),
            inboxScopes = inboxScopes,
            credentials = credentials,
            scheduler = workManagerScheduler(context, name, expedited),
            networks = networks(context),
            onCallbackError = onCallbackError,
        )
    }

    /** A copy that a backup brings back would send everything again. */
    private fun database(): File {
        val folder = File(context.noBackupFilesDir, "submit-once/$name")
        folder.mkdirs()
        return File(folder, "outbox.sqlite3")
    }

    private fun boot(): String? =
        Settings.Global.getInt(context.contentResolver, Settings.Global.BOOT_COUNT, -1)
            .takeIf { it >= 0 }
            ?.let { "boot $it" }

    /** Another one after a reset or on another device: by it, a file that was carried over can be told. */
    @SuppressLint("HardwareIds")
    private fun installId(): String? =
        Settings.Secure.getString(context.contentResolver, Settings.Secure.ANDROID_ID)
}

internal fun log(problem: Throwable) {
    Log.w("SubmitOnce", problem)
}
