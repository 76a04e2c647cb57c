-- The outbox. Times are milliseconds: *_wall since the Unix epoch, *_uptime since the boot named
-- beside them. A shipped file is never edited; a change is a new numbered file that only adds.

-- Facts about the whole database: always exactly one row.
CREATE TABLE meta (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    -- Which database this is; a copy has the same.
    database_id BLOB NOT NULL,
    -- The installation that made the database. Reserved.
    install_id TEXT,
    -- The highest wall time ever stored. A clock behind it was set back.
    highest_wall INTEGER NOT NULL,
    -- The last `Date` of a server, and the boot and uptime at which it arrived.
    server_wall INTEGER,
    server_boot INTEGER,
    server_uptime INTEGER,
    -- Submissions that aren't settled; the queue's limit counts them.
    unsettled INTEGER NOT NULL DEFAULT 0,
    -- An unknown version 7 ID minted before this is refused: its tombstone may be gone.
    remembers_since INTEGER NOT NULL DEFAULT 0,
    -- A loss was found at this wall time: an unknown version 7 ID minted before it may have been
    -- accepted and sent, so it begins in doubt.
    doubt_before INTEGER NOT NULL DEFAULT 0,
    -- Submissions ever accepted.
    accepted INTEGER NOT NULL DEFAULT 0,
    -- Attempts that were made after an answer or a time-out.
    abnormal_retries INTEGER NOT NULL DEFAULT 0
) STRICT;

-- Boots of the device that have used the database, so that uptimes can be compared.
CREATE TABLE boot (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    -- The system's name for the boot, or one of this opening where the system has none.
    token TEXT NOT NULL UNIQUE,
    -- The clocks when it was first seen: waits of earlier boots go on from there.
    first_uptime INTEGER NOT NULL,
    first_wall INTEGER NOT NULL
) STRICT;

-- Open outboxes. An owner is dead if and only if the lock on its file can be taken.
CREATE TABLE owner (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    -- The name of its lock file.
    token TEXT NOT NULL UNIQUE,
    -- Until when its claims hold, whatever becomes of it.
    boot INTEGER NOT NULL REFERENCES boot (id),
    lease_uptime INTEGER NOT NULL
) STRICT;

-- Server profiles as they were when submissions were frozen, as JSON.
CREATE TABLE profile (
    id INTEGER PRIMARY KEY,
    json TEXT NOT NULL UNIQUE
) STRICT;

-- What a closed gate holds back at once: an account at an origin.
CREATE TABLE channel (
    id INTEGER PRIMARY KEY,
    -- Empty for what belongs to nobody.
    account TEXT NOT NULL,
    origin TEXT NOT NULL,
    UNIQUE (account, origin)
) STRICT;

-- Intents: the ID that begin gave for a slot.
CREATE TABLE slot (
    account TEXT NOT NULL,
    name TEXT NOT NULL,
    submission_id BLOB NOT NULL,
    PRIMARY KEY (account, name)
) STRICT, WITHOUT ROWID;

