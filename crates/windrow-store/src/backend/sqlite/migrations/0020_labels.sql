-- What people said about items. Rows are only added; the newest under a name counts.
CREATE TABLE labels (
    id       INTEGER PRIMARY KEY AUTOINCREMENT,
    job_id   INTEGER NOT NULL,
    item_id  INTEGER NOT NULL,
    name     TEXT    NOT NULL,
    verdict  TEXT,
    value    REAL,
    note     TEXT,
    reason   TEXT    NOT NULL,
    output   BLOB,                  -- of which output it was said
    author   TEXT    NOT NULL,
    at       INTEGER NOT NULL
) STRICT;
CREATE INDEX labels_by_job ON labels (job_id, id);
CREATE INDEX labels_by_item ON labels (item_id, id);
