package dev.submitonce

import dev.submitonce.internal.deriveSubmissionId
import dev.submitonce.internal.newSubmissionId
import dev.submitonce.internal.parseSubmissionId
import java.util.UUID

/**
 * Where submission IDs come from, besides [Outbox.begin]. An ID is a [UUID]: one for each business
 * action, and by default the key that the server sees.
 */
public object SubmissionId {
    /**
     * A new, random, time-ordered ID (UUID version 7, RFC 9562). Prefer [Outbox.begin], which
     * remembers the ID: one minted here is lost when the process dies before it was saved.
     */
    public fun new(): UUID = translated { newSubmissionId() }

    /**
     * The ID of an action that several devices, or a reinstalled app, must agree on: the same
     * account, action and business key always give the same ID (UUID version 5, RFC 9562).
     */
    public fun derived(account: String?, action: String, businessKey: String): UUID =
        translated { deriveSubmissionId(account, action, businessKey) }

    /**
     * Reads an ID that was written as text of 36 characters. Stricter than [UUID.fromString], which
     * takes shortened ones.
     *
     * @throws SubmitOnceException.MalformedId for anything else, the nil and the max UUID included.
     */
    public fun parse(text: String): UUID = translated { parseSubmissionId(text) }
}
