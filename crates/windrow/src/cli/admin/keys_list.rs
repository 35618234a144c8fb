//! `windrow keys list`

use windrow_wire::{KeyList, Timestamp};

use crate::cli::view::output::{self, Show};
use crate::cli::view::paging::Paging;
use crate::client::api::Api;
use crate::error::{Exit, Result};

/// List API keys, including expired and revoked ones
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    paging: Paging,
    /// Print JSON to stdout
    #[arg(long)]
    json: bool,
}

pub async fn perform(api: &Api, args: Args) -> Result<Exit> {
    let list = api.keys().await?;
    args.paging.show(list, |list| &mut list.keys, |key| key.id.clone(), args.json)?;
    Ok(Exit::Passed)
}

impl Show for KeyList {
    fn text(&self) -> String {
        if self.keys.is_empty() {
            return "No API keys yet. Create one with: windrow keys create NAME --role operator".into();
        }
        let time = |at: &Option<Timestamp>| at.map_or("–".to_owned(), |at| at.to_string());
        let rows = self.keys.iter().map(|key| {
            vec![
                key.name.clone(),
                key.id.clone(),
                key.role.to_string(),
                key.workspace.clone().unwrap_or_else(|| "*".into()),
                key.state.to_string(),
                time(&key.expires_at),
                time(&key.used_at),
            ]
        });
        output::table(&["NAME", "ID", "ROLE", "WORKSPACE", "STATE", "EXPIRES", "LAST USED"], rows.collect())
    }
}
