//! The fields every kind of job file has.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use serde::Deserialize;
use windrow_model::priority::Priority;
use windrow_model::record::{Labels, RunLimits, nanos};
use windrow_model::retry::{AfterEnd, Reaction, RetryPolicy};
use windrow_model::{ErrorClass, Json, Time, cron};

use super::LoadedJob;
use super::section::Section;
use crate::diagnostics::Problems;
use crate::duration::Duration;
use crate::yaml::{Content, Node};

pub const FIELDS: &[&str] = &[
    "kind",
    "name",
    "description",
    "workspace",
    "labels",
    "priority",
    "concurrency",
    "timeout",
    "retry",
    "budget",
    "schedule",
    "worker",
];

const MAX_NAME: usize = 200;
const MAX_CAPABILITY: usize = 64;
const MAX_CONCURRENCY: u32 = 10_000;
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(600);

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    /// Read as empty where it is missing, so that the other fields are still checked.
    #[serde(default)]
    pub name: String,
    pub description: Option<String>,
    #[serde(default)]
    pub workspace: String,
    #[serde(default)]
    pub labels: Labels,
    #[serde(default)]
    pub priority: Priority,
    #[serde(default = "default_concurrency")]
    pub concurrency: NonZeroU32,
    /// For one item.
    #[serde(default = "default_timeout")]
    pub timeout: Duration,
    /// As one text; see [`cron`].
    #[serde(default, deserialize_with = "schedule")]
    pub schedule: Option<String>,
    /// Items are done only by workers elsewhere that have this capability.
    pub worker: Option<String>,
    #[serde(default)]
    budget: Budget,
    #[serde(default)]
    retry: Retry,
    /// Fields that the file has.
    #[serde(skip)]
    given: Vec<String>,
}

/// A cron pattern, or that with a time zone and what to do about missed starts.
fn schedule<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "a cron pattern, or { cron, time_zone, catch_up }")]
    enum Given {
        Text(String),
        Parts(Parts),
    }
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Parts {
        cron: String,
        time_zone: Option<String>,
        catch_up: Option<cron::CatchUp>,
    }
    Ok(Some(match Given::deserialize(deserializer)? {
        Given::Text(text) => text,
        Given::Parts(Parts { cron, time_zone, catch_up }) => {
            cron::Written { cron: &cron, time_zone: time_zone.as_deref(), catch_up }.to_string()
        }
    }))
}

/// What one run may cost.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Budget {
    /// In dollars.
    cost: Option<f64>,
    tokens: Option<i64>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Retry {
    max: Option<u32>,
    max_throttled: Option<u32>,
    delays: Option<Vec<Duration>>,
    on: BTreeMap<ErrorClass, Reaction>,
    after_end: Option<AfterEndConfig>,
}

/// Retries after the end of a run.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct AfterEndConfig {
    times: u32,
    delay: Duration,
}

impl Default for AfterEndConfig {
    fn default() -> Self {
        Self { times: 3, delay: Duration { ms: 600_000 } }
    }
}

fn default_concurrency() -> NonZeroU32 {
    u32::try_from(RunLimits::default().concurrency).ok().and_then(NonZeroU32::new).expect("it is positive")
}

fn default_timeout() -> Duration {
    DEFAULT_TIMEOUT
}

fn is_name(text: &str) -> bool {
    !text.trim().is_empty() && text.chars().count() <= MAX_NAME && !text.chars().any(char::is_control)
}

/// A name that a job may have.
pub fn check_name(text: &str) -> Result<(), String> {
    is_name(text).then_some(()).ok_or_else(|| format!("a name must be 1 to {MAX_NAME} characters on one line"))
}

impl Header {
    /// Takes the common fields out of the file's root; `workspace` is where one belongs that names none.
    pub fn take(root: &mut Section, workspace: &str, problems: &mut Problems) -> Option<Header> {
        let mut own = Section::root(Node { span: root.span.clone(), content: Content::Map(Vec::new()) });
        if let (Content::Map(entries), Content::Map(mine)) = (&mut root.node.content, &mut own.node.content) {
            *mine = entries.extract_if(.., |(key, _)| FIELDS.contains(&key.name.as_str())).collect();
            mine.retain(|(key, _)| key.name != "kind");
        }
        let mut header: Header = own.read(&["kind"], problems)?;
        header.given = own.field_names().into_iter().map(str::to_owned).collect();
        if !header.is_given("workspace") {
            header.workspace = workspace.to_owned();
        }
        header.check(&own, problems);
        Some(header)
    }

