//! The journal of a rehearsal: records nothing, and notes every call that would have been made.

use std::sync::{Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use windrow_model::limit::{Demand, Permit};
use windrow_model::step::{ContentKey, Recalled, StepIntent, StepResult, Usage};
use windrow_model::workload::{Done, Journal, StepNo, Stopped};
use windrow_model::{Json, StepId};

use crate::step::EVALUATOR;

/// One call of one item.
#[derive(Debug, Clone, PartialEq)]
pub struct Noted {
    /// The evaluator's name, the simulated user; empty for the target itself.
    pub caller: String,
    pub model: String,
    pub turn: u32,
    pub usage: Usage,
    pub demand: Option<Demand>,
}

#[derive(Default)]
pub struct Ledger {
    book: Mutex<Book>,
}

#[derive(Default)]
struct Book {
    calls: Vec<Noted>,
    /// Of the call whose intent comes next: nothing waits in a rehearsal, so none comes between.
    demand: Option<Demand>,
}

impl Ledger {
    pub fn into_calls(self) -> Vec<Noted> {
        self.book.into_inner().unwrap_or_else(PoisonError::into_inner).calls
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Journal for Ledger {
    fn recall(&self, _: &ContentKey) -> Option<Recalled> {
        None
    }

    async fn look_up(&self, _: &ContentKey) -> Option<Recalled> {
        None
    }

    async fn admit(&self, demand: Demand) -> Result<Permit, Stopped> {
        self.book().demand = Some(demand);
        Ok(Permit::free())
    }

    async fn wait_out(&self, _endpoint: &str, pause: std::time::Duration) -> Result<(), Stopped> {
        tokio::time::sleep(pause).await;
        Ok(())
    }

    async fn begin(&self, intent: StepIntent) -> Result<StepNo, Stopped> {
        // Code of the user runs here and costs nothing.
        if intent.kind == EVALUATOR {
            return Ok(StepNo { no: u32::MAX, shared: false });
        }
        let mut book = self.book();
        let demand = book.demand.take();
        let model = model_in(&intent.input);
        book.calls.push(Noted { caller: intent.name, model, turn: intent.turn, usage: Usage::default(), demand });
        Ok(StepNo { no: book.calls.len() as u32 - 1, shared: intent.shared })
    }

    fn finish(&self, no: StepNo, result: StepResult) {
        let StepResult::Done { output, usage } = result else { return };
        if let Some(call) = self.book().calls.get_mut(no.no as usize) {
            call.usage = usage;
            let named = model_in(&output);
            if !named.is_empty() {
                call.model = named;
            }
        }
    }

    fn whole(&self, _: StepIntent, _: StepResult, _: i64) {}

    fn reuse(&self, _: StepIntent, _: StepId, _: Option<(Json, Usage)>) {}

    async fn hand_in_partial(&self, _: Done) -> Result<(), Stopped> {
        Ok(())
    }

    fn stopping(&self) -> bool {
        false
    }
}

/// Answers name their model; of other calls the request does.
fn model_in(json: &Json) -> String {
    json.value()["model"].as_str().unwrap_or_default().to_owned()
}
