-- A run that continues even if all of its first calls fail.
ALTER TABLE runs ADD COLUMN keep_going INTEGER NOT NULL DEFAULT 0;
