//! `windrow secrets list`

use windrow_wire::SecretList;

use crate::cli::view::output::{self, Show};
use crate::cli::view::paging::Paging;
use crate::client::api::Api;
use crate::error::{Exit, Result};

/// List secrets; values are never shown
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Workspace [default: `default`, or the workspace of the API key]
    #[arg(long)]
    workspace: Option<String>,
    #[command(flatten)]
    paging: Paging,
    /// Print JSON to stdout
    #[arg(long)]
    json: bool,
}

pub async fn perform(api: &Api, args: Args) -> Result<Exit> {
    let list = api.secrets(args.workspace.as_deref()).await?;
    args.paging.show(list, |list| &mut list.secrets, |secret| secret.name.clone(), args.json)?;
    Ok(Exit::Passed)
}

impl Show for SecretList {
    fn text(&self) -> String {
        if self.secrets.is_empty() {
            return "No secrets yet. Set one with: windrow secrets set NAME".into();
        }
        let rows = self.secrets.iter().map(|secret| {
            vec![secret.name.clone(), secret.set_by.clone(), secret.set_at.to_string(), secret.key_id.clone()]
        });
        output::table(&["NAME", "SET BY", "SET AT", "MASTER KEY"], rows.collect())
    }
}
