//! `windrow keys revoke`

use windrow_wire::KeyView;

use crate::cli::view::output::{self, Show};
use crate::client::api::Api;
use crate::error::{Exit, Result};

/// Revoke an API key
///
/// A running server applies the change within a second.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Key name or id
    pub key: String,
    /// Print JSON to stdout
    #[arg(long)]
    json: bool,
}

pub async fn perform(api: &Api, args: Args) -> Result<Exit> {
    output::show(&api.revoke_key(&args.key).await?, args.json);
    Ok(Exit::Passed)
}

impl Show for KeyView {
    fn text(&self) -> String {
        format!("{} ({}) is {}", self.name, self.id, self.state)
    }
}
