//! `windrow jobs why`

use windrow_model::why::Explanation;

use crate::cli::view::output::{self, Show};
use crate::client::api::Api;
use crate::error::{Exit, Result};
use crate::text::style;

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