-- Submissions, the part that is small and changes.
CREATE TABLE submission (
    -- The order of acceptance.
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    -- The submission ID, 16 bytes.
    id BLOB NOT NULL UNIQUE,
    -- Version byte and SHA-256 of what the submission is.
    fingerprint BLOB NOT NULL,
    -- Whose; NULL for nobody's.
    account TEXT,
    profile INTEGER NOT NULL REFERENCES profile (id),
    channel INTEGER NOT NULL REFERENCES channel (id),
    -- none, overwrite, keyed or unkeyed.
    effect TEXT NOT NULL,
    -- Higher goes first.
    priority INTEGER NOT NULL,
    -- Ordering key. Reserved.
    lane TEXT,
    -- Latest-wins key. Reserved.
    replaces TEXT,
    -- Where the status of the effect can be read. Reserved.
    probe TEXT,
    -- Wait for a network that costs nothing. Reserved.
    unmetered INTEGER NOT NULL DEFAULT 0,
    accepted_wall INTEGER NOT NULL,

    -- pending, in_flight, held, succeeded, rejected, cancelled, expired, superseded, abandoned.
    state TEXT NOT NULL,
    -- Why it is held or was rejected; the newer ID for superseded.
    reason TEXT,
    -- Grows with each change.
    revision INTEGER NOT NULL,
    -- The app cancelled while an attempt was open.
    cancel_requested INTEGER NOT NULL DEFAULT 0,
    -- Named conditions that it waits for: lanes, parents. Claimable only at zero. Reserved.
    blockers INTEGER NOT NULL DEFAULT 0,
    -- 1: a claim may take it now.
    ready INTEGER NOT NULL,
    -- If pending and not ready: due then, in the uptime of `boot`.
    due_uptime INTEGER,
    -- No event but a decision or the passing of time makes it due before this: the server's wait,
    -- or the quiet time. In the uptime of `boot`.
    floor_uptime INTEGER,
    -- The wall time of due_uptime, and how long the wait was: all that is left after a reboot.
    due_wall INTEGER,
    delay INTEGER,
    boot INTEGER,
    -- A sweep turns it to expired after this wall time. NULL once that was done or decided.
    expires_wall INTEGER,
    -- Attempts begun.
    attempts INTEGER NOT NULL DEFAULT 0,
    -- Failures in a row, for the backoff.
    failures INTEGER NOT NULL DEFAULT 0,
    -- Answers that count against the retry budget, and the sum of the waits that were set after
    -- them: no clock that jumps can use them up.
    answered INTEGER NOT NULL DEFAULT 0,
    answered_for INTEGER NOT NULL DEFAULT 0,
    -- The same for "in progress" answers.
    busy INTEGER NOT NULL DEFAULT 0,
    busy_for INTEGER NOT NULL DEFAULT 0,
    -- A second effect was accepted for the next claim.
    consent INTEGER NOT NULL DEFAULT 0,
    -- Consents so far; attempts before the last are another epoch.
    epoch INTEGER NOT NULL DEFAULT 0,
    -- Who has it in flight, and the attempt that fences older ones off.
    owner INTEGER REFERENCES owner (id),
    fence INTEGER,
    -- The attempt whose answer is the result.
    result INTEGER,
    settled_wall INTEGER,
    -- The last problem, in words without secrets.
    problem TEXT,
    -- Evidence that came after the end, in words.
    late_evidence TEXT
) STRICT;

-- What a claim may take, in the order in which it takes it.
CREATE INDEX submission_ready ON submission (channel, priority DESC, seq) WHERE ready = 1;
-- What becomes ready by time.
CREATE INDEX submission_due ON submission (boot, due_uptime) WHERE due_uptime IS NOT NULL;
-- What each owner has in flight.
CREATE INDEX submission_owner ON submission (owner) WHERE owner IS NOT NULL;
-- What expires.
CREATE INDEX submission_expires ON submission (expires_wall) WHERE expires_wall IS NOT NULL;
-- What waits for a decision.
CREATE INDEX submission_held ON submission (seq) WHERE state = 'held';
-- The heads of lanes, and the versions of one latest-wins key. Reserved.
CREATE INDEX submission_lane ON submission (account, lane, seq) WHERE lane IS NOT NULL;
CREATE INDEX submission_replaces ON submission (account, replaces, seq) WHERE replaces IS NOT NULL;
-- What retention looks at.
CREATE INDEX submission_settled ON submission (settled_wall) WHERE settled_wall IS NOT NULL;

