-- Order and what hangs together: lanes, latest-wins keys, parents; probes; retention by count and
-- bytes; totals that survive. Only adds.

-- `submission.blockers` has a bit for each kind of other submission that it waits for: 1 those before
-- it in its lane, 2 a newer one of its latest-wins key, 4 an older one of that, 8 a parent. What is due
-- and blocked has neither `ready` nor `due_uptime`.

-- Lanes: block, continue or reject_rest. NULL without a lane.
ALTER TABLE submission ADD COLUMN lane_policy TEXT;
-- What is in the queue of its lane, in its order: held ones of a lane that goes on past them aren't.
CREATE INDEX submission_lane_queue ON submission (account, lane, seq)
    WHERE lane IS NOT NULL AND settled_wall IS NULL
        AND NOT (state = 'held' AND lane_policy = 'continue');
-- Lanes, and whose turn it is.
CREATE TABLE lane (
    -- Empty for nobody's.
    account TEXT NOT NULL,
    name TEXT NOT NULL,
    -- The one that may go, is on the wire, or is held while the others wait. NULL: none.
    turn INTEGER,
    -- The rejected one that stopped it. NULL: it isn't stopped.
    stopped INTEGER,
    PRIMARY KEY (account, name)
) STRICT, WITHOUT ROWID;

-- The last guard: one in flight in a lane.
CREATE UNIQUE INDEX submission_lane_flight ON submission (coalesce(account, ''), lane)
    WHERE lane IS NOT NULL AND state = 'in_flight';

-- The unsettled versions of a latest-wins key.
CREATE INDEX submission_versions ON submission (account, replaces, seq)
    WHERE replaces IS NOT NULL AND settled_wall IS NULL;
-- The last guard: one of them in flight.
CREATE UNIQUE INDEX submission_version_flight ON submission (coalesce(account, ''), replaces)
    WHERE replaces IS NOT NULL AND state = 'in_flight';
-- Latest-wins keys.
CREATE TABLE latest (
    -- Empty for nobody's.
    account TEXT NOT NULL,
    name TEXT NOT NULL,
    -- The newest version that succeeded.
    succeeded INTEGER,
    -- No other version than this goes before the floor, since a server may still be working on it. In
    -- the uptime of `boot`, and how long the whole wait was.
    floor_seq INTEGER,
    floor_uptime INTEGER,
    delay INTEGER,
    boot INTEGER,
    PRIMARY KEY (account, name)
) STRICT, WITHOUT ROWID;
CREATE INDEX latest_floor ON latest (boot, floor_uptime) WHERE floor_uptime IS NOT NULL;

-- 1: others wait for it, or did. It isn't superseded.
ALTER TABLE submission ADD COLUMN children INTEGER NOT NULL DEFAULT 0;
-- What it takes from its parents' results, as JSON. NULL: nothing, and the request is whole.
ALTER TABLE request ADD COLUMN parts TEXT;
-- Values found so far, by the number of the part, as JSON.
CREATE TABLE part_value (
    child INTEGER NOT NULL REFERENCES submission (seq) ON DELETE CASCADE,
    part INTEGER NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (child, part)
) STRICT, WITHOUT ROWID;
-- The request with its parts in it. NULL in `body`: that of the request.
CREATE TABLE resolved (
    seq INTEGER PRIMARY KEY REFERENCES submission (seq) ON DELETE CASCADE,
    url TEXT NOT NULL,
    headers TEXT NOT NULL,
    body BLOB,
    body_digest BLOB NOT NULL,
    -- SHA-256 over all that is sent, as in `request`.
    checksum BLOB NOT NULL
) STRICT;

-- `submission.probe` is the status probe, as JSON. When to ask it next, in the uptime of `boot`: then
-- `ready` and `due_uptime` are empty, and `delay` is how long the wait was. How often it was asked in
-- vain since the last attempt.
ALTER TABLE submission ADD COLUMN probe_uptime INTEGER;
ALTER TABLE submission ADD COLUMN probe_wall INTEGER;
ALTER TABLE submission ADD COLUMN probes INTEGER NOT NULL DEFAULT 0;
CREATE INDEX submission_probe ON submission (boot, channel, probe_uptime)
    WHERE probe_uptime IS NOT NULL;
