-- Keys the server remembers. Written in the transaction of their effect.
CREATE TABLE IF NOT EXISTS keys (
    key          TEXT PRIMARY KEY,  -- as it came in the header
    fingerprint  BLOB NOT NULL,     -- SHA-256 over method, path with query and body digest
    effect       INTEGER,           -- the effect; NULL for a frozen error
    status       INTEGER NOT NULL,  -- the stored answer, replayed byte for byte
    content_type TEXT,
    body         BLOB NOT NULL,
    stored_ms    INTEGER NOT NULL   -- milliseconds since 1970; the age of the key counts from here
) WITHOUT ROWID;

-- Effects. Nothing removes one but a reset, so that a second one stays visible.
CREATE TABLE IF NOT EXISTS effects (
    effect      INTEGER PRIMARY KEY AUTOINCREMENT,
    key         TEXT,               -- NULL without a key
    method      TEXT NOT NULL,
    path        TEXT NOT NULL,      -- with query
    body_sha256 TEXT NOT NULL,      -- hex
    body_bytes  INTEGER NOT NULL,
    overwrite   INTEGER NOT NULL,   -- 1: a PUT without a key
    wall_ms     INTEGER NOT NULL    -- milliseconds since 1970
);
CREATE INDEX IF NOT EXISTS effects_by_key ON effects (key);

-- The bodies of effects, where the server is told to keep them.
CREATE TABLE IF NOT EXISTS bodies (
    effect INTEGER PRIMARY KEY,
    body   BLOB NOT NULL
);

-- Requests, written when their flight is over, or when the server stops.
CREATE TABLE IF NOT EXISTS requests (
    run                INTEGER NOT NULL,  -- when this server started, milliseconds since 1970
    number             INTEGER NOT NULL,  -- arrival number within the run
    key                TEXT,
    method             TEXT NOT NULL,
    path               TEXT NOT NULL,     -- with query
    body_sha256        TEXT,              -- NULL: the body was cut
    body_bytes         INTEGER NOT NULL,
    body_complete      INTEGER NOT NULL,
    principal          TEXT,              -- digest of the credential
    user_agent         TEXT,
    arrived_wall_ms    INTEGER NOT NULL,
    arrived_at_ns      INTEGER NOT NULL,  -- the run's monotonic clock, as are the next three
    answered_at_ns     INTEGER,           -- NULL: never
    lost_at_ns         INTEGER,           -- the connection ended before the whole answer was out
    handler_done_at_ns INTEGER,           -- NULL: the server stopped first
    status             INTEGER,
    behaviour          TEXT NOT NULL,     -- JSON
    effect             INTEGER,
    replayed           INTEGER NOT NULL,
    answer_lost        INTEGER NOT NULL,
    PRIMARY KEY (run, number)
) WITHOUT ROWID;
