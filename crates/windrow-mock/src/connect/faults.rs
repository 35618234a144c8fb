//! Faults and their probability: `409:1%,500:1%,after:2%,timeout:1%`.

use std::str::FromStr;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// 409 for a rebalance; nothing is changed.
    Rebalance,
    /// 500; nothing is changed.
    Error,
    /// The change takes effect, and the response is 500.
    After,
    /// The change takes effect, and the response is 500 after a long delay.
    Timeout,
}

#[derive(Debug, Clone, Default)]
pub struct Faults(Vec<(Fault, f64)>);

impl Faults {
    /// `chance` is uniform in 0..1.
    pub fn pick(&self, mut chance: f64) -> Option<Fault> {
        for (fault, share) in &self.0 {
            if chance < *share {
                return Some(*fault);
            }
            chance -= share;
        }
        None
    }
}

impl FromStr for Faults {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let part = |part: &str| {
            let wrong =
                || format!("invalid fault {part:?}; use 409, 500, after or timeout with a percentage, e.g. after:2%");
            let (name, share) = part.split_once(':').ok_or_else(wrong)?;
            let fault = match name.trim() {
                "409" => Fault::Rebalance,
                "500" => Fault::Error,
                "after" => Fault::After,
                "timeout" => Fault::Timeout,
                _ => return Err(wrong()),
            };
            let share: f64 = share.trim().trim_end_matches('%').parse().map_err(|_| wrong())?;
            Ok((fault, share / 100.0))
        };
        let parts = text.split(',').filter(|part| !part.trim().is_empty()).map(|text| part(text.trim()));
        Ok(Self(parts.collect::<Result<_, _>>()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probabilities_are_cumulative() {
        let faults: Faults = "409:10%, after:20%".parse().unwrap();
        assert_eq!(faults.pick(0.05), Some(Fault::Rebalance));
        assert_eq!(faults.pick(0.25), Some(Fault::After));
        assert_eq!(faults.pick(0.35), None);
        assert!("gone:1%".parse::<Faults>().is_err() && "409".parse::<Faults>().is_err());
    }
}
