-- What came with schema 4: a lane that everything has left, and a latest-wins key.
INSERT INTO lane (account, name) VALUES ('', 'till');
INSERT INTO latest (account, name, succeeded) VALUES ('', 'draft', 3);
