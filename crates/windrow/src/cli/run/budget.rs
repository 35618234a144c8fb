//! `--budget` and `--budget-tokens`, wherever a run is started or resumed.

use windrow_model::record::{RunLimits, nanos};

#[derive(Debug, Clone, Copy, Default, clap::Args)]
pub struct Budget {
    /// Pause the run after spending this many US dollars
    #[arg(long, value_name = "DOLLARS", value_parser = dollars)]
    budget: Option<i64>,
    /// Pause the run after using this many tokens
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i64).range(1..))]
    budget_tokens: Option<i64>,
}

impl Budget {
    pub fn wanted(self) -> windrow_wire::Budget {
        windrow_wire::Budget { tokens: self.budget_tokens, cost_nanos: self.budget }
    }

    pub fn applied_to(self, limits: RunLimits) -> RunLimits {
        RunLimits {
            max_cost_nanos: self.budget.or(limits.max_cost_nanos),
            max_tokens: self.budget_tokens.or(limits.max_tokens),
            ..limits
        }
    }
}

/// In billionths.
fn dollars(text: &str) -> Result<i64, String> {
    let number: f64 = text
        .trim_start_matches('$')
        .parse()
        .map_err(|_| "must be an amount in US dollars, e.g. 5 or 0.25".to_owned())?;
    if !(number.is_finite() && number > 0.0) {
        return Err("must be greater than 0".to_owned());
    }
    Ok(nanos(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_amount_is_read_exactly() {
        assert_eq!([dollars("5"), dollars("$0.25")], [Ok(5_000_000_000), Ok(250_000_000)]);
        assert_eq!(dollars("0.000065"), Ok(65_000), "the nearest amount, not the next lower one");
        assert!(dollars("0").is_err() && dollars("-1").is_err() && dollars("much").is_err());
    }

    #[test]
    fn what_is_not_said_stays() {
        let file = RunLimits { max_tokens: Some(7), ..RunLimits::default() };
        let given = Budget { budget: Some(3), budget_tokens: None }.applied_to(file);
        assert_eq!((given.max_cost_nanos, given.max_tokens), (Some(3), Some(7)));
    }
}
