//! What an operation would change, target by target, found out without changing anything.

use std::sync::Arc;

use futures::StreamExt;
use windrow_jobfile::environment::Environment;
use windrow_model::operation::PlannedTarget;
use windrow_model::{Failure, Json};

use super::handler::{ChangeContext, Next, Way};
use super::program::Operation;
use super::target::Target;

const AT_A_TIME: usize = 32;

/// In the order of the targets, as they are found out.
pub async fn preview(
    spec: &Json,
    environment: Environment,
    mut each: impl FnMut(PlannedTarget),
) -> Result<(), Failure> {
    let operation = Arc::new(Operation::thaw(spec, environment).await?);
    let looks = (0..operation.targets().len()).map(|place| look(operation.clone(), place));
    let mut found = futures::stream::iter(looks).buffered(AT_A_TIME);
    while let Some(preview) = found.next().await {
        each(preview);
    }
    Ok(())
}

async fn look(operation: Arc<Operation>, place: usize) -> PlannedTarget {
    let target = &operation.targets()[place];
    let mut preview = PlannedTarget {
        target: target.name.clone(),
        before: None,
        after: None,
        changes: Vec::new(),
        done: false,
        error: None,
    };
    if let Err(failure) = fill(&operation, target, &mut preview).await {
        preview.error = Some(failure.to_string());
    }
    preview
}

async fn fill(operation: &Operation, target: &Target, preview: &mut PlannedTarget) -> Result<(), Failure> {
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
        refined,
    })?;
    preview.done = now.is_some() && next == Next::Reached;
    if !preview.done {
        preview.changes = handler.changes(target, &before, &after);
    }
    (preview.before, preview.after) = (now.map(|_| before), Some(after.clone()));
    if preview.done { Ok(()) } else { handler.validate(target, &after).await }
}
