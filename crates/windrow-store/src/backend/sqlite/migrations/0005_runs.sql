-- Budgets, selections, schedules, versions of evaluators, and steps that serve other jobs.

ALTER TABLE runs ADD COLUMN selection TEXT;
ALTER TABLE runs ADD COLUMN max_tokens INTEGER;
ALTER TABLE runs ADD COLUMN max_cost_nanos INTEGER;
ALTER TABLE runs ADD COLUMN spent_tokens_in INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN spent_tokens_out INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN spent_cost_nanos INTEGER NOT NULL DEFAULT 0;

ALTER TABLE jobs ADD COLUMN schedule TEXT;
ALTER TABLE jobs ADD COLUMN next_at INTEGER;
CREATE INDEX jobs_due ON jobs (next_at) WHERE next_at IS NOT NULL;

ALTER TABLE scores ADD COLUMN version TEXT NOT NULL DEFAULT '';

-- The newest finished step for each key that may be shared. A row may outlive its step.
CREATE TABLE shared_steps (
    key      BLOB    NOT NULL PRIMARY KEY,
    step_id  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX shared_steps_by_step ON shared_steps (step_id);
