package dev.submitonce

import java.time.Instant

/**
 * Headers that the requests of an account carry. Kept in memory alone.
 *
 * @property headers for example `Authorization`. An empty list means that the account needs none.
 * @property validUntil by this device's clock; fresh ones are asked for in time.
 */
public class Credentials(
    public val headers: List<Header>,
    public val validUntil: Instant? = null,
) {
    override fun toString(): String = "Credentials(validUntil=$validUntil)"

    public companion object {
        /** A bearer token (RFC 6750). */
        public fun bearer(token: String, validUntil: Instant? = null): Credentials =
            Credentials(listOf(Header("Authorization", "Bearer $token")), validUntil)
    }
}

/** Where credentials come from. */
public fun interface CredentialsProvider {
    /**
     * Asked when credentials are missing, nearly out of date, or were refused: once at a time, never
     * once per request. It may take its time and throw, for example when the token server can't be
     * reached; submissions wait meanwhile, and it is asked again.
     *
     * @return the credentials, or null if there are none, because the user has to sign in anew.
     */
    public suspend fun credentials(account: String, reason: CredentialsReason): Credentials?
}
