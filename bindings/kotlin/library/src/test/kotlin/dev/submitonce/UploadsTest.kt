package dev.submitonce

import dev.submitonce.internal.FfiConverterTypeProgressListener
import kotlinx.coroutines.async
import kotlinx.coroutines.awaitAll
import kotlinx.coroutines.channels.Channel
import kotlinx.coroutines.cancelAndJoin
import kotlinx.coroutines.flow.filter
import kotlinx.coroutines.flow.first
import kotlinx.coroutines.flow.map
import kotlinx.coroutines.flow.onEach
import kotlinx.coroutines.flow.take
import kotlinx.coroutines.flow.toList
import kotlinx.coroutines.flow.transformWhile
import kotlinx.coroutines.launch
import org.junit.jupiter.api.Test
import java.util.UUID
import kotlin.test.assertEquals
import kotlin.test.assertFailsWith
import kotlin.test.assertIs
import kotlin.test.assertTrue

/** How far large bodies have come. */
class UploadsTest : OutboxTest() {
    private fun photo() = order().copy(body = Body.Bytes("image/jpeg", ByteArray(SIZE) { it.toByte() }))

    private fun Outbox.untilSent(id: UUID) = uploads().transformWhile {
        if (it.id == id) emit(it)
        it.id != id || it.sent < it.total
    }

    private suspend fun listeners(count: Int) =
        eventually("$count listeners") { FfiConverterTypeProgressListener.handleMap.size == count }

    @Test
    fun `an upload is told up to its last byte`() = test {
        val outbox = open()
        listeners(0)
        val photo = photo()
        outbox.submit(photo)
        val told = async { outbox.untilSent(photo.id).toList() }
        listeners(1)
        outbox.start()
        val progress = told.await()
        assertEquals(UploadProgress(photo.id, SIZE.toLong(), SIZE.toLong()), progress.last())
        assertEquals(progress.map { it.sent }.sorted(), progress.map { it.sent })
        listeners(0)
    }

    @Test
    fun `small bodies aren't worth telling`() = test {
        val outbox = open()
        val told = Channel<UploadProgress>(Channel.UNLIMITED)
        val collector = launch { outbox.uploads().collect { told.send(it) } }
        listeners(1)
        val photo = photo()
        outbox.submitAll(listOf(order(), order(), photo))
        outbox.start()
        assertEquals(photo.id, told.receive().id)
        collector.cancelAndJoin()
        assertTrue(generateSequence { told.tryReceive().getOrNull() }.all { it.id == photo.id })
    }

    @Test
    fun `every collector is told and a slow one gets the latest of each`() = test {
        val outbox = open()
        val photos = List(3) { photo() }
        val quickly = photos.map { photo -> async { outbox.untilSent(photo.id).toList().last() } }
        val slowly = async {
            outbox.uploads()
                .onEach { quickly.awaitAll() }
                .filter { it.sent == it.total }
                .map { it.id }
                .take(3)
                .toList()
        }
        listeners(1)
        outbox.submitAll(photos)
        outbox.start()
        assertEquals(photos.map { it.id }, quickly.awaitAll().map { it.id })
        assertEquals(photos.map { it.id }.toSet(), slowly.await().toSet())
    }

    @Test
    fun `who comes later isn't told of what was over before`() = test {
        val outbox = open()
        val (before, after) = List(2) { photo() }
        outbox.submit(before)
        val first = async { outbox.untilSent(before.id).toList() }
        listeners(1)
        outbox.drain(LONG)
        first.await()
        listeners(0)
        val second = async { outbox.uploads().first() }
        listeners(1)
        outbox.submit(after)
        outbox.drain(LONG)
        assertEquals(after.id, second.await().id)
    }

    @Test
    fun `closing ends the telling with Closed`() = test {
        val outbox = open()
        val collector = async { runCatching { outbox.uploads().collect {} } }
        listeners(1)
        outbox.close()
        assertIs<SubmitOnceException.Closed>(atOnce { collector.await() }.exceptionOrNull())
        assertFailsWith<SubmitOnceException.Closed> { outbox.uploads().first() }
    }

    private companion object {
        const val SIZE = 1 shl 20
    }
}
