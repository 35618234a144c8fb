//! The command line: one command, one file. Each takes its arguments and the [`Api`] that answers, and
//! returns how the program ends.

pub mod admin;
mod check;
pub mod datasets;
mod ingest;
pub mod jobs;
pub mod mock;
pub mod operations;
pub mod results;
mod run;
mod serve;
mod serve_access;
mod started;
pub mod view;
mod worker;

use clap::{Parser, Subcommand};

pub use started::Started;

use crate::app::App;
use crate::client::api::Api;
use crate::client::remote::{Remote, ServerArgs};
use crate::error::{Error, Exit, Result};
use crate::node::options::GlobalOptions;

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
    options: GlobalOptions,
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
    Plan(operations::plan::Args),
    /// Two runs row by row: what changed, and how surely
    Compare(results::compare::Args),
    /// Judge the gates of a run once more
    Gates(results::gates::Args),
    /// Write a run as JUnit XML, Markdown or JSON
    Report(results::report::Args),
    /// Look at jobs and steer them
    #[command(subcommand, arg_required_else_help = true)]
    Jobs(Jobs),
    /// Run everything in the data folder, and answer over HTTP
    Serve(serve::Args),
    /// Keys that let programs and people use the server
    #[command(subcommand, arg_required_else_help = true)]
    Keys(Keys),
    /// Who changed what, and what was turned away
    Audit(admin::audit::Args),
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
    Webhooks(admin::webhooks::Webhooks),
    /// A model endpoint on this machine, for examples and tests
    MockModel(mock::model::Args),
    /// An API with pages of records on this machine, for examples and tests of ingest
    MockSource(mock::source::Args),
    /// A stand-in for Kafka Connect on this machine, for examples and tests
    MockConnect(mock::connect::Args),
    /// Keep datasets under a name, in versions that never change
    #[command(subcommand, arg_required_else_help = true)]
    Datasets(Datasets),
    /// Keep API keys and the like sealed, for job files to name
    #[command(subcommand, arg_required_else_help = true)]
    Secrets(Secrets),
    /// Look at the settings
    #[command(subcommand, arg_required_else_help = true)]
    Config(Config),
    Doctor(admin::doctor::Args),
    Backup(admin::backup::Args),
    Restore(admin::restore::Args),
    MigrateStore(admin::migrate_store::Args),
}

#[derive(Debug, Subcommand)]
enum Config {
    Show(admin::config_show::Args),
}

#[derive(Debug, Subcommand)]
enum Nodes {
    List(admin::nodes::ListArgs),
    Drain(admin::nodes::DrainArgs),
}

#[derive(Debug, Subcommand)]
enum Secrets {
    Set(admin::secrets_set::Args),
    List(admin::secrets_list::Args),
    Delete(admin::secrets_delete::Args),
    Rekey(admin::secrets_rekey::Args),
}

#[derive(Debug, Subcommand)]
enum Keys {
    /// Make a key; its secret is shown once
    Create(admin::keys_create::Args),
    /// All keys, without their secrets
    List(admin::keys_list::Args),
    /// Take a key back
    Revoke(admin::keys_revoke::Args),
}

#[derive(Debug, Subcommand)]
enum Datasets {
    /// Read a file, check every row, and keep it as a new version
    Import(datasets::import::Args),
    /// All datasets and their newest versions
    List(datasets::list::Args),
    /// One dataset: its versions, its fields and their types, some rows
    Show(datasets::show::Args),
    /// What one version has that another has not
    Diff(datasets::diff::Args),
    /// Write a version to a file
    Export(datasets::export::Args),
    /// Delete a dataset, or one version of it
    Delete(datasets::delete::Args),
}

