-- What all nodes together have used of each limited resource, and who keeps these accounts: the database, or a
-- Redis. Without a row it is the database. An account is rewritten many times a second; room in its page
-- lets the new version lie beside the old one.

CREATE TABLE limit_accounts (
    id BIGINT PRIMARY KEY,
    resource TEXT COLLATE "C" NOT NULL,
    account TEXT COLLATE "C" NOT NULL
) WITH (fillfactor = 20, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);

CREATE TABLE limit_authority (
    id BIGINT PRIMARY KEY,
    epoch BIGINT NOT NULL,
    redis TEXT COLLATE "C",
    since BIGINT NOT NULL,
    redis_from BIGINT NOT NULL
);
