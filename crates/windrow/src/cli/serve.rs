//! `windrow serve`: one engine for everything in the data folder, and the HTTP API over it.

use std::io::Write;
use std::net::SocketAddr;
use std::path::Path;
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

use crate::app::control;
use crate::app::watch::Watch;
use crate::app::webhooks;
use crate::app::{App, Load};
use crate::cli::run::execute::Signals;
use crate::cli::serve_access::{Access, forget_old_audit};
use crate::error::{Error, Exit, Result};
use crate::http;
use crate::http::Peer;
use crate::http::Server;
use crate::http::middleware::rate_limit::{Rate, RateLimit};
use crate::node::listen::{PlainListener, TlsListener};
use crate::node::observe::Exposition;
use crate::node::observe::Thresholds;
use crate::node::observe::otlp::TraceArgs;
use crate::node::observe::thresholds;
use crate::node::options::GlobalOptions;

const DAY_MS: i64 = 86_400_000;
/// How long a stopping server waits for its last answers to be taken.
const ANSWER_WITHIN: Duration = Duration::from_secs(10);
/// How often the server asks whether its engine can still work.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Run everything in the data folder, and answer over HTTP.
///
/// Whatever was unfinished goes on at once, and jobs with a schedule start by themselves. The first line
/// on stdout is the address. SIGTERM or Ctrl-C lets running items finish, within --grace; a second one
/// stops at once. Nothing is lost either way.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Address to listen on; port 0 takes any free one. Without API keys only addresses of this machine
    #[arg(long, value_name = "ADDRESS", env = "WINDROW_LISTEN", default_value = "127.0.0.1:7373")]
    listen: SocketAddr,
    /// How long running items may take to finish when the server is stopped
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = duration)]
    grace: Duration,
    /// What this node does: api, scheduler, worker, or several of them. All by default
    ///
    /// Nodes that share a database (--database) can share the work: `api` answers over HTTP and gRPC,
    /// `scheduler` coordinates runs and starts jobs that are due, `worker` does items of all nodes' runs. One
    /// without `api` still answers /healthz, /readyz and /metrics.
    #[arg(
        long,
        value_name = "ROLES",
        env = "WINDROW_ROLES",
        value_delimiter = ',',
        default_value = "api,scheduler,worker"
    )]
    roles: Vec<NodeRole>,
    /// Runs at work at the same time
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = at_least_one)]
    jobs: usize,
    /// Items at work at the same time in this process, over all runs; 0 leaves all to `windrow worker` and
    /// other workers elsewhere
    #[arg(long, value_name = "N", default_value_t = 256)]
    workers: usize,
    /// Work only on jobs whose label `region` is this one, or that have none; may be repeated. All by default
    #[arg(long = "region", value_name = "NAME", value_delimiter = ',')]
    regions: Vec<String>,
    /// How long a worker may be silent before its items are given to others
    #[arg(long, value_name = "DURATION", default_value = "15s", value_parser = lease)]
    lease: Duration,
    /// Requests that one caller may send: by its key, or by its address where it has none
    #[arg(long, value_name = "RATE", env = "WINDROW_RATE_LIMIT", default_value = "20000/s")]
    rate_limit: Rate,
    /// Delete jobs without failed items so many days after their end; by default nothing is deleted
    #[arg(long, value_name = "DAYS", value_parser = clap::value_parser!(i64).range(0..))]
    keep_completed: Option<i64>,
    /// Delete all other jobs so many days after their end
    #[arg(long, value_name = "DAYS", value_parser = clap::value_parser!(i64).range(0..))]
    keep_failed: Option<i64>,
    #[command(flatten)]
    access: Access,
    /// When a health check finds something or an alert is raised, as in slow_run=30m; may be repeated
    #[arg(long = "threshold", value_name = "NAME=VALUE", env = "WINDROW_THRESHOLDS", value_delimiter = ',')]
    thresholds: Vec<thresholds::Setting>,
    /// How often the server looks at its own health
    #[arg(long, value_name = "DURATION", default_value = "5s", value_parser = duration)]
    watch_every: Duration,
    #[command(flatten)]
    traces: TraceArgs,
}

