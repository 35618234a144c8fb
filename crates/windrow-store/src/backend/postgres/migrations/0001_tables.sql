-- The same tables as in every other database. Text is compared by its bytes, whatever the locale of the
-- server; states in hot tables are a word's place in its vocabulary. The hot indexes on attempts are
-- partial: a resulted row is in none of them.

CREATE TABLE sessions (
    id BIGINT PRIMARY KEY,
    host TEXT COLLATE "C" NOT NULL,
    pid BIGINT NOT NULL,
    regions TEXT COLLATE "C" NOT NULL,
    started_at BIGINT NOT NULL,
    beat_at BIGINT NOT NULL,
    ended_at BIGINT,
    node TEXT COLLATE "C",
    remote TEXT COLLATE "C"
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX sessions_open ON sessions (id) WHERE ended_at IS NULL;

CREATE TABLE jobs (
    id BIGINT PRIMARY KEY,
    workspace TEXT COLLATE "C" NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    kind TEXT COLLATE "C" NOT NULL,
    state TEXT COLLATE "C" NOT NULL,
    labels TEXT COLLATE "C" NOT NULL,
    latest_run BIGINT NOT NULL,
    next_ordinal BIGINT NOT NULL DEFAULT 0,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    schedule TEXT COLLATE "C",
    next_at BIGINT,
    UNIQUE (workspace, name)
);
CREATE INDEX jobs_due ON jobs (next_at) WHERE next_at IS NOT NULL;

CREATE TABLE specs (
    hash TEXT COLLATE "C" PRIMARY KEY,
    body TEXT COLLATE "C" NOT NULL
);

CREATE TABLE runs (
    id BIGINT PRIMARY KEY,
    job_id BIGINT NOT NULL,
    workspace TEXT COLLATE "C" NOT NULL,
    no BIGINT NOT NULL,
    mode TEXT COLLATE "C" NOT NULL,
    state TEXT COLLATE "C" NOT NULL,
    spec_hash TEXT COLLATE "C" NOT NULL,
    priority BIGINT NOT NULL,
    rank BIGINT NOT NULL,
    region TEXT COLLATE "C" NOT NULL,
    concurrency BIGINT NOT NULL,
    max_losses BIGINT NOT NULL,
    fresh BIGINT NOT NULL,
    cursor TEXT COLLATE "C",
    planned BIGINT NOT NULL,
    total BIGINT NOT NULL DEFAULT 0,
    queued BIGINT NOT NULL DEFAULT 0,
    running BIGINT NOT NULL DEFAULT 0,
    succeeded BIGINT NOT NULL DEFAULT 0,
    failed BIGINT NOT NULL DEFAULT 0,
    cancelled BIGINT NOT NULL DEFAULT 0,
    skipped BIGINT NOT NULL DEFAULT 0,
    retries BIGINT NOT NULL DEFAULT 0,
    epoch BIGINT NOT NULL DEFAULT 0,
    coordinator BIGINT,
    coordinator_until BIGINT NOT NULL DEFAULT 0,
    idempotency_key TEXT COLLATE "C",
    created_at BIGINT NOT NULL,
    started_at BIGINT,
    ended_at BIGINT,
    reason TEXT COLLATE "C",
    summary TEXT COLLATE "C",
    selection TEXT COLLATE "C",
    max_tokens BIGINT,
    max_cost_nanos BIGINT,
    spent_tokens_in BIGINT NOT NULL DEFAULT 0,
    spent_tokens_out BIGINT NOT NULL DEFAULT 0,
    spent_cost_nanos BIGINT NOT NULL DEFAULT 0,
    moved_at BIGINT NOT NULL DEFAULT 0,
    cancelled_at BIGINT,
    max_failed BIGINT,
    rollout TEXT COLLATE "C",
    wave BIGINT NOT NULL DEFAULT 0,
    wave_settled_at BIGINT,
    wave_approved BIGINT NOT NULL DEFAULT 0,
    halted BIGINT NOT NULL DEFAULT 0,
    UNIQUE (job_id, no)
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
CREATE UNIQUE INDEX runs_one_live_per_job ON runs (job_id) WHERE ended_at IS NULL;
CREATE INDEX runs_live ON runs (rank, id) WHERE ended_at IS NULL;
CREATE INDEX runs_coordinated ON runs (coordinator) WHERE coordinator IS NOT NULL;
CREATE UNIQUE INDEX runs_idempotency ON runs (workspace, idempotency_key) WHERE idempotency_key IS NOT NULL;
CREATE INDEX runs_by_spec ON runs (spec_hash);

CREATE TABLE sequences (
    name TEXT COLLATE "C" PRIMARY KEY,
    last BIGINT NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);

CREATE TABLE items (
    id BIGINT PRIMARY KEY,
    job_id BIGINT NOT NULL,
    run_id BIGINT NOT NULL,
    ordinal BIGINT NOT NULL,
    archived BIGINT,
    latency_ms BIGINT,
    tokens_in BIGINT NOT NULL DEFAULT 0,
    tokens_out BIGINT NOT NULL DEFAULT 0,
    cost_nanos BIGINT NOT NULL DEFAULT 0,
    finished_at BIGINT,
    tries INTEGER NOT NULL,
    wave INTEGER NOT NULL DEFAULT 0,
    state SMALLINT NOT NULL,
    archived_part SMALLINT NOT NULL DEFAULT 0,
    error_class SMALLINT,
    key BYTEA NOT NULL,
    group_key BYTEA,
    error_message TEXT COLLATE "C"
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
CREATE UNIQUE INDEX items_by_key ON items (job_id, key);
CREATE INDEX items_by_job ON items (job_id, id);
CREATE INDEX items_not_good ON items (job_id, id) WHERE state > 1;
CREATE INDEX items_by_group ON items (job_id, group_key, id) WHERE group_key IS NOT NULL;

CREATE TABLE inputs (
    item_id BIGINT PRIMARY KEY,
    body TEXT COLLATE "C" NOT NULL
);

CREATE TABLE attempts (
    id BIGINT PRIMARY KEY,
    run_id BIGINT NOT NULL,
    due_at BIGINT NOT NULL,
    fence BIGINT NOT NULL DEFAULT 0,
    owner BIGINT,
    started_at BIGINT,
    ended_at BIGINT,
    latency_ms BIGINT NOT NULL DEFAULT 0,
    tokens_in BIGINT NOT NULL DEFAULT 0,
    tokens_out BIGINT NOT NULL DEFAULT 0,
    cost_nanos BIGINT NOT NULL DEFAULT 0,
    retries INTEGER NOT NULL DEFAULT 0,
    losses INTEGER NOT NULL DEFAULT 0,
    throttled INTEGER NOT NULL DEFAULT 0,
    wave INTEGER NOT NULL DEFAULT 0,
    state SMALLINT NOT NULL,
    outcome SMALLINT,
    partial SMALLINT NOT NULL DEFAULT 0,
    priority SMALLINT NOT NULL,
    error_class SMALLINT,
    resource TEXT COLLATE "C",
    error_message TEXT COLLATE "C"
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX attempts_blocked ON attempts (resource, run_id, id) WHERE state = 1;
CREATE INDEX attempts_running ON attempts (run_id, due_at, id) WHERE state = 2;
CREATE UNIQUE INDEX attempts_holding ON attempts (resource) WHERE state = 2 AND resource IS NOT NULL;
CREATE INDEX attempts_logged ON attempts (run_id, id) WHERE state = 3;
CREATE INDEX attempts_errors ON attempts (run_id, error_class) WHERE error_class IS NOT NULL;
CREATE INDEX attempts_queued ON attempts (run_id, wave, priority, due_at, id) WHERE state = 0;

CREATE TABLE steps (
    id BIGINT PRIMARY KEY,
    retry_after_ms BIGINT,
    tokens_in BIGINT NOT NULL DEFAULT 0,
    tokens_out BIGINT NOT NULL DEFAULT 0,
    cost_nanos BIGINT NOT NULL DEFAULT 0,
    reused_from BIGINT,
    started_at BIGINT NOT NULL,
    ended_at BIGINT,
    turn INTEGER NOT NULL,
    state SMALLINT NOT NULL,
    on_unknown SMALLINT NOT NULL,
    error_class SMALLINT,
    key BYTEA NOT NULL,
    kind TEXT COLLATE "C" NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    input TEXT COLLATE "C" NOT NULL,
    output TEXT COLLATE "C",
    error_message TEXT COLLATE "C",
    error_detail TEXT COLLATE "C"
);

CREATE TABLE scores (
    attempt_id BIGINT NOT NULL,
    value DOUBLE PRECISION,
    turn INTEGER NOT NULL,
    part SMALLINT NOT NULL,
    verdict SMALLINT NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    reason TEXT COLLATE "C" NOT NULL,
    version TEXT COLLATE "C" NOT NULL DEFAULT '',
    PRIMARY KEY (attempt_id, part, turn, name)
);

CREATE TABLE outbox (
    id BIGINT PRIMARY KEY,
    at BIGINT NOT NULL,
    job_id BIGINT NOT NULL,
    run_id BIGINT NOT NULL,
    kind TEXT COLLATE "C" NOT NULL,
    body TEXT COLLATE "C" NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX outbox_by_job ON outbox (job_id);

CREATE TABLE log (
    id BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    at BIGINT NOT NULL,
    job_id BIGINT NOT NULL,
    run_id BIGINT,
    item_id BIGINT,
    level TEXT COLLATE "C" NOT NULL,
    event TEXT COLLATE "C" NOT NULL,
    actor TEXT COLLATE "C" NOT NULL,
    message TEXT COLLATE "C" NOT NULL
);
CREATE INDEX log_by_job ON log (job_id, id);

CREATE TABLE datasets (
    id BIGINT PRIMARY KEY,
    workspace TEXT COLLATE "C" NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    last_version BIGINT NOT NULL DEFAULT 0,
    created_at BIGINT NOT NULL,
    UNIQUE (workspace, name)
);

CREATE TABLE dataset_versions (
    id BIGINT PRIMARY KEY,
    dataset_id BIGINT NOT NULL,
    state TEXT COLLATE "C" NOT NULL,
    version BIGINT NOT NULL DEFAULT 0,
    rows BIGINT NOT NULL DEFAULT 0,
    bytes BIGINT NOT NULL DEFAULT 0,
    digest BYTEA NOT NULL,
    schema TEXT COLLATE "C",
    profile TEXT COLLATE "C" NOT NULL DEFAULT '{}',
    source TEXT COLLATE "C" NOT NULL,
    actor TEXT COLLATE "C" NOT NULL,
    created_at BIGINT NOT NULL
);
CREATE INDEX dataset_versions_all ON dataset_versions (dataset_id);
CREATE UNIQUE INDEX dataset_versions_ready ON dataset_versions (dataset_id, version) WHERE state = 'ready';
CREATE UNIQUE INDEX dataset_versions_draft ON dataset_versions (dataset_id) WHERE state = 'draft';
CREATE INDEX dataset_versions_dropped ON dataset_versions (id) WHERE state = 'dropped';

CREATE TABLE dataset_rows (
    id BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    dataset_id BIGINT NOT NULL,
    key BYTEA NOT NULL,
    body TEXT COLLATE "C" NOT NULL
);
CREATE UNIQUE INDEX dataset_rows_by_key ON dataset_rows (dataset_id, key);

CREATE TABLE dataset_entries (
    version_id BIGINT NOT NULL,
    ordinal BIGINT NOT NULL,
    row_id BIGINT NOT NULL,
    PRIMARY KEY (version_id, ordinal)
);
CREATE INDEX dataset_entries_by_row ON dataset_entries (version_id, row_id);

CREATE TABLE waits (
    session_id BIGINT NOT NULL,
    run_id BIGINT NOT NULL,
    resource TEXT COLLATE "C" NOT NULL,
    items BIGINT NOT NULL,
    hold TEXT COLLATE "C" NOT NULL,
    until BIGINT,
    PRIMARY KEY (run_id, session_id, resource)
);
CREATE INDEX waits_by_session ON waits (session_id);

CREATE TABLE doomed_jobs (
    job_id BIGINT PRIMARY KEY
);

CREATE TABLE secrets (
    workspace TEXT COLLATE "C" NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    key_id TEXT COLLATE "C" NOT NULL,
    nonce BYTEA NOT NULL,
    sealed BYTEA NOT NULL,
    actor TEXT COLLATE "C" NOT NULL,
    created_at BIGINT NOT NULL,
    set_at BIGINT NOT NULL,
    PRIMARY KEY (workspace, name)
);

CREATE TABLE webhooks (
    id BIGINT PRIMARY KEY,
    workspace TEXT COLLATE "C",
    job_id BIGINT,
    url TEXT COLLATE "C" NOT NULL,
    topics TEXT COLLATE "C" NOT NULL,
    batch BIGINT NOT NULL,
    timeout_ms BIGINT NOT NULL,
    state TEXT COLLATE "C" NOT NULL,
    reason TEXT COLLATE "C",
    secret TEXT COLLATE "C" NOT NULL,
    former_secret TEXT COLLATE "C",
    former_until BIGINT,
    cursor BIGINT NOT NULL,
    failures BIGINT NOT NULL DEFAULT 0,
    rests_until BIGINT NOT NULL DEFAULT 0,
    actor TEXT COLLATE "C" NOT NULL,
    created_at BIGINT NOT NULL
);

CREATE TABLE deliveries (
    id BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    webhook_id BIGINT NOT NULL,
    topic TEXT COLLATE "C" NOT NULL,
    data TEXT COLLATE "C" NOT NULL,
    state TEXT COLLATE "C" NOT NULL,
    tries BIGINT NOT NULL DEFAULT 0,
    due_at BIGINT NOT NULL,
    log TEXT COLLATE "C" NOT NULL DEFAULT '[]',
    created_at BIGINT NOT NULL,
    ended_at BIGINT
);
CREATE INDEX deliveries_pending ON deliveries (webhook_id, due_at, id) WHERE state = 'pending';
CREATE INDEX deliveries_by_webhook ON deliveries (webhook_id, id);
CREATE INDEX deliveries_over ON deliveries (webhook_id, id) WHERE state <> 'pending';

CREATE TABLE api_keys (
    id BIGINT PRIMARY KEY,
    name TEXT COLLATE "C" NOT NULL,
    role TEXT COLLATE "C" NOT NULL,
    workspace TEXT COLLATE "C",
    digest BYTEA NOT NULL,
    created_by TEXT COLLATE "C" NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT,
    revoked_at BIGINT,
    used_at BIGINT
);
CREATE UNIQUE INDEX api_keys_by_name ON api_keys (name) WHERE revoked_at IS NULL;

CREATE TABLE audit (
    id BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    at BIGINT NOT NULL,
    actor TEXT COLLATE "C" NOT NULL,
    via TEXT COLLATE "C" NOT NULL,
    workspace TEXT COLLATE "C",
    operation TEXT COLLATE "C" NOT NULL,
    resource TEXT COLLATE "C" NOT NULL,
    address TEXT COLLATE "C",
    request TEXT COLLATE "C",
    verdict TEXT COLLATE "C",
    detail TEXT COLLATE "C" NOT NULL DEFAULT ''
);
CREATE INDEX audit_by_workspace ON audit (workspace, id);

CREATE TABLE shared_steps (
    workspace TEXT COLLATE "C" NOT NULL,
    key BYTEA NOT NULL,
    step_id BIGINT NOT NULL,
    PRIMARY KEY (workspace, key)
);
CREATE INDEX shared_steps_by_step ON shared_steps (step_id);

CREATE TABLE alerts (
    id BIGINT PRIMARY KEY,
    rule TEXT COLLATE "C" NOT NULL,
    severity TEXT COLLATE "C" NOT NULL,
    subject TEXT COLLATE "C" NOT NULL,
    workspace TEXT COLLATE "C",
    job_id BIGINT,
    run_id BIGINT,
    value DOUBLE PRECISION NOT NULL,
    threshold DOUBLE PRECISION NOT NULL,
    message TEXT COLLATE "C" NOT NULL,
    raised_at BIGINT NOT NULL,
    cleared_at BIGINT
);
CREATE INDEX alerts_active ON alerts (id) WHERE cleared_at IS NULL;

-- Rows that are only there to be locked, for what has no row of its own (`sql/lock.rs`).
CREATE TABLE stripes (
    id BIGINT PRIMARY KEY
);
INSERT INTO stripes (id) SELECT generate_series(0, 65);

INSERT INTO sequences (name, last) VALUES ('items', 0), ('outbox', 0), ('outbox_forgotten', 0);

CREATE FUNCTION audit_is_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.verdict IS NOT NULL
       OR (OLD.id, OLD.at, OLD.actor, OLD.via, OLD.operation, OLD.resource)
          IS DISTINCT FROM (NEW.id, NEW.at, NEW.actor, NEW.via, NEW.operation, NEW.resource) THEN
        RAISE EXCEPTION 'the audit log is only ever added to';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER audit_is_append_only BEFORE UPDATE ON audit FOR EACH ROW EXECUTE FUNCTION audit_is_append_only();
