-- Who may do what, and who did what.

CREATE TABLE api_keys (
    id          INTEGER PRIMARY KEY,
    name        TEXT    NOT NULL,
    role        TEXT    NOT NULL,
    workspace   TEXT,                -- NULL: all
    digest      BLOB    NOT NULL,
    created_by  TEXT    NOT NULL,
    created_at  INTEGER NOT NULL,
    expires_at  INTEGER,
    revoked_at  INTEGER,
    used_at     INTEGER
) STRICT;
CREATE UNIQUE INDEX api_keys_by_name ON api_keys (name) WHERE revoked_at IS NULL;

CREATE TABLE audit (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    at         INTEGER NOT NULL,
    actor      TEXT    NOT NULL,
    via        TEXT    NOT NULL,
    workspace  TEXT,
    operation  TEXT    NOT NULL,
    resource   TEXT    NOT NULL,
    address    TEXT,
    request    TEXT,
    verdict    TEXT,                 -- NULL: unknown
    detail     TEXT    NOT NULL DEFAULT ''
) STRICT;
CREATE INDEX audit_by_workspace ON audit (workspace, id);

CREATE TRIGGER audit_is_append_only BEFORE UPDATE ON audit
WHEN OLD.verdict IS NOT NULL
  OR (OLD.id, OLD.at, OLD.actor, OLD.via, OLD.operation, OLD.resource)
     IS NOT (NEW.id, NEW.at, NEW.actor, NEW.via, NEW.operation, NEW.resource)
BEGIN
    SELECT RAISE(ABORT, 'the audit log is only ever added to');
END;

-- Results are shared inside a workspace only.
CREATE TABLE shared_steps_of_workspaces (
    workspace  TEXT    NOT NULL,
    key        BLOB    NOT NULL,
    step_id    INTEGER NOT NULL,
    PRIMARY KEY (workspace, key)
) STRICT, WITHOUT ROWID;
-- A try is found by the upper bits of its steps.
INSERT INTO shared_steps_of_workspaces (workspace, key, step_id)
    SELECT r.workspace, k.key, k.step_id
    FROM shared_steps k JOIN attempts a ON a.id = k.step_id >> 20 JOIN runs r ON r.id = a.run_id;
DROP TABLE shared_steps;
ALTER TABLE shared_steps_of_workspaces RENAME TO shared_steps;
CREATE INDEX shared_steps_by_step ON shared_steps (step_id);
