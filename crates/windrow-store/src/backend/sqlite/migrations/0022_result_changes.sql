-- Which items' rows in the result table changed, in the order of the commits. A row per page of items: their ids.
CREATE TABLE result_changes (
    id      INTEGER PRIMARY KEY AUTOINCREMENT,
    job_id  INTEGER NOT NULL,
    seq     INTEGER,                -- on servers, where the order of ids is not that of the commits
    items   BLOB    NOT NULL
) STRICT;
CREATE INDEX result_changes_by_job ON result_changes (job_id, seq, id);

-- Up to which change of a job they are forgotten: a reader that stands before it reads the items anew.
CREATE TABLE result_heads (
    job_id     INTEGER NOT NULL PRIMARY KEY,
    forgotten  INTEGER NOT NULL
) STRICT;
INSERT INTO sequences (name, last) VALUES ('result_changes', 0);
