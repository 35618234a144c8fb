//! `windrow worker`: does items for a server, on this machine.

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use windrow_engine::SystemClock;
use windrow_jobfile::Environment;

use crate::cli::run::execute::Signals;
use crate::error::{Exit, Result};
use crate::worker::{Link, Shift, Terms};

/// Do items for a server, on this machine.
///
/// The worker asks the server for items, does them, and records every step there before and after each
/// call. Kill it anywhere: the server notices within 15 seconds and gives its items to others, and nothing
/// that was finished is paid for again. A server that is away is waited for. API keys that job files take
/// from the environment are taken from this worker's. It needs a key of the role operator where the server
/// asks for keys.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Items at work at the same time
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = clap::value_parser!(u16).range(1..))]
    workers: u16,
    /// What this worker has that others may not, as job files name it in `worker:`; may be given often
    #[arg(long, value_name = "NAME", value_parser = capability)]
    capability: Vec<String>,
    /// Name in the list of workers; by default that of the machine
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// How long running items may take to finish when the worker is stopped
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = crate::cli::serve::duration)]
    grace: Duration,
}

pub async fn perform(link: Link, args: Args) -> Result<Exit> {
    let mut signals = Signals::listen()?;
    let server = link.url.clone();
    let host = gethostname::gethostname().to_string_lossy().into_owned();
    let own = [windrow_experiment::CAPABILITY, windrow_operation::CAPABILITY].map(str::to_owned);
    let terms = Terms {
        name: args.name.unwrap_or_else(|| host.clone()),
        host,
        capabilities: own.into_iter().chain(args.capability).collect(),
        places: usize::from(args.workers),
    };
    let able = terms.capabilities.join(", ");
    // Rows come with the items: a worker reads no dataset.
    let workloads = crate::app::kinds::workloads_of_worker(Environment::process());
    let mut shift = tokio::select! {
        shift = Shift::begin(link, terms, workloads, Arc::new(SystemClock)) => shift?,
        () = signals.next() => return Ok(Exit::Interrupted),
    };
    println!("{} works for {}: {} item(s) at a time, able to do {able}", shift.session(), server, args.workers);
    let _ = std::io::stdout().flush();
    let trouble = tokio::select! {
        error = shift.work() => Some(error),
        () = signals.next() => None,
    };
    eprintln!("finishing {} running item(s); once more stops at once", shift.in_flight());
    let stopped = tokio::select! {
        () = shift.drain() => None,
        () = tokio::time::sleep(args.grace) => Some("the time to finish is over"),
        () = signals.next() => Some("asked again"),
    };
    if let Some(why) = stopped {
        eprintln!("{why}: stopping now; others go on with what was running");
        shift.stop().await;
    }
    shift.end().await;
    trouble.map_or(Ok(Exit::Passed), Err)
}

fn capability(text: &str) -> std::result::Result<String, String> {
    match windrow_jobfile::job_file::is_capability(text) {
        true => Ok(text.to_owned()),
        false => Err("use up to 64 letters, digits, `_`, `-` and `.`".to_owned()),
    }
}
