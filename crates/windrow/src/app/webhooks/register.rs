//! Webhooks as their owners manage them. An actor of one workspace sees and makes webhooks of that one only.

use std::str::FromStr;

use windrow_model::HookId;
use windrow_model::hook::{Hook, HookChange, NewHook, Topics, known_topics};
use windrow_model::store::StoreError;
use windrow_wire::{NewWebhook, RotateSecret, Webhook, WebhookList, WebhookSecret};

use crate::app::actor::Actor;
use crate::app::audit::Change;
use crate::app::webhooks::secret;
use crate::app::{App, lookup};
use crate::error::{Error, Result};

const BATCH: usize = 100;
const MOST_IN_BATCH: usize = 1000;
const TIMEOUT_S: i64 = 10;
const LONGEST_TIMEOUT_S: i64 = 30;
const OVERLAP_H: i64 = 24;
const LONGEST_OVERLAP_H: i64 = 7 * 24;

pub async fn list(app: &App, actor: &Actor) -> Result<WebhookList> {
    let hooks = app.hooks.hooks().await?;
    Ok(WebhookList { webhooks: hooks.iter().filter(|hook| sees(actor, hook)).map(Webhook::from).collect() })
}

/// A webhook of another workspace does not exist for the actor.
pub async fn find(app: &App, actor: &Actor, id: HookId) -> Result<Hook> {
    let hook = app.hooks.hook(id).await?;
    match sees(actor, &hook) {
        true => Ok(hook),
        false => Err(StoreError::NotFound { what: "webhook", id: id.to_string() }.into()),
    }
}

fn sees(actor: &Actor, hook: &Hook) -> bool {
    actor.workspace.is_none() || actor.workspace == hook.workspace
}

/// Pause or resume.
pub async fn set_state(app: &App, change: &Change, id: HookId, state: HookChange) -> Result<Webhook> {
    let hook = find(app, &change.actor, id).await?;
    Ok(Webhook::from(&app.hooks.change_hook(hook.id, state, app.now()).await?))
}

/// The answer is the only time that the secret is shown.
pub async fn register(app: &App, change: &Change, wish: NewWebhook) -> Result<WebhookSecret> {
    check_url(&wish.url)?;
    let topics = topics(wish.events.as_deref().unwrap_or(&["*".to_owned()]))?;
    let batch = within("batch", wish.batch.unwrap_or(BATCH) as i64, 1..=MOST_IN_BATCH as i64)? as usize;
    let timeout_s = within("timeout_seconds", wish.timeout_seconds.unwrap_or(TIMEOUT_S), 1..=LONGEST_TIMEOUT_S)?;
    let actor = &change.actor;
    let within = match (&actor.workspace, &wish.workspace) {
        (Some(own), Some(other)) if own != other => {
            let remedy = format!("leave it out, or use {own:?}");
            return Err(Error::invalid("workspace", format!("no access to workspace {other:?}"), remedy));
        }
        _ => actor.within(wish.workspace.as_deref())?,
    };
    let job = match &wish.job {
        Some(job) => Some(lookup::job(app, &within, job).await?.0),
        None => None,
    };
    let now = app.now();
    let id = HookId::mint(now, fastrand::u64(..));
    let (name, secret) = secret::make(app, id, &actor.name, now).await?;
    let hook = NewHook {
        id,
        workspace: within.workspace,
        job: job.map(|job| job.id),
        url: wish.url,
        topics,
        batch,
        timeout_ms: timeout_s * 1000,
        secret: name,
        actor: actor.name.clone(),
    };
    Ok((app.hooks.add_hook(hook, now).await?, secret).into())
}

/// A new secret; the former one signs too for a while, so that the receiver can be changed in between.
pub async fn rotate(app: &App, change: &Change, id: HookId, wish: RotateSecret) -> Result<WebhookSecret> {
    let hours = within("overlap_hours", wish.overlap_hours.unwrap_or(OVERLAP_H), 0..=LONGEST_OVERLAP_H)?;
    let (now, before) = (app.now(), find(app, &change.actor, id).await?);
    let (name, secret) = secret::make(app, id, &change.actor.name, now).await?;
    let rotation = HookChange::Rotate { secret: name, former_until: now + hours * 3_600_000 };
    let rotated = app.hooks.change_hook(id, rotation, now).await?;
    if let Some((name, _)) = before.former {
        secret::forget(app, &name).await;
    }
    Ok((rotated, secret).into())
}

/// With its deliveries and secrets.
pub async fn delete(app: &App, change: &Change, id: HookId) -> Result<()> {
    let hook = find(app, &change.actor, id).await?;
    app.hooks.delete_hook(hook.id).await?;
    let former = hook.former.iter().map(|(name, _)| name);
    for name in std::iter::once(&hook.secret).chain(former) {
        secret::forget(app, name).await;
    }
    Ok(())
}

fn check_url(text: &str) -> Result<()> {
    let bad = |why: String| Err(Error::invalid("url", why, "use https://host/path"));
    match reqwest::Url::from_str(text) {
        Err(error) => bad(format!("{text:?} is not a URL: {error}")),
        Ok(url) if !matches!(url.scheme(), "http" | "https") => bad(format!("{text:?} is not an HTTP URL")),
        Ok(_) => Ok(()),
    }
}

fn topics(words: &[String]) -> Result<Topics> {
    Topics::of(words).map_err(|error| {
        let known = known_topics().into_iter().map(|(topic, _)| topic).collect::<Vec<_>>();
        let remedy = format!("choose from {}, a family such as run.*, or * for all", known.join(", "));
        Error::invalid("events", error.to_string(), remedy)
    })
}

fn within(what: &str, value: i64, range: std::ops::RangeInclusive<i64>) -> Result<i64> {
    if range.contains(&value) {
        return Ok(value);
    }
    let must = format!("`{what}` must be {} to {}", range.start(), range.end());
    Err(Error::invalid(what, must, "leave it out for the default"))
}