#[derive(Debug, Subcommand)]
enum Jobs {
    /// All jobs, newest first
    List(jobs::list::Args),
    /// One job: its definition, its runs, its numbers
    Show(jobs::show::Args),
    /// The items of a job
    Items(jobs::items::Args),
    /// One item with its attempts and steps
    Item(jobs::item::Args),
    /// What happened, and who did it
    Logs(jobs::logs::Args),
    /// Start no further items until it is resumed
    Pause(jobs::pause::Args),
    /// Let a paused job go on
    Resume(jobs::resume::Args),
    /// End a job's run; what is running finishes first
    Cancel(jobs::cancel::Args),
    /// Try again what failed or was cancelled, and only that
    Retry(jobs::retry::Args),
    /// Take an operation back: every target to what it was before
    Rollback(operations::rollback::Args),
    /// Let the next wave of an operation open
    Approve(operations::approve::Args),
    /// What became of every target of an operation
    Targets(operations::targets::Args),
    /// Run another job with the definition of this one
    Clone(jobs::clone::Args),
    /// Let a job start by itself
    Schedule(jobs::schedule::Args),
    /// Let a job no longer start by itself
    Unschedule(jobs::unschedule::Args),
    /// How the work has gone: states, tries, errors
    Stats(jobs::stats::Args),
    /// Why is it not progressing?
    Why(jobs::why::Args),
    /// Delete a job with everything it has
    Delete(jobs::delete::Args),
    /// Delete jobs that ended long ago
    CleanUp(jobs::prune::Args),
}

fn after_help() -> String {
    format!("{EXAMPLES}\n{}\n--log-filter info (or debug) shows what the engine does, on stderr.", Exit::help())
}

/// Where a command does what it does.
pub struct Context {
    options: GlobalOptions,
    /// The server that was named; it comes before the folder.
    remote: Option<Remote>,
}

impl Context {
    async fn api(self) -> Result<Api> {
        Api::open(&self.options, self.remote).await
    }

    /// For what only this machine can do.
    fn local_only(self, what: &str) -> Result<GlobalOptions> {
        match self.remote {
            None => Ok(self.options),
            Some(_) => {
                let remedy = "leave out `--server`, or unset WINDROW_SERVER";
                Err(Error::new(format!("`windrow {what}` works on this machine only"), remedy).ending_with(Exit::Usage))
            }
        }
    }
}

pub async fn perform(started: Started) -> Result<Exit> {
    let Started { cli, config_trouble } = started;
    let context = Context { options: cli.options, remote: cli.server.remote()? };
    match cli.command {
        Command::Run(args) => run::perform(&context, args).await,
        Command::Check(args) => check::perform(&context, args).await,
        Command::Datasets(command) => perform_on_datasets(context, command).await,
        Command::MockModel(args) => {
            context.local_only("mock-model")?;
            mock::model::perform(args).await
        }
        Command::MockSource(args) => {
            context.local_only("mock-source")?;
            mock::source::perform(args).await
        }
        Command::MockConnect(args) => {
            context.local_only("mock-connect")?;
            mock::connect::perform(args).await
        }
        Command::Plan(args) => operations::plan::perform(&context, args).await,
        Command::Config(Config::Show(args)) => admin::config_show::perform(args),
        Command::Doctor(args) => {
            Box::pin(admin::doctor::perform(&context.local_only("doctor")?, args, config_trouble.as_ref())).await
        }
        Command::Backup(args) => admin::backup::perform(&context.local_only("backup")?, args).await,
        Command::Restore(args) => Box::pin(admin::restore::perform(&context.local_only("restore")?, args)).await,
        Command::MigrateStore(args) => {
            Box::pin(admin::migrate_store::perform(&context.local_only("migrate-store")?, args)).await
        }
        Command::Serve(args) => Box::pin(serve::perform(&context.local_only("serve")?, args)).await,
        Command::Secrets(command) => perform_on_secrets(context, command).await,
        Command::Nodes(Nodes::List(args)) => admin::nodes::list(&context.api().await?, args).await,
        Command::Nodes(Nodes::Drain(args)) => {
            let api = context.api().await?;
            admin::nodes::drain(&api, args).await
        }
        Command::Keys(command) => perform_on_keys(context, command).await,
        Command::Audit(args) => admin::audit::perform(&context.api().await?, args).await,
        Command::Compare(args) => results::compare::perform(&context.api().await?, args).await,
        Command::Gates(args) => Box::pin(results::gates::perform(&context.api().await?, args)).await,
        Command::Report(args) => Box::pin(results::report::perform(&context.api().await?, args)).await,
        Command::Jobs(jobs) => perform_on(&context.api().await?, jobs).await,
        Command::Ingest(command) => Box::pin(ingest::perform(context, command)).await,
        Command::Webhooks(command) => admin::webhooks::perform(&context.api().await?, command).await,
        Command::Worker(args) => Box::pin(worker::perform(cli.server.link()?, args)).await,
    }
}

