-- Items that are trials of one row share the row's key as their group; others have none and are in
-- no further index.
ALTER TABLE items ADD COLUMN group_key BLOB;
CREATE INDEX items_by_group ON items (job_id, group_key, id) WHERE group_key IS NOT NULL;
