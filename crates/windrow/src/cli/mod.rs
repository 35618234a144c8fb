//! The command line: one command, one file. Each takes its arguments and the [`Api`] that answers, and
//! returns the exit code.

pub mod admin;
mod check;
mod completions;
mod confirm;
pub mod datasets;
mod examples;
mod help;
mod ingest;
mod init;
pub mod jobs;
pub mod mock;
pub mod operations;
#[cfg(test)]
mod page;
pub mod results;
mod run;
mod serve;
mod serve_access;
mod started;
pub mod view;
mod worker;

use clap::{Parser, Subcommand};

use crate::app::App;
use crate::client::api::Api;
use crate::client::remote::{Remote, ServerArgs};
use crate::error::{Error, Exit, Result};
use crate::node::options::GlobalOptions;
use crate::text::style::Color;

pub use started::Started;

/// Number of lowest scores shown by default.
const WORST: usize = 5;

/// Run large batches of work durably: finished work is never lost or repeated.
#[derive(Debug, Parser)]
#[command(version, arg_required_else_help = true, disable_help_subcommand = true, max_term_width = 110)]
pub struct Cli {
    #[command(flatten)]
    options: GlobalOptions,
    #[command(flatten)]
    server: ServerArgs,
    /// When to use colour; `auto` uses it on a terminal unless NO_COLOR is set
    #[arg(long, global = true, value_name = "WHEN", value_enum, default_value = "auto")]
    color: Color,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Init(init::Args),
    Check(check::Args),
    Run(run::Args),
    Plan(operations::plan::Args),
    Results(results::table::Args),
    Compare(results::compare::Args),
    Trends(results::trends::Args),
    Label(results::label::Args),
    Agreement(results::agreement::Args),
    Gates(results::gates::Args),
    Report(results::report::Args),
    Export(results::export::Args),
    /// List, inspect and control jobs
    #[command(subcommand, arg_required_else_help = true)]
    Jobs(Jobs),
    /// Import, inspect and export versioned datasets
    #[command(subcommand, arg_required_else_help = true)]
    Datasets(Datasets),
    /// Inspect lineage and manage checkpoints of ingest jobs
    #[command(subcommand, arg_required_else_help = true)]
    Ingest(ingest::Ingest),
    /// Manage encrypted secrets for job files
    #[command(subcommand, arg_required_else_help = true)]
    Secrets(Secrets),
    Serve(Box<serve::Args>),
    Worker(worker::Args),
    /// List and drain the nodes of a cluster
    #[command(subcommand, arg_required_else_help = true)]
    Nodes(Nodes),
    /// Manage API keys
    #[command(subcommand, arg_required_else_help = true)]
    Keys(Keys),
    /// Manage signed webhooks
    #[command(subcommand, arg_required_else_help = true)]
    Webhooks(admin::webhooks::Webhooks),
    /// Keep and query a copy of all results in ClickHouse
    #[command(subcommand, arg_required_else_help = true)]
    Analytics(admin::analytics::Analytics),
    Alerts(admin::alerts::Args),
    Audit(admin::audit::Args),
    Doctor(admin::doctor::Args),
    Completions(completions::Args),
    /// Show the effective settings
    #[command(subcommand, arg_required_else_help = true)]
    Config(Config),
    Backup(admin::backup::Args),
    Restore(admin::restore::Args),
    MigrateStore(admin::migrate_store::Args),
    /// Start mock servers for examples and tests
    #[command(subcommand, arg_required_else_help = true)]
    Mock(Mock),
    #[command(hide = true)]
    MockModel(mock::model::Args),
    #[command(hide = true)]
    MockSource(mock::source::Args),
    #[command(hide = true)]
    MockConnect(mock::connect::Args),
    Help(help::Args),
}

#[derive(Debug, Subcommand)]
enum Mock {
    Model(mock::model::Args),
    Connect(mock::connect::Args),
    Source(mock::source::Args),
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
    Create(admin::keys_create::Args),
    List(admin::keys_list::Args),
    Revoke(admin::keys_revoke::Args),
}

#[derive(Debug, Subcommand)]
enum Datasets {
    Import(datasets::import::Args),
    Add(datasets::add::Args),
    List(datasets::list::Args),
    Show(datasets::show::Args),
    Diff(datasets::diff::Args),
    Export(datasets::export::Args),
    Delete(datasets::delete::Args),
}

#[derive(Debug, Subcommand)]
enum Jobs {
    List(jobs::list::Args),
    Show(jobs::show::Args),
    Items(jobs::items::Args),
    Item(jobs::item::Args),
    Cells(jobs::cells::Args),
    Logs(jobs::logs::Args),
    Why(jobs::why::Args),
    Stats(jobs::stats::Args),
    Pause(jobs::pause::Args),
    Resume(jobs::resume::Args),
    Limits(jobs::limits::Args),
    Cancel(jobs::cancel::Args),
    Retry(jobs::retry::Args),
    Approve(operations::approve::Args),
    Rollback(operations::rollback::Args),
    Targets(operations::targets::Args),
    Clone(jobs::clone::Args),
    Schedule(jobs::schedule::Args),
    Unschedule(jobs::unschedule::Args),
    Pin(jobs::pin::PinArgs),
    Unpin(jobs::pin::UnpinArgs),
    Delete(jobs::delete::Args),
    #[command(alias = "clean-up")]
    Prune(jobs::prune::Args),
}

/// Where a command is executed.
pub struct Context {
    options: GlobalOptions,
    /// `--server`; it takes precedence over the data directory.
    remote: Option<Remote>,
}

impl Context {
    async fn api(self) -> Result<Api> {
        Api::open(&self.options, self.remote).await
    }

