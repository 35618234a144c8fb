-- The relay to analytics: one row, and what it has to send that no event tells of.
CREATE TABLE analytics_relay (
    id BIGINT PRIMARY KEY,
    incarnation TEXT COLLATE "C" NOT NULL,
    event BIGINT NOT NULL,
    event_at BIGINT NOT NULL,
    revision BIGINT NOT NULL,
    owner BIGINT,
    owned_until BIGINT NOT NULL,
    trouble TEXT COLLATE "C",
    trouble_at BIGINT
);

-- Item 0 stands for all items of the job.
CREATE TABLE analytics_marks (
    job_id BIGINT NOT NULL,
    item_id BIGINT NOT NULL,
    version BIGINT NOT NULL,
    sent_to BIGINT NOT NULL,
    since BIGINT NOT NULL,
    PRIMARY KEY (job_id, item_id)
);
