package dev.submitonce.scenarios

/** All kinds of steps, by name. */
val kinds: Map<String, Kind> =
    plainSteps + openingSteps + submittingSteps + lookingSteps + deliveringSteps + accountSteps + runSteps +
        listeningSteps + inboxSteps + batchSteps
