-- When something last happened to a run that others are told of; 0 for runs from before.
ALTER TABLE runs ADD COLUMN moved_at INTEGER NOT NULL DEFAULT 0;

-- Alerts (T12): one row per time that one was raised. Those without an end are active.
CREATE TABLE alerts (
    id          INTEGER PRIMARY KEY,
    rule        TEXT    NOT NULL,
    severity    TEXT    NOT NULL,
    subject     TEXT    NOT NULL,
    workspace   TEXT,
    job_id      INTEGER,
    run_id      INTEGER,
    value       REAL    NOT NULL,
    threshold   REAL    NOT NULL,
    message     TEXT    NOT NULL,
    raised_at   INTEGER NOT NULL,
    cleared_at  INTEGER
) STRICT;
CREATE INDEX alerts_active ON alerts (id) WHERE cleared_at IS NULL;
