//! `windrow jobs why`

use windrow_model::why::{Explanation, explain};

use super::find;
use super::output::{self, Show};
use crate::error::Result;
use crate::exit::Exit;
use crate::wiring::App;

/// Why is the job not progressing? Answered from what is stored, for a person.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Name or id of the job
    job: String,
    #[arg(long)]
    json: bool,
}

pub async fn perform(app: &App, args: Args) -> Result<Exit> {
    let (job, run) = find::job(app, &args.job).await?;
    let standing = app.store.standing(run.id, app.now()).await?;
    output::show(&explain(&standing, &job.name, app.now()), args.json);
    Ok(Exit::Passed)
}

impl Show for Explanation {
    fn text(&self) -> String {
        let details: String = self.details.iter().map(|detail| format!("  {detail}\n")).collect();
        let remedy = self.remedy.as_ref().map(|remedy| format!("do: {remedy}\n")).unwrap_or_default();
        format!("{}\n{details}{remedy}", self.headline)
    }
}
