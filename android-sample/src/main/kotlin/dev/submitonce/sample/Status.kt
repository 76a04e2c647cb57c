package dev.submitonce.sample

import dev.submitonce.HoldReason
import dev.submitonce.Snapshot
import dev.submitonce.SubmissionState
import dev.submitonce.WaitingFor

/** How an order stands, in the words of its user. */
data class Status(val words: String, val tone: Tone) {
    /** What can be done about it. */
    enum class Tone { MOVING, NEEDS_YOU, DONE, ENDED }

    companion object {
        fun of(snapshot: Snapshot): Status = when (val state = snapshot.state) {
            SubmissionState.Pending -> Status(waiting(snapshot), Tone.MOVING)
            SubmissionState.InFlight -> Status("on its way", Tone.MOVING)
            is SubmissionState.Held -> Status(question(state.reason), Tone.NEEDS_YOU)
            SubmissionState.Succeeded -> Status("delivered", Tone.DONE)
            is SubmissionState.Rejected -> Status("refused: ${snapshot.lastProblem ?: state.reason}", Tone.ENDED)
            SubmissionState.Cancelled -> Status("cancelled", Tone.ENDED)
            SubmissionState.Expired -> Status("not sent in time", Tone.ENDED)
            is SubmissionState.Superseded -> Status("replaced by a newer one", Tone.ENDED)
            SubmissionState.Abandoned -> Status("given up", Tone.ENDED)
        }

        private fun waiting(snapshot: Snapshot): String {
            val waits = when (snapshot.waitingFor) {
                is WaitingFor.Network -> "waits for a network"
                is WaitingFor.Certificate -> "waits: the server can't be trusted"
                WaitingFor.Unmetered -> "waits for Wi-Fi"
                is WaitingFor.Gate -> "waits: the server is busy"
                WaitingFor.Credentials, WaitingFor.SignedOut -> "waits for you to sign in"
                is WaitingFor.Lane, is WaitingFor.Newer, is WaitingFor.Older, is WaitingFor.Parent ->
                    "waits for another one"
                is WaitingFor.Probe -> "is being asked for"
                is WaitingFor.Due, null -> if (snapshot.attempts == 0) "saved" else "will be sent again"
            }
            // Said honestly: a lost answer leaves open whether the order was taken.
            return if (snapshot.inDoubt) "$waits (may have arrived)" else waits
        }

        private fun question(reason: HoldReason): String = when (reason) {
            HoldReason.CANCEL_REQUESTED -> "cancelled, but may have arrived"
            HoldReason.RESTORED -> "from a backup: was it sent before?"
            else -> "did it arrive?"
        }
    }
}
