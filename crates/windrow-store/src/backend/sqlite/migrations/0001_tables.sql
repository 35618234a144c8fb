-- Hot tables (items, attempts, steps, scores) store a state as its place in the vocabulary;
-- cold ones as its word. The hot indexes on attempts are partial: a resulted row is in none of them.

CREATE TABLE sessions (
    id          INTEGER PRIMARY KEY,
    host        TEXT    NOT NULL,
    pid         INTEGER NOT NULL,
    regions     TEXT    NOT NULL,
    started_at  INTEGER NOT NULL,
    beat_at     INTEGER NOT NULL,
    ended_at    INTEGER
) STRICT;
CREATE INDEX sessions_open ON sessions (id) WHERE ended_at IS NULL;

CREATE TABLE jobs (
    id           INTEGER PRIMARY KEY,
    workspace    TEXT    NOT NULL,
    name         TEXT    NOT NULL,
    kind         TEXT    NOT NULL,
    state        TEXT    NOT NULL,
    labels       TEXT    NOT NULL,
    latest_run   INTEGER NOT NULL,
    next_ordinal INTEGER NOT NULL DEFAULT 0,
    created_at   INTEGER NOT NULL,
    updated_at   INTEGER NOT NULL,
    UNIQUE (workspace, name)
) STRICT;

CREATE TABLE specs (
    hash  TEXT NOT NULL PRIMARY KEY,
    body  TEXT NOT NULL
) STRICT;

CREATE TABLE runs (
    id                INTEGER PRIMARY KEY,
    job_id            INTEGER NOT NULL,
    workspace         TEXT    NOT NULL,
    no                INTEGER NOT NULL,
    mode              TEXT    NOT NULL,
    state             TEXT    NOT NULL,
    spec_hash         TEXT    NOT NULL,
    priority          INTEGER NOT NULL,
    rank              INTEGER NOT NULL,
    region            TEXT    NOT NULL,
    concurrency       INTEGER NOT NULL,
    max_losses        INTEGER NOT NULL,
    fresh             INTEGER NOT NULL,
    cursor            TEXT,
    planned           INTEGER NOT NULL,
    total             INTEGER NOT NULL DEFAULT 0,
    queued            INTEGER NOT NULL DEFAULT 0,
    running           INTEGER NOT NULL DEFAULT 0,
    succeeded         INTEGER NOT NULL DEFAULT 0,
    failed            INTEGER NOT NULL DEFAULT 0,
    cancelled         INTEGER NOT NULL DEFAULT 0,
    skipped           INTEGER NOT NULL DEFAULT 0,
    retries           INTEGER NOT NULL DEFAULT 0,
    epoch             INTEGER NOT NULL DEFAULT 0,
    coordinator       INTEGER,
    coordinator_until INTEGER NOT NULL DEFAULT 0,
    idempotency_key   TEXT,
    created_at        INTEGER NOT NULL,
    started_at        INTEGER,
    ended_at          INTEGER,
    reason            TEXT,
    summary           TEXT,
    UNIQUE (job_id, no)
) STRICT;
-- A run has an end exactly when its state is final.
CREATE UNIQUE INDEX runs_one_live_per_job ON runs (job_id) WHERE ended_at IS NULL;
CREATE INDEX runs_live ON runs (rank, id) WHERE ended_at IS NULL;
CREATE INDEX runs_coordinated ON runs (coordinator) WHERE coordinator IS NOT NULL;
CREATE UNIQUE INDEX runs_idempotency ON runs (workspace, idempotency_key) WHERE idempotency_key IS NOT NULL;
CREATE INDEX runs_by_spec ON runs (spec_hash);

