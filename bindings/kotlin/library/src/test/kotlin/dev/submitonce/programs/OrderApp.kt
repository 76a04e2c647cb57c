package dev.submitonce.programs

import dev.submitonce.Body
import dev.submitonce.Outbox
import dev.submitonce.Submission
import kotlinx.coroutines.runBlocking
import java.io.File
import java.time.Duration

/** An app that orders tea, to be killed while it does. Arguments: the database, the server's address. */
fun main(arguments: Array<String>) {
    val (database, url) = arguments
    runBlocking {
        val outbox = Outbox.open(File(database), baseUrl = url)
        val id = outbox.begin("new-order-form")
        outbox.submit(Submission(id, "/orders", Body.Json("""{"item":"tea"}""")))
        outbox.drain(Duration.ofMinutes(5))
    }
}
