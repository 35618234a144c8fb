//! `windrow serve`: one engine for everything in the data folder, and the HTTP API over it.

use std::io::Write;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::serve::ListenerExt;
use tokio::net::TcpListener;
use windrow_model::access::DEFAULT_WORKSPACE;
use windrow_model::store::Retention;

use super::execute::Signals;
use crate::delete;
use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::http::rate_limit::{Rate, RateLimit};
use crate::http::{self, Server};
use crate::site::Site;
use crate::wiring::{App, Load};

const DAY_MS: i64 = 86_400_000;
/// How often the server asks whether its engine can still work.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Run everything in the data folder, and answer over HTTP.
///
/// Whatever was unfinished goes on at once, and jobs with a schedule start by themselves. The first line
/// on stdout is the address. SIGTERM or Ctrl-C lets running items finish, within --grace; a second one
/// stops at once. Nothing is lost either way.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Address to listen on; port 0 takes any free one. Only addresses of this machine, as there are no
    /// API keys yet
    #[arg(long, value_name = "ADDRESS", env = "WINDROW_LISTEN", default_value = "127.0.0.1:7373")]
    listen: SocketAddr,
    /// How long running items may take to finish when the server is stopped
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = duration)]
    grace: Duration,
    /// Runs at work at the same time
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = at_least_one)]
    jobs: usize,
    /// Items at work at the same time, over all runs
    #[arg(long, value_name = "N", default_value_t = 256, value_parser = at_least_one)]
    workers: usize,
    /// Requests that one caller may send: by its key, or by its address where it has none
    #[arg(long, value_name = "RATE", env = "WINDROW_RATE_LIMIT", default_value = "20000/s")]
    rate_limit: Rate,
    /// Delete jobs without failed items so many days after their end; by default nothing is deleted
    #[arg(long, value_name = "DAYS", value_parser = clap::value_parser!(i64).range(0..))]
    keep_completed: Option<i64>,
    /// Delete all other jobs so many days after their end
    #[arg(long, value_name = "DAYS", value_parser = clap::value_parser!(i64).range(0..))]
    keep_failed: Option<i64>,
}

impl Args {
    /// What was not said is kept for good.
    fn retention(&self) -> Option<Retention> {
        let ms = |days: Option<i64>| days.map_or(i64::MAX / 2, |days| days.saturating_mul(DAY_MS));
        (self.keep_completed.is_some() || self.keep_failed.is_some())
            .then(|| Retention { completed_ms: ms(self.keep_completed), failed_ms: ms(self.keep_failed) })
    }
}

pub async fn perform(site: &Site, args: Args) -> Result<Exit> {
    refuse_strangers(args.listen)?;
    // Before the engine starts, so that no moment is left in which a signal would kill it.
    let mut signals = Signals::listen()?;
    let listener = TcpListener::bind(args.listen).await.map_err(|error| {
        let what = format!("cannot listen on {}: {error}", args.listen);
        Error::new(what, "choose another address with --listen, or port 0 for any free one")
    })?;
    let address = listener.local_addr().map_err(|error| Error::new(format!("no address: {error}"), "try again"))?;
    let app = App::create(site).await?;
    make_folder(&app.files(DEFAULT_WORKSPACE))?;
    let load = Load { jobs: args.jobs, workers: args.workers, retention: args.retention() };
    let running = app.engine_of_all(load).await?;
    let server = Server::new(app, running).await?;
    println!("http://{address}");
    // Whoever started this reads the line through a pipe and waits for it; a closed pipe is their choice.
    let _ = std::io::stdout().flush();
    sweep(server.clone());
    let router = http::router(server.clone(), RateLimit::new(args.rate_limit));
    serve(server, router, listener, &mut signals, args.grace).await
}

/// What an earlier process deleted or was sent and did not clear away.
fn sweep(server: Arc<Server>) {
    tokio::spawn(async move {
        if let Err(error) = delete::sweep(&server.app).await {
            tracing::warn!(%error, "could not sweep deleted jobs; the next deletion does it");
        }
    });
}

/// Whoever reaches the port can start programs as this user, so only this machine may.
fn refuse_strangers(address: SocketAddr) -> Result<()> {
    if address.ip().is_loopback() {
        return Ok(());
    }
    let what = format!("listening on {address} needs API keys, and this version has none");
    let remedy = "listen on 127.0.0.1 or [::1]; from elsewhere, use a tunnel (ssh -L 7373:127.0.0.1:7373 HOST)";
    Err(Error::new(what, remedy).ending_with(Exit::Usage))
}

fn make_folder(path: &Path) -> Result<()> {
    std::fs::create_dir_all(path).map_err(|error| {
        let what = format!("the folder {} cannot be made: {error}", path.display());
        Error::new(what, "choose a folder that may be written with `--data DIR`")
    })
}

async fn serve(
    server: Arc<Server>,
    router: Router,
    listener: TcpListener,
    signals: &mut Signals,
    grace: Duration,
) -> Result<Exit> {
    // Small answers must not wait for the acknowledgement of the one before.
    let listener = listener.tap_io(|connection| {
        let _ = connection.set_nodelay(true);
    });
    let closing = server.clone();
    let serving = axum::serve(listener, router.into_make_service_with_connect_info::<SocketAddr>())
        .with_graceful_shutdown(async move { closing.closed().await })
        .into_future();
    tokio::pin!(serving);
    let trouble = tokio::select! {
        served = &mut serving => served.err().map(|error| Error::new(format!("the server broke: {error}"), "start it again")),
        error = engine_trouble(&server) => Some(error),
        () = signals.next() => None,
    };
    server.close();
    if let Some(error) = trouble {
        server.engine().stop().await;
        return Err(error);
    }
    eprintln!("finishing {} running item(s); once more stops at once", server.engine().in_flight());
    let drained = async {
        // Requests under way are answered while items finish.
        tokio::join!(server.engine().drain(), async { drop(serving.await) });
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

/// An engine that has given up does not come back; a new process can.
async fn engine_trouble(server: &Server) -> Error {
    loop {
        if let Some(error) = server.engine().fatal() {
            return error.into();
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

fn duration(text: &str) -> std::result::Result<Duration, String> {
    text.parse::<windrow_workloads::duration::Duration>().map(|duration| duration.to_std())
}

fn at_least_one(text: &str) -> std::result::Result<usize, String> {
    text.parse().ok().filter(|n| *n > 0).ok_or_else(|| "write a number from 1 on".to_owned())
}
