//! From what somebody wishes to a webhook, checked, with a secret of its own.

use std::str::FromStr;

use windrow_model::HookId;
use windrow_model::hook::{Hook, HookChange, NewHook, Topics, known_topics};
use windrow_wire::NewWebhook;

use crate::app::error::{Code, Error, Result};
use crate::app::lookup;
use crate::app::webhooks::secret;
use crate::app::wiring::App;

const BATCH: usize = 100;
const MOST_IN_BATCH: usize = 1000;
const TIMEOUT_S: i64 = 10;
const LONGEST_TIMEOUT_S: i64 = 30;
const OVERLAP_H: i64 = 24;
const LONGEST_OVERLAP_H: i64 = 7 * 24;

/// `workspace` confines it, whatever is wished. The secret is shown to nobody again.
pub async fn register(app: &App, wish: NewWebhook, workspace: Option<&str>, actor: &str) -> Result<(Hook, String)> {
    check_url(&wish.url)?;
    let topics = topics(wish.events.as_deref().unwrap_or(&["*".to_owned()]))?;
    let batch = within("batch", wish.batch.unwrap_or(BATCH) as i64, 1..=MOST_IN_BATCH as i64)? as usize;
    let timeout_s = within("timeout_seconds", wish.timeout_seconds.unwrap_or(TIMEOUT_S), 1..=LONGEST_TIMEOUT_S)?;
    let workspace = match (workspace, wish.workspace) {
        (Some(own), Some(other)) if *own != other => {
            let what = format!("the workspace {other:?} is not yours");
            return Err(Error::new(what, format!("leave it out, or write {own:?}")).coded(Code::BadRequest));
        }
        (own, wished) => own.map(str::to_owned).or(wished),
    };
    let job = match &wish.job {
        Some(job) => Some(lookup::job_within(app, workspace.as_deref(), job).await?.0),
        None => None,
    };
    let now = app.now();
    let id = HookId::mint(now, fastrand::u64(..));
    let (name, secret) = secret::make(app, id, actor, now).await?;
    let hook = NewHook {
        id,
        workspace,
        job: job.map(|job| job.id),
        url: wish.url,
        topics,
        batch,
        timeout_ms: timeout_s * 1000,
        secret: name,
        actor: actor.to_owned(),
    };
    Ok((app.hooks.add_hook(hook, now).await?, secret))
}

/// A new secret; the former one signs too for a while, so that a receiver can be changed in between.
pub async fn rotate(app: &App, hook: HookId, overlap_hours: Option<i64>, actor: &str) -> Result<(Hook, String)> {
    let hours = within("overlap_hours", overlap_hours.unwrap_or(OVERLAP_H), 0..=LONGEST_OVERLAP_H)?;
    let (now, before) = (app.now(), app.hooks.hook(hook).await?);
    let (name, secret) = secret::make(app, hook, actor, now).await?;
    let change = HookChange::Rotate { secret: name, former_until: now + hours * 3_600_000 };
    let rotated = app.hooks.change_hook(hook, change, now).await?;
    if let Some((name, _)) = before.former {
        secret::forget(app, &name).await;
    }
    Ok((rotated, secret))
}

/// With its deliveries and secrets.
pub async fn delete(app: &App, hook: &Hook) -> Result<()> {
    app.hooks.delete_hook(hook.id).await?;
    let former = hook.former.iter().map(|(name, _)| name);
    for name in std::iter::once(&hook.secret).chain(former) {
        secret::forget(app, name).await;
    }
    Ok(())
}

fn check_url(text: &str) -> Result<()> {
    let bad = |why: String| Err(Error::new(why, "write it as https://host/path").coded(Code::BadRequest));
    match reqwest::Url::from_str(text) {
        Err(error) => bad(format!("{text:?} is not a URL: {error}")),
        Ok(url) if !matches!(url.scheme(), "http" | "https") => bad(format!("{text:?} is not an address of the web")),
        Ok(_) => Ok(()),
    }
}

fn topics(words: &[String]) -> Result<Topics> {
    Topics::of(words).map_err(|error| {
        let known = known_topics().into_iter().map(|(topic, _)| topic).collect::<Vec<_>>();
        let remedy = format!("choose from {}, a family such as run.*, or * for all", known.join(", "));
        Error::new(error.to_string(), remedy).coded(Code::BadRequest)
    })
}

fn within(what: &str, value: i64, range: std::ops::RangeInclusive<i64>) -> Result<i64> {
    if range.contains(&value) {
        return Ok(value);
    }
    let remedy = format!("use {} to {}", range.start(), range.end());
    Err(Error::new(format!("{what} is {value}"), remedy).coded(Code::BadRequest))
}
