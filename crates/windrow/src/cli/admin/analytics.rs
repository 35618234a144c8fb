//! `windrow analytics status|check|rebuild|usage|rows`

use clap::Subcommand;
use windrow_model::record::dollars;
use windrow_wire::{AnalyticsCheck, AnalyticsStatus, RowRanking, UsageView};

use crate::app::usage::Ranking;
use crate::cli::view::output::{self, Show};
use crate::client::api::Api;
use crate::error::{Exit, Result};
use crate::text::{self, style};

#[derive(Debug, Subcommand)]
pub enum Analytics {
    Status(StatusArgs),
    Check(CheckArgs),
    Rebuild(RebuildArgs),
    Usage(UsageArgs),
    Rows(RowsArgs),
}

/// Show how far ClickHouse is behind the database
#[derive(Debug, clap::Args)]
pub struct StatusArgs {
    /// Print JSON to stdout
    #[arg(long)]
    json: bool,
}

/// Compare ClickHouse with the database: rows and a checksum per job
///
/// Exits with 1 if a job differs that has no active run.
#[derive(Debug, clap::Args)]
pub struct CheckArgs {
    /// Job name or id [default: all jobs]
    job: Option<String>,
    /// Print JSON to stdout
    #[arg(long)]
    json: bool,
}

/// Send a job to ClickHouse again, or all jobs
#[derive(Debug, clap::Args)]
pub struct RebuildArgs {
    /// Job name or id [default: all jobs]
    job: Option<String>,
}

/// Show tokens and cost per day, workspace and model
#[derive(Debug, clap::Args)]
pub struct UsageArgs {
    /// Days, today included
    #[arg(long, value_name = "N", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=3660))]
    days: u32,
    /// Print JSON to stdout
    #[arg(long)]
    json: bool,
}

/// Show the slowest or flakiest dataset rows over all runs
///
/// A row is flaky if its results disagree, over all runs and trials of one variant.
#[derive(Debug, clap::Args)]
pub struct RowsArgs {
    /// Job name or id [default: all jobs]
    job: Option<String>,
    /// Which rows come first: slowest, flakiest
    #[arg(long, value_name = "ORDER", default_value = "flakiest")]
    by: Ranking,
    /// Maximum number of rows
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..=1000))]
    limit: u16,
    /// Print JSON to stdout
    #[arg(long)]
    json: bool,
}

pub async fn perform(api: &Api, command: Analytics) -> Result<Exit> {
    match command {
        Analytics::Status(args) => output::show(&api.analytics().await?, args.json),
        Analytics::Check(args) => return check(api, args).await,
        Analytics::Rebuild(args) => {
            let rebuilt = api.rebuild_analytics(args.job.as_deref()).await?;
            let jobs = text::plural(rebuilt.jobs, "job");
            output::print(&match api {
                Api::Local(..) => format!("Sent {jobs} again."),
                Api::Remote(_) => format!("The server sends {jobs} again."),
            });
        }
        Analytics::Usage(args) => output::show(&api.usage(args.days).await?, args.json),
        Analytics::Rows(args) => {
            output::show(&api.rank_rows(args.job.as_deref(), args.by, args.limit.into()).await?, args.json);
        }
    }
    Ok(Exit::Passed)
}

async fn check(api: &Api, args: CheckArgs) -> Result<Exit> {
    let checked = api.check_analytics(args.job.as_deref()).await?;
    output::show(&checked, args.json);
    let differs = !checked.superfluous.is_empty() || checked.jobs.iter().any(|job| !job.equal && !job.active);
    Ok(if differs { Exit::Error } else { Exit::Passed })
}

impl Show for AnalyticsStatus {
    fn text(&self) -> String {
        let Some(address) = &self.address else {
            return "No ClickHouse is configured; the database answers everything (--clickhouse URL).".to_owned();
        };
        let resync = match self.resync_jobs {
            0 => String::new(),
            jobs => format!(" · {} to resync", text::plural(jobs, "job")),
        };
        let sent = self.sent_at.map_or(String::new(), |at| format!(" · sent {}", text::moment(at)));
        let head =
            format!("{} · {} · {} behind{resync}{sent}", address, self.state, text::plural(self.lag_events, "event"));
        match &self.trouble {
            Some(why) => format!("{head}\n{}", style::yellow(why)),
            None => head,
        }
    }
}

impl Show for AnalyticsCheck {
    fn text(&self) -> String {
        let rows = self.jobs.iter().flat_map(|job| {
            job.tables.iter().map(|table| {
                let state = match (table.equal, job.active) {
                    (true, _) => style::green("equal"),
                    (false, true) => style::yellow("changing"),
                    (false, false) => style::red("different"),
                };
                vec![
                    job.job.clone(),
                    table.table.clone(),
                    table.rows.to_string(),
                    table.clickhouse_rows.to_string(),
                    state,
                ]
            })
        });
        let mut page = output::table(&["JOB", "TABLE", ">DATABASE", ">CLICKHOUSE", "STATE"], rows.collect());
        for job in &self.superfluous {
            page += &format!("\n{job}: {}", style::red("only in ClickHouse"));
        }
        let hint = "\nnext: windrow analytics rebuild";
        page + if self.equal { "" } else { hint }
    }
}

impl Show for UsageView {
    fn text(&self) -> String {
        let rows = self.days.iter().map(|day| {
            vec![
                day.day.clone(),
                day.workspace.clone(),
                day.model.clone().unwrap_or_else(|| "–".to_owned()),
                day.calls.map_or("–".to_owned(), |calls| calls.to_string()),
                day.tokens_in.to_string(),
                day.tokens_out.to_string(),
                dollars((day.cost * 1e9).round() as i64),
            ]
        });
        let headings = ["DAY", "WORKSPACE", "MODEL", ">CALLS", ">TOKENS IN", ">TOKENS OUT", ">COST"];
        noticed(output::table(&headings, rows.collect()), self.notice.as_ref())
    }
}

impl Show for RowRanking {
    fn text(&self) -> String {
        let number = |number: Option<f64>| number.map_or("–".to_owned(), |ms| format!("{ms:.0} ms"));
        let rows = self.rows.iter().map(|row| {
            vec![
                row.job.clone(),
                row.row.to_string(),
                row.variant.clone().unwrap_or_default(),
                row.n.to_string(),
                row.pass.to_string(),
                row.fail.to_string(),
                row.error.to_string(),
                number(row.mean_latency_ms),
                row.input.chars().take(60).collect(),
            ]
        });
        let headings = ["JOB", ">ROW", "VARIANT", ">RESULTS", ">PASS", ">FAIL", ">ERROR", ">LATENCY", "INPUT"];
        let table = match self.rows.is_empty() {
            true => "No rows.".to_owned(),
            false => output::table(&headings, rows.collect()),
        };
        noticed(table, self.notice.as_ref())
    }
}

fn noticed(page: String, notice: Option<&String>) -> String {
    match notice {
        Some(notice) => format!("{page}\n{}", style::dim(notice)),
        None => page,
    }
}
