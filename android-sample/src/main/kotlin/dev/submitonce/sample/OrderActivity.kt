package dev.submitonce.sample

import android.os.Bundle
import android.text.InputType
import android.widget.EditText
import java.util.UUID

/** The form of a new order. Its button may be hammered: once the form has its ID, it stays enabled on purpose. */
class OrderActivity : Screen() {
    private lateinit var customer: EditText
    private lateinit var item: EditText
    private lateinit var quantity: EditText
    private var form: UUID? = null

    override fun onCreate(savedInstanceState: Bundle?) {
        super.onCreate(savedInstanceState)
        title = "New order"
        val words = InputType.TYPE_CLASS_TEXT or InputType.TYPE_TEXT_FLAG_CAP_SENTENCES
        customer = field(1, "Customer", words)
        item = field(2, "Item", words)
        quantity = field(3, "Quantity", InputType.TYPE_CLASS_NUMBER)
        val submit = button("Submit", ::submit)
        setContentView(column(customer, item, quantity, submit))
        form = savedInstanceState?.getString(FORM)?.let(UUID::fromString)
        if (form == null) {
            // A tap that does nothing looks like one that did.
            submit.isEnabled = false
            act {
                form = fieldOrders(this).form()
                submit.isEnabled = true
            }
        }
    }

    override fun onSaveInstanceState(outState: Bundle) {
        super.onSaveInstanceState(outState)
        form?.let { outState.putString(FORM, it.toString()) }
    }

    private fun submit() {
        val form = form ?: return
        val order = Order(
            customer = customer.text.toString().ifBlank { "a passer-by" },
            item = item.text.toString().ifBlank { "tea" },
            quantity = quantity.text.toString().toIntOrNull() ?: 1,
        )
        act {
            fieldOrders(this).submit(form, order)
            finish()
        }
    }

    private companion object {
        const val FORM = "form"
    }
}
