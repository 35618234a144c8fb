//! `windrow keys revoke`

use windrow_wire::KeyView;

use crate::cli::view::output::{self, Show};
use crate::client::api::Api;
use crate::error::{Exit, Result};

/// Take a key back. A running server notices within a second.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Name or id of the key
    pub key: String,
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
