//! An operation's job file: reads its sections, finds its targets and freezes the definition.

mod action;
mod freeze;
mod strategy;
mod targets;

use windrow_jobfile::LoadedJob;
use windrow_jobfile::dataset::Library;
use windrow_jobfile::diagnostics::Problems;
use windrow_jobfile::environment::Environment;
use windrow_jobfile::job_file::{Base, HEADER_FIELDS, Header, Section};
use windrow_jobfile::spec::Spec;
use windrow_model::retry::RetryPolicy;
use windrow_model::rollout::OnFailure;

use crate::own_worker;
use crate::registry;
use crate::spec::{KIND, OperationSpec, Targets};

const FIELDS: &[&str] = &["targets", "action", "strategy"];
/// B1.
const CONCURRENCY: i64 = 32;
/// B4: pending again at most twice, at once.
const RETRIES: u32 = 2;

pub fn load(
    base: Base<'_>,
    mut root: Section,
    environment: &Environment,
    _library: Option<&Library>,
    problems: &mut Problems,
) -> Option<LoadedJob> {
    let root_span = root.span.clone();
    let ignored = [
        (
            "schedule",
            "its targets are frozen, and a change is made once",
            "leave it out, and run the file when the change is due",
        ),
        (
            "budget",
            "its calls use no tokens and have no price",
            "leave it out; `strategy.max_failed` limits the damage",
        ),
    ];
    let given = |name: &&(&str, &str, &str)| root.field_names().contains(&name.0);
    for (name, why, help) in ignored.iter().filter(given) {
        problems.add(root.span_of(name), format!("an operation has no `{name}`: {why}"), *help);
    }
    let header = Header::take(&mut root, base.workspace, problems);
    let targets = root.require("targets", "targets: { list: [orders, payments] }", problems);
    let action = root.require("action", "action: { http: { apply: { method: PUT, url: … } } }", problems);
    let strategy = root.take("strategy");
    root.finish(&[HEADER_FIELDS, FIELDS].concat(), problems);

    let action = action.and_then(|section| action::read(section, base.folder, problems));
    let strategy = strategy::read(strategy, base.folder, problems);
    let (header, action, strategy, targets) = (header?, action?, strategy?, targets?);
    // What follows may ask the world; not for a file that is wrong anyway.
    if !problems.is_empty() {
        return None;
    }
    if action.component.kind == own_worker::KIND && header.worker.is_none() {
        let message = "`action.worker` needs `worker`: the capability that your workers register with";
        problems.add(action.span, message, "add it at the top of the file, for example: worker: dns");
        return None;
    }
    let environment = &environment.of_workspace(&header.workspace);
    let handler = match registry::build(&action.component, environment) {
        Ok(handler) => handler,
        Err(failure) => {
            problems.add(action.span, failure.message, "correct it here");
            return None;
        }
    };
    let targets = targets::read(targets, base, environment, &*handler, problems)?;
    let staged = match targets.finish(&header.name) {
        Ok(staged) => staged,
        Err(error) => {
            problems.add(
                root_span.clone(),
                format!("the targets cannot be kept: {error}"),
                "free disk space, then retry",
            );
            return None;
        }
    };
    let total = staged.list.rows as i64;
    let settled = strategy.over(total, problems)?;
    if settled.rollout.on_failure == OnFailure::Rollback
        && let Some(why) = registry::irreversible(&action.component)
    {
        problems.add(
            root_span,
            format!("`on_failure: rollback` cannot work: {why}"),
            "write on_failure: stop or pause",
        );
        return None;
    }
    let policy = header.retry_policy();
    let retry = match header.is_given("retry") {
        true => policy,
        false => RetryPolicy { max_retries: RETRIES, delays_ms: vec![0], ..policy },
    };
    let timeout_ms = if header.is_given("timeout") { header.timeout.ms } else { handler.timeout_ms() };
    let worker = header.worker.clone();
    let (action, health) = (action.component, strategy.health);
    let targets = Targets::Stored(staged.list.clone());
    let spec = OperationSpec {
        targets,
        action,
        health,
        timeout_ms,
        retry,
        worker,
        unreachable_for_ms: strategy.unreachable_for_ms,
        force: false,
    };
    let mut limits = header.limits();
    if !header.is_given("concurrency") {
        limits.concurrency = CONCURRENCY;
    }
    limits.max_failed = settled.max_failed;
    let (rollout, warnings) = (Some(settled.rollout), settled.warnings);
    let staged = Some(staged);
    Some(LoadedJob { limits, rollout, warnings, staged, ..header.into_job(KIND, spec.freeze(), total as u64) })
}
