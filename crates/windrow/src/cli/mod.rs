//! The command line: one command, one file. Each takes its arguments and an [`App`], and returns how
//! the program ends.

mod budget;
mod check;
mod choose;
mod compare;
mod counting;
mod datasets_delete;
mod datasets_diff;
mod datasets_export;
mod datasets_import;
mod datasets_list;
mod datasets_show;
mod dry_run;
mod execute;
mod experience;
mod follow;
mod gates;
mod item_show;
mod jobs_approve;
mod jobs_cancel;
mod jobs_clean_up;
mod jobs_clone;
mod jobs_delete;
mod jobs_items;
mod jobs_list;
mod jobs_logs;
mod jobs_pause;
mod jobs_resume;
mod jobs_retry;
mod jobs_rollback;
mod jobs_schedule;
mod jobs_show;
mod jobs_stats;
mod jobs_targets;
mod jobs_unschedule;
mod jobs_why;
mod mock_connect;
mod mock_model;
mod online;
mod output;
mod plan;
mod progress;
mod report;
mod report_target;
mod result;
mod run;
mod scheduled;
mod secrets_delete;
mod secrets_list;
mod secrets_rekey;
mod secrets_set;
mod serve;
pub mod tables;
pub mod text;

use clap::{Parser, Subcommand};

use crate::error::Result;
use crate::exit::{self, Exit};
use crate::site::Site;
use crate::wiring::App;
use crate::{assess, dataset_named, find, start};

/// How many of the worst findings are shown unless told otherwise.
const WORST: usize = 5;

const EXAMPLES: &str = "\
Examples:
  windrow run capitals.yaml              run it; run it again to continue what was interrupted
  windrow run capitals.yaml --dry-run    what would it do, cost and take?
  windrow run capitals.yaml --json       one JSON object at the end, for scripts and CI
  windrow jobs list                      what there is in this folder
  windrow jobs items capitals --state failed
  windrow jobs retry capitals            try again what failed, and only that
  windrow jobs why capitals              why is it not progressing?
  windrow compare capitals#1 capitals#2  what changed from one run to the next
  windrow serve                          the same over HTTP, and continue what is unfinished
  windrow secrets set OPENAI_API_KEY     keep it sealed; a job file names it as ${secret:OPENAI_API_KEY}
  windrow datasets import capitals.csv   keep it as a version that never changes
";

/// Runs large batches of work that must not be lost and must not be done twice.
///
/// Every finished step is stored at once: stop it, kill it, pull the plug, then run the same file
/// again and it goes on where it was. Nothing finished is paid for twice.
#[derive(Debug, Parser)]
#[command(version, after_help = after_help(), arg_required_else_help = true, max_term_width = 110)]
pub struct Cli {
    #[command(flatten)]
    site: Site,
    #[command(subcommand)]
    command: Command,
}

impl Cli {
    pub fn log(&self) -> &str {
        &self.site.log
    }
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run a job file, or continue it where it was interrupted
    Run(run::Args),
    /// Say whether a job file and its dataset are in order; nothing is called or stored
    Check(check::Args),
    /// What an operation would change on each target; nothing is changed
    Plan(plan::Args),
    /// Two runs row by row: what changed, and how surely
    Compare(compare::Args),
    /// Judge the gates of a run once more
    Gates(gates::Args),
    /// Write a run as JUnit XML, Markdown or JSON
    Report(report::Args),
    /// Look at jobs and steer them
    #[command(subcommand, arg_required_else_help = true)]
    Jobs(Jobs),
    /// Run everything in the data folder, and answer over HTTP
    Serve(serve::Args),
    /// A model endpoint on this machine, for examples and tests
    MockModel(mock_model::Args),
    /// A stand-in for Kafka Connect on this machine, for examples and tests
    MockConnect(mock_connect::Args),
    /// Keep datasets under a name, in versions that never change
    #[command(subcommand, arg_required_else_help = true)]
    Datasets(Datasets),
    /// Keep API keys and the like sealed, for job files to name
    #[command(subcommand, arg_required_else_help = true)]
    Secrets(Secrets),
}

#[derive(Debug, Subcommand)]
enum Secrets {
    /// Keep a value under a name; it is read from standard input or a file, and never shown again
    Set(secrets_set::Args),
    /// Names, who set them and when
    List(secrets_list::Args),
    /// Forget a secret
    Delete(secrets_delete::Args),
    /// Seal everything anew under another master key
    Rekey(secrets_rekey::Args),
}

#[derive(Debug, Subcommand)]
enum Datasets {
    /// Read a file, check every row, and keep it as a new version
    Import(datasets_import::Args),
    /// All datasets and their newest versions
    List(datasets_list::Args),
    /// One dataset: its versions, its fields and their types, some rows
    Show(datasets_show::Args),
    /// What one version has that another has not
    Diff(datasets_diff::Args),
    /// Write a version to a file
    Export(datasets_export::Args),
    /// Delete a dataset, or one version of it
    Delete(datasets_delete::Args),
}

