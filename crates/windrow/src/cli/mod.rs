//! The command line: one command, one file. Each takes its arguments and the [`Desk`] that answers, and
//! returns how the program ends.

mod audit;
mod backup;
mod budget;
mod check;
mod compare;
mod config_show;
mod counting;
mod datasets_delete;
mod datasets_diff;
mod datasets_export;
mod datasets_import;
mod datasets_list;
mod datasets_show;
mod doctor;
mod dry_run;
mod execute;
mod experience;
mod far_stream;
mod follow;
mod gates;
mod ingest;
mod item_show;
mod job_text;
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
mod keys_create;
mod keys_list;
mod keys_revoke;
mod migrate_store;
mod mock_connect;
mod mock_model;
mod mock_source;
mod nodes;
mod online;
mod output;
mod plan;
mod progress;
mod report;
mod report_target;
mod restore;
mod result;
mod run;
mod run_far;
mod run_here;
mod scheduled;
mod secrets_delete;
mod secrets_list;
mod secrets_rekey;
mod secrets_set;
mod serve;
mod serve_access;
mod started;
mod stream;
pub mod tables;
pub mod text;
mod upload;
mod watch;
mod webhooks;
mod worker;

use clap::{Parser, Subcommand};

pub use started::Started;

use crate::audited::change;
use crate::desk::Desk;
use crate::error::{Error, Result};
use crate::exit::{self, Exit};
use crate::remote::{Remote, ServerArgs};
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
  windrow worker --server http://HOST:7373   do its items on this machine
  windrow secrets set OPENAI_API_KEY     keep it sealed; a job file names it as ${secret:OPENAI_API_KEY}
  windrow doctor                         is everything in order?
  windrow datasets import capitals.csv   keep it as a version that never changes
  windrow --server http://127.0.0.1:7373 run capitals.yaml
                                         the same at a server; so with every command that reads or steers
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
    #[command(flatten)]
    server: ServerArgs,
    #[command(subcommand)]
    command: Command,
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
    /// Keys that let programs and people use the server
    #[command(subcommand, arg_required_else_help = true)]
    Keys(Keys),
    /// Who changed what, and what was turned away
    Audit(audit::Args),
    /// Where ingested data came from, and the checkpoints of plans
    #[command(subcommand, arg_required_else_help = true)]
    Ingest(ingest::Ingest),
    /// The servers that share a database
    #[command(subcommand, arg_required_else_help = true)]
    Nodes(Nodes),
    /// Do items for a server, on this machine
    Worker(worker::Args),
    /// Have events sent to URLs, signed
    #[command(subcommand, arg_required_else_help = true)]
    Webhooks(webhooks::Webhooks),
    /// A model endpoint on this machine, for examples and tests
    MockModel(mock_model::Args),
    /// An API with pages of records on this machine, for examples and tests of ingest
    MockSource(mock_source::Args),
    /// A stand-in for Kafka Connect on this machine, for examples and tests
    MockConnect(mock_connect::Args),
    /// Keep datasets under a name, in versions that never change
    #[command(subcommand, arg_required_else_help = true)]
    Datasets(Datasets),
    /// Keep API keys and the like sealed, for job files to name
    #[command(subcommand, arg_required_else_help = true)]
    Secrets(Secrets),
    /// Look at the settings
    #[command(subcommand, arg_required_else_help = true)]
    Config(Config),
    Doctor(doctor::Args),
    Backup(backup::Args),
    Restore(restore::Args),
    MigrateStore(migrate_store::Args),
}

#[derive(Debug, Subcommand)]
enum Config {
    Show(config_show::Args),
}

#[derive(Debug, Subcommand)]
enum Nodes {
    List(nodes::ListArgs),
    Drain(nodes::DrainArgs),
}

#[derive(Debug, Subcommand)]
enum Secrets {
    Set(secrets_set::Args),
    List(secrets_list::Args),
    Delete(secrets_delete::Args),
    Rekey(secrets_rekey::Args),
}

#[derive(Debug, Subcommand)]
enum Keys {
    /// Make a key; its secret is shown once
    Create(keys_create::Args),
    /// All keys, without their secrets
    List(keys_list::Args),
    /// Take a key back
    Revoke(keys_revoke::Args),
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
    format!("{EXAMPLES}\n{}\n--log-filter info (or debug) shows what the engine does, on stderr.", exit::help())
}

/// Where a command does what it does.
pub struct At {
    site: Site,
    /// The server that was named; it comes before the folder.
    remote: Option<Remote>,
}

impl At {
    async fn desk(self) -> Result<Desk> {
        Desk::open(&self.site, self.remote).await
    }

    /// For what only this machine can do.
    fn here(self, what: &str) -> Result<Site> {
        match self.remote {
            None => Ok(self.site),
            Some(_) => {
                let remedy = "leave out `--server`, or unset WINDROW_SERVER";
                Err(Error::new(format!("`windrow {what}` works on this machine only"), remedy).ending_with(Exit::Usage))
            }
        }
    }
}

