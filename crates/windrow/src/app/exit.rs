//! Exit codes, in one table.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    Passed,
    Error,
    Usage,
    GateFailed,
    ItemsFailed,
    BudgetSpent,
    EvidenceWeak,
    Interrupted,
}

pub const TABLE: &[(Exit, u8, &str)] = &[
    (Exit::Passed, 0, "passed"),
    (Exit::Error, 1, "error, or the run was cancelled"),
    (Exit::Usage, 2, "usage error or invalid job file; nothing was stored"),
    (Exit::GateFailed, 3, "quality gate failed"),
    (Exit::ItemsFailed, 4, "too many items failed"),
    (Exit::BudgetSpent, 5, "budget reached, or a dry run exceeds it"),
    (Exit::EvidenceWeak, 6, "inconclusive: too few results for a quality gate"),
    (Exit::Interrupted, 130, "interrupted; run the same command again to resume"),
];

impl Exit {
    /// What ends with this code; what nothing ends with is an error.
    pub fn of_code(code: u8) -> Self {
        TABLE.iter().find(|(_, known, _)| *known == code).map_or(Exit::Error, |(exit, _, _)| *exit)
    }

    pub fn code(self) -> u8 {
        TABLE.iter().find(|(exit, _, _)| *exit == self).map_or(1, |(_, code, _)| *code)
    }
}

impl From<Exit> for std::process::ExitCode {
    fn from(exit: Exit) -> Self {
        exit.code().into()
    }
}

/// The table, for `windrow help exit-codes`.
pub fn help() -> String {
    let lines = TABLE.iter().map(|(_, code, meaning)| format!("  {code:>3}  {meaning}\n"));
    format!("Exit codes:\n{}", lines.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_ending_has_one_code_of_its_own() {
        let mut codes: Vec<u8> = TABLE.iter().map(|(_, code, _)| *code).collect();
        codes.sort_unstable();
        codes.dedup();
        assert_eq!(codes, [0, 1, 2, 3, 4, 5, 6, 130]);
        assert_eq!((Exit::Interrupted.code(), Exit::ItemsFailed.code()), (130, 4));
    }
}
