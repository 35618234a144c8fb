-- Who looks after an alert, and since when.
ALTER TABLE alerts ADD COLUMN IF NOT EXISTS acknowledged_at BIGINT;
ALTER TABLE alerts ADD COLUMN IF NOT EXISTS acknowledged_by TEXT COLLATE "C";
