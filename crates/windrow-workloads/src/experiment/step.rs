//! One step under the journal's rules: what was done before is reused, what costs is announced
//! before it is made, and what came of it is recorded.

use std::future::Future;

use windrow_model::step::{Recalled, StepIntent, StepResult, Usage};
use windrow_model::workload::{Halt, Journal, Stopped};
use windrow_model::{Failure, Json};

/// `make` is polled only if the step has to be made. An unknown outcome means making it again:
/// experiments record every intent as harmless to repeat.
pub async fn perform(
    journal: &dyn Journal,
    intent: StepIntent,
    is_paid: bool,
    make: impl Future<Output = Result<(Json, Usage), Failure>> + Send,
) -> Result<(Json, Usage), Halt> {
    if let Some(Recalled::Done { from, output, usage }) = journal.recall(&intent.key) {
        journal.reuse(intent, from);
        return Ok((output, usage));
    }
    if !is_paid {
        let made = make.await;
        journal.whole(intent, result_of(&made));
        return Ok(made?);
    }
    if journal.stopping() {
        return Err(Stopped.into());
    }
    let no = journal.begin(intent).await?;
    let made = make.await;
    journal.finish(no, result_of(&made));
    Ok(made?)
}

fn result_of(made: &Result<(Json, Usage), Failure>) -> StepResult {
    match made {
        Ok((output, usage)) => StepResult::Done { output: output.clone(), usage: *usage },
        Err(failure) => StepResult::Failed { failure: failure.clone() },
    }
}
