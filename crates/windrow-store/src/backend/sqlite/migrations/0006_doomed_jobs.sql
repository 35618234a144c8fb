-- Jobs that were deleted and whose items, log and events have not all been swept away yet.
CREATE TABLE doomed_jobs (
    job_id  INTEGER PRIMARY KEY
) STRICT;
