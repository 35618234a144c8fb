//! Faults that last for a while, one after the other: `10s:429:retry_after=1s,5s:500,5s:hang`.

use std::str::FromStr;
use std::time::Duration;

use super::fault::{Fault, duration};

/// Starts with the first request, so that a slow start does not shift the phases. After the last phase no fault is
/// injected.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Phases {
    parts: Vec<(Duration, Option<Fault>)>,
}

impl Phases {
    pub fn at(&self, since_first: Duration) -> Option<Fault> {
        let mut end = Duration::ZERO;
        let now = self.parts.iter().find(|(length, _)| {
            end += *length;
            since_first < end
        });
        now.and_then(|(_, fault)| *fault)
    }
}

impl FromStr for Phases {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let part = |part: &str| {
            let fields: Vec<&str> = part.split(':').collect();
            let [length, kind, options @ ..] = fields.as_slice() else {
                return Err(format!("invalid phase {part:?}, e.g. 10s:429 or 5s:ok"));
            };
            let fault = if *kind == "ok" { None } else { Some(Fault::parse(kind, options)?) };
            Ok((duration(length)?, fault))
        };
        let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
        Ok(Self { parts: parts.map(part).collect::<Result<_, _>>()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phases_follow_each_other_and_end() {
        let phases: Phases = "10s:429,5s:ok,5s:hang".parse().unwrap();
        let at = |secs| phases.at(Duration::from_secs(secs));
        assert_eq!(at(0), Some(Fault::Status { code: 429, retry_after: None }));
        assert_eq!(at(10), None);
        assert_eq!(at(15), Some(Fault::Hang));
        assert_eq!(at(20), None);
        assert!("10s".parse::<Phases>().unwrap_err().contains("invalid phase"));
    }
}
