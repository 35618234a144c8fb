//! `windrow serve`: one engine for the whole data directory, and the HTTP API over it.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use axum::Router;
use axum::extract::connect_info::Connected;
use axum::serve::{IncomingStream, Listener};
use sd_notify::NotifyState;
use tokio::net::TcpListener;
use windrow_model::access::DEFAULT_WORKSPACE;
use windrow_model::record::NodeRole;
use windrow_model::store::Retention;
use windrow_model::time::DAY_MS;

use crate::app::analytics::Relaying;
use crate::app::watch::Watch;
use crate::app::{App, Load, control, webhooks};
use crate::cli::run::execute::Signals;
use crate::cli::serve_access::{Access, forget_old_audit};
use crate::cli::view::output;
use crate::error::{Error, Exit, Result};
use crate::http;
use crate::http::middleware::rate_limit::{Rate, RateLimit};
use crate::http::{Peer, Server};
use crate::node::listen::{PlainListener, TlsListener};
use crate::node::observe::otlp::TraceArgs;
use crate::node::observe::{Exposition, Thresholds, thresholds};
use crate::node::options::GlobalOptions;
use crate::text::{self, style};

/// How long a stopping server waits for its last answers to be taken.
const ANSWER_WITHIN: Duration = Duration::from_secs(10);
/// How often the server asks whether its engine can still work.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Start the server: API, web UI, scheduler and workers
///
/// Unfinished runs resume at once, and scheduled jobs start at their times. The only line on stdout is the URL.
/// SIGTERM or Ctrl-C waits up to --grace for running items; a second signal stops immediately. Either way the
/// next start resumes unfinished runs.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Address to listen on; port 0 selects a free port. Without API keys only loopback addresses are allowed
    #[arg(long, value_name = "ADDRESS", env = "WINDROW_LISTEN", default_value = "127.0.0.1:7373")]
    listen: SocketAddr,
    /// Time that running items get to finish when the server is stopped
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = duration)]
    grace: Duration,
    /// Roles of this node: api, scheduler, worker
    ///
    /// Nodes that share a database (--database) can divide the roles: `api` serves HTTP and gRPC, `scheduler`
    /// coordinates runs and starts scheduled jobs, `worker` executes items of all runs. A node without `api` still
    /// serves /healthz, /readyz and /metrics.
    #[arg(
        long,
        value_name = "ROLES",
        env = "WINDROW_ROLES",
        value_delimiter = ',',
        default_value = "api,scheduler,worker"
    )]
    roles: Vec<NodeRole>,
    /// Maximum number of concurrent runs
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = at_least_one)]
    jobs: usize,
    /// Worker slots of this process, shared by all runs; with 0 only remote workers execute items
    #[arg(long, value_name = "N", default_value_t = 256)]
    workers: usize,
    /// Maximum number of claimed items that wait for a worker slot; an item that does not fit is released
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = at_least_one)]
    queue: usize,
    /// Interval of the scan for new work; wake-ups usually come first
    #[arg(long, value_name = "DURATION", default_value = "200ms", value_parser = scan)]
    scan_every: Duration,
    /// Restart the dispatcher after this many seconds in a row in which its queue grew
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
    blocking_limit: u32,
    /// Environment of this server, e.g. live: a label of the metrics of workers and queue [default: no label]
    #[arg(long, value_name = "NAME")]
    environment: Option<String>,
    /// Execute only jobs with this `region` label or without one; may be repeated [default: all]
    #[arg(long = "region", value_name = "NAME", value_delimiter = ',')]
    regions: Vec<String>,
    /// Time without a heartbeat after which a worker's items are requeued
    #[arg(long, value_name = "DURATION", default_value = "15s", value_parser = lease)]
    lease: Duration,
    /// Rate limit per API key, or per address for requests without a key
    #[arg(long, value_name = "RATE", env = "WINDROW_RATE_LIMIT", default_value = "20000/s")]
    rate_limit: Rate,
    /// Delete jobs without failed items this many days after they finished [default: never, or 7 with --keep-failed]
    #[arg(long, value_name = "DAYS", value_parser = clap::value_parser!(i64).range(0..))]
    keep_completed: Option<i64>,
    /// Delete jobs with failed items this many days after they finished [default: never, or 30 with --keep-completed]
    #[arg(long, value_name = "DAYS", value_parser = clap::value_parser!(i64).range(0..))]
    keep_failed: Option<i64>,
    /// Write a backup at this interval, e.g. 6h [default: never]; in a cluster, set it on one node
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    backup_every: Option<Duration>,
    /// Number of backups to keep
    #[arg(long, value_name = "N", default_value_t = 7, value_parser = at_least_one)]
    backup_keep: usize,
    /// Directory of the backups [default: `backups` in the data directory]
    #[arg(long, value_name = "DIR")]
    backup_dir: Option<PathBuf>,
    #[command(flatten)]
    access: Access,
    /// Threshold of a health check or alert, e.g. slow_run=30m; may be repeated
    #[arg(long = "threshold", value_name = "NAME=VALUE", env = "WINDROW_THRESHOLDS", value_delimiter = ',')]
    thresholds: Vec<thresholds::Setting>,
    /// Interval of the health checks
    #[arg(long, value_name = "DURATION", default_value = "5s", value_parser = duration)]
    watch_every: Duration,
    #[command(flatten)]
    traces: TraceArgs,
}

