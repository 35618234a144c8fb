//! The webhook that a job file asks for (E28). It is registered before the first run is stored, so that no result is
//! missed, and belongs to its job: whoever may submit the job needs no other right.

use windrow_engine::Request;
use windrow_experiment::Callback;
use windrow_model::hook::{Hook, NewHook, Topics};
use windrow_model::{HookId, JobId, Time};

use crate::app::App;
use crate::app::webhooks::secret;
use crate::error::{Code, Error, Result};

const ACTOR: &str = "callback";
const BATCH: usize = 100;
const TIMEOUT_MS: i64 = 10_000;

/// The webhook of the request's job is that of its definition. Returns one that is new.
pub async fn register(app: &App, request: &Request, job: JobId, now: Time) -> Result<Option<HookId>> {
    let wanted = windrow_experiment::callback(&request.spec);
    let hooks = app.hooks.hooks().await?;
    let mut registered = None;
    for hook in hooks.into_iter().filter(|hook| hook.job == Some(job) && hook.actor == ACTOR) {
        match wanted.as_ref().is_some_and(|callback| is_the_same(&hook, callback)) && registered.is_none() {
            true => registered = Some(hook),
            false => remove(app, hook).await?,
        }
    }
    let Some(callback) = wanted else { return Ok(None) };
    let signs = signing_secret(app, &request.workspace, callback.secret.clone()).await?;
    if let Some(hook) = registered {
        // The secret may have changed since.
        secret::keep(app, &hook.secret, &signs, ACTOR, now).await?;
        return Ok(None);
    }
    let id = HookId::mint(now, fastrand::u64(..));
    let name = format!("{id}.{}", now.0);
    secret::keep(app, &name, &signs, ACTOR, now).await?;
    let topics =
        Topics::of(&callback.events).map_err(|wrong| Error::invalid("callback.events", wrong.to_string(), ""))?;
    let hook = NewHook {
        id,
        workspace: Some(request.workspace.clone()),
        job: Some(job),
        url: callback.url,
        topics,
        batch: BATCH,
        timeout_ms: TIMEOUT_MS,
        secret: name,
        actor: ACTOR.to_owned(),
    };
    Ok(Some(app.hooks.add_hook(hook, now).await?.id))
}

/// Of a run that was not stored.
pub async fn take_back(app: &App, hook: HookId) -> Result<()> {
    let hook = app.hooks.hook(hook).await?;
    remove(app, hook).await
}

fn is_the_same(hook: &Hook, callback: &Callback) -> bool {
    hook.url == callback.url && hook.topics.words() == callback.events
}

async fn remove(app: &App, hook: Hook) -> Result<()> {
    app.hooks.delete_hook(hook.id).await?;
    secret::forget(app, &hook.secret).await;
    Ok(())
}

/// Looking up a secret blocks.
async fn signing_secret(app: &App, workspace: &str, reference: String) -> Result<String> {
    let environment = app.environment().of_workspace(workspace);
    let resolved = tokio::task::spawn_blocking(move || environment.resolve_secret(&reference)).await;
    let resolved = resolved.map_err(|panic| Error::new(format!("failed to read a secret: {panic}"), ""))?;
    let unset = |error: windrow_jobfile::environment::BadReference| {
        Error::invalid("callback.secret", error.to_string(), "set it before submitting the job").coded(Code::BadRequest)
    };
    Ok(resolved.map_err(unset)?.text)
}
