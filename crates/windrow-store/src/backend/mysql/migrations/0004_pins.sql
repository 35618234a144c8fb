-- Jobs that retention keeps.

CREATE TABLE IF NOT EXISTS `pins` (
    `job_id` BIGINT NOT NULL,
    `pinned_at` BIGINT NOT NULL,
    PRIMARY KEY (`job_id`)
) ENGINE = InnoDB COLLATE = utf8mb4_nopad_bin;
