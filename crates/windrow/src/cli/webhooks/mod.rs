//! `windrow webhooks`: who is told of events over HTTP. A server sends them; on its data folder these commands
//! work whether it runs or not.

mod add;
mod deliveries;
mod list;
mod steer;
mod test;

use clap::Subcommand;
use windrow_model::HookId;

use crate::desk::Desk;
use crate::error::Result;
use crate::exit::Exit;

#[derive(Debug, Subcommand)]
pub enum Webhooks {
    /// Have events sent to a URL, signed
    Add(add::Args),
    /// All webhooks and how they stand
    List(list::Args),
    /// Send a ping now and say what came of it
    Test(test::Args),
    /// Send nothing until it is resumed; what happens meanwhile waits
    Pause(Named),
    /// Send again, what waited first
    Resume(Named),
    /// Sign with a new secret; the former one signs too for a while
    Rotate(steer::RotateArgs),
    /// Delete it with its deliveries
    Delete(Named),
    /// What was sent, what waits, and what came of it
    Deliveries(deliveries::Args),
    /// Send one delivery once more, under the same id
    Redeliver(deliveries::RedeliverArgs),
}

#[derive(Debug, clap::Args)]
pub struct Named {
    /// Id of the webhook, as `windrow webhooks list` shows it
    webhook: HookId,
}

pub async fn perform(desk: &Desk, command: Webhooks) -> Result<Exit> {
    match command {
        Webhooks::Add(args) => desk.change("webhooks add", args.url.clone(), add::perform(desk, args)).await,
        Webhooks::List(args) => list::perform(desk, args).await,
        Webhooks::Test(args) => test::perform(desk, args).await,
        Webhooks::Pause(Named { webhook }) => {
            desk.change("webhooks pause", webhook.to_string(), steer::pause(desk, webhook)).await
        }
        Webhooks::Resume(Named { webhook }) => {
            desk.change("webhooks resume", webhook.to_string(), steer::resume(desk, webhook)).await
        }
        Webhooks::Rotate(args) => {
            desk.change("webhooks rotate", args.webhook.to_string(), steer::rotate(desk, args)).await
        }
        Webhooks::Delete(Named { webhook }) => {
            desk.change("webhooks delete", webhook.to_string(), steer::delete(desk, webhook)).await
        }
        Webhooks::Deliveries(args) => deliveries::perform(desk, args).await,
        Webhooks::Redeliver(args) => {
            desk.change("webhooks redeliver", args.delivery.to_string(), deliveries::redeliver(desk, args)).await
        }
    }
}
