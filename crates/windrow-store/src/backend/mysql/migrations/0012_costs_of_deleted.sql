-- What the runs of deleted jobs cost, by workspace.

CREATE TABLE IF NOT EXISTS `costs_of_deleted` (
    `workspace` VARCHAR(255) NOT NULL,
    `cost_nanos` BIGINT NOT NULL,
    PRIMARY KEY (`workspace`)
) ENGINE = InnoDB COLLATE = utf8mb4_nopad_bin;
