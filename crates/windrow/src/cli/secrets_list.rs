//! `windrow secrets list`

use windrow_wire::{SecretList, SecretView};

use super::output::{self, Show};
use crate::error::Result;
use crate::exit::Exit;
use crate::wiring::App;

/// Names, who set them and when. Values are never shown.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[arg(long, default_value = "default")]
    workspace: String,
    #[arg(long)]
    json: bool,
}

pub async fn perform(app: &App, args: Args) -> Result<Exit> {
    let secrets = app.vault().list(&args.workspace).await?.iter().map(SecretView::from).collect();
    output::show(&SecretList { secrets }, args.json);
    Ok(Exit::Passed)
}

impl Show for SecretList {
    fn text(&self) -> String {
        if self.secrets.is_empty() {
            return "no secrets; keep one with `windrow secrets set NAME`".into();
        }
        let rows = self.secrets.iter().map(|secret| {
            vec![secret.name.clone(), secret.set_by.clone(), secret.set_at.to_string(), secret.key_id.clone()]
        });
        output::table(&["NAME", "SET BY", "SET AT", "MASTER KEY"], rows.collect())
    }
}
