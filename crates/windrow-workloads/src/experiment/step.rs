//! One step under the journal's rules: what was done before is reused, what costs is announced
//! before it is made, and what came of it is recorded.

use std::future::Future;

use windrow_model::Json;
use windrow_model::step::{Recalled, StepIntent, StepResult, Usage};
use windrow_model::workload::{Halt, Journal, Stopped};

/// `make` is polled only if the step has to be made. An unknown outcome means making it again:
/// experiments record every intent as harmless to repeat.
pub async fn perform(
    journal: &dyn Journal,
    intent: StepIntent,
    is_paid: bool,
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
    if !is_paid {
        let made = make.await;
        if let Some(result) = result_of(&made) {
            journal.whole(intent, result);
        }
        return made;
    }
    if journal.stopping() {
        return Err(Stopped.into());
    }
    let no = journal.begin(intent).await?;
    let made = make.await;
    if let Some(result) = result_of(&made) {
        journal.finish(no, result);
    }
    made
}

/// What to record; a step that was stopped has no result.
fn result_of(made: &Result<(Json, Usage), Halt>) -> Option<StepResult> {
    match made {
        Ok((output, usage)) => Some(StepResult::Done { output: output.clone(), usage: *usage }),
        Err(Halt::Failed(failure)) => Some(StepResult::Failed { failure: failure.clone() }),
        Err(Halt::Stopped(_)) => None,
    }
}