    fn check(&self, own: &Section, problems: &mut Problems) {
        if !own.field_names().contains(&"name") {
            problems.add(own.span.clone(), "the field `name` is missing", "add `name: …`");
        }
        for (field, text) in [("name", &self.name), ("workspace", &self.workspace)] {
            // What is missing or of another type was reported as that.
            if own.clone().take(field).is_none_or(|given| given.text().is_none()) {
                continue;
            }
            if !is_name(text) {
                let message = format!("`{field}` must be 1 to {MAX_NAME} characters on one line");
                problems.add(own.span_of(field), message, "choose a short name");
            }
        }
        if self.concurrency.get() > MAX_CONCURRENCY {
            let message = format!("`concurrency` must be at most {MAX_CONCURRENCY}");
            problems.add(own.span_of("concurrency"), message, "e.g. `concurrency: 32`");
        }
        let unfit = |value: f64| !(value.is_finite() && value > 0.0);
        if self.budget.cost.is_some_and(unfit) || self.budget.tokens.is_some_and(|tokens| tokens <= 0) {
            let message = "`budget.cost` and `budget.tokens` must be greater than 0";
            problems.add(own.span_of("budget"), message, "e.g. `budget: { cost: 5.00, tokens: 1000000 }`");
        }
        if let Some(pattern) = &self.schedule
            && let Err(why) = cron::next_after(pattern, Time(0))
        {
            let message = format!("`schedule` names no time: {why}");
            let help = "for example: schedule: \"0 6 * * *\" (daily at 6:00 UTC), or \
                        schedule: { cron: \"0 6 * * *\", time_zone: Europe/Berlin, catch_up: all }";
            problems.add(own.span_of("schedule"), message, help);
        }
        if let Some(worker) = &self.worker
            && !is_capability(worker)
        {
            let message = format!("{worker:?} cannot be a capability of a worker");
            problems.add(own.span_of("worker"), message, "use up to 64 letters, digits, `_`, `-` and `.`");
        }
        if self.timeout.ms == 0 {
            problems.add(own.span_of("timeout"), "`timeout` must not be zero", "write a length of time like 120s");
        }
    }

    /// Whether the file has this field.
    pub fn is_given(&self, field: &str) -> bool {
        self.given.iter().any(|name| name == field)
    }

    /// The job of this file, with what a kind does not decide itself.
    pub fn into_job(self, kind: &'static str, (spec, spec_hash): (Json, String), rows: u64) -> LoadedJob {
        LoadedJob {
            kind,
            limits: self.limits(),
            name: self.name,
            description: self.description,
            workspace: self.workspace,
            labels: self.labels,
            priority: self.priority,
            rollout: None,
            schedule: self.schedule,
            worker: self.worker,
            spec,
            spec_hash,
            rows,
            staged: None,
            warnings: Vec::new(),
        }
    }

    pub fn limits(&self) -> RunLimits {
        RunLimits {
            concurrency: self.concurrency.get().into(),
            max_tokens: self.budget.tokens,
            max_cost_nanos: self.budget.cost.map(nanos),
            ..RunLimits::default()
        }
    }

    pub fn retry_policy(&self) -> RetryPolicy {
        let standard = RetryPolicy::default();
        let delays_ms = self.retry.delays.as_ref().map(|delays| delays.iter().map(|delay| delay.ms).collect());
        RetryPolicy {
            max_retries: self.retry.max.unwrap_or(standard.max_retries),
            max_throttled: self.retry.max_throttled.unwrap_or(standard.max_throttled),
            delays_ms: delays_ms.unwrap_or(standard.delays_ms),
            jitter: standard.jitter,
            classes: self.retry.on.clone(),
            after_end: self
                .retry
                .after_end
                .as_ref()
                .map(|after| AfterEnd { times: after.times, delay_ms: after.delay.ms }),
        }
    }
}

/// Without a slash, so that it is never one that Windrow's own workers have by themselves.
pub fn is_capability(text: &str) -> bool {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    !text.is_empty() && text.chars().count() <= MAX_CAPABILITY && text.chars().all(plain)
}
