package dev.submitonce.sample

import android.app.Activity
import android.content.Context
import android.os.Bundle
import android.view.View
import android.view.ViewGroup.LayoutParams.MATCH_PARENT
import android.view.ViewGroup.LayoutParams.WRAP_CONTENT
import android.widget.Button
import android.widget.EditText
import android.widget.LinearLayout
import android.widget.TextView
import android.widget.Toast
import dev.submitonce.SubmitOnceException
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.MainScope
import kotlinx.coroutines.cancel
import kotlinx.coroutines.launch

/** A screen with a scope that ends with it. */
abstract class Screen : Activity() {
    protected lateinit var scope: CoroutineScope
        private set

    override fun onCreate(savedInstanceState: Bundle?) {
        super.onCreate(savedInstanceState)
        scope = MainScope()
    }

    override fun onDestroy() {
        scope.cancel()
        super.onDestroy()
    }

    /** Does it, and says what kept it from being done. */
    protected fun act(action: suspend () -> Unit) {
        scope.launch {
            try {
                action()
            } catch (problem: SubmitOnceException) {
                Toast.makeText(this@Screen, problem.message, Toast.LENGTH_LONG).show()
            }
        }
    }
}

fun Context.dp(size: Int): Int = (size * resources.displayMetrics.density).toInt()

fun Context.column(vararg views: View): LinearLayout = LinearLayout(this).apply {
    orientation = LinearLayout.VERTICAL
    fitsSystemWindows = true
    setPadding(dp(16), dp(16), dp(16), dp(16))
    views.forEach { addView(it, LinearLayout.LayoutParams(MATCH_PARENT, WRAP_CONTENT)) }
}

fun Context.text(words: String, size: Float = 16f): TextView = TextView(this).apply {
    text = words
    textSize = size
}

/** A field with an ID of its own, by which the system restores what was typed. */
fun Context.field(id: Int, hint: String, type: Int): EditText = EditText(this).apply {
    this.id = id
    this.hint = hint
    inputType = type
}

fun Context.button(words: String, onTap: () -> Unit): Button = Button(this).apply {
    text = words
    setOnClickListener { onTap() }
}
