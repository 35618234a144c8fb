//! What a handler of one type of target must be able to say and do.
//!
//! A handler is asked for the next call toward a goal, again and again, each time with a fresh look at
//! the target. So a crash, a lost answer or a slow effect need no code of their own: who looks again
//! knows what is left to do. Applying and undoing differ in nothing but the goal.

use async_trait::async_trait;
use serde_json::Value;
use windrow_jobfile::spec::thaw_config;
use windrow_model::step::ContentKey;
use windrow_model::{ErrorClass, Failure};

use super::image::differences;
use super::mask::is_secret_name;
use super::target::Target;
use super::web::unreachable;

#[async_trait]
pub trait Handler: Send + Sync {
    /// What it does to a target, for metrics.
    fn action(&self) -> &'static str {
        "apply"
    }
    /// Names the target among all operations: two of them never change it at the same time.
    fn lock(&self, target: &Target) -> String;
    /// The target as far as this action can change it; `None` where it cannot be read.
    async fn read(&self, target: &Target) -> Result<Option<Value>, Failure>;
    /// What the action makes of it.
    fn after(&self, target: &Target, before: &Value) -> Result<Value, Failure>;
    /// What that changes, for a person.
    fn changes(&self, _target: &Target, before: &Value, after: &Value) -> Vec<String> {
        differences(before, after)
    }
    /// Whether the target would take it, before anything is changed.
    async fn validate(&self, _target: &Target, _after: &Value) -> Result<(), Failure> {
        Ok(())
    }
    /// Already done? What comes next? Decided from what is known, without asking anybody.
    fn next(&self, context: &ChangeContext<'_>) -> Result<Next, Failure>;
    async fn call(&self, target: &Target, call: &Call, key: &ContentKey) -> Result<Value, Trouble>;
    /// What of a look is worth keeping: not what comes and goes by itself.
    fn normalize(&self, image: Value) -> Value {
        image
    }
    /// The pre-image, once it can be read better than at first.
    fn refine_preimage(&self, before: &Value, _now: &Value) -> Value {
        before.clone()
    }
    /// Whether nobody may see what stands under this name.
    fn hides(&self, name: &str) -> bool {
        is_secret_name(name)
    }
    /// What nobody may see, wherever it stands.
    fn secret_values(&self) -> Vec<String> {
        Vec::new()
    }
    /// What of an image shows that somebody else has changed the target.
    fn fingerprint(&self, image: &Value) -> Value {
        image.clone()
    }
    /// B4: how long one try may take.
    fn timeout_ms(&self) -> i64 {
        20_000
    }
    /// How long the goal must last to count.
    fn steady_ms(&self) -> i64 {
        0
    }
    /// All targets whose name matches, for `targets: { select: … }`.
    async fn select(&self, _pattern: &str) -> Result<Vec<Target>, Failure> {
        Err(Failure::new(ErrorClass::InvalidRequest, "this handler cannot list its targets"))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    Apply,
    Undo,
}

impl Way {
    /// The kind of the steps that are made this way.
    pub fn as_str(self) -> &'static str {
        match self {
            Way::Apply => "apply",
            Way::Undo => "undo",
        }
    }
}

/// All a handler knows when it decides.
pub struct ChangeContext<'a> {
    pub target: &'a Target,
    pub way: Way,
    pub before: &'a Value,
    pub after: &'a Value,
    /// `None` where the target cannot be read.
    pub now: Option<&'a Value>,
    /// Calls made this way so far, by whatever process.
    pub past_calls: &'a [PastCall],
    /// Calls of this change in both directions, in their order.
    pub calls: &'a [PastCall],
    /// The pre-image was taken again.
    pub refined: bool,
}

impl<'a> ChangeContext<'a> {
    pub fn goal(&self) -> &'a Value {
        match self.way {
            Way::Apply => self.after,
            Way::Undo => self.before,
        }
    }

    pub fn has_called(&self, name: &str) -> bool {
        self.past_calls.iter().any(|call| call.name == name)
    }
}

/// A call on record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PastCall {
    pub name: String,
    /// It was answered; otherwise nobody knows what came of it.
    pub answered: bool,
}

#[derive(Debug, Clone, PartialEq)]
#[must_use]
pub enum Next {
    Reached,
    Call(Call),
    /// Nothing to do but wait.
    Wait(String),
    /// Take the pre-image again, before the first change that cannot be read back from outside.
    RefinePreimage,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    pub name: String,
    pub input: Value,
}

impl Next {
    pub fn call(name: &str, input: Value) -> Self {
        Next::Call(Call { name: name.to_owned(), input })
    }
}

/// What may become of a call that was not answered as hoped.
#[derive(Debug, Clone, PartialEq)]
pub enum Trouble {
    /// It did not happen, and may soon.
    Busy(Failure),
    /// It did not happen, because nobody was there; that is waited for.
    Unreachable(Failure),
    /// It may have happened: to be read back, never to be repeated blindly.
    Unknown(Failure),
    /// It did not happen, and will not.
    Failed(Failure),
}

impl Trouble {
    pub fn failure(self) -> Failure {
        match self {
            Trouble::Busy(failure)
            | Trouble::Unreachable(failure)
            | Trouble::Unknown(failure)
            | Trouble::Failed(failure) => failure,
        }
    }

    pub fn map(self, change: impl FnOnce(Failure) -> Failure) -> Self {
        match self {
            Trouble::Busy(failure) => Trouble::Busy(change(failure)),
            Trouble::Unreachable(failure) => Trouble::Unreachable(change(failure)),
            Trouble::Unknown(failure) => Trouble::Unknown(change(failure)),
            Trouble::Failed(failure) => Trouble::Failed(change(failure)),
        }
    }

    /// It never left: because nobody was there, or because it cannot be sent at all.
    pub fn unsent(failure: Failure) -> Self {
        match unreachable(&failure) {
            Some(_) => Trouble::Unreachable(failure),
            None => Trouble::Failed(failure),
        }
    }
}

pub fn thaw<C: serde::de::DeserializeOwned>(config: Value) -> Result<C, Failure> {
    thaw_config("action", config)
}
