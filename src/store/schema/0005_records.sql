-- Once-records for effects on this side, batches of small records, fetched values. Only adds.

-- The inbox: what came in, or is done on this side, and must be recognised when it comes again.
CREATE TABLE inbox (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    scope TEXT NOT NULL,
    key TEXT NOT NULL,
    -- SHA-256 of the content that tells a repeat from a reuse; empty where none was given.
    fingerprint BLOB NOT NULL,
    -- running, free (it may run), uncertain, done.
    state TEXT NOT NULL CHECK (state IN ('running', 'free', 'uncertain', 'done')),
    -- at_most_once or at_least_once, of the run that is, or was last, under way.
    policy TEXT NOT NULL,
    -- Grows with each run, and with each decision: a later one fences earlier ones off. The first one is
    -- above all that records had which were forgotten: a run of those has no say in this one.
    run INTEGER NOT NULL,
    -- Numbers up to `run` that no run of this record has had: of forgotten records, and of decisions.
    not_runs INTEGER NOT NULL DEFAULT 0,
    -- 1: a run that might be repeated ended without anybody knowing whether it had its effect, or a loss
    -- was noticed, and a run may be among what was lost. It stays, whatever later runs say of theirs,
    -- until somebody decides or the item is done.
    doubt INTEGER NOT NULL DEFAULT 0,
    -- Who runs it, and until when it may take: in the uptime of `boot`. An owner without a row is gone.
    owner INTEGER,
    boot INTEGER,
    lease_uptime INTEGER,
    first_wall INTEGER NOT NULL,
    -- When the last run began; when it was done, or set free. By the latest of what told the time, so
    -- that a clock set back lets nothing look older than it is.
    began_wall INTEGER NOT NULL,
    ended_wall INTEGER,
    -- The first result. NULL: none was given, or `dropped`.
    result BLOB,
    -- SHA-256 over scope, key, fingerprint and result, checked before a replay. NULL until done.
    checksum BLOB,
    -- 1: retention has dropped the result; what is left recognises late duplicates.
    dropped INTEGER NOT NULL DEFAULT 0,
    UNIQUE (scope, key)
) STRICT;
-- Runs that may be lost.
CREATE INDEX inbox_running ON inbox (policy, began_wall) WHERE state = 'running';
-- What waits for a decision.
CREATE INDEX inbox_uncertain ON inbox (began_wall) WHERE state = 'uncertain';
-- What retention looks at.
CREATE INDEX inbox_ended ON inbox (scope, state, dropped, ended_wall)
WHERE ended_wall IS NOT NULL;

-- Done is final: only its result is forgotten.
CREATE TRIGGER inbox_final BEFORE UPDATE ON inbox
WHEN OLD.state = 'done' AND (NEW.state IS NOT 'done' OR NEW.run IS NOT OLD.run
    OR NEW.fingerprint IS NOT OLD.fingerprint OR NEW.ended_wall IS NOT OLD.ended_wall
    OR (NEW.result IS NOT OLD.result AND NOT (NEW.result IS NULL AND NEW.dropped = 1)))
BEGIN
    SELECT RAISE(ABORT, 'guard: what is done stays done');
END;
CREATE TRIGGER inbox_named BEFORE UPDATE OF seq, scope, key, first_wall ON inbox
WHEN NEW.seq IS NOT OLD.seq OR NEW.scope IS NOT OLD.scope OR NEW.key IS NOT OLD.key
    OR NEW.first_wall IS NOT OLD.first_wall
BEGIN
    SELECT RAISE(ABORT, 'guard: a once-record keeps its name');
END;
CREATE TRIGGER inbox_run BEFORE UPDATE OF run ON inbox
WHEN NEW.run < OLD.run
BEGIN
    SELECT RAISE(ABORT, 'guard: a later run fences earlier ones off');
END;

-- The highest number of a run that was forgotten.
CREATE TRIGGER inbox_forgotten AFTER DELETE ON inbox
WHEN OLD.run > coalesce((SELECT max(seq) FROM sqlite_sequence WHERE name = 'inbox_run'), 0)
BEGIN
    DELETE FROM sqlite_sequence WHERE name = 'inbox_run';
    INSERT INTO sqlite_sequence (name, seq) VALUES ('inbox_run', OLD.run);
END;