impl Args {
    /// Without either option nothing is deleted; with one, the other has its default.
    fn retention(&self) -> Option<Retention> {
        let usual = Retention::default();
        let ms = |days: Option<i64>, usual: i64| days.map_or(usual, |days| days.saturating_mul(DAY_MS));
        (self.keep_completed.is_some() || self.keep_failed.is_some()).then(|| Retention {
            completed_ms: ms(self.keep_completed, usual.completed_ms),
            failed_ms: ms(self.keep_failed, usual.failed_ms),
        })
    }
}

pub async fn perform(options: &GlobalOptions, args: Args) -> Result<Exit> {
    args.access.refuse_strangers(options, args.listen).await?;
    let certificate = args.access.certificate()?;
    // Before the engine starts, so that no moment is left in which a signal would kill it.
    let mut signals = Signals::listen()?;
    let listener = TcpListener::bind(args.listen).await.map_err(|error| {
        let what = format!("cannot listen on {}: {error}", args.listen);
        Error::new(what, "choose another address with --listen, or port 0 for any free one")
    })?;
    let address =
        listener.local_addr().map_err(|error| Error::new(format!("cannot read the address: {error}"), "try again"))?;
    // Before anything measures, so that nothing is measured in vain.
    let exposition = Exposition::install()?;
    let mut app = App::create(options).await?.serving(args.lease).backing_up_to(args.backup_dir.clone());
    let sending = app.trace(&args.traces)?;
    make_folder(&app.files(DEFAULT_WORKSPACE))?;
    let keep_audit_ms = args.access.keep_audit_ms();
    let retention = args.retention();
    let auth = args.access.auth(&app, address, certificate.is_some()).await?;
    tokio::spawn(forget_old_audit(app.audit.clone(), app.clock(), keep_audit_ms));
    let answers = args.roles.contains(&NodeRole::Api);
    let scheme = if certificate.is_some() { "https" } else { "http" };
    let workers = args.workers;
    let schedules = args.roles.contains(&NodeRole::Scheduler);
    let listening = format!("{scheme}://{address}");
    let load = Load {
        jobs: args.jobs,
        workers: args.workers,
        queue: args.queue,
        scan_every: args.scan_every,
        growing: args.blocking_limit,
        retention,
        regions: args.regions,
        roles: args.roles,
        address: listening.clone(),
    };
    let running = app.engine_of_all(load).await?;
    let (thresholds, every) = (Thresholds::new(&args.thresholds), args.watch_every);
    let watch =
        Watch::begin(&app, &listening, thresholds, every, exposition, args.environment.unwrap_or_default()).await?;
    let server = Server::new(app, running, auth, watch).await?;
    output::say(&banner(options, workers, retention, &server).await);
    output::print(&style::bold(format!("{scheme}://{address}")));
    tell_systemd(NotifyState::Ready);
    sweep(server.clone());
    let relaying = if schedules { Relaying::start(&server.app, server.engine().session())? } else { None };
    if let Some(every) = args.backup_every {
        let (server, keep) = (server.clone(), args.backup_keep);
        tokio::spawn(async move { server.app.back_up_periodically(every, keep).await });
    }
    let router = match answers {
        true => http::router(server.clone(), RateLimit::new(args.rate_limit)),
        false => http::router_of_watch(server.clone()),
    };
    let exit = match certificate {
        Some(certificate) => {
            tokio::spawn(certificate.clone().keep_fresh());
            let listener = TlsListener::start(PlainListener(listener), certificate)
                .map_err(|error| Error::new(format!("cannot set up TLS: {error}"), "check the certificate"))?;
            serve(server, router, listener, &mut signals, args.grace).await
        }
        None => serve(server, router, PlainListener(listener), &mut signals, args.grace).await,
    };
    if let Some(relaying) = relaying {
        relaying.stop().await;
    }
    if let Some(sending) = sending {
        sending.finish().await;
    }
    exit
}

async fn banner(options: &GlobalOptions, workers: usize, retention: Option<Retention>, server: &Server) -> String {
    let access = match server.app.access.has_keys().await {
        Ok(false) => "no API keys: local access only",
        _ => "API keys required",
    };
    let (version, slots) = (env!("CARGO_PKG_VERSION"), text::plural(workers as i64, "worker slot"));
    let data = match &options.database {
        Some(_) => "shared database".to_owned(),
        None => format!("data {}", options.data.display()),
    };
    let days = |ms: i64| text::plural(ms / DAY_MS, "day");
    let kept = retention.map_or("Finished jobs are kept".to_owned(), |kept| {
        let (completed, failed) = (days(kept.completed_ms), days(kept.failed_ms));
        format!("Finished jobs are deleted after {completed}, after {failed} if items failed; pinned and scheduled jobs are kept")
    });
    format!(
        "Windrow {version} · {data} · {slots} · {access}\n{kept}\nListening (web UI, API docs at /api/docs). Press Ctrl-C to stop."
    )
}

