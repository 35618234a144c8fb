//! `windrow secrets rekey`

use std::path::PathBuf;

use serde::Serialize;

use crate::app::actor::Actor;
use crate::app::{App, secrets};
use crate::cli::view::output::{self, Show};
use crate::error::{Exit, Result};
use crate::text;

/// Re-encrypt all secrets with a new master key
///
/// Covers all workspaces. Without --new-key the key in the data directory is replaced, and a running server loads
/// it. With --new-key the key is written to a file; restart the servers with it.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Write the new key to this file, which must not exist
    #[arg(long, value_name = "FILE")]
    new_key: Option<PathBuf>,
    /// Print JSON to stdout
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Rekeyed {
    secrets: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    new_key: Option<PathBuf>,
}

pub async fn perform(app: &App, args: Args) -> Result<Exit> {
    let path = args.new_key.as_deref();
    let rekey = |change| async move { secrets::rekey(app, &change, path).await };
    let secrets = app.act(&Actor::local(), "secrets rekey", "", rekey).await?;
    output::show(&Rekeyed { secrets, new_key: args.new_key }, args.json);
    Ok(Exit::Passed)
}

impl Show for Rekeyed {
    fn text(&self) -> String {
        let sealed = text::plural(i64::try_from(self.secrets).unwrap_or(i64::MAX), "secret");
        match &self.new_key {
            None => format!("Re-encrypted {sealed} with a new master key."),
            Some(path) => {
                format!("Re-encrypted {sealed} with the key in {}. Restart the servers with it.", path.display())
            }
        }
    }
}
