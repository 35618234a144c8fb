//! The `windrow` program: reads the command line, does the command, ends with its exit code.

mod app;
mod cli;
mod client;
mod error;
mod grpc;
mod http;
mod node;
mod text;
mod worker;

use crate::error::Exit;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    let started = match cli::Started::read() {
        Ok(started) => started,
        Err(error) => return cli::view::output::fail(&error).into(),
    };
    let (format, filter) = started.log();
    node::observe::start_log(format, filter);
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("error: cannot start threads: {error}");
            return Exit::Error.into();
        }
    };
    let exit = runtime.block_on(cli::perform(started)).unwrap_or_else(|error| cli::view::output::fail(&error));
    // Whatever still runs in the background must not keep a finished command from ending.
    runtime.shutdown_background();
    exit.into()
}