/// What an earlier process did not clear away: what it had deleted, and what it had begun to receive.
fn sweep(server: Arc<Server>) {
    let data = server.app.data().clone();
    tokio::task::spawn_blocking(move || {
        if let Err(error) = data.clear_uploads(SystemTime::now()) {
            tracing::warn!(%error, "could not clear old uploads; the next start does it");
        }
    });
    tokio::spawn(async move {
        if let Err(error) = control::sweep(&server.app).await {
            tracing::warn!(error = error.one_line(), "could not sweep deleted jobs; the next deletion does it");
        }
    });
}

fn make_folder(path: &Path) -> Result<()> {
    std::fs::create_dir_all(path).map_err(|error| {
        let what = format!("cannot create directory {}: {error}", path.display());
        Error::new(what, "choose a writable directory with `--data DIR`")
    })
}

async fn serve<L>(
    server: Arc<Server>,
    router: Router,
    listener: L,
    signals: &mut Signals,
    grace: Duration,
) -> Result<Exit>
where
    L: Listener<Addr = SocketAddr>,
    Peer: for<'a> Connected<IncomingStream<'a, L>>,
{
    let closing = server.clone();
    let serving = axum::serve(listener, router.into_make_service_with_connect_info::<Peer>())
        .with_graceful_shutdown(async move { closing.closed().await })
        .into_future();
    tokio::pin!(serving);
    let delivering = tokio::spawn(webhooks::deliver(
        server.app.hooks.clone(),
        server.app.clock(),
        webhooks::Sender::new(&server.app)?,
        server.tail.newest(),
        server.clone().closing(),
    ));
    let trouble = tokio::select! {
        served = &mut serving => served.err().map(|error| Error::new(format!("the server failed: {error}"), "start it again")),
        error = engine_trouble(&server) => Some(error),
        () = sent_away(&server) => None,
        never = server.watch.go_on(&server.app, server.engine()) => match never {},
        () = signals.next() => None,
    };
    tell_systemd(NotifyState::Stopping);
    server.close();
    if let Some(error) = trouble {
        server.engine().stop().await;
        return Err(error);
    }
    let running = text::plural(server.engine().in_flight() as i64, "running item");
    let grace_s = grace.as_secs();
    output::say(&format!("Shutting down: waiting up to {grace_s} s for {running} (Ctrl-C again to stop now)"));
    let drained = async {
        // Open requests are answered while items finish, but a stream without a reader never ends.
        let answered = async { drop(tokio::time::timeout(ANSWER_WITHIN, serving).await) };
        let delivered = async { drop(delivering.await) };
        tokio::join!(server.engine().drain(), answered, delivered);
    };
    let stopped = tokio::select! {
        () = drained => None,
        () = tokio::time::sleep(grace) => Some("the grace period is over"),
        () = signals.next() => Some("interrupted again"),
    };
    if let Some(why) = stopped {
        output::say(&format!("Stopping now: {why}. Unfinished runs resume when the server starts again."));
        server.engine().stop().await;
    }
    Ok(Exit::Passed)
}

/// Where systemd started this (`Type=notify`) it waits to be told; elsewhere the message has no receiver.
fn tell_systemd(state: NotifyState<'_>) {
    if let Err(error) = sd_notify::notify(&[state]) {
        tracing::warn!(%error, "systemd could not be told");
    }
}

/// An engine that has given up does not come back; a new process can.
async fn engine_trouble(server: &Server) -> Error {
    loop {
        if let Some(error) = server.engine().fatal() {
            return error.into();
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

/// This node was asked to drain (`windrow nodes drain`).
async fn sent_away(server: &Server) {
    while !server.engine().is_drain_requested() {
        tokio::time::sleep(LOOK_EVERY).await;
    }
    output::say("Draining: requested by `windrow nodes drain`");
}

pub fn duration(text: &str) -> std::result::Result<Duration, String> {
    text.parse::<windrow_jobfile::duration::Duration>().map(|duration| duration.to_std())
}

fn lease(text: &str) -> std::result::Result<Duration, String> {
    let lease = duration(text)?;
    let fits = (Duration::from_secs(1)..=Duration::from_secs(600)).contains(&lease);
    fits.then_some(lease).ok_or_else(|| "must be between 1s and 600s".to_owned())
}

fn scan(text: &str) -> std::result::Result<Duration, String> {
    let interval = duration(text)?;
    let fits = (Duration::from_millis(10)..=Duration::from_secs(60)).contains(&interval);
    fits.then_some(interval).ok_or_else(|| "must be between 10ms and 60s".to_owned())
}

fn at_least_one(text: &str) -> std::result::Result<usize, String> {
    text.parse().ok().filter(|n| *n > 0).ok_or_else(|| "must be at least 1".to_owned())
}
