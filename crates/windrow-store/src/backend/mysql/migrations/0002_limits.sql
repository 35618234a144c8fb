-- What all nodes together have used of each limited resource, and who keeps these accounts: the database, or a
-- Redis. Without a row it is the database.

CREATE TABLE IF NOT EXISTS `limit_accounts` (
    `id` BIGINT NOT NULL,
    `resource` LONGTEXT NOT NULL,
    `account` LONGTEXT NOT NULL,
    PRIMARY KEY (`id`)
) ENGINE = InnoDB COLLATE = utf8mb4_nopad_bin;

CREATE TABLE IF NOT EXISTS `limit_authority` (
    `id` BIGINT NOT NULL,
    `epoch` BIGINT NOT NULL,
    `redis` LONGTEXT,
    `since` BIGINT NOT NULL,
    `redis_from` BIGINT NOT NULL,
    PRIMARY KEY (`id`)
) ENGINE = InnoDB COLLATE = utf8mb4_nopad_bin;
