-- An item that succeeds is changed in place, and none of its indexes is touched: there is room beside it, and no index
-- depends on a column that such a change moves. `state` would be one; `not_good` stays what it is.
ALTER TABLE items ADD COLUMN not_good BOOLEAN GENERATED ALWAYS AS (state > 1) STORED;
ALTER TABLE items SET (fillfactor = 50);
DROP INDEX items_not_good;
CREATE INDEX items_not_good ON items (job_id, id) WHERE not_good;
