package dev.submitonce

import dev.submitonce.internal.ChangeListener
import dev.submitonce.internal.ChangePage
import dev.submitonce.internal.PageRequest
import dev.submitonce.internal.ProgressListener
import kotlinx.coroutines.flow.Flow
import kotlinx.coroutines.flow.distinctUntilChanged
import kotlinx.coroutines.flow.flow
import kotlinx.coroutines.flow.map
import kotlinx.coroutines.flow.transformWhile
import java.util.UUID
import dev.submitonce.internal.Outbox as RawOutbox
import dev.submitonce.internal.UploadProgress as RawProgress

/** How many changes are read at once. */
private const val FEED_PAGE = 256u

/** Uploads that are remembered, for each collector. */
private const val UPLOADS = 1_000

/** The progress of the uploads that moved last; what moved longest ago comes first. */
private class Recent : LinkedHashMap<UUID, RawProgress>() {
    fun note(progress: RawProgress) {
        remove(progress.id)
        put(progress.id, progress)
    }

    override fun removeEldestEntry(eldest: MutableMap.MutableEntry<UUID, RawProgress>?) = size > UPLOADS
}

/**
 * What can be watched. A nudge says only that something has changed; what it was is read from the
 * database, so that nothing depends on a nudge being delivered in time, or once.
 */
internal class Observing(private val raw: RawOutbox) {
    private val changes = Nudges(::listen)

    private fun listen(on: Boolean) {
        if (on) {
            translated { raw.setListener(listener) }
        } else {
            ifOpen { raw.setListener(null) }
        }
    }

    private val listener = object : ChangeListener {
        override fun changed() = changes.nudge()
    }

    /** The outbox was closed: every flow ends with [SubmitOnceException.Closed]. */
    fun close() {
        changes.close()
        progress.close()
    }

    fun one(id: UUID): Flow<Snapshot> =
        changes.flow()
            .map { translated { raw.snapshot(id).lifted() } }
            .distinctUntilChanged { before, now ->
                before.revision == now.revision && before.waitingFor == now.waitingFor
            }
            .transformWhile { snapshot ->
                emit(snapshot)
                !snapshot.state.isFinal
            }

    fun list(filter: ListFilter, limit: Int): Flow<List<Snapshot>> =
        changes.flow()
            .map { translated { first(filter, limit) } }
            .distinctUntilChanged()

    /** The first entries, over as many pages as it takes: one may be short, or empty, and not the last. */
    private fun first(filter: ListFilter, limit: Int): List<Snapshot> {
        val found = mutableListOf<Snapshot>()
        var after: Long? = 0
        while (after != null && found.size < limit.coerceAtLeast(1)) {
            val page = raw.list(filter, PageRequest(after, (limit - found.size).coerceAtLeast(0).toUInt()))
            page.snapshots.mapTo(found) { it.lifted() }
            after = page.next
        }
        return found
    }

    fun feed(after: Long): Flow<FeedEvent> = flow {
        var cursor = after
        changes.flow().collect {
            var more = true
            while (more) {
                when (val page = translated { raw.changes(cursor, FEED_PAGE) }) {
                    is ChangePage.Changes -> {
                        page.changes.forEach { emit(it.lifted()) }
                        cursor = page.next
                        more = page.more
                    }
                    is ChangePage.Resync -> {
                        emit(FeedEvent.Resync(page.next))
                        cursor = page.next
                    }
                }
            }
        }
    }

    // Progress isn't kept anywhere, so it is collected as it comes: the latest of each submission.
    private val latest = Recent()
    private val progress = Nudges(::listenToUploads)

    private val progressListener = object : ProgressListener {
        override fun progressed(progress: List<RawProgress>) {
            synchronized(latest) { progress.forEach(latest::note) }
            this@Observing.progress.nudge()
        }
    }

    private fun listenToUploads(on: Boolean) {
        if (on) {
            // What was told before nobody listened any more is out of date.
            synchronized(latest) { latest.clear() }
            translated { raw.setProgressListener(progressListener) }
        } else {
            ifOpen { raw.setProgressListener(null) }
        }
    }

    fun uploads(): Flow<UploadProgress> = flow {
        val told = Recent()
        progress.flow().collect {
            while (true) {
                val news = synchronized(latest) { latest.values.firstOrNull { told[it.id] != it } } ?: break
                told.note(news)
                emit(news.lifted())
            }
        }
    }

    /** For what has no sense after the outbox was closed, and needs no error then. */
    private fun ifOpen(call: () -> Unit) {
        try {
            translated(call)
        } catch (_: SubmitOnceException.Closed) {
            // Nobody is told any more.
        }
    }
}
