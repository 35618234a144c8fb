-- The same tables as in every other database. What is a partial index elsewhere is an index that begins with what the
-- part is chosen by, and a unique one is over a column that is null outside of the part. Text is compared by its bytes; the
-- collation that does so has another name in MySQL (`migrate.rs`). A table is made if it is not there: neither server
-- undoes what an interrupted migration has made.

CREATE TABLE IF NOT EXISTS `sessions` (
    `id` BIGINT NOT NULL,
    `host` LONGTEXT NOT NULL,
    `pid` BIGINT NOT NULL,
    `regions` LONGTEXT NOT NULL,
    `started_at` BIGINT NOT NULL,
    `beat_at` BIGINT NOT NULL,
    `ended_at` BIGINT,
    `node` LONGTEXT,
    `remote` LONGTEXT,
    PRIMARY KEY (`id`),
    KEY sessions_open (ended_at, id)
) ENGINE = InnoDB COLLATE = utf8mb4_nopad_bin;

CREATE TABLE IF NOT EXISTS `jobs` (
    `id` BIGINT NOT NULL,
    `workspace` VARCHAR(255) NOT NULL,
    `name` VARCHAR(255) NOT NULL,
    `kind` VARCHAR(255) NOT NULL,
    `state` VARCHAR(255) NOT NULL,
    `labels` LONGTEXT NOT NULL,
    `latest_run` BIGINT NOT NULL,
    `next_ordinal` BIGINT NOT NULL DEFAULT 0,
    `created_at` BIGINT NOT NULL,
    `updated_at` BIGINT NOT NULL,
    `schedule` LONGTEXT,
    `next_at` BIGINT,
    PRIMARY KEY (`id`),
    UNIQUE KEY (`workspace`, `name`),
    KEY jobs_due (next_at)
) ENGINE = InnoDB COLLATE = utf8mb4_nopad_bin;

CREATE TABLE IF NOT EXISTS `specs` (
    `hash` VARCHAR(255) NOT NULL,
    `body` LONGTEXT NOT NULL,
    PRIMARY KEY (`hash`)
) ENGINE = InnoDB COLLATE = utf8mb4_nopad_bin;

CREATE TABLE IF NOT EXISTS `runs` (
    `id` BIGINT NOT NULL,
    `job_id` BIGINT NOT NULL,
    `workspace` VARCHAR(255) NOT NULL,
    `no` BIGINT NOT NULL,
    `mode` VARCHAR(255) NOT NULL,
    `state` VARCHAR(255) NOT NULL,
    `spec_hash` VARCHAR(255) NOT NULL,
    `priority` BIGINT NOT NULL,
    `rank` BIGINT NOT NULL,
    `region` VARCHAR(255) NOT NULL,
    `concurrency` BIGINT NOT NULL,
    `max_losses` BIGINT NOT NULL,
    `fresh` BIGINT NOT NULL,
    `cursor` LONGTEXT,
    `planned` BIGINT NOT NULL,
    `total` BIGINT NOT NULL DEFAULT 0,
    `queued` BIGINT NOT NULL DEFAULT 0,
    `running` BIGINT NOT NULL DEFAULT 0,
    `succeeded` BIGINT NOT NULL DEFAULT 0,
    `failed` BIGINT NOT NULL DEFAULT 0,
    `cancelled` BIGINT NOT NULL DEFAULT 0,
    `skipped` BIGINT NOT NULL DEFAULT 0,
    `retries` BIGINT NOT NULL DEFAULT 0,
    `epoch` BIGINT NOT NULL DEFAULT 0,
    `coordinator` BIGINT,
    `coordinator_until` BIGINT NOT NULL DEFAULT 0,
    `idempotency_key` VARCHAR(255),
    `created_at` BIGINT NOT NULL,
    `started_at` BIGINT,
    `ended_at` BIGINT,
    `reason` LONGTEXT,
    `summary` LONGTEXT,
    `selection` LONGTEXT,
    `max_tokens` BIGINT,
    `max_cost_nanos` BIGINT,
    `spent_tokens_in` BIGINT NOT NULL DEFAULT 0,
    `spent_tokens_out` BIGINT NOT NULL DEFAULT 0,
    `spent_cost_nanos` BIGINT NOT NULL DEFAULT 0,
    `moved_at` BIGINT NOT NULL DEFAULT 0,
    `cancelled_at` BIGINT,
    `max_failed` BIGINT,
    `rollout` LONGTEXT,
    `wave` BIGINT NOT NULL DEFAULT 0,
    `wave_settled_at` BIGINT,
    `wave_approved` BIGINT NOT NULL DEFAULT 0,
    `halted` BIGINT NOT NULL DEFAULT 0,
    live_job BIGINT AS (IF(ended_at IS NULL, job_id, NULL)) STORED,
    PRIMARY KEY (`id`),
    UNIQUE KEY (`job_id`, `no`),
    UNIQUE KEY runs_one_live_per_job (live_job),
    KEY runs_live (ended_at, `rank`, id),
    KEY runs_coordinated (coordinator),
    UNIQUE KEY runs_idempotency (workspace, idempotency_key),
    KEY runs_by_spec (spec_hash)
) ENGINE = InnoDB COLLATE = utf8mb4_nopad_bin;

