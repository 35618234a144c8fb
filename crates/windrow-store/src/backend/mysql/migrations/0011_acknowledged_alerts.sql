-- Who looks after an alert, and since when. MySQL has no ADD COLUMN IF NOT EXISTS.

SET @add = IF(
    (SELECT count(*) FROM information_schema.columns
     WHERE table_schema = database() AND table_name = 'alerts' AND column_name = 'acknowledged_at') = 0,
    'ALTER TABLE `alerts` ADD COLUMN `acknowledged_at` BIGINT NULL, ADD COLUMN `acknowledged_by` TEXT NULL',
    'DO 0');
PREPARE add_column FROM @add;
EXECUTE add_column;
DEALLOCATE PREPARE add_column;
