//! `windrow webhooks`: who is told of events over HTTP. A server sends them; on its data folder these commands
//! work whether it runs or not.

mod add;
mod deliveries;
mod list;
mod steer;
mod test;

use clap::Subcommand;
use windrow_model::HookId;

use crate::client::api::Api;
use crate::error::{Exit, Result};

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

pub async fn perform(api: &Api, command: Webhooks) -> Result<Exit> {
    match command {
        Webhooks::Add(args) => add::perform(api, args).await,
        Webhooks::List(args) => list::perform(api, args).await,
        Webhooks::Test(args) => test::perform(api, args).await,
        Webhooks::Pause(Named { webhook }) => steer::pause(api, webhook).await,
        Webhooks::Resume(Named { webhook }) => steer::resume(api, webhook).await,
        Webhooks::Rotate(args) => steer::rotate(api, args).await,
        Webhooks::Delete(Named { webhook }) => steer::delete(api, webhook).await,
        Webhooks::Deliveries(args) => deliveries::perform(api, args).await,
        Webhooks::Redeliver(args) => deliveries::redeliver(api, args).await,
    }
}
