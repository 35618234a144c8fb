-- Who is told of events over HTTP. Each has a cursor of its own over the outbox.
CREATE TABLE webhooks (
    id            INTEGER PRIMARY KEY,
    workspace     TEXT,
    job_id        INTEGER,
    url           TEXT    NOT NULL,
    topics        TEXT    NOT NULL,
    batch         INTEGER NOT NULL,
    timeout_ms    INTEGER NOT NULL,
    state         TEXT    NOT NULL,
    reason        TEXT,
    secret        TEXT    NOT NULL,
    former_secret TEXT,
    former_until  INTEGER,
    cursor        INTEGER NOT NULL,
    failures      INTEGER NOT NULL DEFAULT 0,
    rests_until   INTEGER NOT NULL DEFAULT 0,
    actor         TEXT    NOT NULL,
    created_at    INTEGER NOT NULL
) STRICT;

-- Never numbered twice: the number is part of the id by which a receiver knows a repetition.
CREATE TABLE deliveries (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    webhook_id INTEGER NOT NULL,
    topic      TEXT    NOT NULL,
    data       TEXT    NOT NULL,
    state      TEXT    NOT NULL,
    tries      INTEGER NOT NULL DEFAULT 0,
    due_at     INTEGER NOT NULL,
    log        TEXT    NOT NULL DEFAULT '[]',
    created_at INTEGER NOT NULL,
    ended_at   INTEGER
) STRICT;
CREATE INDEX deliveries_pending ON deliveries (webhook_id, due_at, id) WHERE state = 'pending';
CREATE INDEX deliveries_by_webhook ON deliveries (webhook_id, id);
CREATE INDEX deliveries_over ON deliveries (webhook_id, id) WHERE state <> 'pending';

-- How far the outbox was forgotten, so that a late reader can be told what it missed.
INSERT INTO sequences (name, last) VALUES ('outbox_forgotten', 0);
