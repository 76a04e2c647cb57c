package dev.submitonce.android

import android.content.Context
import android.net.ConnectivityManager
import android.net.Network
import android.net.NetworkCapabilities
import dev.submitonce.NetworkKind
import kotlinx.coroutines.channels.awaitClose
import kotlinx.coroutines.flow.Flow
import kotlinx.coroutines.flow.callbackFlow
import kotlinx.coroutines.flow.conflate
import kotlinx.coroutines.flow.distinctUntilChanged
import kotlinx.coroutines.flow.map

/** What the system knows of the network that the app uses by default. */
private data class Seen(val kind: NetworkKind, val validated: Boolean)

private val NetworkCapabilities.seen: Seen
    get() = Seen(
        kind = if (hasCapability(NetworkCapabilities.NET_CAPABILITY_NOT_METERED)) {
            NetworkKind.UNMETERED
        } else {
            NetworkKind.METERED
        },
        validated = hasCapability(NetworkCapabilities.NET_CAPABILITY_VALIDATED),
    )

/**
 * The default network, each time that it changes, comes back, or turns out to reach the internet after
 * all (behind a portal's login). The system is listened to while somebody collects.
 */
internal fun networks(context: Context): Flow<NetworkKind> = callbackFlow {
    val system = connectivity(context)
    val callback = object : ConnectivityManager.NetworkCallback() {
        override fun onCapabilitiesChanged(network: Network, capabilities: NetworkCapabilities) {
            trySend(capabilities.seen)
        }

        override fun onLost(network: Network) {
            trySend(Seen(NetworkKind.OFFLINE, validated = false))
        }
    }
    system.registerDefaultNetworkCallback(callback)
    awaitClose { system.unregisterNetworkCallback(callback) }
}.conflate().distinctUntilChanged().map { it.kind }

private fun connectivity(context: Context): ConnectivityManager =
    checkNotNull(context.getSystemService(ConnectivityManager::class.java))

/** The default network now, for a run that begins before the first callback. */
internal fun networkNow(context: Context): NetworkKind? {
    val system = connectivity(context)
    return system.getNetworkCapabilities(system.activeNetwork)?.seen?.kind
}
