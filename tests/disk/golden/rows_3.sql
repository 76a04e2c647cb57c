-- What came with schema 3: a background run that was asked for by somebody who is gone.
INSERT INTO run_request (network, owner) VALUES ('any', 1);
