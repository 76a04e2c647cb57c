package example.shop

import dev.submitonce.Body
import dev.submitonce.Credentials
import dev.submitonce.Outbox
import dev.submitonce.Submission
import dev.submitonce.SubmitOnceException
import java.io.File
import java.time.Duration
import kotlinx.coroutines.async
import kotlinx.coroutines.flow.last
import kotlinx.coroutines.runBlocking

/**
 * An app that goes every way between Kotlin and the core: plain calls and suspending ones,
 * structures, callbacks with and without an answer, and typed errors.
 */
public fun main(arguments: Array<String>): Unit = runBlocking {
    val (server, database) = arguments
    val outbox = Outbox.open(
        File(database),
        baseUrl = server,
        credentials = { _, _ -> Credentials.bearer("secret") },
    )
    outbox.signIn("anna")
    val order = Submission(outbox.begin("new-order"), "/orders", Body.Json("{}"), account = "anna")
    outbox.submit(order)
    val final = async { outbox.observe(order.id).last() }
    outbox.drain(Duration.ofSeconds(30))
    check(final.await().state.isFinal)
    try {
        outbox.submit(order.copy(body = Body.Empty))
        error("another body was taken for the same submission")
    } catch (refused: SubmitOnceException.KeyReused) {
        println("reused: ${refused.id == order.id}")
    }
    println("status: ${final.await().outcome?.status}")
    outbox.close()
}
