//! One step under the journal's rules: what was done before is reused, a paid call is recorded
//! before it is made, and so is its result. Limits of a provider are waited for here.

use std::future::Future;
use std::time::Instant;

use windrow_jobfile::http_client;
use windrow_model::Json;
use windrow_model::limit::{Demand, Permit, Response};
use windrow_model::step::{Recalled, StepIntent, StepResult, Usage};
use windrow_model::workload::{Halt, Journal, Stopped};

/// Kinds of the steps of the target itself, and of other calls.
pub const TARGET: &str = "target";
pub const CALL: &str = "call";
/// A cell of a column: its target's answer, or its text.
pub const COLUMN: &str = "column";
pub const EVALUATOR: &str = "evaluator";

/// What a step costs beside time.
pub enum Price {
    /// Nothing: it needs no intent.
    Free,
    /// Its intent is recorded first. Where it calls a provider, it asks for leave before that.
    Paid(Option<Demand>),
}

/// `make` is polled only if the step has to be made. An unknown outcome means making it again:
/// experiments record every intent as harmless to repeat.
pub async fn perform(
    journal: &dyn Journal,
    intent: StepIntent,
    price: Price,
    make: impl Future<Output = Result<(Json, Usage), Halt>> + Send,
) -> Result<(Json, Usage), Halt> {
    let known = match journal.recall(&intent.key) {
        Some(Recalled::Done { from, output, usage }) => Some((from, output, usage, None)),
        _ if intent.shared => match journal.look_up(&intent.key).await {
            Some(Recalled::Shared { from, output, usage }) => {
                let taken = Some((output.clone(), usage));
                Some((from, output, usage, taken))
            }
            _ => None,
        },
        _ => None,
    };
    if let Some((from, output, usage, taken)) = known {
        journal.reuse(intent, from, taken);
        return Ok((output, usage));
    }
    let Price::Paid(demand) = price else {
        let began = Instant::now();
        let made = make.await;
        if let Some(result) = result_of(&made) {
            journal.whole(intent, result, http_client::ms_since(began));
        }
        return made;
    };
    if journal.stopping() {
        return Err(Stopped.into());
    }
    // Before the intent, so that none stands on record while a limit is waited for.
    let permit = match demand {
        Some(demand) => journal.admit(demand).await?,
        None => Permit::free(),
    };
    // What judges and others say to themselves is not shown.
    let shown = matches!(&*intent.kind, TARGET | COLUMN).then(|| (intent.name.clone(), intent.turn));
    let no = journal.begin(intent).await?;
    let shown = shown.and_then(|(name, turn)| journal.shown(no, &name, turn));
    let made = http_client::within(journal.span(no), http_client::showing(shown, make)).await;
    if let Some(response) = response_to(&made) {
        permit.settle(response);
    }
    if let Some(result) = result_of(&made) {
        journal.finish(no, result);
    }
    made
}

/// How the provider answered; a call that was stopped has no answer.
fn response_to(made: &Result<(Json, Usage), Halt>) -> Option<Response> {
    match made {
        Ok((_, used)) => Some(Response::to_success(*used)),
        Err(Halt::Failed(failure)) => Some(Response::to_failure(failure)),
        Err(Halt::Stopped(_)) => None,
    }
}

/// What to record; a step that was stopped has no result.
fn result_of(made: &Result<(Json, Usage), Halt>) -> Option<StepResult> {
    match made {
        Ok((output, usage)) => Some(StepResult::Done { output: output.clone(), usage: *usage }),
        Err(Halt::Failed(failure)) => Some(StepResult::Failed { failure: failure.clone() }),
        Err(Halt::Stopped(_)) => None,
    }
}
