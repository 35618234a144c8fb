-- A job counts the items that belong to earlier runs than its latest, by state, and among them those that a rollback
-- executed last. With the counters of the latest run they are the counters of the whole job.
-- MySQL cannot add a column only if it is missing, and a migration may be run again from its beginning.
SET @add = (SELECT IF(count(*) = 0, 'ALTER TABLE `jobs` ADD COLUMN `rest_succeeded` BIGINT NOT NULL DEFAULT 0, ADD COLUMN `rest_failed` BIGINT NOT NULL DEFAULT 0, ADD COLUMN `rest_cancelled` BIGINT NOT NULL DEFAULT 0, ADD COLUMN `rest_skipped` BIGINT NOT NULL DEFAULT 0, ADD COLUMN `rest_retries` BIGINT NOT NULL DEFAULT 0, ADD COLUMN `rolled_succeeded` BIGINT NOT NULL DEFAULT 0, ADD COLUMN `rolled_failed` BIGINT NOT NULL DEFAULT 0, ADD COLUMN `rolled_cancelled` BIGINT NOT NULL DEFAULT 0, ADD COLUMN `rolled_skipped` BIGINT NOT NULL DEFAULT 0', 'DO 0')
    FROM information_schema.columns
    WHERE table_schema = database() AND table_name = 'jobs' AND column_name = 'rest_succeeded');
PREPARE add_columns FROM @add;
EXECUTE add_columns;
DEALLOCATE PREPARE add_columns;
UPDATE `jobs` JOIN (
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
) AS n ON n.job_id = jobs.id SET jobs.rest_succeeded = n.succeeded, jobs.rest_failed = n.failed, jobs.rest_cancelled = n.cancelled, jobs.rest_skipped = n.skipped, jobs.rolled_succeeded = n.rolled_succeeded, jobs.rolled_failed = n.rolled_failed, jobs.rolled_cancelled = n.rolled_cancelled, jobs.rolled_skipped = n.rolled_skipped;
UPDATE `jobs` SET rest_retries = (
    SELECT coalesce(sum(r.retries), 0) FROM runs r WHERE r.job_id = jobs.id AND r.id <> jobs.latest_run
);
