-- What people said about items. Rows are only added; the newest under a name counts.

CREATE TABLE IF NOT EXISTS `labels` (
    `id` BIGINT NOT NULL AUTO_INCREMENT,
    `job_id` BIGINT NOT NULL,
    `item_id` BIGINT NOT NULL,
    `name` VARCHAR(700) NOT NULL,
    `verdict` VARCHAR(20),
    `value` DOUBLE,
    `note` LONGTEXT,
    `reason` LONGTEXT NOT NULL,
    `output` VARBINARY(64),
    `author` LONGTEXT NOT NULL,
    `at` BIGINT NOT NULL,
    PRIMARY KEY (`id`),
    KEY labels_by_job (job_id, id),
    KEY labels_by_item (item_id, id)
) ENGINE = InnoDB COLLATE = utf8mb4_nopad_bin;
