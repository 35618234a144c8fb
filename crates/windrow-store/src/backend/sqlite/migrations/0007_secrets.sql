-- Sealed outside of the database, under a key that is never in it.
CREATE TABLE secrets (
    workspace   TEXT    NOT NULL,
    name        TEXT    NOT NULL,
    key_id      TEXT    NOT NULL,
    nonce       BLOB    NOT NULL,
    sealed      BLOB    NOT NULL,
    actor       TEXT    NOT NULL,
    created_at  INTEGER NOT NULL,
    set_at      INTEGER NOT NULL,
    PRIMARY KEY (workspace, name)
) STRICT, WITHOUT ROWID;
