//! `windrow secrets delete NAME`

use serde::Serialize;

use crate::cli::confirm::Precautions;
use crate::cli::view::output::{self, Show};
use crate::client::api::Api;
use crate::error::{Exit, Result};

/// Delete a secret
///
/// Active runs keep the value they started with; new runs that need it fail.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Secret name
    pub name: String,
    /// Workspace [default: `default`, or the workspace of the API key]
    #[arg(long)]
    workspace: Option<String>,
    #[command(flatten)]
    precautions: Precautions,
    /// Print JSON to stdout
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Deleted {
    name: String,
}

pub async fn perform(api: &Api, args: Args) -> Result<Exit> {
    let lost = "Runs that need it will fail. This cannot be undone.";
    if args.precautions.ask(&format!("delete secret {:?}", args.name), lost, "delete")? {
        api.delete_secret(args.workspace.as_deref(), &args.name).await?;
        output::show(&Deleted { name: args.name }, args.json);
    }
    Ok(Exit::Passed)
}

impl Show for Deleted {
    fn text(&self) -> String {
        format!("Deleted secret {}.", self.name)
    }
}
