package dev.submitonce.scenarios

import dev.submitonce.Outbox
import java.io.File

val openingSteps: Map<String, Kind> = mapOf(
    "open" to kind {
        val file = textOrNull("file")
        val with = jsonOrNull("with")?.let(::config) ?: Config()
        plainly { turn ->
            val outbox = open(turn.stage, file ?: "${turn.on}.sqlite3", with.over(turn.stage.scenario.outbox))
            turn.stage.open(turn.on, outbox)
            form(outbox.openReport)
        }
    },
    "open_report" to kind { onOutbox { form(openReport) } },
    "close" to kind { onOutbox { close() } },
)

private suspend fun open(stage: Stage, file: String, config: Config): Outbox =
    Outbox.open(
        database = File(stage.folder, file),
        baseUrl = config.baseUrl ?: stage.server.url,
        profile = config.profile?.let(::profile),
        limits = limits(config.limits),
        userAgent = config.userAgent,
        dispatcher = stage.dispatcher,
    )
