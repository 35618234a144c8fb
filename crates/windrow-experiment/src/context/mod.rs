//! What every target and evaluator is given beside its own configuration. In a dry run that includes a
//! rehearsal, which answers in place of whatever would be called.

mod experience;
mod place;
mod rehearsal;

use std::sync::Arc;

use windrow_jobfile::duration::Duration;
use windrow_jobfile::environment::Environment;
use windrow_jobfile::prices::Prices;

pub use experience::{BYTES_PER_TOKEN, Experience, FIRST_GUESS, FIRST_TOKEN_MS, TOKEN_MS};
pub use place::{Caller, Place};
pub use rehearsal::Rehearsal;

/// What a target is given beside its own configuration.
#[derive(Clone)]
pub struct ComponentContext {
    pub environment: Environment,
    /// How long a call may take where its configuration does not say.
    pub timeout: Duration,
    pub prices: Arc<Prices>,
    /// Given where nothing may really be called.
    pub rehearsal: Option<Rehearsal>,
    /// Who it belongs to.
    pub caller: Caller,
}

impl ComponentContext {
    /// For what this one calls: an evaluator by its name, the simulated user.
    pub fn of_caller(&self, caller: &str) -> Self {
        self.of(Caller::Evaluator(caller.to_owned()))
    }

    pub fn of_column(&self, name: &str) -> Self {
        self.of(Caller::Column(name.to_owned()))
    }

    fn of(&self, caller: Caller) -> Self {
        let rehearsal = self.rehearsal.as_ref().map(|rehearsal| rehearsal.of_caller(caller.name()));
        Self { rehearsal, caller, ..self.clone() }
    }

    /// Where a component of this kind is in the job file.
    pub fn place(&self, kind: &str) -> Place {
        Place { caller: self.caller.clone(), kind: kind.to_owned() }
    }

    /// For a model whose answer is read, so that in a rehearsal it can be.
    pub fn expecting(&self, reply: impl FnOnce() -> String) -> Self {
        let rehearsal = self.rehearsal.as_ref().map(|rehearsal| rehearsal.expecting(reply()));
        Self { rehearsal, ..self.clone() }
    }
}

#[cfg(test)]
impl ComponentContext {
    /// For what needs nothing.
    pub fn plain() -> Self {
        Self {
            environment: Environment::new(|_| None),
            timeout: Duration::from_secs(5),
            prices: Arc::default(),
            rehearsal: None,
            caller: Caller::default(),
        }
    }
}
