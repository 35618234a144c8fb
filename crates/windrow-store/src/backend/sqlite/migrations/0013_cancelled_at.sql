-- When somebody told a run to end: what finishes after that reads as cancelled.
ALTER TABLE runs ADD COLUMN cancelled_at INTEGER;
