//! When something is a finding or an alert. One list of names for health checks and alert rules, with what
//! holds unless `--threshold NAME=VALUE` says otherwise.

use std::collections::BTreeMap;
use std::str::FromStr;

use windrow_model::health::{Check, HealthThresholds};

use crate::node::observe::alert::{Measure, Rule};

#[derive(Debug, Clone, PartialEq)]
pub struct Thresholds {
    pub patience: HealthThresholds,
    rules: BTreeMap<Rule, f64>,
}

/// One `NAME=VALUE`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Setting {
    Check(Check, i64),
    Rule(Rule, f64),
}

impl FromStr for Setting {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, value) = text.split_once('=').ok_or("write NAME=VALUE, as in slow_run=30m")?;
        if let Ok(check) = name.parse::<Check>() {
            return Ok(Setting::Check(check, duration_ms(value)?));
        }
        let Ok(rule) = name.parse::<Rule>() else {
            let checks = Check::ALL.iter().map(|check| check.as_str());
            let names: Vec<&str> = checks.chain(Rule::ALL.iter().map(|rule| rule.as_str())).collect();
            return Err(format!("unknown threshold {name:?}; known: {}", names.join(", ")));
        };
        let value = match rule.measure() {
            Measure::Seconds => duration_ms(value)? as f64 / 1000.0,
            Measure::Share => value
                .parse()
                .ok()
                .filter(|share| (0.0..=1.0).contains(share))
                .ok_or("write a share from 0 to 1, as in 0.2")?,
            Measure::Times => {
                value.parse().ok().filter(|times| *times >= 1.0).ok_or("write how many times, from 1 on")?
            }
        };
        Ok(Setting::Rule(rule, value))
    }
}

fn duration_ms(text: &str) -> Result<i64, String> {
    let duration = text.parse::<windrow_jobfile::duration::Duration>()?;
    i64::try_from(duration.to_std().as_millis()).map_err(|_| format!("{text} is too long"))
}

impl Thresholds {
    pub fn new(settings: &[Setting]) -> Self {
        let mut thresholds = Self { patience: HealthThresholds::default(), rules: BTreeMap::new() };
        for setting in settings {
            match *setting {
                Setting::Check(check, ms) => thresholds.patience.set(check, ms),
                Setting::Rule(rule, value) => {
                    thresholds.rules.insert(rule, value);
                }
            }
        }
        thresholds
    }

    pub fn of(&self, rule: Rule) -> f64 {
        self.rules.get(&rule).copied().unwrap_or(rule.threshold())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_is_read_by_what_it_measures() {
        let read = |text: &str| text.parse::<Setting>();
        assert_eq!(read("run.stall=30m"), Ok(Setting::Check(Check::RunStall, 1_800_000)));
        assert_eq!(read("slow_run=30m"), Ok(Setting::Rule(Rule::SlowRun, 1800.0)));
        assert_eq!(read("disk_space=0.95"), Ok(Setting::Rule(Rule::DiskSpace, 0.95)));
        assert!(read("disk_space=95").unwrap_err().contains("from 0 to 1"));
        assert!(read("nonsense=1").unwrap_err().contains("run_failure_rate"));
        assert!(read("slow_run").unwrap_err().contains("NAME=VALUE"));
    }
}
