-- Gates of hosts and accounts, networks, frozen errors, bodies in files. Only adds.

-- Hosts that were ever submitted to, and the gates before them.
CREATE TABLE host (
    origin TEXT PRIMARY KEY,
    -- Successes so far. A submission that gets the same error again and again while this grows has a
    -- frozen key; while it doesn't, the host is down.
    well INTEGER NOT NULL DEFAULT 0,
    -- Answers since the last success that asked everybody to wait.
    failures INTEGER NOT NULL DEFAULT 0,
    -- Closed until then, in the uptime of `boot`; the wall time of it, and how long the wait was: all
    -- that is left after a reboot. NULL: open.
    closed_uptime INTEGER,
    closed_wall INTEGER,
    delay INTEGER,
    boot INTEGER
) STRICT, WITHOUT ROWID;
INSERT INTO host (origin) SELECT DISTINCT origin FROM channel;

-- Accounts. Of their credentials nothing is stored.
CREATE TABLE account (
    name TEXT PRIMARY KEY,
    -- At most one is.
    signed_in INTEGER NOT NULL DEFAULT 0,
    -- Credentials are numbered as they are supplied; this is the last number.
    supplied INTEGER NOT NULL DEFAULT 0,
    -- Up to this number they were refused; the attempt that was told so last.
    refused INTEGER NOT NULL DEFAULT 0,
    refused_attempt INTEGER NOT NULL DEFAULT 0,
    -- Refusals in a row. What had been supplied before the last one was noted is no answer to it, and
    -- doesn't count again: that is up to this number.
    refusals INTEGER NOT NULL DEFAULT 0,
    counted INTEGER NOT NULL DEFAULT 0,
    -- The last that succeeded, and the attempt that did.
    works INTEGER,
    works_attempt INTEGER NOT NULL DEFAULT 0,
    -- The gate: nothing is sent until the host supplies credentials again.
    closed INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX account_signed_in ON account (signed_in) WHERE signed_in = 1;

-- The names of headers that credentials ever had: refused among stored headers.
CREATE TABLE credential_header (
    name TEXT PRIMARY KEY
) STRICT, WITHOUT ROWID;

-- `submission.ready` is 2 for what may be claimed on an unmetered network only.
CREATE INDEX submission_ready_unmetered ON submission (channel, priority DESC, seq)
    WHERE ready = 2;

-- What the wait is for want of, so that a network ends it early: 0 nothing, 1 a network, 2 a
-- certificate that can be trusted, 3 one that is valid at this device's time.
ALTER TABLE submission ADD COLUMN network_wait INTEGER NOT NULL DEFAULT 0;
CREATE INDEX submission_network ON submission (boot, due_uptime)
    WHERE network_wait > 0 AND due_uptime IS NOT NULL;

-- The same error in a row: its status, how often, the sum of the waits that were set after it, and
-- the host's successes when it came first.
ALTER TABLE submission ADD COLUMN same_status INTEGER;
ALTER TABLE submission ADD COLUMN same INTEGER NOT NULL DEFAULT 0;
ALTER TABLE submission ADD COLUMN same_for INTEGER NOT NULL DEFAULT 0;
ALTER TABLE submission ADD COLUMN same_well INTEGER NOT NULL DEFAULT 0;

-- Which of its account's credentials it was sent with. NULL: none.
ALTER TABLE attempt ADD COLUMN credentials INTEGER;

-- Bodies in files, under `request.body_file`.
ALTER TABLE request ADD COLUMN body_length INTEGER;
-- The files themselves. A name leaves this table after its file is gone.
CREATE TABLE body_file (
    name TEXT PRIMARY KEY,
    submission INTEGER NOT NULL,
    -- 1: the submission is settled, and the file can go.
    released INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
CREATE INDEX body_file_submission ON body_file (submission);
CREATE INDEX body_file_released ON body_file (released) WHERE released = 1;