CREATE TABLE IF NOT EXISTS `sequences` (
    `name` VARCHAR(255) NOT NULL,
    `last` BIGINT NOT NULL,
    PRIMARY KEY (`name`)
) ENGINE = InnoDB COLLATE = utf8mb4_nopad_bin;

CREATE TABLE IF NOT EXISTS `items` (
    `id` BIGINT NOT NULL,
    `job_id` BIGINT NOT NULL,
    `run_id` BIGINT NOT NULL,
    `ordinal` BIGINT NOT NULL,
    `key` VARBINARY(64) NOT NULL,
    `state` SMALLINT NOT NULL,
    `tries` INTEGER NOT NULL,
    `archived` BIGINT,
    `archived_part` SMALLINT NOT NULL DEFAULT 0,
    `error_class` SMALLINT,
    `error_message` LONGTEXT,
    `latency_ms` BIGINT,
    `tokens_in` BIGINT NOT NULL DEFAULT 0,
    `tokens_out` BIGINT NOT NULL DEFAULT 0,
    `cost_nanos` BIGINT NOT NULL DEFAULT 0,
    `finished_at` BIGINT,
    `group_key` VARBINARY(64),
    `wave` INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (`id`),
    UNIQUE KEY items_by_key (job_id, `key`),
    KEY items_by_job (job_id, id),
    KEY items_not_good (job_id, state, id),
    KEY items_by_group (job_id, group_key, id)
) ENGINE = InnoDB COLLATE = utf8mb4_nopad_bin;

CREATE TABLE IF NOT EXISTS `inputs` (
    `item_id` BIGINT NOT NULL,
    `body` LONGTEXT NOT NULL,
    PRIMARY KEY (`item_id`)
) ENGINE = InnoDB COLLATE = utf8mb4_nopad_bin;

CREATE TABLE IF NOT EXISTS `attempts` (
    `id` BIGINT NOT NULL,
    `run_id` BIGINT NOT NULL,
    `state` SMALLINT NOT NULL,
    `outcome` SMALLINT,
    `partial` SMALLINT NOT NULL DEFAULT 0,
    `priority` SMALLINT NOT NULL,
    `due_at` BIGINT NOT NULL,
    `fence` BIGINT NOT NULL DEFAULT 0,
    `owner` BIGINT,
    `resource` VARCHAR(700),
    `retries` INTEGER NOT NULL DEFAULT 0,
    `losses` INTEGER NOT NULL DEFAULT 0,
    `error_class` SMALLINT,
    `error_message` LONGTEXT,
    `started_at` BIGINT,
    `ended_at` BIGINT,
    `latency_ms` BIGINT NOT NULL DEFAULT 0,
    `tokens_in` BIGINT NOT NULL DEFAULT 0,
    `tokens_out` BIGINT NOT NULL DEFAULT 0,
    `cost_nanos` BIGINT NOT NULL DEFAULT 0,
    `throttled` INTEGER NOT NULL DEFAULT 0,
    `wave` INTEGER NOT NULL DEFAULT 0,
    holding VARCHAR(700) AS (IF(state = 2, resource, NULL)) STORED,
    PRIMARY KEY (`id`),
    KEY attempts_queued (run_id, state, wave, priority, due_at, id),
    KEY attempts_blocked (state, resource, run_id, id),
    KEY attempts_running (run_id, state, due_at, id),
    UNIQUE KEY attempts_holding (holding),
    KEY attempts_logged (run_id, state, id),
    KEY attempts_errors (run_id, error_class)
) ENGINE = InnoDB COLLATE = utf8mb4_nopad_bin;

