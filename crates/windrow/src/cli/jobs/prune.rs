//! `windrow jobs clean-up`

use windrow_wire::Deleted;

use crate::cli::view::output::{self, Show};
use crate::client::api::Api;
use crate::error::{Exit, Result};
use crate::text;

/// Delete jobs that ended long ago, with their items and logs. Never touches live work.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Days that jobs without failed items are kept after their end
    #[arg(long, value_name = "DAYS", default_value_t = 7, value_parser = clap::value_parser!(i64).range(0..))]
    completed: i64,
    /// Days that all other jobs are kept
    #[arg(long, value_name = "DAYS", default_value_t = 30, value_parser = clap::value_parser!(i64).range(0..))]
    failed: i64,
    #[arg(long)]
    json: bool,
}

pub async fn perform(api: &Api, args: Args) -> Result<Exit> {
    output::show(&api.clean_up(args.completed, args.failed).await?, args.json);
    Ok(Exit::Passed)
}

impl Show for Deleted {
    fn text(&self) -> String {
        match self.jobs {
            0 => "nothing is old enough to be deleted".into(),
            _ => format!("deleted {} jobs with {} items", text::count(self.jobs), text::count(self.items)),
        }
    }
}
