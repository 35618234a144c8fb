//! `windrow jobs logs`

use std::time::Duration;

use windrow_model::record::Job;
use windrow_wire::LogLine;

use super::{find, output};
use crate::error::Result;
use crate::exit::Exit;
use crate::wiring::App;

const PAGE: usize = 500;
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

pub async fn perform(app: &App, args: Args) -> Result<Exit> {
    let (job, _) = find::job(app, &args.job).await?;
    let mut after = args.after;
    loop {
        // Asked before the lines are read, so that the last lines of a run are not missed.
        let over = !args.follow || is_over(app, &job).await?;
        after = print_from(app, &job, after, args.json).await?;
        if over {
            return Ok(Exit::Passed);
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

async fn is_over(app: &App, job: &Job) -> Result<bool> {
    let latest = app.store.job(job.id).await?.latest_run;
    Ok(app.store.run(latest).await?.state.is_final())
}

/// Returns the id of the last line printed.
async fn print_from(app: &App, job: &Job, mut after: i64, json: bool) -> Result<i64> {
    loop {
        let page = app.store.logs(job.id, after, PAGE).await?;
        for entry in &page {
            let line = LogLine::from(entry);
            if json { output::print_json_line(&line) } else { output::print(&text(&line)) }
        }
        after = page.last().map_or(after, |entry| entry.id);
        if page.len() < PAGE {
            return Ok(after);
        }
    }
}

fn text(line: &LogLine) -> String {
    let item = line.item.map_or(String::new(), |item| format!(" item {item}"));
    format!("{} {:5} {}{item}  {} ({})", line.at, line.level, line.event, line.message, line.actor)
}
