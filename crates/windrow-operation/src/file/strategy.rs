//! The section `strategy`: how the targets are let go, and what ends it.

use std::path::Path;

use serde::Deserialize;
use serde_json::Value;
use windrow_jobfile::diagnostics::Problems;
use windrow_jobfile::duration::Duration;
use windrow_jobfile::job_file::Section;
use windrow_model::rollout::{Approval, OnFailure, Rollout};

use super::freeze;
use crate::scripted::{CallConfig, ProbeConfig};
use crate::spec::unreachable_for_ms;

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Given {
    canary: Option<Share>,
    wave: Option<Share>,
    waves: Option<Vec<Share>>,
    bake: Option<Duration>,
    approval: Option<Approval>,
    #[serde(deserialize_with = "cap")]
    max_failed: Option<Share>,
    on_failure: Option<OnFailure>,
    freeze: Vec<String>,
    health: Option<Health>,
    unreachable_for: Option<Duration>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Health {
    http: Option<Value>,
    command: Option<Value>,
    expect: Option<String>,
}

/// A number of targets, or a part of all: `5`, `"10%"`.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Share {
    Count(i64),
    Percent(f64),
}

impl Share {
    /// At least one: a part of few is not nothing.
    fn of(self, total: i64) -> i64 {
        match self {
            Share::Count(count) => count,
            Share::Percent(percent) => ((total as f64 * percent / 100.0).floor() as i64).max(1),
        }
    }
}

impl<'de> Deserialize<'de> for Share {
    fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let wrong = || serde::de::Error::custom("expected a number of targets above 0, or a part like \"10%\"");
        match Value::deserialize(d)? {
            Value::Number(number) => number.as_i64().filter(|n| *n > 0).map(Share::Count).ok_or_else(wrong),
            Value::String(text) => {
                let percent = text.trim().strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok());
                percent.filter(|percent| *percent > 0.0 && *percent <= 100.0).map(Share::Percent).ok_or_else(wrong)
            }
            _ => Err(wrong()),
        }
    }
}

/// `0`: the first failure ends it, as `1` does.
fn cap<'de, D: serde::Deserializer<'de>>(d: D) -> Result<Option<Share>, D::Error> {
    match Value::deserialize(d)? {
        Value::Number(number) if number.as_i64() == Some(0) => Ok(Some(Share::Count(1))),
        other => Share::deserialize(other).map(Some).map_err(serde::de::Error::custom),
    }
}

pub struct Strategy {
    given: Given,
    span: std::ops::Range<usize>,
    freeze: Vec<windrow_model::rollout::Freeze>,
    pub health: Option<Value>,
    pub unreachable_for_ms: i64,
}

/// What the strategy is once the number of targets is known.
pub struct Settled {
    pub rollout: Rollout,
    pub max_failed: Option<i64>,
    pub warnings: Vec<String>,
}

pub fn read(section: Option<Section>, folder: &Path, problems: &mut Problems) -> Option<Strategy> {
    let Some(section) = section else {
        let (given, unreachable_for_ms) = (Given::default(), unreachable_for_ms());
        return Some(Strategy { given, span: 0..0, freeze: Vec::new(), health: None, unreachable_for_ms });
    };
    let mut given: Given = section.read(&[], problems)?;
    if given.waves.is_some() && (given.wave.is_some() || given.canary.is_some()) {
        let message = "`waves` lists all sizes, so `canary` and `wave` cannot be set too";
        problems.add(section.span_of("waves"), message, "write waves: [1, 10, \"25%\"], or canary and wave");
    }
    let mut windows = Vec::new();
    for text in &given.freeze {
        match freeze::parse(text) {
            Ok(window) => windows.push(window),
            Err(why) => problems.add(section.span_of("freeze"), why, "correct it, or leave it out"),
        }
    }
    let health = match given.health.take() {
        Some(health) => Some(probe(health, folder).or_else(|| {
            let message = "`strategy.health` is one call: http or command";
            let help = "for example: health: { http: { url: … }, expect: now.ok }";
            problems.add(section.span_of("health"), message, help);
            None
        })?),
        None => None,
    };
    if given.waves.is_none() && given.wave.is_none() && given.canary.is_none() {
        let between = [
            ("bake", given.bake.is_some()),
            ("approval", given.approval.is_some_and(|approval| approval != Approval::Never)),
            ("health", health.is_some()),
        ];
        for (field, _) in between.iter().filter(|(_, given)| *given) {
            let message = format!("`strategy.{field}` has no effect without waves: it comes between two of them");
            problems.add(section.span_of(field), message, "add `canary`, `wave` or `waves`, or leave it out");
        }
    }
    let unreachable_for_ms = given.unreachable_for.as_ref().map_or(unreachable_for_ms(), |length| length.ms);
    Some(Strategy { given, span: section.span, freeze: windows, health, unreachable_for_ms })
}

fn probe(health: Health, folder: &Path) -> Option<Value> {
    let call = match (health.http, health.command) {
        (Some(http), None) => serde_json::from_value(http).ok()?,
        (None, Some(run @ Value::Array(_))) => serde_json::from_value(serde_json::json!({ "run": run })).ok()?,
        (None, Some(command)) => serde_json::from_value(command).ok()?,
        _ => return None,
    };
    let call = match call {
        CallConfig::Command(mut command) => {
            command.folder = std::path::absolute(folder).ok()?;
            CallConfig::Command(command)
        }
        http => http,
    };
    serde_json::to_value(ProbeConfig { call, expect: health.expect }).ok()
}

impl Strategy {
    pub fn over(&self, total: i64, problems: &mut Problems) -> Option<Settled> {
        let given = &self.given;
        let waves: Vec<i64> = match &given.waves {
            Some(waves) => waves.iter().map(|share| share.of(total)).collect(),
            None => {
                let canary = given.canary.map(|share| share.of(total));
                // All that is left in one, where only a canary was asked for.
                let rest = given.wave.map(|share| share.of(total)).or(canary.map(|_| total));
                canary.into_iter().chain(rest).collect()
            }
        };
        let max_failed = given.max_failed.map(|share| share.of(total));
        if given.on_failure.is_some() && max_failed.is_none() && self.health.is_none() {
            let message = "`on_failure` says what happens when too many fail, but not how many are too many";
            problems.add(self.span.clone(), message, "add `max_failed`, for example 5 or \"2%\"");
            return None;
        }
        let mut warnings = Vec::new();
        if max_failed.is_none() {
            warnings.push(
                "`strategy.max_failed` is not set: a change that fails on every target is tried on every target"
                    .to_owned(),
            );
        }
        let rollout = Rollout {
            waves,
            bake_ms: given.bake.map_or(0, |bake| bake.ms),
            approval: given.approval.unwrap_or(Approval::Never),
            check: self.health.is_some(),
            on_failure: given.on_failure.unwrap_or(OnFailure::Stop),
            freeze: self.freeze.clone(),
        };
        Some(Settled { rollout, max_failed, warnings })
    }
}
