//! One shift: register, lease as many items as there are free places, and go on until told to stop.
//! A server that is away is waited for; items go on meanwhile, for as long as their leases last.

use std::sync::Arc;
use std::time::Duration;

use tonic::{Code, Status};
use windrow_engine::{Crew, CrewParts, Order};
use windrow_model::Clock;
use windrow_model::workload::Workload;
use windrow_wire::grpc::{Assignment, v1};

use super::backend::ServerBackend;
use super::link::{Link, within};
use super::programs::{Programs, Unfit};
use crate::error::{Error, Result};

const PATIENCE: Duration = Duration::from_secs(10);
/// How long the server holds a question for items open.
const WAIT: Duration = Duration::from_secs(20);
/// Between tries to reach a server that is away.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(3);

/// What a worker offers.
pub struct Terms {
    pub name: String,
    pub host: String,
    pub capabilities: Vec<String>,
    /// Items at the same time.
    pub places: usize,
}

pub struct Shift {
    link: Link,
    terms: Terms,
    backend: Arc<ServerBackend>,
    crew: Crew,
    programs: Programs,
    pause: Duration,
}

impl Shift {
    /// Waits for the server if it is away.
    pub async fn begin(
        link: Link,
        terms: Terms,
        workloads: Vec<Arc<dyn Workload>>,
        clock: Arc<dyn Clock>,
    ) -> Result<Self> {
        let mut pause = FIRST_PAUSE;
        let registered = loop {
            match register(&link, &terms).await {
                Ok(registered) => break registered,
                Err(status) => {
                    judge(&link, &status)?;
                    eprintln!("{} is not there ({}); trying again", link.url, status.message());
                    tokio::time::sleep(pause).await;
                    pause = longer(pause);
                }
            }
        };
        check_version(&registered.server_version)?;
        let backend = Arc::new(ServerBackend::new(link.clone(), clock.clone(), registered.session));
        let crew = Crew::start(CrewParts {
            backend: backend.clone(),
            clock,
            seed: fastrand::u64(..),
            workers: terms.places,
            queue: terms.places,
            beat_ms: registered.beat_ms.max(1) as u64,
            tracer: None,
            shared_limits: None,
        })
        .noting_waits();
        Ok(Self { link, terms, backend, crew, programs: Programs::new(workloads), pause: FIRST_PAUSE })
    }

    pub fn session(&self) -> String {
        self.backend.session()
    }

    pub fn in_flight(&self) -> usize {
        self.crew.in_flight()
    }

    /// Leases and does items. Returns only when it cannot go on; dropping it in between loses nothing.
    pub async fn work(&mut self) -> Error {
        loop {
            if let Some(error) = self.crew.fatal() {
                return error.into();
            }
            let free = self.terms.places.saturating_sub(self.crew.in_flight());
            if free == 0 {
                self.crew.changed().await;
                continue;
            }
            let asked =
                v1::LeaseRequest { session: self.session(), want: free as u32, wait_ms: WAIT.as_millis() as i64 };
            let leased = self.link.client().lease(within(WAIT + PATIENCE, asked)).await;
            let taken = match leased {
                Ok(answer) => self.take_on(answer.into_inner().items).await,
                Err(status) => self.recover(status).await,
            };
            if let Err(error) = taken {
                return error;
            }
        }
    }

    async fn take_on(&mut self, items: Vec<v1::Item>) -> Result<()> {
        self.pause = FIRST_PAUSE;
        for item in items {
            let assignment = Assignment::try_from(item).map_err(|bad| {
                Error::new(
                    format!("{} sends an item that is none: {bad}", self.link.url),
                    "use the same version there and here",
                )
            })?;
            let Assignment { claimed, workspace, kind, definition, mode, fresh } = assignment;
            match self.programs.of(&self.link, &workspace, &kind, &definition).await {
                Ok(program) => self.crew.take_on(Order { claimed, program, mode, fresh, job: None }).await,
                // Whoever else is able to do it may have it; this machine would fail every item.
                Err(unfit) => {
                    self.crew.return_untried(claimed.lease).await;
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
                format!("this machine cannot do a job that it was given: {failure}"),
                "correct that here, or keep such jobs away with `worker:` in their files and --capability",
            )),
        }
    }

    /// Waits a little after a call that failed, or says why there is no use in going on.
    async fn recover(&mut self, status: Status) -> Result<()> {
        if status.code() == Code::NotFound {
            tracing::info!("the server does not know this worker any more; registering again");
            match register(&self.link, &self.terms).await {
                Ok(registered) => {
                    check_version(&registered.server_version)?;
                    self.backend.sit_down(registered.session);
                    return Ok(());
                }
                Err(status) => judge(&self.link, &status)?,
            }
        }
        judge(&self.link, &status)?;
        tracing::warn!(url = self.link.url, %status, "the server is away; trying again");
        tokio::time::sleep(self.pause).await;
        self.pause = longer(self.pause);
        Ok(())
    }

    /// Nothing new is taken; what runs finishes and is handed in.
    pub async fn drain(&self) {
        self.crew.drain(|| false).await;
    }

    /// What runs is dropped and given back.
    pub async fn stop(&self) {
        self.crew.stop().await;
    }

    /// The server gives to others at once what is still in this session's name.
    pub async fn end(self) {
        self.crew.end();
        let goodbye = within(PATIENCE, v1::GoodbyeRequest { session: self.backend.session() });
        if let Err(status) = self.link.client().goodbye(goodbye).await {
            tracing::warn!(%status, "could not say goodbye; the leases will expire");
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

/// An error when trying again will not help.
fn judge(link: &Link, status: &Status) -> Result<()> {
    let remedy = match status.code() {
        Code::Unauthenticated => "give a valid key with --api-key or WINDROW_API_KEY",
        Code::PermissionDenied => "give a key of the role operator or admin",
        Code::InvalidArgument => "correct what it names",
        Code::Unimplemented => "give the address of a Windrow server of this version",
        _ => return Ok(()),
    };
    Err(Error::new(format!("{} refuses this worker: {}", link.url, status.message()), remedy))
}

fn check_version(server: &str) -> Result<()> {
    let own = env!("CARGO_PKG_VERSION");
    if server == own {
        return Ok(());
    }
    let what = format!("the server is of version {server}, this worker of {own}");
    Err(Error::new(what, "use the same version: another one may read a job's definition differently"))
}

fn longer(pause: Duration) -> Duration {
    (pause * 2).min(LONGEST_PAUSE)
}
