//! What a forecast assumes, said in words.

use std::collections::BTreeSet;

use windrow_jobfile::environment::Environment;
use windrow_jobfile::prices::Prices;
use windrow_model::{ErrorClass, Failure, Json};

use crate::context::{Experience, FIRST_GUESS, FIRST_TOKEN_MS, TOKEN_MS};
use crate::definition::conversation::ConversationMode;
use crate::definition::spec::ExperimentSpec;
use crate::forecast::Line;
use crate::target::{has_price, models};

pub fn of(spec: &ExperimentSpec, calls: &[Line], experience: &Experience, failed: &[Failure]) -> Vec<String> {
    let mut notes = Vec::new();
    let guessed: Vec<&str> = calls
        .iter()
        .map(|line| line.caller.as_str())
        .filter(|caller| !experience.knows(if *caller == "target" { "" } else { caller }))
        .collect();
    if !guessed.is_empty() {
        notes.push(format!(
            "guessed for {}: answers as long as `max_tokens`, or {FIRST_GUESS} tokens; {FIRST_TOKEN_MS} ms a call and \
             {TOKEN_MS} ms per token of the answer",
            guessed.join(", ")
        ));
    }
    if matches!(spec.conversation, ConversationMode::Simulated(_)) {
        notes.push("the simulated user is taken to use all of `max_turns`: at most".to_owned());
    }
    if spec.cache {
        notes.push(
            "`cache` is on: results of earlier calls of any job are reused, so this is an upper limit".to_owned(),
        );
    }
    if spec.targets().any(|(_, target)| target.kind == "replay") {
        notes.push("answers that are recorded already cost nothing, so this is at most".to_owned());
    }
    if spec.all_evaluators().any(|evaluator| ["command", "python"].contains(&evaluator.kind.as_str())) {
        notes.push("the time of evaluators that are code is not counted".to_owned());
    }
    if let Some(first) = failed.first() {
        notes.push(format!("{} of the sampled items would fail, the first with: {first}", failed.len()));
    }
    notes
}

/// Models of the definition without a price, and what is called that is no model.
pub fn unpriced(
    spec: &ExperimentSpec,
    frozen: &Json,
    calls: &[Line],
    environment: &Environment,
) -> Result<Vec<String>, Failure> {
    let prices = Prices::new(spec.prices.clone(), environment)
        .map_err(|wrong| Failure::new(ErrorClass::InvalidRequest, wrong))?;
    let mut unpriced: BTreeSet<String> = prices.unknown_in(&frozen.value(), &has_price);
    for (_, target) in spec.targets() {
        let is_model = models().any(|kind| kind == target.kind);
        unpriced.extend(calls.iter().filter(|line| !is_model && line.model == target.kind).map(|l| l.model.clone()));
    }
    Ok(unpriced.into_iter().collect())
}
