-- What schema 1 could hold: one that waits, one in doubt, one that has succeeded, and the
-- tombstone of one that was cancelled.
INSERT INTO meta (one, database_id, highest_wall, unsettled, accepted)
VALUES (1, x'000102030405060708090a0b0c0d0e0f', 1750000001000, 2, 4);
INSERT INTO boot (id, token, first_uptime, first_wall) VALUES (1, 'a boot of long ago', 1000, 1750000000000);
INSERT INTO profile (id, json)
VALUES (1, '{"name":"standard","key_place":{"header":{"name":"Idempotency-Key"}},"key_spelling":"raw","effect":"keyed","retention":86400000,"quiet_time":15000,"locks":false,"aborts_handlers":false,"gateway_may_resend":false,"expected_content_types":[]}');
INSERT INTO channel (id, account, origin) VALUES (1, '', 'https://api.example.com');
-- golden waiting: a14362ec-dda4-53f9-8826-564a2f51444e
INSERT INTO submission (seq, id, fingerprint, profile, channel, effect, priority, accepted_wall,
    state, revision, ready)
VALUES (1, x'a14362ecdda453f98826564a2f51444e',
    x'0141b7f8140dac2e715c2b62eaff0019543a799f10575148d5a0e87f4d017b4b59',
    1, 1, 'keyed', 0, 1750000000000, 'pending', 1, 1);
INSERT INTO request (seq, wire_key, method, url, content_type, headers, checksum, body_digest, body)
VALUES (1, 'a14362ec-dda4-53f9-8826-564a2f51444e', 'POST',
    'https://api.example.com/orders/a14362ec-dda4-53f9-8826-564a2f51444e', 'application/json', '[]',
    x'c58a8a5bc6e9dc0ed978c65da1e31823b58bd23e2cd6c18dca6cafea754833c7',
    x'878cef92917484ebc0b2b29194b0fe57853ef1dcddb0b4edae73637b8d1c17a5',
    x'7b226f72646572223a2261313433363265632d646461342d353366392d383832362d353634613266353134343465227d');
-- golden doubt: 165b6eae-6ffa-5111-a08c-b72846cdc9e8
INSERT INTO submission (seq, id, fingerprint, profile, channel, effect, priority, accepted_wall,
    state, revision, ready, attempts, failures)
VALUES (2, x'165b6eae6ffa5111a08cb72846cdc9e8',
    x'01b0d8b21ff3850ef091a776a65848fa2f06ee4a94a3aac60a2a14079aaccde815',
    1, 1, 'keyed', 0, 1750000000000, 'pending', 3, 1, 1, 1);
INSERT INTO request (seq, wire_key, method, url, content_type, headers, checksum, body_digest, body)
VALUES (2, '165b6eae-6ffa-5111-a08c-b72846cdc9e8', 'POST',
    'https://api.example.com/orders/165b6eae-6ffa-5111-a08c-b72846cdc9e8', 'application/json', '[]',
    x'a58335933a273de7281241d137873c26d475d3746ee0c26876cfd4e8adf0a78c',
    x'7ef69637070f43628f26bab3f81624e385887a19c8071b72c09a35a0ebd42e88',
    x'7b226f72646572223a2231363562366561652d366666612d353131312d613038632d623732383436636463396538227d');
INSERT INTO attempt (id, submission, number, mark, owner, epoch, boot, began_uptime, began_device,
    began_wall, ended_wall, problem)
VALUES (1, 2, 1, 'unknown', 1, 0, 1, 2000, 1750000000500, 1750000000500, 1750000000600, 'the connection was lost');
-- golden settled: 61dc9728-6b26-51b6-b0b0-b31a8c819175
INSERT INTO submission (seq, id, fingerprint, profile, channel, effect, priority, accepted_wall,
    state, revision, ready)
VALUES (3, x'61dc97286b2651b6b0b0b31a8c819175',
    x'010060cbc876c2f975c91067f11767280b8f846f3adcf950317c06877ceeaadf7a',
    1, 1, 'keyed', 0, 1750000000000, 'pending', 1, 1);
INSERT INTO request (seq, wire_key, method, url, content_type, headers, checksum, body_digest, body)
VALUES (3, '61dc9728-6b26-51b6-b0b0-b31a8c819175', 'POST',
    'https://api.example.com/orders/61dc9728-6b26-51b6-b0b0-b31a8c819175', 'application/json', '[]',
    x'20b068ef52b3bbea3788bbd7d3c5356d241b309c16c97f632491bf6ed9174394',
    x'b42560e80585932b94553f3292b84614684326bec57685f16a2aea4f19415f33',
    x'7b226f72646572223a2236316463393732382d366232362d353162362d623062302d623331613863383139313735227d');
INSERT INTO attempt (id, submission, number, mark, owner, epoch, boot, began_uptime, began_device,
    began_wall, ended_wall, status)
VALUES (2, 3, 1, 'applied', 1, 0, 1, 2000, 1750000000500, 1750000000500, 1750000001000, 201);
INSERT INTO answer (attempt, submission, status, content_type, headers, missing, checksum, body)
VALUES (2, 3, 201, 'application/json', '[]', 0,
    x'79b7de6c0e66d7beabc84e39fa24abc5e75204aa8855d89fcfd021b2359c8960',
    x'7b226f66223a2236316463393732382d366232362d353162362d623062302d623331613863383139313735227d');
UPDATE submission SET state = 'succeeded', revision = 3, ready = 0, attempts = 1, result = 2,
    settled_wall = 1750000001000 WHERE seq = 3;
-- golden cancelled: a9a9026e-f0f9-59da-8ee7-861876f3e38d
INSERT INTO tombstone (id, fingerprint, method, effect, state, revision, attempts, accepted_wall,
    settled_wall)
VALUES (x'a9a9026ef0f959da8ee7861876f3e38d',
    x'016d7880101a00a111b364c2738e8fd860a4f5706b6c2a2e5890c79632f1274b77',
    'POST', 'keyed', 'cancelled', 2, 0, 1750000000000, 1750000001000);
INSERT INTO change (cursor, submission_id, state, revision, at_wall)
VALUES (1, x'a14362ecdda453f98826564a2f51444e', 'pending', 1, 1750000000000);
INSERT INTO change (cursor, submission_id, state, revision, at_wall)
VALUES (2, x'165b6eae6ffa5111a08cb72846cdc9e8', 'pending', 1, 1750000000000);
INSERT INTO change (cursor, submission_id, state, revision, at_wall)
VALUES (3, x'61dc97286b2651b6b0b0b31a8c819175', 'succeeded', 1, 1750000000000);
INSERT INTO change (cursor, submission_id, state, revision, at_wall)
VALUES (4, x'a9a9026ef0f959da8ee7861876f3e38d', 'cancelled', 1, 1750000000000);