-- Ids are never used again, so the highest one given is kept apart from the rows.
CREATE TABLE sequences (
    name  TEXT    NOT NULL PRIMARY KEY,
    last  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO sequences (name, last) VALUES ('items', 0);

CREATE TABLE items (
    id            INTEGER PRIMARY KEY,
    job_id        INTEGER NOT NULL,
    run_id        INTEGER NOT NULL,
    ordinal       INTEGER NOT NULL,
    key           BLOB    NOT NULL,
    state         INTEGER NOT NULL,
    tries         INTEGER NOT NULL,
    archived      INTEGER,
    archived_part INTEGER NOT NULL DEFAULT 0,
    error_class   INTEGER,
    error_message TEXT,
    latency_ms    INTEGER,
    tokens_in     INTEGER NOT NULL DEFAULT 0,
    tokens_out    INTEGER NOT NULL DEFAULT 0,
    cost_nanos    INTEGER NOT NULL DEFAULT 0,
    finished_at   INTEGER
) STRICT;
CREATE UNIQUE INDEX items_by_key ON items (job_id, key);
CREATE INDEX items_by_job ON items (job_id, id);
-- failed, cancelled, skipped: what a retry looks for among a million good ones. A comparison, since
-- a list of three would build a temporary table on every update.
CREATE INDEX items_not_good ON items (job_id, id) WHERE state > 1;

CREATE TABLE inputs (
    item_id  INTEGER PRIMARY KEY,
    body     TEXT NOT NULL
) STRICT;

CREATE TABLE attempts (
    id            INTEGER PRIMARY KEY,
    run_id        INTEGER NOT NULL,
    state         INTEGER NOT NULL,
    outcome       INTEGER,
    partial       INTEGER NOT NULL DEFAULT 0,
    priority      INTEGER NOT NULL,
    due_at        INTEGER NOT NULL,
    fence         INTEGER NOT NULL DEFAULT 0,
    owner         INTEGER,
    resource      TEXT,
    retries       INTEGER NOT NULL DEFAULT 0,
    losses        INTEGER NOT NULL DEFAULT 0,
    error_class   INTEGER,
    error_message TEXT,
    started_at    INTEGER,
    ended_at      INTEGER,
    latency_ms    INTEGER NOT NULL DEFAULT 0,
    tokens_in     INTEGER NOT NULL DEFAULT 0,
    tokens_out    INTEGER NOT NULL DEFAULT 0,
    cost_nanos    INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX attempts_queued ON attempts (run_id, priority, due_at, id) WHERE state = 0;
CREATE INDEX attempts_blocked ON attempts (resource, run_id, id) WHERE state = 1;
CREATE INDEX attempts_running ON attempts (run_id, due_at, id) WHERE state = 2;
CREATE UNIQUE INDEX attempts_holding ON attempts (resource) WHERE state = 2 AND resource IS NOT NULL;
CREATE INDEX attempts_logged ON attempts (run_id, id) WHERE state = 3;
CREATE INDEX attempts_errors ON attempts (run_id, error_class) WHERE error_class IS NOT NULL;

CREATE TABLE steps (
    id             INTEGER PRIMARY KEY,
    key            BLOB    NOT NULL,
    kind           TEXT    NOT NULL,
    name           TEXT    NOT NULL,
    turn           INTEGER NOT NULL,
    state          INTEGER NOT NULL,
    on_unknown     INTEGER NOT NULL,
    input          TEXT    NOT NULL,
    output         TEXT,
    error_class    INTEGER,
    error_message  TEXT,
    retry_after_ms INTEGER,
    error_detail   TEXT,
    tokens_in      INTEGER NOT NULL DEFAULT 0,
    tokens_out     INTEGER NOT NULL DEFAULT 0,
    cost_nanos     INTEGER NOT NULL DEFAULT 0,
    reused_from    INTEGER,
    started_at     INTEGER NOT NULL,
    ended_at       INTEGER
) STRICT;

-- An attempt's scores; `part` 1 while it is still at work, 0 once handed in. The item's snapshot is
-- the set its (archived, archived_part) points at, so that archiving moves a pointer, not rows.
CREATE TABLE scores (
    attempt_id  INTEGER NOT NULL,
    part        INTEGER NOT NULL,
    turn        INTEGER NOT NULL,
    name        TEXT    NOT NULL,
    verdict     INTEGER NOT NULL,
    value       REAL,
    reason      TEXT    NOT NULL,
    PRIMARY KEY (attempt_id, part, turn, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE outbox (
    id      INTEGER PRIMARY KEY AUTOINCREMENT,
    at      INTEGER NOT NULL,
    job_id  INTEGER NOT NULL,
    run_id  INTEGER NOT NULL,
    kind    TEXT    NOT NULL,
    body    TEXT    NOT NULL
) STRICT;
CREATE INDEX outbox_by_job ON outbox (job_id);

CREATE TABLE log (
    id       INTEGER PRIMARY KEY AUTOINCREMENT,
    at       INTEGER NOT NULL,
    job_id   INTEGER NOT NULL,
    run_id   INTEGER,
    item_id  INTEGER,
    level    TEXT    NOT NULL,
    event    TEXT    NOT NULL,
    actor    TEXT    NOT NULL,
    message  TEXT    NOT NULL
) STRICT;
CREATE INDEX log_by_job ON log (job_id, id);
