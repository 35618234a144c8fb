//! Injected faults, as given on the command line: `429:20%:retry_after=1s,500:5%,hang:1%`.

use std::str::FromStr;
use std::time::Duration;

/// A fault that replaces the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    Status {
        code: u16,
        retry_after: Option<Duration>,
    },
    /// Never responds.
    Hang,
    /// The connection breaks in the middle of the answer.
    Reset,
}

impl Fault {
    /// Parses `429`, `hang` or `reset`; options such as `retry_after=1s` follow.
    pub fn parse(kind: &str, options: &[&str]) -> Result<Self, String> {
        let mut fault = match kind {
            "hang" => Self::Hang,
            "reset" => Self::Reset,
            code => match code.parse() {
                Ok(code @ 400..=599) => Self::Status { code, retry_after: None },
                _ => return Err(format!("unknown fault {kind:?}; use a status from 400 to 599, `hang` or `reset`")),
            },
        };
        for option in options {
            let value = option.strip_prefix("retry_after=");
            match (&mut fault, value) {
                (Self::Status { retry_after, .. }, Some(value)) => *retry_after = Some(duration(value)?),
                _ => return Err(format!("unknown option {option:?}; only a status has options: `retry_after=1s`")),
            }
        }
        Ok(fault)
    }
}

/// Faults and their probabilities.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Faults {
    parts: Vec<(f64, Fault)>,
}

impl Faults {
    /// `roll` is in [0, 1).
    pub fn at(&self, roll: f64) -> Option<Fault> {
        let mut below = 0.0;
        self.parts.iter().find_map(|(likely, fault)| {
            below += likely;
            (roll < below).then_some(*fault)
        })
    }
}

impl FromStr for Faults {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut parts = Vec::new();
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let fields: Vec<&str> = part.split(':').collect();
            let [kind, share, options @ ..] = fields.as_slice() else {
                return Err(format!("{part:?} needs a percentage, e.g. 429:20%"));
            };
            let percent: Option<f64> = share.strip_suffix('%').and_then(|percent| percent.trim().parse().ok());
            let percent = percent.filter(|percent| (0.0..=100.0).contains(percent));
            let percent = percent.ok_or_else(|| format!("invalid percentage {share:?}, e.g. 20%"))?;
            parts.push((percent / 100.0, Fault::parse(kind, options)?));
        }
        match parts.iter().map(|(likely, _)| likely).sum::<f64>() {
            sum if sum > 1.0 + 1e-9 => {
                Err(format!("the percentages add up to {:.0}%; the maximum is 100%", sum * 100.0))
            }
            _ => Ok(Self { parts }),
        }
    }
}

pub fn duration(text: &str) -> Result<Duration, String> {
    text.parse::<windrow_jobfile::duration::Duration>().map(|duration| duration.to_std())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probabilities_are_cumulative() {
        let faults: Faults = "429:20%:retry_after=1s, 500:5%,hang:1%".parse().unwrap();
        let limited = Fault::Status { code: 429, retry_after: Some(Duration::from_secs(1)) };
        assert_eq!(faults.at(0.0), Some(limited));
        assert_eq!(faults.at(0.21), Some(Fault::Status { code: 500, retry_after: None }));
        assert_eq!(faults.at(0.255), Some(Fault::Hang));
        assert_eq!(faults.at(0.27), None);
        assert_eq!(Faults::default().at(0.0), None);
    }

    #[test]
    fn errors_name_the_invalid_part() {
        for (text, part) in [
            ("429", "needs a percentage"),
            ("429:20", "invalid percentage"),
            ("200:20%", "unknown fault"),
            ("hang:1%:retry_after=1s", "unknown option"),
            ("429:1%:retry_after=soon", "length of time"),
            ("429:60%,500:60%", "add up to 120%"),
        ] {
            let error = text.parse::<Faults>().unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
