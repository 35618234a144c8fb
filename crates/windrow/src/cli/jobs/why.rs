//! `windrow jobs why`

use windrow_model::why::Explanation;

use crate::app::error::Result;
use crate::app::exit::Exit;
use crate::cli::view::output::{self, Show};
use crate::cli::view::style;
use crate::client::api::Api;

/// Explain why a job is not progressing
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Job name or id
    job: String,
    /// Print JSON to stdout
    #[arg(long)]
    json: bool,
}

pub async fn perform(api: &Api, args: Args) -> Result<Exit> {
    output::show(&api.why(&args.job).await?, args.json);
    Ok(Exit::Passed)
}

impl Show for Explanation {
    fn text(&self) -> String {
        let details: String = self.details.iter().map(|detail| format!("  {detail}\n")).collect();
        let remedy = self
            .remedy
            .as_ref()
            .map(|remedy| format!("\n{} {}\n", style::dim("next:"), style::cyan(remedy)))
            .unwrap_or_default();
        format!("{}\n{details}{remedy}", style::bold(&self.headline))
    }
}
