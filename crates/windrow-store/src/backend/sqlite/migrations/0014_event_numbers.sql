-- Events are numbered by a row of their own, as they are in the databases where many write at once: numbers
-- come to light in their order.
INSERT INTO sequences (name, last) VALUES ('outbox', coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'outbox'), 0));
