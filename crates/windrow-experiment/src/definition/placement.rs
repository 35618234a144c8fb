//! Who may do an experiment's items: this process, any `windrow worker`, or a worker of the user's own
//! that speaks the protocol of `proto/` and brings its own target and evaluators.

use serde_json::Value;
use windrow_jobfile::environment::SECRET;
use windrow_jobfile::spec::Spec;
use windrow_model::workload::RunsOn;

use crate::definition::spec::ExperimentSpec;

/// What a `windrow worker` is able to do by itself. Of one version only: another one may read a frozen
/// definition differently.
pub const CAPABILITY: &str = concat!("experiment/", env!("CARGO_PKG_VERSION"));

/// Name of the target and the evaluator that are the worker's own.
pub const WORKER: &str = "worker";

/// Components that need files of the machine the job file lies on.
const BOUND_TO_FILES: [&str; 3] = ["command", "python", "replay"];

pub fn runs_on(spec: &ExperimentSpec) -> RunsOn {
    let own = spec.targets().all(|(_, target)| target.kind != WORKER).then(|| CAPABILITY.to_owned());
    match &spec.worker {
        Some(worker) => RunsOn::Elsewhere { needs: own.into_iter().chain([worker.clone()]).collect() },
        None if needs_files(spec) || names_a_secret(spec) => RunsOn::Here,
        None => RunsOn::Anywhere { needs: own.into_iter().collect() },
    }
}

/// Secrets are the server's: they are not given to anybody. The one of a callback is used by the server alone.
fn names_a_secret(spec: &ExperimentSpec) -> bool {
    let executed = ExperimentSpec { callback: None, ..spec.clone() };
    executed.freeze().0.as_str().contains(SECRET)
}

fn needs_files(spec: &ExperimentSpec) -> bool {
    let of = |kind: &str, config: &Value| BOUND_TO_FILES.contains(&kind) || names_one(config);
    spec.targets().any(|(_, target)| of(&target.kind, &target.config))
        || spec.all_evaluators().any(|evaluator| of(&evaluator.kind, &evaluator.config))
}

/// Also a component inside another one.
fn names_one(config: &Value) -> bool {
    match config {
        Value::Object(fields) => {
            let kind = fields.get("kind").and_then(Value::as_str);
            kind.is_some_and(|kind| BOUND_TO_FILES.contains(&kind)) || fields.values().any(names_one)
        }
        Value::Array(list) => list.iter().any(names_one),
        _ => false,
    }
}