-- Submissions, the part that is frozen at submit: what goes to the wire at every attempt.
CREATE TABLE request (
    seq INTEGER PRIMARY KEY REFERENCES submission (seq) ON DELETE CASCADE,
    -- The key as the server reads it.
    wire_key TEXT NOT NULL,
    method TEXT NOT NULL,
    url TEXT NOT NULL,
    content_type TEXT,
    -- Other stored headers, as a JSON array of {name, value}.
    headers TEXT NOT NULL,
    -- When it stops being worth sending, as accepted.
    expires_wall INTEGER,
    -- SHA-256 over all that is sent, checked before each send.
    checksum BLOB NOT NULL,
    -- SHA-256 of the body.
    body_digest BLOB NOT NULL,
    -- The file that holds a spilled body. Reserved.
    body_file TEXT,
    body BLOB
) STRICT;

-- Which submissions a submission waits for. Reserved.
CREATE TABLE dependency (
    child INTEGER NOT NULL REFERENCES submission (seq) ON DELETE CASCADE,
    parent INTEGER NOT NULL REFERENCES submission (seq),
    PRIMARY KEY (child, parent)
) STRICT, WITHOUT ROWID;
CREATE INDEX dependency_parent ON dependency (parent);

-- Tries on the wire. The number is the fencing number too: a later claim has a greater one.
CREATE TABLE attempt (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    submission INTEGER NOT NULL REFERENCES submission (seq) ON DELETE CASCADE,
    -- 1 for the first.
    number INTEGER NOT NULL,
    -- open, unknown, not_applied or applied.
    mark TEXT NOT NULL,
    owner INTEGER NOT NULL,
    -- The submission's epoch when it began, and whether it consumed a consent.
    epoch INTEGER NOT NULL,
    consented INTEGER NOT NULL DEFAULT 0,
    boot INTEGER NOT NULL,
    began_uptime INTEGER NOT NULL,
    -- The wall time by the device, and the best known one, corrected by the last server's date.
    began_device INTEGER NOT NULL,
    began_wall INTEGER NOT NULL,
    -- The greatest age that was ever found, in case the clock is set back.
    age INTEGER NOT NULL DEFAULT 0,
    -- When its own process said that it ended, or its owner was found dead. A lost lease alone is
    -- not an end.
    ended_wall INTEGER,
    -- The status of the answer.
    status INTEGER,
    -- How it ended, in words without secrets.
    problem TEXT,
    UNIQUE (submission, number)
) STRICT;

-- Answers that are kept: the results.
CREATE TABLE answer (
    attempt INTEGER PRIMARY KEY,
    submission INTEGER NOT NULL REFERENCES submission (seq) ON DELETE CASCADE,
    status INTEGER,
    content_type TEXT,
    -- As a JSON array of {name, value}.
    headers TEXT NOT NULL,
    -- The body never arrived whole.
    missing INTEGER NOT NULL,
    -- SHA-256 over all of it, checked before each replay.
    checksum BLOB NOT NULL,
    body BLOB
) STRICT;
CREATE INDEX answer_submission ON answer (submission);

-- The change feed.
CREATE TABLE change (
    cursor INTEGER PRIMARY KEY AUTOINCREMENT,
    submission_id BLOB NOT NULL,
    state TEXT NOT NULL,
    reason TEXT,
    revision INTEGER NOT NULL,
    at_wall INTEGER NOT NULL
) STRICT;

