-- Jobs that retention keeps.
CREATE TABLE pins (
    job_id    BIGINT PRIMARY KEY,
    pinned_at BIGINT NOT NULL
);
