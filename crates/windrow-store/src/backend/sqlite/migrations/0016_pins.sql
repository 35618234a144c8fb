-- Jobs that retention keeps.
CREATE TABLE pins (
    job_id    INTEGER PRIMARY KEY,
    pinned_at INTEGER NOT NULL
) STRICT;