CREATE TABLE IF NOT EXISTS `steps` (
    `id` BIGINT NOT NULL,
    `key` VARBINARY(64) NOT NULL,
    `kind` LONGTEXT NOT NULL,
    `name` LONGTEXT NOT NULL,
    `turn` INTEGER NOT NULL,
    `state` SMALLINT NOT NULL,
    `on_unknown` SMALLINT NOT NULL,
    `input` LONGTEXT NOT NULL,
    `output` LONGTEXT,
    `error_class` SMALLINT,
    `error_message` LONGTEXT,
    `retry_after_ms` BIGINT,
    `error_detail` LONGTEXT,
    `tokens_in` BIGINT NOT NULL DEFAULT 0,
    `tokens_out` BIGINT NOT NULL DEFAULT 0,
    `cost_nanos` BIGINT NOT NULL DEFAULT 0,
    `reused_from` BIGINT,
    `started_at` BIGINT NOT NULL,
    `ended_at` BIGINT,
    PRIMARY KEY (`id`)
) ENGINE = InnoDB COLLATE = utf8mb4_nopad_bin;

CREATE TABLE IF NOT EXISTS `scores` (
    `attempt_id` BIGINT NOT NULL,
    `part` SMALLINT NOT NULL,
    `turn` INTEGER NOT NULL,
    `name` VARCHAR(700) NOT NULL,
    `verdict` SMALLINT NOT NULL,
    `value` DOUBLE,
    `reason` LONGTEXT NOT NULL,
    `version` VARCHAR(255) NOT NULL DEFAULT '',
    PRIMARY KEY (`attempt_id`, `part`, `turn`, `name`)
) ENGINE = InnoDB COLLATE = utf8mb4_nopad_bin;

CREATE TABLE IF NOT EXISTS `outbox` (
    `id` BIGINT NOT NULL,
    `at` BIGINT NOT NULL,
    `job_id` BIGINT NOT NULL,
    `run_id` BIGINT NOT NULL,
    `kind` LONGTEXT NOT NULL,
    `body` LONGTEXT NOT NULL,
    PRIMARY KEY (`id`),
    KEY outbox_by_job (job_id)
) ENGINE = InnoDB COLLATE = utf8mb4_nopad_bin;

CREATE TABLE IF NOT EXISTS `log` (
    `id` BIGINT NOT NULL AUTO_INCREMENT,
    `at` BIGINT NOT NULL,
    `job_id` BIGINT NOT NULL,
    `run_id` BIGINT,
    `item_id` BIGINT,
    `level` LONGTEXT NOT NULL,
    `event` LONGTEXT NOT NULL,
    `actor` LONGTEXT NOT NULL,
    `message` LONGTEXT NOT NULL,
    PRIMARY KEY (`id`),
    KEY log_by_job (job_id, id)
) ENGINE = InnoDB COLLATE = utf8mb4_nopad_bin;

CREATE TABLE IF NOT EXISTS `datasets` (
    `id` BIGINT NOT NULL,
    `workspace` VARCHAR(255) NOT NULL,
    `name` VARCHAR(255) NOT NULL,
    `last_version` BIGINT NOT NULL DEFAULT 0,
    `created_at` BIGINT NOT NULL,
    PRIMARY KEY (`id`),
    UNIQUE KEY (`workspace`, `name`)
) ENGINE = InnoDB COLLATE = utf8mb4_nopad_bin;