CREATE TRIGGER inbox_kept BEFORE DELETE ON inbox
WHEN OLD.state = 'uncertain' OR (OLD.state = 'running' AND OLD.policy = 'at_most_once')
BEGIN
    SELECT RAISE(ABORT, 'guard: what may have happened waits for a decision');
END;

-- Batches: submissions whose body is put together from small records.
CREATE TABLE batch (
    seq INTEGER PRIMARY KEY REFERENCES submission (seq) ON DELETE CASCADE,
    -- Empty for nobody's.
    account TEXT NOT NULL,
    name TEXT NOT NULL,
    -- What it was opened with, as JSON.
    terms TEXT NOT NULL,
    -- 1: it takes more records.
    open INTEGER NOT NULL,
    records INTEGER NOT NULL DEFAULT 0,
    -- Of the records, without what stands between them.
    bytes INTEGER NOT NULL DEFAULT 0,
    -- How often its records were split before.
    depth INTEGER NOT NULL DEFAULT 0,
    -- SHA-256 of the body, and over all that is sent, as in `request`. NULL: it isn't sealed yet.
    body_digest BLOB,
    checksum BLOB
) STRICT;
-- The last guard: one open batch of a key.
CREATE UNIQUE INDEX batch_open ON batch (account, name) WHERE open = 1;

-- The records of batches, in their order.
CREATE TABLE record (
    batch INTEGER NOT NULL REFERENCES batch (seq) ON DELETE CASCADE,
    number INTEGER NOT NULL,
    body TEXT NOT NULL,
    -- The first 16 bytes of SHA-256 of it.
    checksum BLOB NOT NULL,
    PRIMARY KEY (batch, number)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER record_frozen BEFORE UPDATE ON record
BEGIN
    SELECT RAISE(ABORT, 'guard: a record never changes');
END;
CREATE TRIGGER record_sealed BEFORE INSERT ON record
WHEN (SELECT body_digest FROM batch WHERE seq = NEW.batch) IS NOT NULL
BEGIN
    SELECT RAISE(ABORT, 'guard: a sealed batch takes no record');
END;
CREATE TRIGGER record_kept BEFORE DELETE ON record
WHEN EXISTS (SELECT 1 FROM submission WHERE seq = OLD.batch AND settled_wall IS NULL)
BEGIN
    SELECT RAISE(ABORT, 'guard: a record stays as long as its batch is unsettled');
END;
CREATE TRIGGER batch_frozen BEFORE UPDATE ON batch
WHEN NEW.seq IS NOT OLD.seq OR NEW.account IS NOT OLD.account OR NEW.name IS NOT OLD.name
    OR NEW.terms IS NOT OLD.terms OR NEW.depth IS NOT OLD.depth OR (OLD.open = 0 AND NEW.open <> 0)
    OR (OLD.body_digest IS NOT NULL AND (NEW.body_digest IS NOT OLD.body_digest
        OR NEW.checksum IS NOT OLD.checksum OR NEW.records <> OLD.records
        OR NEW.bytes <> OLD.bytes))
BEGIN
    SELECT RAISE(ABORT, 'guard: a sealed batch is frozen');
END;

-- Fetched values: the latest result of a latest-wins key whose submissions only read.
CREATE TABLE fetched (
    -- Empty for nobody's.
    account TEXT NOT NULL,
    name TEXT NOT NULL,
    -- The submission that it is the result of.
    seq INTEGER NOT NULL,
    submission_id BLOB NOT NULL,
    -- What was asked: method, URL and stored headers, as SHA-256. A validator is only good for that.
    asked BLOB NOT NULL,
    status INTEGER NOT NULL,
    content_type TEXT,
    headers TEXT NOT NULL,
    body BLOB NOT NULL,
    checksum BLOB NOT NULL,
    -- When it came, and when a server last said that it is still the same.
    fetched_wall INTEGER NOT NULL,
    checked_wall INTEGER NOT NULL,
    -- The newest submission that said so.
    checked_seq INTEGER NOT NULL,
    PRIMARY KEY (account, name)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER fetched_newer BEFORE UPDATE ON fetched
WHEN NEW.seq < OLD.seq OR NEW.checked_seq < OLD.checked_seq
BEGIN
    SELECT RAISE(ABORT, 'guard: an older value never takes the place of a newer one');
END;
