-- What the runs of deleted jobs cost, by workspace.
CREATE TABLE costs_of_deleted (
    workspace  TEXT    NOT NULL PRIMARY KEY,
    cost_nanos INTEGER NOT NULL
) STRICT;