CREATE TABLE IF NOT EXISTS `dataset_versions` (
    `id` BIGINT NOT NULL,
    `dataset_id` BIGINT NOT NULL,
    `state` VARCHAR(255) NOT NULL,
    `version` BIGINT NOT NULL DEFAULT 0,
    `rows` BIGINT NOT NULL DEFAULT 0,
    `bytes` BIGINT NOT NULL DEFAULT 0,
    `digest` VARBINARY(64) NOT NULL,
    `schema` LONGTEXT,
    `profile` LONGTEXT NOT NULL DEFAULT ('{}'),
    `source` LONGTEXT NOT NULL,
    `actor` LONGTEXT NOT NULL,
    `created_at` BIGINT NOT NULL,
    ready_version BIGINT AS (IF(state = 'ready', version, NULL)) STORED,
    draft_of BIGINT AS (IF(state = 'draft', dataset_id, NULL)) STORED,
    PRIMARY KEY (`id`),
    KEY dataset_versions_all (dataset_id),
    UNIQUE KEY dataset_versions_ready (dataset_id, ready_version),
    UNIQUE KEY dataset_versions_draft (draft_of),
    KEY dataset_versions_dropped (state, id)
) ENGINE = InnoDB COLLATE = utf8mb4_nopad_bin;

CREATE TABLE IF NOT EXISTS `dataset_rows` (
    `id` BIGINT NOT NULL AUTO_INCREMENT,
    `dataset_id` BIGINT NOT NULL,
    `key` VARBINARY(64) NOT NULL,
    `body` LONGTEXT NOT NULL,
    PRIMARY KEY (`id`),
    UNIQUE KEY dataset_rows_by_key (dataset_id, `key`)
) ENGINE = InnoDB COLLATE = utf8mb4_nopad_bin;

CREATE TABLE IF NOT EXISTS `dataset_entries` (
    `version_id` BIGINT NOT NULL,
    `ordinal` BIGINT NOT NULL,
    `row_id` BIGINT NOT NULL,
    PRIMARY KEY (`version_id`, `ordinal`),
    KEY dataset_entries_by_row (version_id, row_id)
) ENGINE = InnoDB COLLATE = utf8mb4_nopad_bin;

CREATE TABLE IF NOT EXISTS `waits` (
    `session_id` BIGINT NOT NULL,
    `run_id` BIGINT NOT NULL,
    `resource` VARCHAR(700) NOT NULL,
    `items` BIGINT NOT NULL,
    `hold` LONGTEXT NOT NULL,
    `until` BIGINT,
    PRIMARY KEY (`run_id`, `session_id`, `resource`),
    KEY waits_by_session (session_id)
) ENGINE = InnoDB COLLATE = utf8mb4_nopad_bin;

CREATE TABLE IF NOT EXISTS `doomed_jobs` (
    `job_id` BIGINT NOT NULL,
    PRIMARY KEY (`job_id`)
) ENGINE = InnoDB COLLATE = utf8mb4_nopad_bin;

CREATE TABLE IF NOT EXISTS `secrets` (
    `workspace` VARCHAR(255) NOT NULL,
    `name` VARCHAR(255) NOT NULL,
    `key_id` VARCHAR(255) NOT NULL,
    `nonce` VARBINARY(64) NOT NULL,
    `sealed` LONGBLOB NOT NULL,
    `actor` LONGTEXT NOT NULL,
    `created_at` BIGINT NOT NULL,
    `set_at` BIGINT NOT NULL,
    PRIMARY KEY (`workspace`, `name`)
) ENGINE = InnoDB COLLATE = utf8mb4_nopad_bin;

CREATE TABLE IF NOT EXISTS `webhooks` (
    `id` BIGINT NOT NULL,
    `workspace` VARCHAR(255),
    `job_id` BIGINT,
    `url` LONGTEXT NOT NULL,
    `topics` LONGTEXT NOT NULL,
    `batch` BIGINT NOT NULL,
    `timeout_ms` BIGINT NOT NULL,
    `state` VARCHAR(255) NOT NULL,
    `reason` LONGTEXT,
    `secret` LONGTEXT NOT NULL,
    `former_secret` LONGTEXT,
    `former_until` BIGINT,
    `cursor` BIGINT NOT NULL,
    `failures` BIGINT NOT NULL DEFAULT 0,
    `rests_until` BIGINT NOT NULL DEFAULT 0,
    `actor` LONGTEXT NOT NULL,
    `created_at` BIGINT NOT NULL,
    PRIMARY KEY (`id`)
) ENGINE = InnoDB COLLATE = utf8mb4_nopad_bin;