    /// For commands without a remote form.
    fn local_only(self, what: &str) -> Result<GlobalOptions> {
        match self.remote {
            None => Ok(self.options),
            Some(_) => {
                let remedy = "leave out `--server`, or unset WINDROW_SERVER";
                Err(Error::new(format!("`windrow {what}` works only on the local data directory"), remedy)
                    .ending_with(Exit::Usage))
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
        Command::Mock(Mock::Model(args)) | Command::MockModel(args) => {
            context.local_only("mock model")?;
            mock::model::perform(args).await
        }
        Command::Mock(Mock::Source(args)) | Command::MockSource(args) => {
            context.local_only("mock source")?;
            mock::source::perform(args).await
        }
        Command::Mock(Mock::Connect(args)) | Command::MockConnect(args) => {
            context.local_only("mock connect")?;
            mock::connect::perform(args).await
        }
        Command::Help(args) => help::perform(args),
        Command::Init(args) => init::perform(args),
        Command::Completions(args) => completions::perform(args),
        Command::Results(args) => Box::pin(results::table::perform(&context.api().await?, args)).await,
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
        Command::Serve(args) => Box::pin(serve::perform(&context.local_only("serve")?, *args)).await,
        Command::Secrets(command) => perform_on_secrets(context, command).await,
        Command::Nodes(Nodes::List(args)) => admin::nodes::list(&context.api().await?, args).await,
        Command::Nodes(Nodes::Drain(args)) => admin::nodes::drain(&context.api().await?, args).await,
        Command::Keys(command) => perform_on_keys(context, command).await,
        Command::Analytics(command) => Box::pin(admin::analytics::perform(&context.api().await?, command)).await,
        Command::Alerts(args) => admin::alerts::perform(&context.api().await?, args).await,
        Command::Audit(args) => admin::audit::perform(&context.api().await?, args).await,
        Command::Compare(args) => Box::pin(results::compare::perform(&context.api().await?, args)).await,
        Command::Trends(args) => results::trends::perform(&context.api().await?, args).await,
        Command::Label(args) => Box::pin(results::label::perform(&context.api().await?, args)).await,
        Command::Agreement(args) => results::agreement::perform(&context.api().await?, args).await,
        Command::Gates(args) => Box::pin(results::gates::perform(&context.api().await?, args)).await,
        Command::Report(args) => Box::pin(results::report::perform(&context.api().await?, args)).await,
        Command::Export(args) => Box::pin(results::export::perform(&context.api().await?, args)).await,
        Command::Jobs(jobs) => Box::pin(perform_on(&context.api().await?, jobs)).await,
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
        Jobs::Cells(args) => jobs::cells::perform(api, args).await,
        Jobs::Logs(args) => jobs::logs::perform(api, args).await,
        Jobs::Pause(args) => jobs::pause::perform(api, args).await,
        Jobs::Limits(args) => jobs::limits::perform(api, args).await,
        Jobs::Resume(args) => jobs::resume::perform(api, args).await,
        Jobs::Clone(args) => jobs::clone::perform(api, args).await,
        Jobs::Schedule(args) => jobs::schedule::perform(api, args).await,
        Jobs::Unschedule(args) => jobs::unschedule::perform(api, args).await,
        Jobs::Pin(args) => jobs::pin::pin(api, args).await,
        Jobs::Unpin(args) => jobs::pin::unpin(api, args).await,
        Jobs::Cancel(args) => jobs::cancel::perform(api, args).await,
        Jobs::Retry(args) => jobs::retry::perform(api, args).await,
        Jobs::Rollback(args) => operations::rollback::perform(api, args).await,
        Jobs::Approve(args) => operations::approve::perform(api, args).await,
        Jobs::Targets(args) => operations::targets::perform(api, args).await,
        Jobs::Stats(args) => jobs::stats::perform(api, args).await,
        Jobs::Why(args) => jobs::why::perform(api, args).await,
        Jobs::Delete(args) => jobs::delete::perform(api, args).await,
        Jobs::Prune(args) => jobs::prune::perform(api, args).await,
    }
}

async fn perform_on_keys(context: Context, command: Keys) -> Result<Exit> {
    match command {
        Keys::Create(args) => admin::keys_create::perform(context, args).await,
        Keys::List(args) => admin::keys_list::perform(&context.api().await?, args).await,
        Keys::Revoke(args) => admin::keys_revoke::perform(&context.api().await?, args).await,
    }
}

async fn perform_on_datasets(context: Context, command: Datasets) -> Result<Exit> {
    match command {
        Datasets::Import(args) => Box::pin(datasets::import::perform(&context, args)).await,
        Datasets::Add(args) => Box::pin(datasets::add::perform(&context.api().await?, args)).await,
        Datasets::List(args) => datasets::list::perform(&context.api().await?, args).await,
        Datasets::Show(args) => datasets::show::perform(&context.api().await?, args).await,
        Datasets::Diff(args) => datasets::diff::perform(&context.api().await?, args).await,
        Datasets::Export(args) => datasets::export::perform(&context.api().await?, args).await,
        Datasets::Delete(args) => datasets::delete::perform(&context.api().await?, args).await,
    }
}

async fn perform_on_secrets(context: Context, command: Secrets) -> Result<Exit> {
    match command {
        Secrets::Set(args) => admin::secrets_set::perform(context, args).await,
        Secrets::List(args) => admin::secrets_list::perform(&context.api().await?, args).await,
        Secrets::Delete(args) => admin::secrets_delete::perform(&context.api().await?, args).await,
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
        super::help::command().debug_assert();
    }
}
