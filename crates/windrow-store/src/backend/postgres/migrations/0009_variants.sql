-- Which of its row's variants an item is, where the job has several.
ALTER TABLE items ADD COLUMN variant TEXT;
