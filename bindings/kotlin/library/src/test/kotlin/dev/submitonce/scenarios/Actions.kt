package dev.submitonce.scenarios

import dev.submitonce.Outbox
import kotlinx.serialization.json.JsonElement

/** What a step does, and what that gives. */
typealias Action = suspend (Turn) -> JsonElement

/** A kind of step: reads its arguments. */
typealias Kind = Members.() -> Action

/** For the compiler, which doesn't see what such a block is otherwise. */
fun kind(read: Kind): Kind = read

/** An action that needs no open outbox, or finds its own. */
fun plainly(act: suspend (Turn) -> Any?): Action = { turn -> json(act(turn)) }

/** An action with the open outbox of the step. */
fun onOutbox(act: suspend Outbox.() -> Any?): Action = { turn -> json(turn.handle.outbox.act()) }