CREATE TABLE IF NOT EXISTS `deliveries` (
    `id` BIGINT NOT NULL AUTO_INCREMENT,
    `webhook_id` BIGINT NOT NULL,
    `topic` LONGTEXT NOT NULL,
    `data` LONGTEXT NOT NULL,
    `state` VARCHAR(255) NOT NULL,
    `tries` BIGINT NOT NULL DEFAULT 0,
    `due_at` BIGINT NOT NULL,
    `log` LONGTEXT NOT NULL DEFAULT ('[]'),
    `created_at` BIGINT NOT NULL,
    `ended_at` BIGINT,
    PRIMARY KEY (`id`),
    KEY deliveries_pending (webhook_id, state, due_at, id),
    KEY deliveries_by_webhook (webhook_id, id)
) ENGINE = InnoDB COLLATE = utf8mb4_nopad_bin;

CREATE TABLE IF NOT EXISTS `api_keys` (
    `id` BIGINT NOT NULL,
    `name` VARCHAR(255) NOT NULL,
    `role` LONGTEXT NOT NULL,
    `workspace` LONGTEXT,
    `digest` VARBINARY(64) NOT NULL,
    `created_by` LONGTEXT NOT NULL,
    `created_at` BIGINT NOT NULL,
    `expires_at` BIGINT,
    `revoked_at` BIGINT,
    `used_at` BIGINT,
    live_name VARCHAR(255) AS (IF(revoked_at IS NULL, name, NULL)) STORED,
    PRIMARY KEY (`id`),
    UNIQUE KEY api_keys_by_name (live_name)
) ENGINE = InnoDB COLLATE = utf8mb4_nopad_bin;

CREATE TABLE IF NOT EXISTS `audit` (
    `id` BIGINT NOT NULL AUTO_INCREMENT,
    `at` BIGINT NOT NULL,
    `actor` LONGTEXT NOT NULL,
    `via` LONGTEXT NOT NULL,
    `workspace` VARCHAR(255),
    `operation` LONGTEXT NOT NULL,
    `resource` LONGTEXT NOT NULL,
    `address` LONGTEXT,
    `request` LONGTEXT,
    `verdict` LONGTEXT,
    `detail` LONGTEXT NOT NULL DEFAULT (''),
    PRIMARY KEY (`id`),
    KEY audit_by_workspace (workspace, id)
) ENGINE = InnoDB COLLATE = utf8mb4_nopad_bin;

CREATE TABLE IF NOT EXISTS `shared_steps` (
    `workspace` VARCHAR(255) NOT NULL,
    `key` VARBINARY(64) NOT NULL,
    `step_id` BIGINT NOT NULL,
    PRIMARY KEY (`workspace`, `key`),
    KEY shared_steps_by_step (step_id)
) ENGINE = InnoDB COLLATE = utf8mb4_nopad_bin;

CREATE TABLE IF NOT EXISTS `alerts` (
    `id` BIGINT NOT NULL,
    `rule` LONGTEXT NOT NULL,
    `severity` LONGTEXT NOT NULL,
    `subject` LONGTEXT NOT NULL,
    `workspace` LONGTEXT,
    `job_id` BIGINT,
    `run_id` BIGINT,
    `value` DOUBLE NOT NULL,
    `threshold` DOUBLE NOT NULL,
    `message` LONGTEXT NOT NULL,
    `raised_at` BIGINT NOT NULL,
    `cleared_at` BIGINT,
    PRIMARY KEY (`id`),
    KEY alerts_active (cleared_at, id)
) ENGINE = InnoDB COLLATE = utf8mb4_nopad_bin;

-- Rows that are only there to be locked, for what has no row of its own (`sql/lock.rs`).
CREATE TABLE IF NOT EXISTS stripes (
    id BIGINT NOT NULL PRIMARY KEY
) ENGINE = InnoDB COLLATE = utf8mb4_nopad_bin;
INSERT IGNORE INTO stripes (id) VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9), (10), (11), (12), (13), (14), (15), (16), (17), (18), (19), (20), (21), (22), (23), (24), (25), (26), (27), (28), (29), (30), (31), (32), (33), (34), (35), (36), (37), (38), (39), (40), (41), (42), (43), (44), (45), (46), (47), (48), (49), (50), (51), (52), (53), (54), (55), (56), (57), (58), (59), (60), (61), (62), (63), (64), (65);

INSERT IGNORE INTO sequences (name, last) VALUES ('items', 0), ('outbox', 0), ('outbox_forgotten', 0);
