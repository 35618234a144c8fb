//! `windrow webhooks pause`, `resume`, `rotate`, `delete`

use windrow_model::HookId;

use crate::cli::admin::webhooks::add::Made;
use crate::cli::confirm::Confirmation;
use crate::cli::view::output;
use crate::client::api::Api;
use crate::error::{Exit, Result};

/// Replace the signing secret; the new one is printed once
///
/// Deliveries are signed with both secrets during the overlap.
#[derive(Debug, clap::Args)]
pub struct RotateArgs {
    /// Webhook id, from `windrow webhooks list`
    pub webhook: HookId,
    /// Hours during which the previous secret signs, too
    #[arg(long, value_name = "HOURS")]
    overlap: Option<i64>,
    /// Print JSON to stdout
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Args)]
pub struct DeleteArgs {
    /// Webhook id, from `windrow webhooks list`
    pub webhook: HookId,
    #[command(flatten)]
    confirmation: Confirmation,
}

impl DeleteArgs {
    pub fn confirm(&self) -> Result<()> {
        let question = format!("Delete webhook {} with its deliveries? This cannot be undone.", self.webhook);
        self.confirmation.ask(&question, "delete")
    }
}

pub async fn pause(api: &Api, hook: HookId) -> Result<Exit> {
    let hook = api.pause_webhook(hook).await?;
    let hint = api.command(&format!("webhooks resume {}", hook.id));
    output::print(&format!("{} is {}. Resume it with: {hint}", hook.url, hook.state));
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
    output::print(&format!("Deleted webhook {hook}."));
    Ok(Exit::Passed)
}