-- By which clocks an attempt ended, beside `ended_wall`: the uptime of `ended_boot`, and the best known
-- wall time. NULL: only `ended_wall` is known.
ALTER TABLE attempt ADD COLUMN ended_boot INTEGER;
ALTER TABLE attempt ADD COLUMN ended_uptime INTEGER;
ALTER TABLE attempt ADD COLUMN ended_best INTEGER;

-- What retention counts: settled submissions that are kept whole, and the bytes of their results. Beside
-- them the bytes of the bodies of unsettled ones.
ALTER TABLE meta ADD COLUMN settled INTEGER NOT NULL DEFAULT 0;
ALTER TABLE meta ADD COLUMN result_bytes INTEGER NOT NULL DEFAULT 0;
ALTER TABLE meta ADD COLUMN queued_bytes INTEGER NOT NULL DEFAULT 0;
UPDATE meta SET
    settled = (SELECT count(*) FROM submission WHERE settled_wall IS NOT NULL),
    result_bytes = (SELECT coalesce(sum(length(a.body)), 0)
        FROM answer a JOIN submission s ON s.seq = a.submission WHERE s.settled_wall IS NOT NULL),
    queued_bytes = (SELECT coalesce(sum(coalesce(r.body_length, length(r.body))), 0)
        FROM request r JOIN submission s ON s.seq = r.seq WHERE s.settled_wall IS NULL);
-- How long the server remembers the key, in milliseconds: the tombstone is kept that long at least. 0
-- where that is not known.
ALTER TABLE tombstone ADD COLUMN retention INTEGER NOT NULL DEFAULT 0;

-- What the numbers of now look at: the oldest unsettled one, holds by reason, attempts in doubt. An
-- attempt that gets its answer never enters the last.
CREATE INDEX submission_unsettled ON submission (seq) WHERE settled_wall IS NULL;
CREATE INDEX submission_held_reason ON submission (reason) WHERE state = 'held';
CREATE INDEX attempt_unknown ON attempt (submission) WHERE mark = 'unknown';
-- 1: an attempt without an effect that may have left the device and got no answer.
ALTER TABLE attempt ADD COLUMN silent INTEGER NOT NULL DEFAULT 0;

-- Signed out for good: what it submitted before this position is still to be ended and dropped, the
-- latest first. NULL: nothing is.
ALTER TABLE account ADD COLUMN purging INTEGER;
CREATE INDEX account_purging ON account (purging) WHERE purging IS NOT NULL;
-- What the last purge did so far, as it may take several calls, and processes.
ALTER TABLE account ADD COLUMN purge_cancelled INTEGER NOT NULL DEFAULT 0;
ALTER TABLE account ADD COLUMN purge_abandoned INTEGER NOT NULL DEFAULT 0;
ALTER TABLE account ADD COLUMN purge_succeeded INTEGER NOT NULL DEFAULT 0;
-- What an account has submitted.
CREATE INDEX submission_account ON submission (account, seq) WHERE account IS NOT NULL;

-- Numbers since the database was made.
CREATE TABLE total (
    name TEXT PRIMARY KEY,
    count INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
-- As far as an older file tells.
INSERT INTO total (name, count)
    SELECT state, count(*) FROM (
        SELECT state FROM submission WHERE settled_wall IS NOT NULL
        UNION ALL SELECT state FROM tombstone) GROUP BY state;
INSERT INTO total (name, count) SELECT 'attempts', seq FROM sqlite_sequence WHERE name = 'attempt';
INSERT INTO total (name, count)
    SELECT 'doubts_raised', count(*) FROM attempt WHERE mark = 'unknown';
INSERT INTO total (name, count)
    SELECT 'doubts_settled', count(*) FROM attempt a JOIN submission s ON s.seq = a.submission
    WHERE a.mark = 'unknown' AND s.settled_wall IS NOT NULL;

CREATE TRIGGER submission_policy_frozen BEFORE UPDATE OF lane_policy ON submission
WHEN NEW.lane_policy IS NOT OLD.lane_policy
BEGIN
    SELECT RAISE(ABORT, 'guard: an accepted submission is frozen');
END;

CREATE TRIGGER part_value_frozen BEFORE UPDATE ON part_value
BEGIN
    SELECT RAISE(ABORT, 'guard: a part is taken once');
END;

CREATE TRIGGER resolved_frozen BEFORE UPDATE ON resolved
BEGIN
    SELECT RAISE(ABORT, 'guard: a request is resolved once');
END;
