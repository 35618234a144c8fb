//! `windrow webhooks`: a server sends the events; these commands work on its data directory whether it runs or not.

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
    #[command(alias = "add")]
    Create(add::Args),
    List(list::Args),
    Test(test::Args),
    /// Pause a webhook; events are queued until it is resumed
    Pause(Named),
    /// Resume a webhook; queued events are sent first
    Resume(Named),
    Rotate(steer::RotateArgs),
    /// Delete a webhook and its deliveries
    Delete(steer::DeleteArgs),
    Deliveries(deliveries::Args),
    Redeliver(deliveries::RedeliverArgs),
}

#[derive(Debug, clap::Args)]
pub struct Named {
    /// Webhook id, from `windrow webhooks list`
    webhook: HookId,
}

pub async fn perform(api: &Api, command: Webhooks) -> Result<Exit> {
    match command {
        Webhooks::Create(args) => add::perform(api, args).await,
        Webhooks::List(args) => list::perform(api, args).await,
        Webhooks::Test(args) => test::perform(api, args).await,
        Webhooks::Pause(Named { webhook }) => steer::pause(api, webhook).await,
        Webhooks::Resume(Named { webhook }) => steer::resume(api, webhook).await,
        Webhooks::Rotate(args) => steer::rotate(api, args).await,
        Webhooks::Delete(args) => {
            args.confirm()?;
            steer::delete(api, args.webhook).await
        }
        Webhooks::Deliveries(args) => deliveries::perform(api, args).await,
        Webhooks::Redeliver(args) => deliveries::redeliver(api, args).await,
    }
}
