package dev.submitonce.scenarios

import dev.submitonce.Outbox
import java.io.File

val openingSteps: Map<String, Kind> = mapOf(
    "open" to kind {
        val file = textOrNull("file")
        val with = jsonOrNull("with")?.let(::config) ?: Config()
        plainly { turn ->
            val name = file ?: "${turn.on}.sqlite3"
            val outbox = open(turn.stage, name, with.over(turn.stage.scenario.outbox))
            turn.stage.open(turn.on, outbox, name)
            form(outbox.openReport)
        }
    },
    "open_report" to kind { onOutbox { form(openReport) } },
    "close" to kind { plainly { it.handle.closeOutbox() } },
    "copy_files" to kind {
        val from = text("from")
        val to = text("to")
        plainly { turn ->
            if (turn.stage.isOpen(from)) broken("$from is open")
            copyFiles(turn.stage.folder, from, to)
        }
    },
)

/** What a backup or a cloned device does: a database is there a second time, with all that is beside it. */
private fun copyFiles(folder: File, from: String, to: String) {
    val names = folder.list().orEmpty()
    if (names.any { it.startsWith(to) }) broken("$to is there")
    if (from !in names) broken("$from isn't there")
    names.filter { it.startsWith(from) }.forEach { name ->
        File(folder, name).copyRecursively(File(folder, to + name.removePrefix(from)))
    }
}

private suspend fun open(stage: Stage, file: String, config: Config): Outbox =
    Outbox.open(
        database = File(stage.folder, file),
        baseUrl = config.baseUrl ?: stage.server.url,
        profile = config.profile?.let(::profile),
        limits = limits(config.limits),
        userAgent = config.userAgent,
        installId = config.installId,
        inboxScopes = config.inboxScopes.orEmpty(),
        dispatcher = stage.dispatcher,
    )
