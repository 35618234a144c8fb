//! What an operation would change, target by target, found out without changing anything.

use std::sync::Arc;

use futures::StreamExt;
use windrow_jobfile::LoadedJob;
use windrow_jobfile::environment::Environment;
use windrow_jobfile::spec::invalid_request;
use windrow_model::Failure;
use windrow_model::operation::PlannedTarget;

use super::handler::{ChangeContext, Next, Way};
use super::program::Operation;
use super::target::Target;
use super::target_source::TargetSource;
use super::{mask, veil};

const AT_A_TIME: usize = 32;

/// In the order of the targets, as they are found out. A bounded number of them is in memory.
pub async fn preview(
    job: &LoadedJob,
    environment: Environment,
    mut each: impl FnMut(PlannedTarget),
) -> Result<(), Failure> {
    let none = |targets| TargetSource::new(targets, &job.workspace, None);
    let operation = Arc::new(Operation::thaw(&job.spec, environment, none).await?);
    // Of this preview only, so that what is shown tells nothing about a password.
    let salt: [u8; 32] = std::array::from_fn(|_| fastrand::u8(..));
    let staged = job.staged.as_ref().ok_or_else(|| invalid_request("the job file has no targets"))?;
    let unread = |error: std::io::Error| invalid_request(format!("the targets cannot be read: {error}"));
    let looks = staged.open().map_err(unread)?.map(|line| {
        let operation = operation.clone();
        async move {
            let target: Target = serde_json::from_str(&line.map_err(unread)?).map_err(|error| unread(error.into()))?;
            Ok::<_, Failure>(look(&operation, &target, &salt).await)
        }
    });
    let mut found = futures::stream::iter(looks).buffered(AT_A_TIME);
    while let Some(preview) = found.next().await {
        each(preview?);
    }
    Ok(())
}

async fn look(operation: &Operation, target: &Target, salt: &[u8; 32]) -> PlannedTarget {
    let mut preview = PlannedTarget {
        target: target.name.clone(),
        before: None,
        after: None,
        changes: Vec::new(),
        done: false,
        error: None,
    };
    if let Err(failure) = fill(operation, target, salt, &mut preview).await {
        preview.error = Some(failure.to_string());
    }
    preview
}

async fn fill(
    operation: &Operation,
    target: &Target,
    salt: &[u8; 32],
    preview: &mut PlannedTarget,
) -> Result<(), Failure> {
    let handler = operation.handler();
    let now = handler.read(target).await?;
    let before = handler.normalize(now.clone().unwrap_or_default());
    let after = handler.after(target, &before)?;
    let (way, past_calls, refined) = (Way::Apply, &[][..], false);
    let next = handler.next(&ChangeContext {
        target,
        way,
        before: &before,
        after: &after,
        now: now.as_ref(),
        past_calls,
        calls: past_calls,
        refined,
    })?;
    preview.done = now.is_some() && next == Next::Reached;
    let secrets = veil::secrets(handler, [&before, &after]);
    let [seen_before, seen_after] = [&before, &after].map(|image| veil::blurred(image, handler, &secrets, salt));
    if !preview.done {
        preview.changes = handler.changes(target, &seen_before, &seen_after);
    }
    (preview.before, preview.after) = (now.map(|_| mask::masked(seen_before)), Some(mask::masked(seen_after)));
    match preview.done {
        true => Ok(()),
        false => handler.validate(target, &after).await.map_err(|failure| mask::redacted(failure, &secrets)),
    }
}
