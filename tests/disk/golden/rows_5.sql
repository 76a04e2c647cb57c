-- What came with schema 5: an item of the inbox that may have happened.
INSERT INTO inbox (scope, key, fingerprint, state, policy, run, first_wall, began_wall)
VALUES ('push', 'm0', x'', 'uncertain', 'at_most_once', 1, 1750000000000, 1750000000000);
INSERT INTO sqlite_sequence (name, seq) VALUES ('inbox_run', 1);
