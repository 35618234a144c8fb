-- The relay to analytics: one row, and what it has to send that no event tells of.
CREATE TABLE analytics_relay (
    id          INTEGER PRIMARY KEY,
    incarnation TEXT    NOT NULL,
    event       INTEGER NOT NULL,
    event_at    INTEGER NOT NULL,
    revision    INTEGER NOT NULL,
    owner       INTEGER,
    owned_until INTEGER NOT NULL,
    trouble     TEXT,
    trouble_at  INTEGER
) STRICT;

-- Item 0 stands for all items of the job.
CREATE TABLE analytics_marks (
    job_id  INTEGER NOT NULL,
    item_id INTEGER NOT NULL,
    version INTEGER NOT NULL,
    sent_to INTEGER NOT NULL,
    since   INTEGER NOT NULL,
    PRIMARY KEY (job_id, item_id)
) STRICT, WITHOUT ROWID;
