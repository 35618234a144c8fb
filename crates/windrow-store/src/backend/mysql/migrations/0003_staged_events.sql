-- Events that are committed and not numbered yet. Rows stay for milliseconds.

CREATE TABLE IF NOT EXISTS `outbox_staged` (
    `id` BIGINT NOT NULL AUTO_INCREMENT,
    `at` BIGINT NOT NULL,
    `job_id` BIGINT NOT NULL,
    `run_id` BIGINT NOT NULL,
    `kind` LONGTEXT NOT NULL,
    `body` LONGTEXT NOT NULL,
    PRIMARY KEY (`id`)
) ENGINE = InnoDB COLLATE = utf8mb4_nopad_bin;
