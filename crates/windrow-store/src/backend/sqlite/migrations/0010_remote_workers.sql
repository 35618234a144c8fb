-- What a worker elsewhere said of itself, as JSON; NULL for a process that opens the store itself.
ALTER TABLE sessions ADD COLUMN remote TEXT;
