-- A run that continues even if all of its first calls fail.
ALTER TABLE runs ADD COLUMN IF NOT EXISTS keep_going SMALLINT NOT NULL DEFAULT 0;
