//! `windrow secrets delete NAME`

use serde::Serialize;

use super::output::{self, Show};
use crate::error::Result;
use crate::exit::Exit;
use crate::wiring::App;

/// Forget a secret. Runs that are at work keep the value they started with; others no longer start.
#[derive(Debug, clap::Args)]
pub struct Args {
    pub name: String,
    #[arg(long, default_value = "default")]
    workspace: String,
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Deleted {
    name: String,
    workspace: String,
}

pub async fn perform(app: &App, args: Args) -> Result<Exit> {
    app.vault().delete(&args.workspace, &args.name).await?;
    output::show(&Deleted { name: args.name, workspace: args.workspace }, args.json);
    Ok(Exit::Passed)
}

impl Show for Deleted {
    fn text(&self) -> String {
        format!("{} of the workspace {} is forgotten", self.name, self.workspace)
    }
}