pub async fn perform(started: Started) -> Result<Exit> {
    let Started { cli, config_trouble } = started;
    let at = At { site: cli.site, remote: cli.server.remote()? };
    match cli.command {
        Command::Run(args) => run::perform(&at, args).await,
        Command::Check(args) => check::perform(&at, args).await,
        Command::Datasets(command) => perform_on_datasets(at, command).await,
        Command::MockModel(args) => {
            at.here("mock-model")?;
            mock_model::perform(args).await
        }
        Command::MockSource(args) => {
            at.here("mock-source")?;
            mock_source::perform(args).await
        }
        Command::MockConnect(args) => {
            at.here("mock-connect")?;
            mock_connect::perform(args).await
        }
        Command::Plan(args) => plan::perform(&at, args).await,
        Command::Config(Config::Show(args)) => config_show::perform(args),
        Command::Doctor(args) => Box::pin(doctor::perform(&at.here("doctor")?, args, config_trouble.as_ref())).await,
        Command::Backup(args) => backup::perform(&at.here("backup")?, args).await,
        Command::Restore(args) => Box::pin(restore::perform(&at.here("restore")?, args)).await,
        Command::MigrateStore(args) => Box::pin(migrate_store::perform(&at.here("migrate-store")?, args)).await,
        Command::Serve(args) => Box::pin(serve::perform(&at.here("serve")?, args)).await,
        Command::Secrets(command) => perform_on_secrets(at, command).await,
        Command::Nodes(Nodes::List(args)) => nodes::list(&at.desk().await?, args).await,
        Command::Nodes(Nodes::Drain(args)) => {
            let desk = at.desk().await?;
            desk.change("nodes drain", args.node.to_string(), nodes::drain(&desk, args)).await
        }
        Command::Keys(command) => perform_on_keys(at, command).await,
        Command::Audit(args) => audit::perform(&at.desk().await?, args).await,
        Command::Compare(args) => compare::perform(&at.desk().await?, args).await,
        Command::Gates(args) => Box::pin(gates::perform(&at.desk().await?, args)).await,
        Command::Report(args) => Box::pin(report::perform(&at.desk().await?, args)).await,
        Command::Jobs(jobs) => perform_on(&at.desk().await?, jobs).await,
        Command::Ingest(command) => Box::pin(ingest::perform(at, command)).await,
        Command::Webhooks(command) => webhooks::perform(&at.desk().await?, command).await,
        Command::Worker(args) => Box::pin(worker::perform(cli.server.link()?, args)).await,
    }
}

async fn perform_on(desk: &Desk, jobs: Jobs) -> Result<Exit> {
    match jobs {
        Jobs::List(args) => jobs_list::perform(desk, args).await,
        Jobs::Show(args) => jobs_show::perform(desk, args).await,
        Jobs::Items(args) => jobs_items::perform(desk, args).await,
        Jobs::Item(args) => item_show::perform(desk, args).await,
        Jobs::Logs(args) => jobs_logs::perform(desk, args).await,
        Jobs::Pause(args) => desk.change("jobs pause", args.job.clone(), jobs_pause::perform(desk, args)).await,
        Jobs::Resume(args) => desk.change("jobs resume", args.job.clone(), jobs_resume::perform(desk, args)).await,
        Jobs::Clone(args) => desk.change("jobs clone", args.job.clone(), jobs_clone::perform(desk, args)).await,
        Jobs::Schedule(args) => {
            desk.change("jobs schedule", args.job.clone(), jobs_schedule::perform(desk, args)).await
        }
        Jobs::Unschedule(args) => {
            desk.change("jobs unschedule", args.job.clone(), jobs_unschedule::perform(desk, args)).await
        }
        Jobs::Cancel(args) => desk.change("jobs cancel", args.job.clone(), jobs_cancel::perform(desk, args)).await,
        Jobs::Retry(args) => desk.change("jobs retry", args.job.clone(), jobs_retry::perform(desk, args)).await,
        Jobs::Rollback(args) => {
            desk.change("jobs rollback", args.job.clone(), jobs_rollback::perform(desk, args)).await
        }
        Jobs::Approve(args) => desk.change("jobs approve", args.job.clone(), jobs_approve::perform(desk, args)).await,
        Jobs::Targets(args) => jobs_targets::perform(desk, args).await,
        Jobs::Stats(args) => jobs_stats::perform(desk, args).await,
        Jobs::Why(args) => jobs_why::perform(desk, args).await,
        Jobs::Delete(args) => desk.change("jobs delete", args.job.clone(), jobs_delete::perform(desk, args)).await,
        Jobs::CleanUp(args) => desk.change("jobs clean-up", "", jobs_clean_up::perform(desk, args)).await,
    }
}

async fn perform_on_keys(at: At, command: Keys) -> Result<Exit> {
    match command {
        Keys::Create(args) => keys_create::perform(at, args).await,
        Keys::List(args) => keys_list::perform(&at.desk().await?, args).await,
        Keys::Revoke(args) => {
            let desk = at.desk().await?;
            desk.change("keys revoke", args.key.clone(), keys_revoke::perform(&desk, args)).await
        }
    }
}

async fn perform_on_datasets(at: At, command: Datasets) -> Result<Exit> {
    match command {
        Datasets::Import(args) => Box::pin(datasets_import::perform(&at, args)).await,
        Datasets::List(args) => datasets_list::perform(&at.desk().await?, args).await,
        Datasets::Show(args) => datasets_show::perform(&at.desk().await?, args).await,
        Datasets::Diff(args) => datasets_diff::perform(&at.desk().await?, args).await,
        Datasets::Export(args) => datasets_export::perform(&at.desk().await?, args).await,
        Datasets::Delete(args) => {
            let desk = at.desk().await?;
            let name = args.dataset.name.clone();
            desk.change("datasets delete", name, datasets_delete::perform(&desk, args)).await
        }
    }
}

async fn perform_on_secrets(at: At, command: Secrets) -> Result<Exit> {
    match command {
        Secrets::Set(args) => secrets_set::perform(at, args).await,
        Secrets::List(args) => secrets_list::perform(&at.desk().await?, args).await,
        Secrets::Delete(args) => {
            let desk = at.desk().await?;
            desk.change("secrets delete", args.name.clone(), secrets_delete::perform(&desk, args)).await
        }
        Secrets::Rekey(args) => {
            let app = App::open(&at.here("secrets rekey")?).await?;
            change(&app, "secrets rekey", "", secrets_rekey::perform(&app, args)).await
        }
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
