-- What the runs of deleted jobs cost, by workspace.
CREATE TABLE costs_of_deleted (
    workspace  TEXT   PRIMARY KEY,
    cost_nanos BIGINT NOT NULL
);
