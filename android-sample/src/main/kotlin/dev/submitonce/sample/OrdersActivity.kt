package dev.submitonce.sample

import android.app.AlertDialog
import android.content.Intent
import android.graphics.Color
import android.os.Bundle
import android.view.View
import android.view.ViewGroup
import android.widget.BaseAdapter
import android.widget.LinearLayout
import android.widget.ListView
import dev.submitonce.Resolution
import dev.submitonce.android.SubmitOnce

/** The list of orders, with how each stands. */
class OrdersActivity : Screen() {
    private val lines = Lines()

    override fun onCreate(savedInstanceState: Bundle?) {
        super.onCreate(savedInstanceState)
        title = "Field orders"
        val list = ListView(this).apply {
            adapter = lines
            setOnItemClickListener { _, _, at, _ -> offer(lines.getItem(at)) }
        }
        val screen = column(
            button("New order") { startActivity(Intent(this, OrderActivity::class.java)) },
            button("Server") { startActivity(Intent(this, ServerActivity::class.java)) },
        )
        screen.addView(list, LinearLayout.LayoutParams(ViewGroup.LayoutParams.MATCH_PARENT, 0, 1f))
        setContentView(screen)
        act { fieldOrders(this).lines().collect(lines::show) }
    }

    /**
     * While a screen is visible, orders are delivered without waiting for a scheduler. It isn't stopped
     * with the screen: that would break off what is on the wire, and leave it in doubt. The system
     * freezes or ends the process when it wants to, and WorkManager goes on.
     */
    override fun onStart() {
        super.onStart()
        act { SubmitOnce.outbox(this).start() }
    }

    /** What can be done about an order. */
    private fun offer(line: Line) {
        val offers: List<Pair<String, suspend FieldOrders.() -> Unit>> = when (line.status.tone) {
            Status.Tone.MOVING -> listOf("Try now" to { tryNow(line) }, "Cancel" to { cancel(line) })
            Status.Tone.NEEDS_YOU -> listOf(
                "Send again" to { decide(line, Resolution.RetrySameKey()) },
                // Where the server has forgotten the key, only this one sends: the user has looked there.
                "Send again: it did not arrive" to { decide(line, Resolution.RetrySameKey(acceptSecondEffect = true)) },
                "It arrived" to { decide(line, Resolution.ItHappened()) },
                "Give up" to { decide(line, Resolution.GiveUp) },
            )
            Status.Tone.DONE, Status.Tone.ENDED -> return
        }
        AlertDialog.Builder(this)
            .setTitle(line.title)
            .setItems(offers.map { it.first }.toTypedArray()) { _, at -> act { offers[at].second(fieldOrders(this)) } }
            .show()
    }

    private inner class Lines : BaseAdapter() {
        private var lines = emptyList<Line>()

        fun show(news: List<Line>) {
            lines = news
            notifyDataSetChanged()
        }

        override fun getCount(): Int = lines.size

        override fun getItem(position: Int): Line = lines[position]

        override fun getItemId(position: Int): Long = position.toLong()

        override fun getView(position: Int, convertView: View?, parent: ViewGroup): View {
            val line = lines[position]
            val status = text(line.status.words, size = 14f)
            status.setTextColor(line.status.tone.color)
            return column(text(line.title), status).apply { fitsSystemWindows = false }
        }
    }

    private val Status.Tone.color: Int
        get() = when (this) {
            Status.Tone.MOVING -> Color.rgb(0x1f, 0x5f, 0xa8)
            Status.Tone.NEEDS_YOU -> Color.rgb(0xa8, 0x5c, 0x00)
            Status.Tone.DONE -> Color.rgb(0x2a, 0x7a, 0x3b)
            Status.Tone.ENDED -> Color.rgb(0x66, 0x66, 0x66)
        }
}
