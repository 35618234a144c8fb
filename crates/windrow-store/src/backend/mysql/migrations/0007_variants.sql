-- Which of its row's variants an item is, where the job has several. MySQL has no ADD COLUMN IF NOT EXISTS.

SET @add = IF(
    (SELECT count(*) FROM information_schema.columns
     WHERE table_schema = database() AND table_name = 'items' AND column_name = 'variant') = 0,
    'ALTER TABLE `items` ADD COLUMN `variant` VARCHAR(191)',
    'DO 0');
PREPARE add_column FROM @add;
EXECUTE add_column;
DEALLOCATE PREPARE add_column;
