-- Items are let go in waves, and under a cap on failures. Only the open wave of a run is claimed from.

ALTER TABLE runs ADD COLUMN max_failed INTEGER;
ALTER TABLE runs ADD COLUMN rollout TEXT;
ALTER TABLE runs ADD COLUMN wave INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN wave_settled_at INTEGER;
ALTER TABLE runs ADD COLUMN wave_approved INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN halted INTEGER NOT NULL DEFAULT 0;

ALTER TABLE items ADD COLUMN wave INTEGER NOT NULL DEFAULT 0;

ALTER TABLE attempts ADD COLUMN wave INTEGER NOT NULL DEFAULT 0;
DROP INDEX attempts_queued;
CREATE INDEX attempts_queued ON attempts (run_id, wave, priority, due_at, id) WHERE state = 0;
