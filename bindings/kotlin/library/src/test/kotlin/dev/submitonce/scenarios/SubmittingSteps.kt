package dev.submitonce.scenarios

import dev.submitonce.Outbox
import dev.submitonce.Receipt
import dev.submitonce.ReceiptKind
import dev.submitonce.Submission
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.async
import kotlinx.coroutines.awaitAll
import kotlinx.coroutines.withContext
import kotlinx.serialization.json.JsonObject
import java.io.File
import java.util.concurrent.CyclicBarrier

val submittingSteps: Map<String, Kind> = mapOf(
    "begin" to kind {
        val slot = text("slot")
        onOutbox { begin(slot) }
    },
    "discard" to kind {
        val slot = text("slot")
        onOutbox { discard(slot) }
    },
    "submit" to kind {
        val content = content(json("submission"))
        withFiles { outbox, folder -> form(outbox.submit(content(folder))) }
    },
    "submit_all" to kind {
        val contents = json("submissions").items().map(::content)
        withFiles { outbox, folder -> outbox.submitAll(contents.map { it(folder) }).map(::form) }
    },
    "submit_at_once" to kind {
        val content = content(json("submission"))
        val callers = Math.toIntExact(whole("callers"))
        withFiles { outbox, folder -> counted(submitAtOnce(outbox, content(folder), callers)) }
    },
)

/** An action with a folder for files of the app, which are gone when it is through. */
private fun withFiles(act: suspend (Outbox, File) -> Any?): Action = { turn ->
    val folder = File(turn.stage.folder, "bodies")
    check(folder.mkdir())
    try {
        json(act(turn.handle.outbox, folder))
    } finally {
        check(folder.deleteRecursively())
    }
}

/** From so many threads, which wait for each other. */
private suspend fun submitAtOnce(outbox: Outbox, submission: Submission, callers: Int): List<Receipt> {
    val start = CyclicBarrier(callers)
    return withContext(Dispatchers.IO.limitedParallelism(callers)) {
        List(callers) {
            async {
                start.await()
                outbox.submit(submission)
            }
        }.awaitAll()
    }
}

/** How many calls met what. */
private fun counted(receipts: List<Receipt>): JsonObject =
    obj(*ReceiptKind.entries.map { kind -> kind.form() to receipts.count { it.kind == kind } }.toTypedArray())