impl Args {
    /// What was not said is kept for good.
    fn retention(&self) -> Option<Retention> {
        let ms = |days: Option<i64>| days.map_or(i64::MAX / 2, |days| days.saturating_mul(DAY_MS));
        (self.keep_completed.is_some() || self.keep_failed.is_some())
            .then(|| Retention { completed_ms: ms(self.keep_completed), failed_ms: ms(self.keep_failed) })
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
    let address = listener.local_addr().map_err(|error| Error::new(format!("no address: {error}"), "try again"))?;
    // Before anything measures, so that nothing is measured in vain.
    let exposition = Exposition::install()?;
    let mut app = App::create(options).await?.serving(args.lease);
    let sending = app.trace(&args.traces)?;
    make_folder(&app.files(DEFAULT_WORKSPACE))?;
    let keep_audit_ms = args.access.keep_audit_ms();
    let retention = args.retention();
    let auth = args.access.auth(&app, address, certificate.is_some()).await?;
    tokio::spawn(forget_old_audit(app.audit.clone(), app.clock(), keep_audit_ms));
    let answers = args.roles.contains(&NodeRole::Api);
    let scheme = if certificate.is_some() { "https" } else { "http" };
    let load = Load {
        jobs: args.jobs,
        workers: args.workers,
        retention,
        regions: args.regions,
        roles: args.roles,
        address: format!("{scheme}://{address}"),
    };
    let running = app.engine_of_all(load).await?;
    let watch = Watch::begin(&app, Thresholds::new(&args.thresholds), args.watch_every, exposition).await?;
    let server = Server::new(app, running, auth, watch).await?;
    println!("{scheme}://{address}");
    // Whoever started this reads the line through a pipe and waits for it; a closed pipe is their choice.
    let _ = std::io::stdout().flush();
    tell_systemd(NotifyState::Ready);
    sweep(server.clone());
    let router = match answers {
        true => http::router(server.clone(), RateLimit::new(args.rate_limit)),
        false => http::router_of_watch(server.clone()),
    };
    let exit = match certificate {
        Some(certificate) => {
            tokio::spawn(certificate.clone().keep_fresh());
            let listener = TlsListener::start(PlainListener(listener), certificate)
                .map_err(|error| Error::new(format!("TLS cannot be set up: {error}"), "check the certificate"))?;
            serve(server, router, listener, &mut signals, args.grace).await
        }
        None => serve(server, router, PlainListener(listener), &mut signals, args.grace).await,
    };
    if let Some(sending) = sending {
        sending.finish().await;
    }
    exit
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
        let what = format!("the folder {} cannot be made: {error}", path.display());
        Error::new(what, "choose a folder that may be written with `--data DIR`")
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
        served = &mut serving => served.err().map(|error| Error::new(format!("the server broke: {error}"), "start it again")),
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
    eprintln!("finishing {} running item(s); once more stops at once", server.engine().in_flight());
    let drained = async {
        // Requests under way are answered while items finish, but a stream that nobody reads never ends.
        let answered = async { drop(tokio::time::timeout(ANSWER_WITHIN, serving).await) };
        let delivered = async { drop(delivering.await) };
        tokio::join!(server.engine().drain(), answered, delivered);
    };
    let stopped = tokio::select! {
        () = drained => None,
        () = tokio::time::sleep(grace) => Some("the time to finish is over"),
        () = signals.next() => Some("asked again"),
    };
    if let Some(why) = stopped {
        eprintln!("{why}: stopping now; what was running goes on when the server is started again");
        server.engine().stop().await;
    }
    Ok(Exit::Passed)
}

/// Where systemd started this (`Type=notify`) it waits to be told; elsewhere nobody listens.
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

/// Somebody asked this node to leave (`windrow nodes drain`).
async fn sent_away(server: &Server) {
    while !server.engine().is_sent_away() {
        tokio::time::sleep(LOOK_EVERY).await;
    }
    eprintln!("asked to leave by `windrow nodes drain`");
}

pub fn duration(text: &str) -> std::result::Result<Duration, String> {
    text.parse::<windrow_jobfile::duration::Duration>().map(|duration| duration.to_std())
}

fn lease(text: &str) -> std::result::Result<Duration, String> {
    let lease = duration(text)?;
    let fits = (Duration::from_secs(1)..=Duration::from_secs(600)).contains(&lease);
    fits.then_some(lease).ok_or_else(|| "write a length of time from 1s to 600s".to_owned())
}

fn at_least_one(text: &str) -> std::result::Result<usize, String> {
    text.parse().ok().filter(|n| *n > 0).ok_or_else(|| "write a number from 1 on".to_owned())
}
