-- Tries that ended because the endpoint asked to slow down: counted apart from failures.
ALTER TABLE attempts ADD COLUMN throttled INTEGER NOT NULL DEFAULT 0;

-- What items at work wait for before their next call, as each living session noted it last.
CREATE TABLE waits (
    session_id  INTEGER NOT NULL,
    run_id      INTEGER NOT NULL,
    resource    TEXT    NOT NULL,
    items       INTEGER NOT NULL,
    hold        TEXT    NOT NULL,
    until       INTEGER,
    PRIMARY KEY (run_id, session_id, resource)
) STRICT, WITHOUT ROWID;
CREATE INDEX waits_by_session ON waits (session_id);
