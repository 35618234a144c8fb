//! Builds the object graph: the only place that knows every crate. A command gets an [`App`] (the
//! folder, the store, the clock) and asks it for an engine when it has something to execute.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use windrow_engine::{Engine, Parts, Settings, SystemClock};
use windrow_model::dataset::DatasetStore;
use windrow_model::record::{Run, Session};
use windrow_model::secret::SecretStore;
use windrow_model::store::{Retention, Scope, Store};
use windrow_model::{Clock, RunId, SessionId, Time};
use windrow_store::sqlite::SqliteStore;
use windrow_workloads::Environment;
use windrow_workloads::dataset::Library;

use crate::data_dir::{self, DataDir};
use crate::error::{Error, Result};
use crate::secrets::Vault;
use crate::session_lock::{self, SessionLock};
use crate::site::Site;

/// The least number of items that a `windrow run` can have at work.
const WORKERS: usize = 32;

pub struct App {
    site: Site,
    data: DataDir,
    pub store: Arc<dyn Store>,
    pub datasets: Arc<dyn DatasetStore>,
    secrets: Arc<dyn SecretStore>,
    clock: Arc<dyn Clock>,
}

/// An engine and the lock that shows its process alive. The lock outlives the engine.
pub struct Running {
    pub engine: Engine,
    _lock: SessionLock,
}

/// How much a server takes on at the same time, and how long it keeps what is over.
#[derive(Debug, Clone, Copy)]
pub struct Load {
    pub jobs: usize,
    pub workers: usize,
    pub retention: Option<Retention>,
}

impl App {
    /// On a folder that exists: for commands that look or change something.
    pub async fn open(site: &Site) -> Result<Self> {
        Self::on(site, DataDir::existing(&site.data)?).await
    }

    /// On a folder made if need be: for commands that start something.
    pub async fn create(site: &Site) -> Result<Self> {
        Self::on(site, DataDir::create(&site.data)?).await
    }

    async fn on(site: &Site, data: DataDir) -> Result<Self> {
        let store = Arc::new(SqliteStore::open(&data.database())?);
        let app = Self {
            site: site.clone(),
            data,
            store: store.clone(),
            datasets: store.clone(),
            secrets: store,
            clock: Arc::new(SystemClock),
        };
        app.bury_the_dead().await?;
        Ok(app)
    }

    /// As [`open`](Self::open), where there may be nothing yet.
    pub async fn open_if_there(site: &Site) -> Result<Option<Self>> {
        match DataDir::existing(&site.data) {
            Ok(data) => Self::on(site, data).await.map(Some),
            Err(_) => Ok(None),
        }
    }

    /// Named datasets, for what reads them where blocking is allowed.
    pub fn library(&self) -> Library {
        Library::new(self.datasets.clone())
    }

    pub fn vault(&self) -> Vault {
        Vault::new(self.secrets.clone(), self.site.key_source())
    }

    /// Variables and secrets, for what looks them up where blocking is allowed.
    pub fn environment(&self) -> Environment {
        let (vault, runtime) = (self.vault(), tokio::runtime::Handle::current());
        let secrets = move |workspace: &str, name: &str| {
            runtime.block_on(vault.value(workspace, name)).map_err(|error| error.one_line())
        };
        self.site.environment().with_secrets(secrets)
    }

    /// Where the files lie that a job of the workspace, sent to the server, may name.
    pub fn files(&self, workspace: &str) -> PathBuf {
        self.data.files(workspace)
    }

    /// Where what is being sent to the server lies until it is stored.
    pub fn uploads(&self) -> PathBuf {
        self.data.uploads()
    }

    pub fn now(&self) -> Time {
        self.clock.now()
    }

    pub fn clock(&self) -> Arc<dyn Clock> {
        self.clock.clone()
    }

    /// Releases at once what processes that were killed still hold.
    async fn bury_the_dead(&self) -> Result<()> {
        for session in self.store.sessions().await? {
            if session_lock::is_dead(&self.data.sessions(), session.id) {
                self.store.bury(session.id, self.now()).await?;
                session_lock::forget(&self.data.sessions(), session.id);
            }
        }
        Ok(())
    }

    /// The living process that coordinates the run, if any.
    pub async fn coordinator_of(&self, run: &Run) -> Result<Option<Session>> {
        let Some(id) = run.coordinator.filter(|_| run.coordinator_until > self.now()) else {
            return Ok(None);
        };
        Ok(self.store.sessions().await?.into_iter().find(|session| session.id == id))
    }

    /// An engine for one run only.
    pub async fn engine(&self, run: RunId, concurrency: i64) -> Result<Running> {
        let settings = Settings {
            scope: Scope { only: Some(run), regions: Vec::new() },
            workers: WORKERS.max(usize::try_from(concurrency).unwrap_or(WORKERS)),
            ..Settings::default()
        };
        self.start_engine(settings).await
    }

    /// An engine for all runs of the folder, which goes on with what is unfinished and starts what is due.
    pub async fn engine_of_all(&self, load: Load) -> Result<Running> {
        let Load { jobs, workers, retention } = load;
        let settings = Settings { jobs, workers, retention, schedules: true, ..Settings::default() };
        self.start_engine(settings).await
    }

    async fn start_engine(&self, settings: Settings) -> Result<Running> {
        let now = self.now();
        let id = SessionId::mint(now, fastrand::u64(..));
        let lock = SessionLock::create(&self.data.sessions(), id).map_err(|error| {
            Error::new(
                format!("the session's lock file cannot be made: {error}"),
                format!("check that {} may be written", self.data.path().display()),
            )
        })?;
        let session = Session {
            id,
            host: gethostname::gethostname().to_string_lossy().into_owned(),
            pid: i64::from(std::process::id()),
            regions: Vec::new(),
            started_at: now,
            beat_at: now,
            ended_at: None,
        };
        let parts = Parts {
            store: self.store.clone(),
            workloads: windrow_workloads::workloads(self.environment(), self.library()),
            clock: self.clock.clone(),
            seed: fastrand::u64(..),
            session,
        };
        let engine = Engine::start(parts, Settings { quota: self.site.quota, ..settings }).await?;
        Ok(Running { engine, _lock: lock })
    }

    /// A command line for this same folder, to be shown as a hint.
    pub fn command(&self, arguments: &str) -> String {
        let path = self.data.path();
        let from_environment = std::env::var_os("WINDROW_DATA").is_some_and(|dir| Path::new(&dir) == path);
        if path == Path::new(data_dir::DEFAULT) || from_environment {
            return format!("windrow {arguments}");
        }
        format!("windrow --data {} {arguments}", path.display())
    }
}

/// Who is acting, for the log.
pub fn actor() -> String {
    std::env::var("USER").or_else(|_| std::env::var("LOGNAME")).unwrap_or_else(|_| "unknown".into())
}
