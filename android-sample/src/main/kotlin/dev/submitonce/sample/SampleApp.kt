package dev.submitonce.sample

import android.app.Application
import android.content.Context
import android.content.SharedPreferences
import dev.submitonce.android.SubmitOnce
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.withContext
import java.util.UUID

/** WorkManager starts it too, without a screen: the outbox has to be registered here. */
class SampleApp : Application() {
    override fun onCreate() {
        super.onCreate()
        SubmitOnce.register { open(userAgent = "field-orders") }
        ChoresWorker.schedule(this)
    }
}

/** The app's logic, with the outbox that its background runs share. */
suspend fun fieldOrders(context: Context): FieldOrders {
    val settings = ServerAddress(context)
    return FieldOrders(SubmitOnce.outbox(context), SavedOrders(context)) { settings.url }
}

/** Where the reference server listens. The host's loopback is 10.0.2.2 in the emulator. */
class ServerAddress(context: Context) {
    private val store: SharedPreferences = context.getSharedPreferences("settings", Context.MODE_PRIVATE)

    var url: String
        get() = store.getString("server", null) ?: "http://10.0.2.2:8097"
        set(value) = store.edit().putString("server", value.trim().trimEnd('/')).apply()
}

private class SavedOrders(context: Context) : OrderBook {
    private val store: SharedPreferences = context.getSharedPreferences("orders", Context.MODE_PRIVATE)

    override suspend fun save(id: UUID, order: Order) {
        val fields = listOf(order.quantity.toString(), order.item, order.customer)
        withContext(Dispatchers.IO) { store.edit().putString(id.toString(), fields.joinToString("\n")).commit() }
    }

    override fun find(id: UUID): Order? {
        val (quantity, item, customer) = store.getString(id.toString(), null)?.split("\n", limit = 3) ?: return null
        return Order(customer, item, quantity.toInt())
    }
}
