//! Tries before a run whether the code of a user can be started: Python files are imported, the programs of commands
//! are looked for. Nothing is called.

use std::path::Path;
use std::time::Duration;

use serde_json::Value;
use windrow_jobfile::environment::Environment;
use windrow_model::{ErrorClass, Failure, Json};

use super::config::{Frozen, Launch};
use super::exchange::Running;
use super::start::Start;
use crate::context::{Caller, Place};
use crate::definition::spec::ExperimentSpec;

const IMPORT_TIMEOUT: Duration = Duration::from_secs(60);

/// Every `python` and `command` of an experiment that cannot be started.
pub async fn broken_code(spec: &Json, environment: &Environment) -> Vec<Failure> {
    let Ok(spec) = spec.parse::<ExperimentSpec>() else { return Vec::new() };
    let targets = spec.targets().map(|(column, target)| (Caller::of_target(column), &target.kind, &target.config));
    let evaluators = spec.all_evaluators();
    let evaluators = evaluators.map(|one| (Caller::Evaluator(one.name.clone()), &one.kind, &one.config));
    let mut broken = Vec::new();
    for (caller, kind, config) in targets.into_iter().chain(evaluators) {
        if !matches!(kind.as_str(), "python" | "command") {
            continue;
        }
        let Ok(frozen) = serde_json::from_value::<Frozen<Value>>(config.clone()) else { continue };
        if let Err(failure) = try_to_start(&frozen, environment).await {
            let field = if kind == "python" { "file" } else { "run" };
            broken.push(failure.at_setting(Place { caller, kind: kind.clone() }.setting(field)));
        }
    }
    broken
}

async fn try_to_start(frozen: &Frozen<Value>, environment: &Environment) -> Result<(), Failure> {
    if let Launch::Command(command) = &frozen.launch {
        let program = command.run.first().map(String::as_str).unwrap_or_default();
        return match is_there(program, &frozen.folder) {
            true => Ok(()),
            false => Err(Failure::new(ErrorClass::Handler, format!("`{program}` is not an executable file"))),
        };
    }
    let start = Start::new(frozen, environment);
    let start = start.map_err(|error| Failure::new(ErrorClass::InvalidRequest, error.to_string()))?;
    let imported = Running::start(&start.only_to_import())?.whole("", 1);
    match tokio::time::timeout(IMPORT_TIMEOUT, imported).await {
        Ok(imported) => imported.map(drop),
        Err(_) => {
            let message = format!("the import takes longer than {} s", IMPORT_TIMEOUT.as_secs());
            Err(Failure::new(ErrorClass::Handler, message))
        }
    }
}

fn is_there(program: &str, folder: &Path) -> bool {
    if program.contains('/') {
        return folder.join(program).is_file();
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}
