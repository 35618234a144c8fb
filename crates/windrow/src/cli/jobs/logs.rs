//! `windrow jobs logs`

use std::time::Duration;

use windrow_wire::LogLine;

use crate::cli::view::output;
use crate::client::api::Api;
use crate::error::{Exit, Result};
use crate::text::style;

const LOOK_EVERY: Duration = Duration::from_millis(250);

/// Show the log of a job, oldest entry first
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Job name or id
    job: String,
    /// Follow the log until the run is finished
    #[arg(long, short)]
    follow: bool,
    /// Cursor: show only entries after this id
    #[arg(long, value_name = "CURSOR", default_value_t = 0)]
    after: i64,
    /// Print JSON to stdout, one object per line
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
    let at = style::dim(line.at.to_string());
    format!("{at} {:5} {}{item}  {} ({})", line.level, line.event, line.message, line.actor)
}