async fn perform_on(api: &Api, jobs: Jobs) -> Result<Exit> {
    match jobs {
        Jobs::List(args) => jobs::list::perform(api, args).await,
        Jobs::Show(args) => jobs::show::perform(api, args).await,
        Jobs::Items(args) => jobs::items::perform(api, args).await,
        Jobs::Item(args) => jobs::item::perform(api, args).await,
        Jobs::Logs(args) => jobs::logs::perform(api, args).await,
        Jobs::Pause(args) => jobs::pause::perform(api, args).await,
        Jobs::Resume(args) => jobs::resume::perform(api, args).await,
        Jobs::Clone(args) => jobs::clone::perform(api, args).await,
        Jobs::Schedule(args) => jobs::schedule::perform(api, args).await,
        Jobs::Unschedule(args) => jobs::unschedule::perform(api, args).await,
        Jobs::Cancel(args) => jobs::cancel::perform(api, args).await,
        Jobs::Retry(args) => jobs::retry::perform(api, args).await,
        Jobs::Rollback(args) => operations::rollback::perform(api, args).await,
        Jobs::Approve(args) => operations::approve::perform(api, args).await,
        Jobs::Targets(args) => operations::targets::perform(api, args).await,
        Jobs::Stats(args) => jobs::stats::perform(api, args).await,
        Jobs::Why(args) => jobs::why::perform(api, args).await,
        Jobs::Delete(args) => jobs::delete::perform(api, args).await,
        Jobs::CleanUp(args) => jobs::prune::perform(api, args).await,
    }
}

async fn perform_on_keys(context: Context, command: Keys) -> Result<Exit> {
    match command {
        Keys::Create(args) => admin::keys_create::perform(context, args).await,
        Keys::List(args) => admin::keys_list::perform(&context.api().await?, args).await,
        Keys::Revoke(args) => {
            let api = context.api().await?;
            admin::keys_revoke::perform(&api, args).await
        }
    }
}

async fn perform_on_datasets(context: Context, command: Datasets) -> Result<Exit> {
    match command {
        Datasets::Import(args) => Box::pin(datasets::import::perform(&context, args)).await,
        Datasets::List(args) => datasets::list::perform(&context.api().await?, args).await,
        Datasets::Show(args) => datasets::show::perform(&context.api().await?, args).await,
        Datasets::Diff(args) => datasets::diff::perform(&context.api().await?, args).await,
        Datasets::Export(args) => datasets::export::perform(&context.api().await?, args).await,
        Datasets::Delete(args) => {
            let api = context.api().await?;
            datasets::delete::perform(&api, args).await
        }
    }
}

async fn perform_on_secrets(context: Context, command: Secrets) -> Result<Exit> {
    match command {
        Secrets::Set(args) => admin::secrets_set::perform(context, args).await,
        Secrets::List(args) => admin::secrets_list::perform(&context.api().await?, args).await,
        Secrets::Delete(args) => {
            let api = context.api().await?;
            admin::secrets_delete::perform(&api, args).await
        }
        Secrets::Rekey(args) => {
            let app = App::open(&context.local_only("secrets rekey")?).await?;
            admin::secrets_rekey::perform(&app, args).await
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
