-- What a session said of itself if it is a node that works together with others.
ALTER TABLE sessions ADD COLUMN node TEXT;
