//! `windrow jobs logs`

use std::time::Duration;

use windrow_wire::LogLine;

use crate::cli::view::output;
use crate::client::api::Api;
use crate::error::{Exit, Result};

const LOOK_EVERY: Duration = Duration::from_millis(250);

/// What happened to a job, and who did it, oldest first.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Name or id of the job
    job: String,
    /// Go on until the job's run is over
    #[arg(long, short)]
    follow: bool,
    /// Only what comes behind this line's id
    #[arg(long, value_name = "ID", default_value_t = 0)]
    after: i64,
    /// One JSON object per line
    #[arg(long)]
    json: bool,
}

pub async fn perform(api: &Api, args: Args) -> Result<Exit> {
    let mut after = args.after;
    loop {
        // Asked before the lines are read, so that the last lines of a run are not missed.
        let over = !args.follow || api.is_over(&args.job).await?;
        after = print_from(api, &args.job, after, args.json).await?;
        if over {
            return Ok(Exit::Passed);
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

/// Returns the id of the last line printed.
async fn print_from(api: &Api, job: &str, mut after: i64, json: bool) -> Result<i64> {
    loop {
        let page = api.logs(job, after).await?;
        if page.lines.is_empty() {
            return Ok(after);
        }
        for line in &page.lines {
            if json { output::print_json_line(line) } else { output::print(&text(line)) }
        }
        after = page.next;
    }
}

fn text(line: &LogLine) -> String {
    let item = line.item.map_or(String::new(), |item| format!(" item {item}"));
    format!("{} {:5} {}{item}  {} ({})", line.at, line.level, line.event, line.message, line.actor)
}
