-- Who looks after an alert, and since when.
ALTER TABLE alerts ADD COLUMN acknowledged_at INTEGER;
ALTER TABLE alerts ADD COLUMN acknowledged_by TEXT;
