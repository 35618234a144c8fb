//! `windrow keys revoke`

use windrow_wire::KeyView;

use super::output::{self, Show};
use crate::api_key;
use crate::error::Result;
use crate::exit::Exit;
use crate::wiring::App;

/// Take a key back. A running server notices within a second.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Name or id of the key
    pub key: String,
    #[arg(long)]
    json: bool,
}

pub async fn perform(app: &App, args: Args) -> Result<Exit> {
    let found = api_key::find(app, None, &args.key).await?;
    let revoked = app.access.revoke_key(found.id, app.now()).await?;
    output::show(&KeyView::of(&revoked, app.now()), args.json);
    Ok(Exit::Passed)
}

impl Show for KeyView {
    fn text(&self) -> String {
        format!("{} ({}) is {}", self.name, self.id, self.state)
    }
}
