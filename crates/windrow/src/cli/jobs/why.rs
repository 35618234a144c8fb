//! `windrow jobs why`

use windrow_model::why::Explanation;

use crate::cli::view::output::{self, Show};
use crate::client::api::Api;
use crate::error::{Exit, Result};

/// Why is the job not progressing? Answered from what is stored, for a person.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Name or id of the job
    job: String,
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
        let remedy = self.remedy.as_ref().map(|remedy| format!("do: {remedy}\n")).unwrap_or_default();
        format!("{}\n{details}{remedy}", self.headline)
    }
}
