//! The `windrow` program: reads the command line, does the command, ends with its exit code.

mod assess;
mod baseline;
mod cli;
mod code;
mod data_dir;
mod dataset_named;
mod delete;
mod detail;
mod error;
mod exit;
mod find;
mod http;
mod import;
mod intake;
mod items;
mod mock_connect;
mod mock_model;
mod report;
mod retry;
mod secrets;
mod session_lock;
mod site;
mod start;
mod wiring;

use clap::Parser;
use tracing_subscriber::EnvFilter;

use crate::exit::Exit;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    let cli = cli::Cli::parse();
    let filter = EnvFilter::try_new(cli.log()).unwrap_or_else(|_| EnvFilter::new("error"));
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init();
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("error: the system gives no threads: {error}");
            return Exit::Error.into();
        }
    };
    let exit = runtime.block_on(cli::perform(cli)).unwrap_or_else(|error| {
        eprint!("{}", error.render());
        error.exit()
    });
    // Whatever still runs in the background must not keep a finished command from ending.
    runtime.shutdown_background();
    exit.into()
}
