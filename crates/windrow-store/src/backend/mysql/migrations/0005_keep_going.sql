-- A run that continues even if all of its first calls fail. MySQL has no ADD COLUMN IF NOT EXISTS.

SET @add = IF(
    (SELECT count(*) FROM information_schema.columns
     WHERE table_schema = database() AND table_name = 'runs' AND column_name = 'keep_going') = 0,
    'ALTER TABLE `runs` ADD COLUMN `keep_going` SMALLINT NOT NULL DEFAULT 0',
    'DO 0');
PREPARE add_column FROM @add;
EXECUTE add_column;
DEALLOCATE PREPARE add_column;
