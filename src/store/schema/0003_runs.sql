-- Runs of a background scheduler. Only adds.

-- Runs that were asked for and have not begun: at most one for each kind of network, so that a
-- thousand submissions make one work of the scheduler, and none is forgotten.
CREATE TABLE run_request (
    -- any or unmetered.
    network TEXT PRIMARY KEY,
    -- Who asked, and has to hand it to the scheduler.
    owner INTEGER NOT NULL,
    -- The scheduler has it, and keeps it over the end of the process.
    scheduled INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
