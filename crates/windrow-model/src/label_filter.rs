//! Filters by what jobs and their tasks carry (B10, B15): `region=eu,service=cdc`.

use std::borrow::Cow;

use serde_json::Value;

use crate::operation::TargetLabels;
use crate::record::Labels;

/// Which things carry such values; all of them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LabelFilter(Vec<(String, String)>);

const OF_ALL: [&str; 5] = ["creator", "service", "environment", "region", "az"];
const OF_TARGETS: [&str; 3] = ["id", "type", "action"];

impl LabelFilter {
    /// For jobs.
    pub fn of_jobs(text: &str) -> Result<Self, String> {
        Self::read(text, &OF_ALL, "extra.")
    }

    /// For targets, which carry what their job does, and more.
    pub fn of_targets(text: &str) -> Result<Self, String> {
        Self::read(text, &[OF_ALL.as_slice(), &OF_TARGETS].concat(), "info.")
    }

    fn read(text: &str, known: &[&str], open: &str) -> Result<Self, String> {
        let pair = |part: &str| {
            let Some((name, value)) = part.split_once('=') else {
                return Err(format!("{part:?} must be NAME=VALUE, e.g. region=eu"));
            };
            let name = name.trim();
            let is_open = name.strip_prefix(open).is_some_and(|rest| !rest.is_empty());
            if !is_open && !known.contains(&name) {
                return Err(format!("no label {name:?}; use {} or {open}NAME", known.join(", ")));
            }
            Ok((name.to_owned(), value.trim().to_owned()))
        };
        Ok(Self(text.split(',').map(pair).collect::<Result<_, _>>()?))
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn fits_job(&self, labels: &Labels) -> bool {
        self.0.iter().all(|(name, wanted)| labels.value(name).is_some_and(|value| value == wanted.as_str()))
    }

    pub fn fits_target(&self, target: &TargetLabels) -> bool {
        self.0.iter().all(|(name, wanted)| target.value(name).is_some_and(|value| value == wanted.as_str()))
    }
}

/// As it was given.
impl std::fmt::Display for LabelFilter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (n, (name, value)) in self.0.iter().enumerate() {
            write!(f, "{}{name}={value}", if n == 0 { "" } else { "," })?;
        }
        Ok(())
    }
}

impl Labels {
    fn value(&self, name: &str) -> Option<Cow<'_, str>> {
        Some(match name {
            "creator" => Cow::Borrowed(&self.creator),
            "service" => Cow::Borrowed(&self.service),
            "environment" => Cow::Borrowed(&self.environment),
            "region" => Cow::Borrowed(&self.region),
            "az" => Cow::Borrowed(&self.az),
            _ => text(self.extra.get(name.strip_prefix("extra.")?)?),
        })
    }
}

impl TargetLabels {
    fn value(&self, name: &str) -> Option<Cow<'_, str>> {
        Some(match name {
            "id" => Cow::Borrowed(&self.target_id),
            "type" => Cow::Borrowed(&self.target_type),
            "action" => Cow::Borrowed(&self.action),
            "creator" => Cow::Borrowed(&self.creator),
            "service" => Cow::Borrowed(&self.service),
            "environment" => Cow::Borrowed(&self.environment),
            "region" => Cow::Borrowed(&self.region),
            "az" => Cow::Borrowed(&self.az),
            _ => text(self.info.get(name.strip_prefix("info.")?)?),
        })
    }
}

fn text(value: &Value) -> Cow<'_, str> {
    value.as_str().map_or_else(|| Cow::Owned(value.to_string()), Cow::Borrowed)
}

/// For `serde(deserialize_with)`.
pub fn deserialize_of_jobs<'de, D: serde::Deserializer<'de>>(d: D) -> Result<LabelFilter, D::Error> {
    let text: String = serde::Deserialize::deserialize(d)?;
    LabelFilter::of_jobs(&text).map_err(serde::de::Error::custom)
}

pub fn deserialize_of_targets<'de, D: serde::Deserializer<'de>>(d: D) -> Result<LabelFilter, D::Error> {
    let text: String = serde::Deserialize::deserialize(d)?;
    LabelFilter::of_targets(&text).map_err(serde::de::Error::custom)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_values_must_fit_and_unknown_names_are_refused() {
        let extra = [("ticket".to_owned(), Value::from(7))].into_iter().collect();
        let labels = Labels { region: "eu".into(), service: "cdc".into(), extra, ..Labels::default() };
        let fits = |text: &str| LabelFilter::of_jobs(text).unwrap().fits_job(&labels);
        assert!(fits("region=eu") && fits("region=eu, service=cdc") && fits("extra.ticket=7"));
        assert!(!fits("region=us") && !fits("region=eu,service=other") && !fits("extra.other=7") && !fits("az=a"));
        for wrong in ["region", "regoin=eu", "", "type=http", "extra.=1"] {
            assert!(LabelFilter::of_jobs(wrong).is_err(), "{wrong}");
        }
        let given = "region=eu,service=cdc";
        assert_eq!(LabelFilter::of_jobs(given).unwrap().to_string(), given);
        assert!(LabelFilter::of_targets("type=http,info.rack=7").is_ok());
    }
}
