//! What the runs of a workspace may cost together (E4).

use std::collections::BTreeMap;

use crate::record::{dollars, nanos};

/// US dollars per workspace, in billionths.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Balance {
    /// For workspaces that are not named; `None`: unlimited.
    each: Option<i64>,
    named: BTreeMap<String, i64>,
}

impl Balance {
    pub fn of(&self, workspace: &str) -> Option<i64> {
        self.named.get(workspace).copied().or(self.each)
    }

    /// Workspaces with one of their own.
    pub fn names(&self) -> impl Iterator<Item = &String> {
        self.named.keys()
    }

    /// A sentence about the balance, if the workspace has spent it.
    pub fn used_up(&self, workspace: &str, spent: i64) -> Option<String> {
        let balance = self.of(workspace).filter(|balance| spent >= *balance)?;
        let (spent, balance) = (dollars(spent), dollars(balance));
        Some(format!("the balance of workspace {workspace:?} is used up: {spent} of {balance} spent"))
    }
}

impl std::str::FromStr for Balance {
    type Err = String;

    /// `20`, or `20,team-a=100.50`.
    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let wrong =
            || format!("invalid balance {text:?}: use US dollars, or some per workspace, e.g. 20,team-a=100.50");
        let amount = |text: &str| {
            let dollars: f64 = text.trim().trim_start_matches('$').parse().map_err(|_| wrong())?;
            (dollars.is_finite() && dollars >= 0.0).then(|| nanos(dollars)).ok_or_else(wrong)
        };
        let mut balance = Self::default();
        for part in text.split(',') {
            match part.rsplit_once('=') {
                Some((workspace, dollars)) => drop(balance.named.insert(workspace.trim().to_owned(), amount(dollars)?)),
                None => balance.each = Some(amount(part)?),
            }
        }
        Ok(balance)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_balance_is_of_every_workspace_or_of_one() {
        let both: Balance = "20, team-a=$0.50".parse().unwrap();
        assert_eq!((both.of("default"), both.of("team-a")), (Some(20_000_000_000), Some(500_000_000)));
        assert_eq!(both.used_up("team-a", 499_999_999), None);
        let used_up = both.used_up("team-a", 600_000_000).unwrap();
        assert!(used_up.ends_with("is used up: $0.6000 of $0.5000 spent"), "{used_up}");
        assert_eq!("team-a=1".parse::<Balance>().unwrap().of("default"), None);
        for wrong in ["", "much", "-1", "a=", "inf"] {
            assert!(wrong.parse::<Balance>().is_err(), "{wrong}");
        }
    }
}
