//! `windrow secrets delete NAME`

use serde::Serialize;

use crate::cli::view::output::{self, Show};
use crate::client::api::Api;
use crate::error::{Exit, Result};

/// Forget a secret. Runs that are at work keep the value they started with; others no longer start.
#[derive(Debug, clap::Args)]
pub struct Args {
    pub name: String,
    /// `default`, or at a server that of the key, if not given
    #[arg(long)]
    workspace: Option<String>,
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Deleted {
    name: String,
}

pub async fn perform(api: &Api, args: Args) -> Result<Exit> {
    api.delete_secret(args.workspace.as_deref(), &args.name).await?;
    output::show(&Deleted { name: args.name }, args.json);
    Ok(Exit::Passed)
}

impl Show for Deleted {
    fn text(&self) -> String {
        format!("{} is forgotten", self.name)
    }
}
