package dev.submitonce.sample

import android.os.Bundle
import android.text.InputType

/** Where orders go from now on. Those that were submitted keep the address that they were given. */
class ServerActivity : Screen() {
    override fun onCreate(savedInstanceState: Bundle?) {
        super.onCreate(savedInstanceState)
        title = "Server"
        val server = ServerAddress(this)
        val url = field(1, "http://10.0.2.2:8097", InputType.TYPE_CLASS_TEXT or InputType.TYPE_TEXT_VARIATION_URI)
        url.setText(server.url)
        val save = button("Save") {
            server.url = url.text.toString()
            finish()
        }
        setContentView(column(text("Address of the reference server"), url, save))
    }
}
