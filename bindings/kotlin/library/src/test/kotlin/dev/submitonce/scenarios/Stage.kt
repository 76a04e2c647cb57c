package dev.submitonce.scenarios

import dev.submitonce.Batch
import dev.submitonce.Outbox
import dev.submitonce.ReferenceServer
import kotlinx.serialization.json.JsonElement
import java.io.Closeable
import java.io.File
import java.time.Duration
import dev.submitonce.internal.Outbox as RawOutbox

/** How long the player waits for what has to come. */
val PATIENCE: Duration = Duration.ofMinutes(1)

/** Where a scenario is played: its server, its folder, and its outboxes. */
class Stage(val scenario: Scenario, val server: ReferenceServer, val folder: File) : Closeable {
    val dispatcher = WatchedDispatcher()
    private val handles = mutableMapOf<String, Handle>()

    fun open(name: String, outbox: Outbox, file: String) {
        handles[name] = Handle(outbox, file)
    }

    /** Whether an outbox has this database open. */
    fun isOpen(file: String): Boolean = handles.values.any { it.isOpen && it.file == file }

    fun handle(name: String): Handle = handles[name] ?: broken("$name is not open")

    override fun close() = handles.values.forEach(Handle::close)
}

/** An outbox, with what its listeners have heard. */
class Handle(val outbox: Outbox, val file: String) : Closeable {
    var isOpen: Boolean = true
        private set
    private val ears = mutableMapOf<String, Ear>()
    private val batches = mutableMapOf<String, Batch>()

    /** The generated outbox under this one, for what the layer has in another form. */
    val raw: RawOutbox get() = outbox.raw

    fun ear(by: String): Ear = ears[by] ?: broken("no $by listens")

    /** An ear that hears from now on, or none. */
    fun newEar(by: String, listening: Boolean): Ear? {
        ears.remove(by)?.close()
        return if (listening) Ear().also { ears[by] = it } else null
    }

    fun keep(name: String, batch: Batch) {
        batches[name] = batch
    }

    fun batch(name: String): Batch = batches[name] ?: broken("there is no batch $name")

    fun closeOutbox() {
        outbox.close()
        isOpen = false
    }

    override fun close() {
        ears.values.forEach(Ear::close)
        outbox.close()
    }
}

/** A step's turn on the stage. */
class Turn(val stage: Stage, val on: String, val expect: JsonElement?) {
    val handle: Handle get() = stage.handle(on)
}
