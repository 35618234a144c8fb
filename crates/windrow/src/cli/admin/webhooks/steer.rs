//! `windrow webhooks pause`, `resume`, `rotate`, `delete`

use windrow_model::HookId;

use crate::cli::admin::webhooks::add::Made;
use crate::cli::view::output;
use crate::client::api::Api;
use crate::error::{Exit, Result};

/// Sign with a new secret, shown this once; the former one signs too for a while.
#[derive(Debug, clap::Args)]
pub struct RotateArgs {
    /// Id of the webhook
    pub webhook: HookId,
    /// How long the former secret signs too
    #[arg(long, value_name = "HOURS")]
    overlap: Option<i64>,
    #[arg(long)]
    json: bool,
}

pub async fn pause(api: &Api, hook: HookId) -> Result<Exit> {
    let hook = api.pause_webhook(hook).await?;
    let hint = api.command(&format!("webhooks resume {}", hook.id));
    output::print(&format!("{} is {}; go on with: {hint}", hook.url, hook.state));
    Ok(Exit::Passed)
}

pub async fn resume(api: &Api, hook: HookId) -> Result<Exit> {
    let hook = api.resume_webhook(hook).await?;
    output::print(&format!("{} is {}", hook.url, hook.state));
    Ok(Exit::Passed)
}

pub async fn rotate(api: &Api, args: RotateArgs) -> Result<Exit> {
    let made = api.rotate_webhook(args.webhook, args.overlap).await?;
    output::show(&Made::new(api, made), args.json);
    Ok(Exit::Passed)
}

pub async fn delete(api: &Api, hook: HookId) -> Result<Exit> {
    api.delete_webhook(hook).await?;
    output::print(&format!("{hook} is deleted"));
    Ok(Exit::Passed)
}
