-- Named datasets. A row is stored once per content; a version lists its rows in order. A version is
-- seen once it is ready; one being imported is a draft, and one dropped waits to be swept away.

CREATE TABLE datasets (
    id           INTEGER PRIMARY KEY,
    workspace    TEXT    NOT NULL,
    name         TEXT    NOT NULL,
    -- Numbers are never given twice, also when the version is gone.
    last_version INTEGER NOT NULL DEFAULT 0,
    created_at   INTEGER NOT NULL,
    UNIQUE (workspace, name)
) STRICT;

CREATE TABLE dataset_versions (
    id          INTEGER PRIMARY KEY,
    dataset_id  INTEGER NOT NULL,
    state       TEXT    NOT NULL,
    version     INTEGER NOT NULL DEFAULT 0,
    rows        INTEGER NOT NULL DEFAULT 0,
    bytes       INTEGER NOT NULL DEFAULT 0,
    digest      BLOB    NOT NULL,
    schema      TEXT,
    profile     TEXT    NOT NULL DEFAULT '{}',
    source      TEXT    NOT NULL,
    actor       TEXT    NOT NULL,
    created_at  INTEGER NOT NULL
) STRICT;
CREATE INDEX dataset_versions_all ON dataset_versions (dataset_id);
CREATE UNIQUE INDEX dataset_versions_ready ON dataset_versions (dataset_id, version) WHERE state = 'ready';
CREATE UNIQUE INDEX dataset_versions_draft ON dataset_versions (dataset_id) WHERE state = 'draft';
CREATE INDEX dataset_versions_dropped ON dataset_versions (id) WHERE state = 'dropped';

CREATE TABLE dataset_rows (
    id          INTEGER PRIMARY KEY,
    dataset_id  INTEGER NOT NULL,
    key         BLOB    NOT NULL,
    body        TEXT    NOT NULL
) STRICT;
CREATE UNIQUE INDEX dataset_rows_by_key ON dataset_rows (dataset_id, key);

CREATE TABLE dataset_entries (
    version_id  INTEGER NOT NULL,
    ordinal     INTEGER NOT NULL,
    row_id      INTEGER NOT NULL,
    PRIMARY KEY (version_id, ordinal)
) STRICT, WITHOUT ROWID;
CREATE INDEX dataset_entries_by_row ON dataset_entries (version_id, row_id);
