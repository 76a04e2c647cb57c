package dev.submitonce.sample

import dev.submitonce.Body
import dev.submitonce.Outbox
import dev.submitonce.Receipt
import dev.submitonce.Resolution
import dev.submitonce.Snapshot
import dev.submitonce.Submission
import kotlinx.coroutines.flow.Flow
import kotlinx.coroutines.flow.map
import java.net.URLEncoder
import java.util.UUID

/** An order as it is taken at a customer's door. */
data class Order(val customer: String, val item: String, val quantity: Int) {
    val title: String get() = "$quantity × $item for $customer"
}

/** What the list calls an order. The order itself is in the outbox. */
interface OrderBook {
    suspend fun save(id: UUID, order: Order)
    fun find(id: UUID): Order?
}

/** An order in the list. */
data class Line(val id: UUID, val revision: Long, val title: String, val status: Status)

/** All that the app does, but for the screens. */
class FieldOrders(private val outbox: Outbox, private val book: OrderBook, private val server: () -> String) {
    /**
     * The ID of the form that is open: the same one until it was submitted, though the screen turns,
     * the process dies, or the user goes away and comes back.
     */
    suspend fun form(): UUID {
        val id = outbox.begin(FORM)
        if (outbox.reconcile(listOf(id))[id] == null) {
            return id
        }
        outbox.discard(FORM)
        return outbox.begin(FORM)
    }

    /** May be called as often as the button is tapped: the form's ID makes it one order. */
    suspend fun submit(form: UUID, order: Order): Receipt {
        val receipt = outbox.submit(Submission(form, "${server()}/orders", order.body()))
        // Now, and not before: what was changed between two taps has been refused.
        book.save(form, order)
        return receipt
    }

    /** All orders, the latest first, and again after each change. */
    fun lines(): Flow<List<Line>> = outbox.observeList(limit = MOST_LINES).map { all -> all.map(::line).reversed() }

    /** "Try now": ends a wait that is this side's own. */
    suspend fun tryNow(line: Line) {
        outbox.wake(line.id)
    }

    suspend fun cancel(line: Line) {
        outbox.cancel(line.id)
    }

    suspend fun decide(line: Line, resolution: Resolution) {
        outbox.resolve(line.id, line.revision, resolution)
    }

    private fun line(snapshot: Snapshot) = Line(
        id = snapshot.id,
        revision = snapshot.revision,
        title = book.find(snapshot.id)?.title ?: "Order ${snapshot.id.toString().takeLast(6)}",
        status = Status.of(snapshot),
    )

    private fun Order.body(): Body {
        val fields = listOf("customer" to customer, "item" to item, "quantity" to quantity.toString())
        val text = fields.joinToString("&") { (name, value) -> "$name=${URLEncoder.encode(value, "UTF-8")}" }
        return Body.Bytes("application/x-www-form-urlencoded", text.toByteArray())
    }

    private companion object {
        const val FORM = "new-order"
        const val MOST_LINES = 500
    }
}
