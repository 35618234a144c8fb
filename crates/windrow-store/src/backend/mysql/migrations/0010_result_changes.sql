-- Which items' rows in the result table changed. A row per page of items: their ids. Whoever reads them numbers them
-- after their commit (`seq`), so that no reader passes one over.

CREATE TABLE IF NOT EXISTS `result_changes` (
    `id` BIGINT NOT NULL AUTO_INCREMENT,
    `job_id` BIGINT NOT NULL,
    `seq` BIGINT,
    `items` MEDIUMBLOB NOT NULL,
    PRIMARY KEY (`id`),
    KEY result_changes_by_job (job_id, seq, id)
) ENGINE = InnoDB COLLATE = utf8mb4_nopad_bin;

-- Up to which change of a job they are forgotten: a reader that stands before it reads the items anew.
CREATE TABLE IF NOT EXISTS `result_heads` (
    `job_id` BIGINT NOT NULL,
    `forgotten` BIGINT NOT NULL,
    PRIMARY KEY (`job_id`)
) ENGINE = InnoDB COLLATE = utf8mb4_nopad_bin;
INSERT IGNORE INTO sequences (name, last) VALUES ('result_changes', 0);
