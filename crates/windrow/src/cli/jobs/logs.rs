//! `windrow jobs logs`

use std::time::Duration;

use windrow_model::record::LogLevel;
use windrow_wire::LogLine;

use crate::cli::view::{output, paging};
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
    /// Maximum number of entries [default: all]
    #[arg(long, value_name = "N", conflicts_with = "follow", value_parser = clap::value_parser!(u32).range(1..))]
    limit: Option<u32>,
    /// Show only entries of this level and above: info, warn or error
    #[arg(long, value_name = "LEVEL", value_parser = level)]
    level: Option<LogLevel>,
    /// Print JSON to stdout, one object per line
    #[arg(long)]
    json: bool,
}

fn level(text: &str) -> std::result::Result<LogLevel, String> {
    text.parse().map_err(|_| "must be info, warn or error".to_owned())
}

pub async fn perform(api: &Api, args: Args) -> Result<Exit> {
    let mut after = args.after;
    loop {
        // Asked before the lines are read, so that the last lines of a run are not missed.
        let over = !args.follow || api.is_over(&args.job).await?;
        after = print_from(api, &args, after).await?;
        if over {
            return Ok(Exit::Passed);
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

/// Returns the id of the last line printed.
async fn print_from(api: &Api, args: &Args, mut after: i64) -> Result<i64> {
    let mut left = args.limit.map_or(usize::MAX, |limit| limit as usize);
    loop {
        let page = api.logs(&args.job, after, args.level).await?;
        for line in &page.lines {
            if left == 0 {
                if !args.json {
                    output::print(&paging::more(&after.to_string()));
                }
                return Ok(after);
            }
            (left, after) = (left - 1, line.id);
            if args.json { output::print_json_line(line) } else { output::print(&text(line)) }
        }
        if page.next <= after && page.lines.is_empty() {
            return Ok(after);
        }
        after = page.next;
    }
}

fn text(line: &LogLine) -> String {
    let item = line.item.map_or(String::new(), |item| format!(" item {item}"));
    let at = style::dim(line.at.to_string());
    let advice = line.advice.as_ref().map_or(String::new(), |advice| format!("\n  {} {advice}", style::cyan("help:")));
    format!("{at} {:5} {}{item}  {} ({}){advice}", line.level, line.event, line.message, line.actor)
}
