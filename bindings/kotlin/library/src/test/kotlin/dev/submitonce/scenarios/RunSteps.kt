package dev.submitonce.scenarios

import dev.submitonce.internal.Outbox
import dev.submitonce.internal.RunNetwork
import dev.submitonce.translated

/** The layer asks for background runs by itself, so that apps needn't: the steps are the generated outbox's. */
val runSteps: Map<String, Kind> = mapOf(
    "request_run" to ofNetwork { requestRun(it) },
    "run_scheduled" to ofNetwork { runScheduled(it) },
    "clear_run_request" to ofNetwork { clearRunRequest(it) },
    "adopt_run_requests" to kind {
        plainly { turn -> translated { turn.handle.raw.adoptRunRequests() }.map { it.form() } }
    },
)

private fun ofNetwork(act: Outbox.(RunNetwork) -> Any?): Kind = {
    val network = json("network").constant<RunNetwork>()
    plainly { turn -> translated { turn.handle.raw.act(network) } }
}