#[derive(Debug, Subcommand)]
enum Jobs {
    /// All jobs, newest first
    List(jobs_list::Args),
    /// One job: its definition, its runs, its numbers
    Show(jobs_show::Args),
    /// The items of a job
    Items(jobs_items::Args),
    /// One item with its attempts and steps
    Item(item_show::Args),
    /// What happened, and who did it
    Logs(jobs_logs::Args),
    /// Start no further items until it is resumed
    Pause(jobs_pause::Args),
    /// Let a paused job go on
    Resume(jobs_resume::Args),
    /// End a job's run; what is running finishes first
    Cancel(jobs_cancel::Args),
    /// Try again what failed or was cancelled, and only that
    Retry(jobs_retry::Args),
    /// Take an operation back: every target to what it was before
    Rollback(jobs_rollback::Args),
    /// Let the next wave of an operation open
    Approve(jobs_approve::Args),
    /// What became of every target of an operation
    Targets(jobs_targets::Args),
    /// Run another job with the definition of this one
    Clone(jobs_clone::Args),
    /// Let a job start by itself
    Schedule(jobs_schedule::Args),
    /// Let a job no longer start by itself
    Unschedule(jobs_unschedule::Args),
    /// How the work has gone: states, tries, errors
    Stats(jobs_stats::Args),
    /// Why is it not progressing?
    Why(jobs_why::Args),
    /// Delete a job with everything it has
    Delete(jobs_delete::Args),
    /// Delete jobs that ended long ago
    CleanUp(jobs_clean_up::Args),
}

fn after_help() -> String {
    format!("{EXAMPLES}\n{}\n--log info (or debug) shows what the engine does, on stderr.", exit::help())
}

pub async fn perform(cli: Cli) -> Result<Exit> {
    let command = match cli.command {
        Command::Run(args) => return Box::pin(run::perform(&cli.site, args)).await,
        Command::Check(args) => return check::perform(&cli.site, args).await,
        Command::Datasets(command) => return perform_on_datasets(&cli.site, command).await,
        Command::MockModel(args) => return mock_model::perform(args).await,
        Command::MockConnect(args) => return mock_connect::perform(args).await,
        Command::Plan(args) => return plan::perform(&cli.site, args).await,
        Command::Secrets(command) => return perform_on_secrets(&cli.site, command).await,
        Command::Serve(args) => return Box::pin(serve::perform(&cli.site, args)).await,
        command => command,
    };
    let app = App::open(&cli.site).await?;
    match command {
        Command::Run(_)
        | Command::Check(_)
        | Command::Datasets(_)
        | Command::MockModel(_)
        | Command::MockConnect(_)
        | Command::Plan(_)
        | Command::Secrets(_)
        | Command::Serve(_) => {
            unreachable!("performed above")
        }
        Command::Compare(args) => compare::perform(&app, args).await,
        Command::Gates(args) => Box::pin(gates::perform(&app, args)).await,
        Command::Report(args) => Box::pin(report::perform(&app, args)).await,
        Command::Jobs(jobs) => perform_on(&app, jobs).await,
    }
}

async fn perform_on(app: &App, jobs: Jobs) -> Result<Exit> {
    match jobs {
        Jobs::List(args) => jobs_list::perform(app, args).await,
        Jobs::Show(args) => jobs_show::perform(app, args).await,
        Jobs::Items(args) => jobs_items::perform(app, args).await,
        Jobs::Item(args) => item_show::perform(app, args).await,
        Jobs::Logs(args) => jobs_logs::perform(app, args).await,
        Jobs::Pause(args) => jobs_pause::perform(app, args).await,
        Jobs::Resume(args) => Box::pin(jobs_resume::perform(app, args)).await,
        Jobs::Clone(args) => Box::pin(jobs_clone::perform(app, args)).await,
        Jobs::Schedule(args) => jobs_schedule::perform(app, args).await,
        Jobs::Unschedule(args) => jobs_unschedule::perform(app, args).await,
        Jobs::Cancel(args) => Box::pin(jobs_cancel::perform(app, args)).await,
        Jobs::Retry(args) => Box::pin(jobs_retry::perform(app, args)).await,
        Jobs::Rollback(args) => Box::pin(jobs_rollback::perform(app, args)).await,
        Jobs::Approve(args) => jobs_approve::perform(app, args).await,
        Jobs::Targets(args) => jobs_targets::perform(app, args).await,
        Jobs::Stats(args) => jobs_stats::perform(app, args).await,
        Jobs::Why(args) => jobs_why::perform(app, args).await,
        Jobs::Delete(args) => jobs_delete::perform(app, args).await,
        Jobs::CleanUp(args) => jobs_clean_up::perform(app, args).await,
    }
}

async fn perform_on_datasets(site: &Site, command: Datasets) -> Result<Exit> {
    match command {
        Datasets::Import(args) => Box::pin(datasets_import::perform(site, args)).await,
        Datasets::List(args) => datasets_list::perform(&App::open(site).await?, args).await,
        Datasets::Show(args) => datasets_show::perform(&App::open(site).await?, args).await,
        Datasets::Diff(args) => datasets_diff::perform(&App::open(site).await?, args).await,
        Datasets::Export(args) => datasets_export::perform(&App::open(site).await?, args).await,
        Datasets::Delete(args) => datasets_delete::perform(&App::open(site).await?, args).await,
    }
}

async fn perform_on_secrets(site: &Site, command: Secrets) -> Result<Exit> {
    match command {
        Secrets::Set(args) => secrets_set::perform(site, args).await,
        Secrets::List(args) => secrets_list::perform(&App::open(site).await?, args).await,
        Secrets::Delete(args) => secrets_delete::perform(&App::open(site).await?, args).await,
        Secrets::Rekey(args) => secrets_rekey::perform(&App::open(site).await?, args).await,
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_command_line_is_consistent() {
        use clap::CommandFactory;
        super::Cli::command().debug_assert();
    }
}
