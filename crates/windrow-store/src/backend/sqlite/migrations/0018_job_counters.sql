-- A job counts the items that belong to earlier runs than its latest, by state, and among them those that a rollback
-- executed last. With the counters of the latest run they are the counters of the whole job.
ALTER TABLE jobs ADD COLUMN rest_succeeded INTEGER NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN rest_failed INTEGER NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN rest_cancelled INTEGER NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN rest_skipped INTEGER NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN rest_retries INTEGER NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN rolled_succeeded INTEGER NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN rolled_failed INTEGER NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN rolled_cancelled INTEGER NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN rolled_skipped INTEGER NOT NULL DEFAULT 0;
UPDATE jobs SET rest_succeeded = n.succeeded, rest_failed = n.failed, rest_cancelled = n.cancelled, rest_skipped = n.skipped, rolled_succeeded = n.rolled_succeeded, rolled_failed = n.rolled_failed, rolled_cancelled = n.rolled_cancelled, rolled_skipped = n.rolled_skipped
FROM (
    SELECT i.job_id, count(CASE WHEN i.state = 1 THEN 1 END) AS succeeded,
           count(CASE WHEN i.state = 2 THEN 1 END) AS failed,
           count(CASE WHEN i.state = 3 THEN 1 END) AS cancelled,
           count(CASE WHEN i.state = 4 THEN 1 END) AS skipped,
           count(CASE WHEN i.state = 1 AND r.mode = 'rollback' THEN 1 END) AS rolled_succeeded,
           count(CASE WHEN i.state = 2 AND r.mode = 'rollback' THEN 1 END) AS rolled_failed,
           count(CASE WHEN i.state = 3 AND r.mode = 'rollback' THEN 1 END) AS rolled_cancelled,
           count(CASE WHEN i.state = 4 AND r.mode = 'rollback' THEN 1 END) AS rolled_skipped
    FROM items i JOIN jobs j ON j.id = i.job_id JOIN runs r ON r.id = i.run_id
    WHERE i.run_id <> j.latest_run GROUP BY i.job_id
) AS n WHERE n.job_id = jobs.id;
UPDATE jobs SET rest_retries = (
    SELECT coalesce(sum(r.retries), 0) FROM runs r WHERE r.job_id = jobs.id AND r.id <> jobs.latest_run
);
