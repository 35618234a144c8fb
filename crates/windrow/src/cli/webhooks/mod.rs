//! `windrow webhooks`: who is told of events over HTTP. The server sends them; these commands work on the same
//! data folder, whether it runs or not.

mod add;
mod deliveries;
mod list;
mod steer;
mod test;

use clap::Subcommand;
use windrow_model::HookId;

use crate::error::Result;
use crate::exit::Exit;
use crate::wiring::App;

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

pub async fn perform(app: &App, command: Webhooks) -> Result<Exit> {
    match command {
        Webhooks::Add(args) => add::perform(app, args).await,
        Webhooks::List(args) => list::perform(app, args).await,
        Webhooks::Test(args) => Box::pin(test::perform(app, args)).await,
        Webhooks::Pause(named) => steer::pause(app, named.webhook).await,
        Webhooks::Resume(named) => steer::resume(app, named.webhook).await,
        Webhooks::Rotate(args) => steer::rotate(app, args).await,
        Webhooks::Delete(named) => steer::delete(app, named.webhook).await,
        Webhooks::Deliveries(args) => deliveries::perform(app, args).await,
        Webhooks::Redeliver(args) => deliveries::redeliver(app, args).await,
    }
}
