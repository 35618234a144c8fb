//! `windrow webhooks pause`, `resume`, `rotate`, `delete`

use windrow_model::HookId;

use super::add::Made;
use crate::cli::output;
use crate::desk::Desk;
use crate::error::Result;
use crate::exit::Exit;

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

pub async fn pause(desk: &Desk, hook: HookId) -> Result<Exit> {
    let hook = desk.pause_webhook(hook).await?;
    let hint = desk.command(&format!("webhooks resume {}", hook.id));
    output::print(&format!("{} is {}; go on with: {hint}", hook.url, hook.state));
    Ok(Exit::Passed)
}

pub async fn resume(desk: &Desk, hook: HookId) -> Result<Exit> {
    let hook = desk.resume_webhook(hook).await?;
    output::print(&format!("{} is {}", hook.url, hook.state));
    Ok(Exit::Passed)
}

pub async fn rotate(desk: &Desk, args: RotateArgs) -> Result<Exit> {
    let made = desk.rotate_webhook(args.webhook, args.overlap).await?;
    output::show(&Made::new(desk, made), args.json);
    Ok(Exit::Passed)
}

pub async fn delete(desk: &Desk, hook: HookId) -> Result<Exit> {
    desk.delete_webhook(hook).await?;
    output::print(&format!("{hook} is deleted"));
    Ok(Exit::Passed)
}
