//! The session of a remote worker: register, lease as many items as there are free slots, until told to stop. While the
//! server is unreachable it retries, and running items continue for as long as their leases last.

use std::sync::Arc;
use std::time::Duration;

use tonic::{Code, Status};
use windrow_engine::{WorkerPool, WorkerPoolParts};
use windrow_model::Clock;
use windrow_model::retry::Backoff;
use windrow_model::workload::Workload;
use windrow_wire::grpc::{Assignment, v1};

use super::backend::ServerBackend;
use super::link::{Link, within};
use super::programs::{Programs, Unfit};
use crate::error::{Error, Result};

const PATIENCE: Duration = Duration::from_secs(10);
/// How long the server keeps a request for items open.
const WAIT: Duration = Duration::from_secs(20);
/// Backoff while the server is unreachable.
const BACKOFF: Backoff = Backoff { first_ms: 100, max_ms: 3_000 };

/// What a worker offers.
pub struct Terms {
    pub name: String,
    pub host: String,
    pub capabilities: Vec<String>,
    /// Items at the same time.
    pub places: usize,
}

pub struct WorkerSession {
    link: Link,
    terms: Terms,
    backend: Arc<ServerBackend>,
    pool: WorkerPool,
    programs: Programs,
    /// Consecutive failures to reach the server.
    failures: u32,
}

impl WorkerSession {
    /// Retries while the server is unreachable.
    pub async fn begin(
        link: Link,
        terms: Terms,
        workloads: Vec<Arc<dyn Workload>>,
        clock: Arc<dyn Clock>,
    ) -> Result<Self> {
        let mut failures = 0;
        let registered = loop {
            match register(&link, &terms).await {
                Ok(registered) => break registered,
                Err(status) => {
                    judge(&link, &status)?;
                    eprintln!("{} is unreachable ({}); retrying", link.url, status.message());
                    tokio::time::sleep(BACKOFF.after(failures)).await;
                    failures += 1;
                }
            }
        };
        check_version(&registered.server_version)?;
        let backend = Arc::new(ServerBackend::new(link.clone(), clock.clone(), registered.session));
        let pool = WorkerPool::start(WorkerPoolParts {
            backend: backend.clone(),
            clock,
            seed: fastrand::u64(..),
            workers: terms.places,
            queue: terms.places,
            beat_ms: registered.beat_ms.max(1) as u64,
            tracer: None,
            shared_limits: None,
        })
        .reporting_waits();
        Ok(Self { link, terms, backend, pool, programs: Programs::new(workloads), failures: 0 })
    }

    pub fn id(&self) -> String {
        self.backend.session()
    }

    pub fn in_flight(&self) -> usize {
        self.pool.in_flight()
    }

    /// Leases and executes items. Returns only on an unrecoverable error; it can be dropped at any await.
    pub async fn work(&mut self) -> Error {
        loop {
            if let Some(error) = self.pool.fatal() {
                return error.into();
            }
            let free = self.terms.places.saturating_sub(self.pool.in_flight());
            if free == 0 {
                self.pool.changed().await;
                continue;
            }
            let asked = v1::LeaseRequest { session: self.id(), want: free as u32, wait_ms: WAIT.as_millis() as i64 };
            let leased = self.link.client().lease(within(WAIT + PATIENCE, asked)).await;
            let taken = match leased {
                Ok(answer) => self.enqueue(answer.into_inner().items).await,
                Err(status) => self.recover(status).await,
            };
            if let Err(error) = taken {
                return error;
            }
        }
    }

    async fn enqueue(&mut self, items: Vec<v1::Item>) -> Result<()> {
        self.failures = 0;
        for item in items {
            let assignment = Assignment::try_from(item).map_err(|bad| {
                Error::new(
                    format!("{} sent an invalid item: {bad}", self.link.url),
                    "use the same version of windrow on both sides",
                )
            })?;
            let Assignment { claimed, workspace, kind, definition, mode, fresh, unproven } = assignment;
            match self.programs.of(&self.link, &workspace, &kind, &definition).await {
                Ok(program) => {
                    self.pool
                        .enqueue(windrow_engine::Assignment {
                            claimed,
                            program,
                            mode,
                            fresh,
                            job: None,
                            first_calls: None,
                            unproven,
                        })
                        .await
                }
                // Another worker may be able to execute it; this machine would fail every item.
                Err(unfit) => {
                    self.pool.release(claimed.lease).await;
                    self.explain(unfit).await?;
                }
            }
        }
        Ok(())
    }

    async fn explain(&mut self, unfit: Unfit) -> Result<()> {
        match unfit {
            Unfit::Server(status) => self.recover(status).await,
            Unfit::Machine(failure) => Err(Error::new(
                format!("this machine cannot execute an assigned job: {failure}"),
                "correct it here, or route such jobs elsewhere with `worker:` in their files and --capability",
            )),
        }
    }

    /// Backs off after a failed call, or returns the error that no retry can fix.
    async fn recover(&mut self, status: Status) -> Result<()> {
        if status.code() == Code::NotFound {
            tracing::info!("worker session expired, re-registering");
            match register(&self.link, &self.terms).await {
                Ok(registered) => {
                    check_version(&registered.server_version)?;
                    self.backend.reattach(registered.session);
                    return Ok(());
                }
                Err(status) => judge(&self.link, &status)?,
            }
        }
        judge(&self.link, &status)?;
        tracing::warn!(url = self.link.url, %status, "server unreachable, retrying");
        tokio::time::sleep(BACKOFF.after(self.failures)).await;
        self.failures += 1;
        Ok(())
    }

    /// Leases nothing new; running items finish and are reported.
    pub async fn drain(&self) {
        self.pool.drain(|| false).await;
    }

    /// Running items are dropped and released.
    pub async fn stop(&self) {
        self.pool.stop().await;
    }

    /// The server requeues at once what this session still holds.
    pub async fn end(self) {
        self.pool.end();
        let goodbye = within(PATIENCE, v1::GoodbyeRequest { session: self.backend.session() });
        if let Err(status) = self.link.client().goodbye(goodbye).await {
            tracing::warn!(%status, "failed to deregister; leases will expire");
        }
    }
}

async fn register(link: &Link, terms: &Terms) -> std::result::Result<v1::RegisterResponse, Status> {
    let request = v1::RegisterRequest {
        name: terms.name.clone(),
        host: terms.host.clone(),
        pid: i64::from(std::process::id()),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        capabilities: terms.capabilities.clone(),
        places: u32::try_from(terms.places).unwrap_or(u32::MAX),
    };
    link.client().register(within(PATIENCE, request)).await.map(tonic::Response::into_inner)
}

/// An error that no retry can fix.
fn judge(link: &Link, status: &Status) -> Result<()> {
    let remedy = match status.code() {
        Code::Unauthenticated => "pass a valid key with --api-key-file or WINDROW_API_KEY",
        Code::PermissionDenied => "use a key with role operator or admin",
        Code::InvalidArgument => "correct what it names",
        Code::Unimplemented => "use the address of a Windrow server of this version",
        _ => return Ok(()),
    };
    Err(Error::new(format!("{} rejected this worker: {}", link.url, status.message()), remedy))
}

fn check_version(server: &str) -> Result<()> {
    let own = env!("CARGO_PKG_VERSION");
    if server == own {
        return Ok(());
    }
    let what = format!("the server has version {server}, this worker {own}");
    Err(Error::new(what, "use the same version; another one may read a job definition differently"))
}
