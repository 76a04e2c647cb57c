-- What came with schema 2: an account, the names of its credentials' headers.
INSERT INTO account (name) VALUES ('ann');
INSERT INTO credential_header (name) VALUES ('authorization');
