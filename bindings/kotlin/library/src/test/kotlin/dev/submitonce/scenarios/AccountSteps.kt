package dev.submitonce.scenarios

import dev.submitonce.Credentials
import dev.submitonce.SignOut
import java.time.Instant

val accountSteps: Map<String, Kind> = mapOf(
    "sign_in" to kind {
        val account = text("account")
        onOutbox { signIn(account) }
    },
    "sign_out" to kind {
        val how = jsonOrNull("how")?.constant<SignOut>() ?: SignOut.KEEP
        onOutbox { form(signOut(how)) }
    },
    "signed_in" to kind { onOutbox { signedIn() } },
    "supply_credentials" to kind {
        val account = text("account")
        val headers = json("headers").headers()
        val validFor = jsonOrNull("valid_for_ms")?.millis()
        onOutbox { supplyCredentials(account, Credentials(headers, validFor?.let(Instant.now()::plus))) }
    },
)