-- What is left of settled submissions when retention has dropped them.
CREATE TABLE tombstone (
    id BLOB PRIMARY KEY,
    fingerprint BLOB NOT NULL,
    account TEXT,
    method TEXT NOT NULL,
    effect TEXT NOT NULL,
    state TEXT NOT NULL,
    reason TEXT,
    revision INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    status INTEGER,
    accepted_wall INTEGER NOT NULL,
    settled_wall INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
-- What is forgotten at last: time-ordered IDs (version 7). Others carry no time by which an old one
-- could be told from a new one, so they never are.
CREATE INDEX tombstone_settled ON tombstone (settled_wall) WHERE substr(hex(id), 13, 1) = '7';

-- The database's own guards: code can forget, these don't.

CREATE TRIGGER submission_final BEFORE UPDATE OF state, reason, result, settled_wall ON submission
WHEN OLD.state IN ('succeeded', 'rejected', 'cancelled', 'expired', 'superseded', 'abandoned')
    AND (NEW.state IS NOT OLD.state OR NEW.reason IS NOT OLD.reason
        OR NEW.result IS NOT OLD.result OR NEW.settled_wall IS NOT OLD.settled_wall)
BEGIN
    SELECT RAISE(ABORT, 'guard: a final state never changes');
END;

CREATE TRIGGER submission_final_in_doubt BEFORE UPDATE OF state ON submission
WHEN NEW.state IN ('rejected', 'cancelled', 'expired') AND OLD.state <> NEW.state
    AND EXISTS (SELECT 1 FROM attempt
        WHERE submission = OLD.seq AND mark IN ('open', 'unknown', 'applied'))
BEGIN
    SELECT RAISE(ABORT, 'guard: what may have happened is not called undone');
END;

CREATE TRIGGER submission_frozen
BEFORE UPDATE OF seq, id, fingerprint, account, profile, channel, effect, priority, lane, replaces,
    probe, unmetered, accepted_wall ON submission
WHEN NEW.seq IS NOT OLD.seq OR NEW.id IS NOT OLD.id OR NEW.fingerprint IS NOT OLD.fingerprint
    OR NEW.account IS NOT OLD.account OR NEW.profile IS NOT OLD.profile
    OR NEW.channel IS NOT OLD.channel OR NEW.effect IS NOT OLD.effect
    OR NEW.priority IS NOT OLD.priority OR NEW.lane IS NOT OLD.lane
    OR NEW.replaces IS NOT OLD.replaces OR NEW.probe IS NOT OLD.probe
    OR NEW.unmetered IS NOT OLD.unmetered OR NEW.accepted_wall IS NOT OLD.accepted_wall
BEGIN
    SELECT RAISE(ABORT, 'guard: an accepted submission is frozen');
END;

CREATE TRIGGER submission_kept BEFORE DELETE ON submission
WHEN NOT EXISTS (SELECT 1 FROM tombstone WHERE id = OLD.id)
BEGIN
    SELECT RAISE(ABORT, 'guard: a submission leaves only behind its tombstone');
END;

CREATE TRIGGER request_frozen BEFORE UPDATE ON request
BEGIN
    SELECT RAISE(ABORT, 'guard: an accepted request is frozen');
END;

CREATE TRIGGER profile_frozen BEFORE UPDATE ON profile
BEGIN
    SELECT RAISE(ABORT, 'guard: a profile in use is frozen');
END;

CREATE TRIGGER submission_once BEFORE INSERT ON submission
WHEN EXISTS (SELECT 1 FROM tombstone WHERE id = NEW.id)
BEGIN
    SELECT RAISE(ABORT, 'guard: a settled submission does not begin again');
END;

CREATE TRIGGER attempt_of_unsettled BEFORE INSERT ON attempt
WHEN (SELECT settled_wall FROM submission WHERE seq = NEW.submission) IS NOT NULL
BEGIN
    SELECT RAISE(ABORT, 'guard: what is settled is not attempted');
END;

CREATE TRIGGER attempt_settled BEFORE UPDATE OF mark ON attempt
WHEN NEW.mark IS NOT OLD.mark AND (OLD.mark IN ('applied', 'not_applied') OR NEW.mark = 'open')
BEGIN
    SELECT RAISE(ABORT, 'guard: a settled attempt never changes');
END;

CREATE TRIGGER answer_frozen BEFORE UPDATE ON answer
BEGIN
    SELECT RAISE(ABORT, 'guard: a stored answer never changes');
END;

CREATE TRIGGER tombstone_final BEFORE INSERT ON tombstone
WHEN NEW.state IN ('pending', 'in_flight', 'held')
BEGIN
    SELECT RAISE(ABORT, 'guard: only what is settled becomes a tombstone');
END;
