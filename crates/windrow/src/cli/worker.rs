//! `windrow worker`: executes items for a server.

use std::sync::Arc;
use std::time::Duration;

use windrow_engine::SystemClock;
use windrow_jobfile::Environment;
use windrow_jobfile::environment::Sealer;

use crate::app::secrets::ImageSealer;
use crate::cli::run::execute::Signals;
use crate::cli::view::output;
use crate::error::{Exit, Result};
use crate::node::master_key::{self, KeySource};
use crate::text;
use crate::worker::{Link, Terms, WorkerSession};

/// Start a worker that executes items for a server
///
/// The worker claims items from the server, executes them and records every step there. If it is killed, the
/// server requeues its items after the lease (15 s by default), and finished steps are reused. If the server is
/// unreachable, the worker retries until it is back. Job files that take API keys from the environment get those
/// of the worker. A server with API keys requires one with the role operator.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Maximum number of items executed at the same time
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = clap::value_parser!(u16).range(1..))]
    workers: u16,
    /// Capability that job files request with `worker:`; may be repeated
    #[arg(long, value_name = "NAME", value_parser = capability)]
    capability: Vec<String>,
    /// Name of the worker [default: the host name]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Time that running items get to finish when the worker is stopped
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
    let workloads = crate::app::kinds::workloads_of_worker(Environment::process().with_sealer(sealer));
    let mut session = tokio::select! {
        session = WorkerSession::begin(link, terms, workloads, Arc::new(SystemClock)) => session?,
        () = signals.next() => return Ok(Exit::Interrupted),
    };
    let slots = text::plural(args.workers.into(), "worker slot");
    output::print(&format!("{} works for {server}: {slots}, capabilities {able}", session.id()));
    let trouble = tokio::select! {
        error = session.work() => Some(error),
        () = signals.next() => None,
    };
    let (running, grace) = (text::plural(session.in_flight() as i64, "running item"), args.grace.as_secs());
    output::say(&format!("Shutting down: waiting up to {grace} s for {running} (Ctrl-C again to stop now)"));
    let stopped = tokio::select! {
        () = session.drain() => None,
        () = tokio::time::sleep(args.grace) => Some("the grace period is over"),
        () = signals.next() => Some("interrupted again"),
    };
    if let Some(why) = stopped {
        output::say(&format!("Stopping now: {why}. The server requeues the running items."));
        session.stop().await;
    }
    session.end().await;
    trouble.map_or(Ok(Exit::Passed), Err)
}

/// Workers have no database: passwords in what they record are encrypted with the key they are given.
fn sealer() -> std::result::Result<Arc<dyn Sealer>, String> {
    match KeySource::Variable.read() {
        Ok(Some(key)) => Ok(Arc::new(ImageSealer::new(key))),
        Ok(None) => Err(format!("start the worker with {}", master_key::VARIABLE)),
        Err(error) => Err(format!("{}; start the worker with one", error.one_line())),
    }
}

fn capability(text: &str) -> std::result::Result<String, String> {
    match windrow_jobfile::job_file::is_capability(text) {
        true => Ok(text.to_owned()),
        false => Err("use up to 64 letters, digits, `_`, `-` and `.`".to_owned()),
    }
}
