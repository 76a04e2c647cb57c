package dev.submitonce.runs

import dev.submitonce.DrainReport
import dev.submitonce.DrainStop
import dev.submitonce.RunNetwork
import dev.submitonce.nextRunAt
import org.junit.jupiter.api.Test
import java.time.Duration
import java.time.Instant
import kotlin.test.assertEquals

/** When the next run comes, by how one ended. */
class NextRunTest {
    private val now = Instant.parse("2026-03-01T12:00:00Z")
    private val nothing =
        DrainReport(0, 0, 0, 0, 0, 0, DrainStop.NOTHING_DUE, nextWakeAt = null, awaitsUnmetered = false)

    private fun wait(
        look: DrainReport,
        stopped: DrainStop = DrainStop.NOTHING_DUE,
        network: RunNetwork = RunNetwork.ANY,
    ): Duration? = nextRunAt(network, stopped, look, now)?.let { Duration.between(now, it) }

    private fun due(after: Duration) = nothing.copy(nextWakeAt = now + after)

    @Test
    fun `nothing that waits for a time needs no run`() = assertEquals(null, wait(nothing))

    @Test
    fun `what is due later has its run then`() = assertEquals(Duration.ofHours(2), wait(due(Duration.ofHours(2))))

    @Test
    fun `what is due already, or nearly, has it after ten seconds`() {
        assertEquals(Duration.ofSeconds(10), wait(due(Duration.ofSeconds(-5))))
        assertEquals(Duration.ofSeconds(10), wait(due(Duration.ofSeconds(9))))
        val over = due(Duration.ZERO).copy(stopped = DrainStop.BUDGET_ENDED)
        assertEquals(Duration.ofSeconds(10), wait(over, DrainStop.BUDGET_ENDED))
    }

    @Test
    fun `a look that the app has suspended is taken again soon`() =
        assertEquals(Duration.ofSeconds(10), wait(nothing.copy(stopped = DrainStop.SUSPENDED), DrainStop.SUSPENDED))

    @Test
    fun `credentials are asked for again in an hour, or when something else is due`() {
        assertEquals(Duration.ofHours(1), wait(nothing, DrainStop.CREDENTIALS_NEEDED))
        assertEquals(Duration.ofHours(1), wait(due(Duration.ofHours(3)), DrainStop.CREDENTIALS_NEEDED))
        assertEquals(Duration.ofMinutes(2), wait(due(Duration.ofMinutes(2)), DrainStop.CREDENTIALS_NEEDED))
        // Its time was over before the provider had answered.
        val look = nothing.copy(stopped = DrainStop.CREDENTIALS_NEEDED)
        assertEquals(Duration.ofHours(1), wait(look, DrainStop.BUDGET_ENDED))
    }

    @Test
    fun `an unmetered network is waited for by its own job, and by a pause if that job found none`() {
        val photo = nothing.copy(awaitsUnmetered = true)
        assertEquals(null, wait(photo))
        assertEquals(Duration.ofMinutes(15), wait(photo, network = RunNetwork.UNMETERED))
    }
}
