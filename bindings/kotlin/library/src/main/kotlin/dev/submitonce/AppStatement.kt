package dev.submitonce

/**
 * A statement of the app, for tables of its own in the outbox's file.
 *
 * @property sql one SQL statement. It may make, change and read tables, indexes, views and triggers whose
 *   names begin with `app_`, and nothing else.
 * @property parameters the values of its parameters `?1`, `?2`, ….
 */
public data class AppStatement(
    public val sql: String,
    public val parameters: List<SqlValue> = emptyList(),
) {
    public constructor(sql: String, vararg parameters: SqlValue) : this(sql, parameters.asList())

    /** Without the parameters' values. */
    override fun toString(): String = "AppStatement(sql=$sql, parameters=${parameters.size})"
}

/** A value of SQLite's. Its text shows only what kind it is. */
public sealed interface SqlValue {
    /** NULL. */
    public data object Null : SqlValue

    /** A whole number. */
    public data class Integer(public val value: Long) : SqlValue {
        override fun toString(): String = "Integer"
    }

    /** A floating-point number. */
    public data class Real(public val value: Double) : SqlValue {
        override fun toString(): String = "Real"
    }

    /** A text. */
    public data class Text(public val value: String) : SqlValue {
        override fun toString(): String = "Text"
    }

    /** Bytes. */
    public class Blob(public val value: ByteArray) : SqlValue {
        override fun equals(other: Any?): Boolean = other is Blob && value.contentEquals(other.value)

        override fun hashCode(): Int = value.contentHashCode()

        override fun toString(): String = "Blob"
    }
}
