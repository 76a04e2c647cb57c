package dev.submitonce

import java.time.Duration
import java.util.UUID
import dev.submitonce.internal.Batch as RawBatch
import dev.submitonce.internal.BatchConfig as RawBatchConfig
import dev.submitonce.internal.BatchFormat as RawBatchFormat
import dev.submitonce.internal.RecordReceipt as RawRecordReceipt

/**
 * Where the small records of one key are appended: many records, one submission. Any number of them, in
 * any number of processes, may have one key. Closed with its outbox.
 *
 * ```
 * val logs = outbox.batch(BatchConfig("logs", "/logs"))
 * logs.append("""{"event":"opened"}""")
 * ```
 */
public class Batch internal constructor(
    private val raw: RawBatch,
    private val outbox: Outbox,
    private val runs: Runs,
    private val unmeteredOnly: Boolean,
) {
    /**
     * Adds a record, a JSON object as text, to the key's open batch, which is opened if there is none.
     * Durable when it returns.
     *
     * @throws SubmitOnceException.Invalid if it isn't a JSON object, or its ID isn't a text or a number.
     * @throws SubmitOnceException.BodyTooLarge if no batch can hold it.
     */
    public suspend fun append(record: String): RecordReceipt = outbox.call {
        val receipt = raw.append(record.carried("record"))
        runs.accepted(unmeteredOnly, receipt.runRequested)
        receipt.lifted()
    }

    /**
     * Adds several records, all or none, in one transaction. They may come to go with several batches.
     *
     * @throws SubmitOnceException as [append] does; the message says which record.
     */
    public suspend fun appendAll(records: List<String>): List<RecordReceipt> = outbox.call {
        val receipts = raw.appendAll(records.map { it.carried("record") })
        runs.accepted(unmeteredOnly, receipts.any { it.runRequested })
        receipts.map { it.lifted() }
    }

    /**
     * Makes the open batch due now. Gives its submission, or null where no batch is open: an empty one is
     * never sent.
     */
    public suspend fun flush(): UUID? = outbox.call {
        val flushed = raw.flush()
        if (flushed != null) {
            runs.request(if (unmeteredOnly) RunNetwork.UNMETERED else RunNetwork.ANY)
        }
        flushed
    }
}

/**
 * Where small records go, and when: logs, measurements, analytics. The records of one key are gathered in
 * one open batch; it is sent when it is full, when its time is over, or when it is flushed.
 *
 * @property key the name of the batches, for example `logs`. 1 to 1,024 bytes.
 * @property url an absolute `http` or `https` URL, or a path that is joined to the outbox's base URL.
 * @property account whose they are. Left out: nobody's, and they are sent whoever is signed in.
 * @property method the HTTP method in capitals.
 * @property effect how the server treats a repeat of a whole batch; see [Submission].
 * @property headers headers to store and send. Never credentials.
 * @property format how the records stand in the body.
 * @property idMember the member of a record that holds its own ID. A record that has it keeps it; one
 *   that hasn't is given a new UUID.
 * @property maxRecords records in a batch at most; 1 to 10,000.
 * @property maxBytes bytes of a batch's body at most. A record alone has to fit.
 * @property maxAge a batch is due this long after its first record at the latest. Left out: 30 seconds.
 * @property priority higher goes first, as for submissions.
 * @property unmeteredOnly wait for a network that costs nothing by the byte.
 */
public data class BatchConfig(
    public val key: String,
    public val url: String,
    public val account: String? = null,
    public val method: String = "POST",
    public val effect: Effect? = null,
    public val headers: List<Header> = emptyList(),
    public val format: BatchFormat = BatchFormat.JsonArray,
    public val idMember: String = "id",
    public val maxRecords: Int = 500,
    public val maxBytes: Int = 262_144,
    public val maxAge: Duration? = null,
    public val priority: Int = 0,
    public val unmeteredOnly: Boolean = false,
) {
    /** Without the URL, the account and header values, which may name a person. */
    override fun toString(): String =
        "BatchConfig(key=$key, format=$format, maxRecords=$maxRecords, maxBytes=$maxBytes, maxAge=$maxAge)"
}

/** How records stand in a batch's body. */
public sealed interface BatchFormat {
    /** A JSON array of the records. */
    public data object JsonArray : BatchFormat

    /**
     * A JSON object with one member, an array of the records.
     *
     * @property member the member's name, for example `events`.
     */
    public data class JsonObject(public val member: String) : BatchFormat

    /** A record in each line, `application/x-ndjson`. */
    public data object Ndjson : BatchFormat
}

/** What [Batch.append] returns, once the record is durable. */
public data class RecordReceipt(
    /** The record's own ID, as it stands in its `idMember`. */
    public val recordId: String,
    /**
     * The submission that it goes with. If the server refuses that for one of its records, or for its
     * size, the others go on in new ones.
     */
    public val batch: UUID,
)

internal fun BatchConfig.lowered(): RawBatchConfig =
    RawBatchConfig(
        key = key.carried("key"),
        url = url.carried("url"),
        account = account?.carried("account"),
        method = method.carried("method"),
        effect = effect,
        headers = headers.carried(),
        format = format.lowered(),
        idMember = idMember.carried("id_member"),
        maxRecords = maxRecords.coerceAtLeast(0).toUInt(),
        maxBytes = maxBytes.coerceAtLeast(0).toUInt(),
        maxAge = maxAge,
        priority = priority,
        unmeteredOnly = unmeteredOnly,
    )

private fun BatchFormat.lowered(): RawBatchFormat =
    when (this) {
        BatchFormat.JsonArray -> RawBatchFormat.JsonArray
        is BatchFormat.JsonObject -> RawBatchFormat.JsonObject(member.carried("format"))
        BatchFormat.Ndjson -> RawBatchFormat.Ndjson
    }

internal fun RawRecordReceipt.lifted(): RecordReceipt = RecordReceipt(recordId, batch)
