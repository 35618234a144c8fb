//! The `windrow` program: reads the command line, does the command, ends with its exit code.

mod api_key;
mod assess;
mod audited;
mod backup;
mod baseline;
mod cli;
mod code;
mod config;
mod course;
mod data_dir;
mod dataset_named;
mod delete;
mod desk;
mod detail;
mod doctor;
mod error;
mod exit;
mod find;
mod grpc;
mod http;
mod import;
mod ingest;
mod intake;
mod items;
mod listen;
mod listing;
mod mock_connect;
mod mock_model;
mod mock_source;
mod observe;
mod operations;
mod recent;
mod remote;
mod report;
mod retry;
mod secrets;
mod session_lock;
mod site;
mod start;
mod steer;
mod webhooks;
mod wiring;
mod worker;

use crate::exit::Exit;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    let started = match cli::Started::read() {
        Ok(started) => started,
        Err(error) => {
            eprint!("{}", error.render());
            return error.exit().into();
        }
    };
    let (format, filter) = started.log();
    observe::start_log(format, filter);
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("error: the system gives no threads: {error}");
            return Exit::Error.into();
        }
    };
    let exit = runtime.block_on(cli::perform(started)).unwrap_or_else(|error| {
        eprint!("{}", error.render());
        error.exit()
    });
    // Whatever still runs in the background must not keep a finished command from ending.
    runtime.shutdown_background();
    exit.into()
}
