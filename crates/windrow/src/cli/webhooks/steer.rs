//! `windrow webhooks pause`, `resume`, `rotate`, `delete`

use windrow_model::HookId;
use windrow_model::hook::HookChange;

use super::add::Made;
use crate::cli::output;
use crate::error::Result;
use crate::exit::Exit;
use crate::webhooks;
use crate::wiring::{self, App};

/// Sign with a new secret, shown this once; the former one signs too for a while.
#[derive(Debug, clap::Args)]
pub struct RotateArgs {
    /// Id of the webhook
    webhook: HookId,
    /// How long the former secret signs too
    #[arg(long, value_name = "HOURS")]
    overlap: Option<i64>,
    #[arg(long)]
    json: bool,
}

pub async fn pause(app: &App, hook: HookId) -> Result<Exit> {
    let hook = app.hooks.change_hook(hook, HookChange::Pause, app.now()).await?;
    let hint = app.command(&format!("webhooks resume {}", hook.id));
    output::print(&format!("{} is {}; go on with: {hint}", hook.url, hook.state));
    Ok(Exit::Passed)
}

pub async fn resume(app: &App, hook: HookId) -> Result<Exit> {
    let hook = app.hooks.change_hook(hook, HookChange::Resume, app.now()).await?;
    output::print(&format!("{} is {}", hook.url, hook.state));
    Ok(Exit::Passed)
}

pub async fn rotate(app: &App, args: RotateArgs) -> Result<Exit> {
    let made = webhooks::rotate(app, args.webhook, args.overlap, &wiring::actor()).await?;
    output::show(&Made::new(app, made), args.json);
    Ok(Exit::Passed)
}

pub async fn delete(app: &App, hook: HookId) -> Result<Exit> {
    let hook = app.hooks.hook(hook).await?;
    webhooks::delete(app, &hook).await?;
    output::print(&format!("{} is deleted", hook.id));
    Ok(Exit::Passed)
}
