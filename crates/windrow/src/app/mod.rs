//! What the program can do, one function per use case: `(&App, &Actor, request) -> Result<answer>` for reads,
//! [`Change`](audit::Change) instead of the actor for changes. Command line, HTTP and gRPC only translate. Wire
//! types go in and out; neither `axum` nor `clap` is named here.
//!
//! [`App`] is the object graph: the data directory, the store, the clock, and an engine where work is executed.

pub mod actor;
pub mod alerts;
pub mod analytics;
pub mod audit;
pub mod backups;
pub mod balance;
pub mod batches;
pub mod cells;
pub mod choose;
pub mod comparison;
pub mod confirming;
pub mod control;
pub mod dataset_add;
pub mod dataset_changes;
pub mod datasets;
pub mod definition;
pub mod doctor;
pub mod experience;
pub mod export;
pub mod forecast;
pub mod ingest;
pub mod item_history;
pub mod items;
pub mod jobs;
pub mod keys;
pub mod kinds;
pub mod labels;
pub mod limits;
pub mod logs;
pub mod lookup;
pub mod nodes;
pub mod operations;
pub mod report;
pub mod resolve_run;
pub mod results;
pub mod secrets;
pub mod submit;
pub mod target_lists;
pub mod tasks;
pub mod texts;
pub mod trends;
pub mod usage;
pub mod views;
pub mod watch;
pub mod webhooks;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use windrow_engine::{Engine, Parts, Settings, SystemClock};
use windrow_jobfile::Environment;
use windrow_jobfile::dataset::Library;
use windrow_model::access::AccessStore;
use windrow_model::aggregate::{Aggregates, Stats, StepLatency};
use windrow_model::alert::AlertStore;
use windrow_model::analytics::AnalyticsStore;
use windrow_model::audit::AuditLog;
use windrow_model::balance::Balance;
use windrow_model::bell::Bell;
use windrow_model::dataset::DatasetStore;
use windrow_model::hook::HookStore;
use windrow_model::limit::shared::SharedLimits;
use windrow_model::record::{NodeRole, Run, ServingNode, Session};
use windrow_model::secret::SecretStore;
use windrow_model::store::{Extent, Retention, Scope, Store, StoreError};
use windrow_model::trace::Tracer;
use windrow_model::{Clock, JobId, RunId, SessionId, Time};
use windrow_store::redis::Link;
use windrow_store::{OldTransaction, RedisBell, RedisLimits, SqlStore};

use crate::app::audit::Rejected;
use crate::app::secrets::Vault;
use crate::error::{Error, Result};
use crate::node::data_dir::{self, DataDir};
use crate::node::observe::otlp::{Otlp, Sending, TraceArgs};
use crate::node::options::GlobalOptions;
use crate::node::recent::Recent;
use crate::node::session_lock::{self, SessionLock};

/// Minimum number of worker slots of `windrow run`.
const WORKERS: usize = 32;

#[derive(Clone)]
pub struct App {
    options: GlobalOptions,
    data: DataDir,
    pub store: Arc<dyn Store>,
    /// The store, if other nodes share it.
    shared: Option<Arc<SqlStore>>,
    pub datasets: Arc<dyn DatasetStore>,
    pub alerts: Arc<dyn AlertStore>,
    pub analytics: Arc<dyn AnalyticsStore>,
    pub hooks: Arc<dyn HookStore>,
    pub access: Arc<dyn AccessStore>,
    pub audit: Arc<dyn AuditLog>,
    secrets: Arc<dyn SecretStore>,
    /// Wake-ups by other nodes.
    bell: Option<Arc<dyn Bell>>,
    tracer: Option<Arc<dyn Tracer>>,
    clock: Arc<dyn Clock>,
    aggregates: Arc<Recent<RunId, Aggregates>>,
    job_aggregates: Arc<Recent<JobId, Aggregates>>,
    stats: Arc<Recent<Extent, Stats>>,
    batch_latency: Arc<Recent<RunId, Option<StepLatency>>>,
    rejected: Arc<Rejected>,
    views: Arc<views::Views>,
    comparisons: Arc<comparison::Known>,
    /// Where a server writes its backups; `backups` in the data directory unless given.
    backup_dir: Option<PathBuf>,
    /// Of the server's engine; `None` in a command.
    lease: Option<Duration>,
}

/// An engine and the lock that shows its process alive. The lock outlives the engine.
pub struct Running {
    pub engine: Engine,
    _lock: SessionLock,
}

/// Capacity of a server, and how long it keeps finished jobs.
#[derive(Debug, Clone)]
pub struct Load {
    pub jobs: usize,
    pub workers: usize,
    /// B17: claimed items that may wait for a worker, the interval of the scan, and checks with a longer queue after
    /// which the dispatcher is replaced.
    pub queue: usize,
    pub scan_every: Duration,
    pub growing: u32,
    pub retention: Option<Retention>,
    /// B10: regions whose runs it executes; empty: all.
    pub regions: Vec<String>,
    pub roles: Vec<NodeRole>,
    /// Where it listens.
    pub address: String,
}

impl App {
    /// On a data directory that exists: for commands that read or change something.
    pub async fn open(options: &GlobalOptions) -> Result<Self> {
        Self::on(options, Self::folder_of(options)?).await
    }

    /// With a shared database the directory only holds what belongs to this node, and is created when needed.
    fn folder_of(options: &GlobalOptions) -> Result<DataDir> {
        match options.database {
            Some(_) => DataDir::create(&options.data),
            None => DataDir::existing(&options.data),
        }
    }

    /// On a data directory that is created if need be: for commands that start something.
    pub async fn create(options: &GlobalOptions) -> Result<Self> {
        let is_new = DataDir::is_new(&options.data);
        if options.database.is_none() {
            DataDir::at(&options.data).refuse_moved()?;
        }
        let app = Self::on(options, DataDir::create(&options.data)?).await?;
        if is_new {
            anstream::eprintln!("Created the data directory {}", options.data.display());
        }
        Ok(app)
    }

    async fn on(options: &GlobalOptions, data: DataDir) -> Result<Self> {
        let store = Arc::new(match &options.database {
            Some(url) => with_bell(SqlStore::connect(url).await?, options, url)?,
            None => SqlStore::open(&data.database())?,
        });
        let app = Self {
            options: options.clone(),
            data,
            shared: options.database.as_ref().map(|_| store.clone()),
            datasets: store.clone(),
            alerts: store.clone(),
            analytics: store.clone(),
            hooks: store.clone(),
            tracer: None,
            access: store.clone(),
            audit: store.clone(),
            secrets: store.clone(),
            bell: store.bell(),
            store,
            clock: Arc::new(SystemClock),
            aggregates: Arc::default(),
            job_aggregates: Arc::default(),
            stats: Arc::default(),
            batch_latency: Arc::default(),
            rejected: Arc::default(),
            views: Arc::default(),
            comparisons: Arc::default(),
            backup_dir: None,
            lease: None,
        };
        app.expire_dead_sessions().await?;
        Ok(app)
    }

    /// The same, for a server whose workers have this lease.
    pub fn serving(self, lease: Duration) -> Self {
        Self { lease: Some(lease), ..self }
    }

    /// The same, with another directory for backups.
    pub fn backing_up_to(self, dir: Option<PathBuf>) -> Self {
        Self { backup_dir: dir, ..self }
    }

    /// What the runs of each workspace may cost together.
    pub fn balance(&self) -> Option<&Balance> {
        self.options.balance.as_ref()
    }

    /// How many runs of a workspace may be active at the same time.
    pub fn quota_of(&self, workspace: &str) -> Option<i64> {
        self.options.quota.as_ref()?.of(workspace).map(|runs| runs as i64)
    }

    /// Workspaces with a quota or a balance of their own.
    pub fn limited_workspaces(&self) -> BTreeSet<String> {
        let quotas = self.options.quota.iter().flat_map(|quota| quota.named.keys());
        let balances = self.options.balance.iter().flat_map(|balance| balance.names());
        quotas.chain(balances).cloned().collect()
    }

    /// Whether a server answers, which executes runs itself.
    pub fn is_server(&self) -> bool {
        self.lease.is_some()
    }

    /// A worker without a heartbeat for so long has lost its items.
    pub fn lease_ms(&self) -> i64 {
        self.lease.map_or(Settings::default().lease_ms, |lease| i64::try_from(lease.as_millis()).unwrap_or(i64::MAX))
    }

    /// Deletes what a deletion has left behind: a server does so in the background, a command before it ends.
    async fn afterwards(
        &self,
        what: &'static str,
        work: impl Future<Output = Result<(), StoreError>> + Send + 'static,
    ) -> Result<()> {
        if self.lease.is_none() {
            return Ok(work.await?);
        }
        tokio::spawn(async move {
            if let Err(error) = work.await {
                tracing::warn!(%error, "failed to delete the rest of {what}; the next deletion retries");
            }
        });
        Ok(())
    }

    /// As [`open`](Self::open), where no directory may exist yet.
    pub async fn open_if_there(options: &GlobalOptions) -> Result<Option<Self>> {
        match Self::folder_of(options) {
            Ok(data) => Self::on(options, data).await.map(Some),
            Err(_) => Ok(None),
        }
    }

    /// The oldest open transaction of a shared database.
    pub async fn oldest_transaction(&self) -> Option<windrow_model::store::Result<Option<OldTransaction>>> {
        Some(self.shared.as_ref()?.oldest_transaction().await)
    }

    /// Named datasets, for code that may block.
    pub fn library(&self) -> Library {
        Library::new(self.datasets.clone())
    }

    pub fn host(&self) -> String {
        gethostname::gethostname().to_string_lossy().into_owned()
    }

    pub fn data(&self) -> &DataDir {
        &self.data
    }

    /// The ids of the master keys in use, and how many secrets each has.
    pub async fn secret_keys(&self) -> Result<Vec<(String, i64)>> {
        Ok(self.secrets.secret_keys().await?)
    }

    /// Number of secrets of all workspaces.
    pub async fn sealed_secrets(&self) -> Result<i64> {
        Ok(self.secrets.secret_keys().await?.iter().map(|(_, count)| count).sum())
    }

    pub fn vault(&self) -> Vault {
        Vault::new(self.secrets.clone(), self.options.key_source())
    }

    /// Variables and secrets, for code that may block.
    pub fn environment(&self) -> Environment {
        let (vault, runtime) = (self.vault(), tokio::runtime::Handle::current());
        let secrets = move |workspace: &str, name: &str| {
            runtime.block_on(vault.value(workspace, name)).map_err(|error| error.one_line())
        };
        let (vault, runtime, now) = (self.vault(), tokio::runtime::Handle::current(), self.now());
        let sealer = move || runtime.block_on(vault.image_sealer(now)).map_err(|error| error.one_line());
        self.options.environment().with_secrets(secrets).with_sealer(sealer)
    }

    /// Files that a job sent to the server may use.
    pub fn files(&self, workspace: &str) -> PathBuf {
        self.data.files(workspace)
    }

    /// Numbers of an unfinished run, cached briefly.
    pub async fn aggregates(&self, run: RunId) -> Result<Arc<Aggregates>> {
        Ok(self.aggregates.get(run, self.store.aggregates(run)).await?)
    }

    /// Over the current results of all items of a job, cached briefly.
    pub async fn job_aggregates(&self, job: JobId) -> Result<Arc<Aggregates>> {
        Ok(self.job_aggregates.get(job, self.store.job_aggregates(job)).await?)
    }

    /// Counts and durations, cached briefly.
    pub async fn stats(&self, extent: Extent) -> Result<Arc<Stats>> {
        Ok(self.stats.get(extent.clone(), self.store.stats(extent)).await?)
    }

    /// Of the batches of an ingest run.
    pub async fn batch_latency(&self, run: RunId) -> Result<Option<StepLatency>> {
        Ok(*self.batch_latency.get(run, self.store.step_latency(run, windrow_ingest::BATCH)).await?)
    }

    /// Exports traces of items to the collector, if one is given.
    pub fn trace(&mut self, args: &TraceArgs) -> Result<Option<Sending>> {
        let Some((tracer, sending)) = Otlp::start(args)? else { return Ok(None) };
        self.tracer = Some(tracer);
        Ok(Some(sending))
    }

    /// The ClickHouse that has a copy of the results.
    pub fn clickhouse(&self) -> Option<&windrow_analytics::Address> {
        self.options.clickhouse.as_ref()
    }

    /// Where traces are looked at: a URL with `{trace_id}` in it.
    pub fn trace_url(&self) -> Option<&str> {
        self.options.trace_url.as_deref()
    }

    /// The data directory.
    pub fn folder(&self) -> &Path {
        self.data.path()
    }

    /// Temporary files of uploads.
    pub fn uploads(&self) -> PathBuf {
        self.data.uploads()
    }

    /// Tells databases apart, without passwords.
    pub fn database_name(&self) -> String {
        let url = self.options.database.as_deref().unwrap_or_default();
        let place = url.rsplit_once('@').map_or(url, |(_, place)| place);
        place.split('?').next().unwrap_or_default().to_owned()
    }

    /// Result tables that are kept.
    pub fn tables(&self) -> PathBuf {
        self.data.tables()
    }

    pub fn now(&self) -> Time {
        self.clock.now()
    }

    pub fn clock(&self) -> Arc<dyn Clock> {
        self.clock.clone()
    }

    /// Releases the items of killed processes at once.
    async fn expire_dead_sessions(&self) -> Result<()> {
        for session in self.store.sessions().await? {
            // A remote worker or node has no lock here; only its heartbeats tell that it lives.
            let elsewhere = match self.options.database {
                Some(_) => !session_lock::is_of(&self.data.sessions(), session.id),
                None => session.remote.is_some(),
            };
            if !elsewhere && session_lock::is_dead(&self.data.sessions(), session.id) {
                self.store.expire_session(session.id, self.now()).await?;
                session_lock::forget(&self.data.sessions(), session.id);
            }
        }
        Ok(())
    }

    /// The live process that coordinates the run, if any.
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
        self.start_engine(settings, None).await
    }

    /// An engine for all runs: it resumes unfinished ones and starts scheduled ones.
    pub async fn engine_of_all(&self, load: Load) -> Result<Running> {
        let Load { jobs, workers, queue, scan_every, growing, retention, regions, roles, address } = load;
        let is = |role| roles.contains(&role);
        let scope = Scope { only: None, regions };
        let settings = Settings {
            scope,
            coordinates: is(NodeRole::Scheduler),
            // An API node without workers still serves remote ones.
            helps_other_nodes: self.options.database.is_some() && (is(NodeRole::Worker) || is(NodeRole::Api)),
            jobs,
            workers: if is(NodeRole::Worker) { workers } else { 0 },
            queue,
            poll_ms: scan_every.as_millis() as u64,
            growing,
            retention: retention.filter(|_| is(NodeRole::Scheduler)),
            lease_ms: self.lease_ms(),
            schedules: is(NodeRole::Scheduler),
            ..Settings::default()
        };
        let version = env!("CARGO_PKG_VERSION").to_owned();
        self.start_engine(settings, Some(ServingNode { version, roles, address, draining: false })).await
    }

    async fn start_engine(&self, settings: Settings, node: Option<ServingNode>) -> Result<Running> {
        let now = self.now();
        let id = SessionId::mint(now, fastrand::u64(..));
        let lock = SessionLock::create(&self.data.sessions(), id).map_err(|error| {
            Error::new(
                format!("cannot create the session lock file: {error}"),
                format!("check the permissions of {}", self.data.path().display()),
            )
        })?;
        let session = Session {
            id,
            host: self.host(),
            pid: i64::from(std::process::id()),
            regions: settings.scope.regions.clone(),
            node,
            remote: None,
            at_work: 0,
            started_at: now,
            beat_at: now,
            ended_at: None,
        };
        let parts = Parts {
            store: self.store.clone(),
            workloads: crate::app::kinds::workloads(self.environment(), self.library()),
            clock: self.clock.clone(),
            seed: fastrand::u64(..),
            session,
            bell: self.bell.clone(),
            tracer: self.tracer.clone(),
            shared_limits: self.shared_limits(id)?,
        };
        let quota = self.options.quota.clone().unwrap_or_default();
        let balance = self.options.balance.clone().unwrap_or_default();
        let engine = Engine::start(parts, Settings { quota, balance, ..settings }).await?;
        Ok(Running { engine, _lock: lock })
    }

    /// Rate limits shared by all nodes of the database, through Redis where one is given.
    fn shared_limits(&self, session: SessionId) -> Result<Option<Arc<dyn SharedLimits>>> {
        let (store, url) = match (&self.shared, &self.options.redis) {
            (None, None) => return Ok(None),
            (None, Some(_)) => {
                tracing::warn!("--redis is ignored without a shared database (--database)");
                return Ok(None);
            }
            (Some(store), None) => return Ok(Some(store.clone())),
            (Some(store), Some(url)) => (store.clone(), url),
        };
        let redis = Link::open(url)?;
        Ok(Some(RedisLimits::start(store, redis, session.to_string(), self.clock.clone())))
    }

    /// A command line for this data directory, to be shown as a hint.
    pub fn command(&self, arguments: &str) -> String {
        let path = self.data.path();
        let from_environment = std::env::var_os("WINDROW_DATA").is_some_and(|dir| Path::new(&dir) == path);
        // The clients of a server know it by its address, not by its directory.
        if self.lease.is_some() || path == Path::new(data_dir::DEFAULT) || from_environment {
            return format!("windrow {arguments}");
        }
        format!("windrow --data {} {arguments}", path.display())
    }
}

/// Nodes wake each other through Redis where their database cannot. The database name identifies the installation.
fn with_bell(store: SqlStore, options: &GlobalOptions, database: &str) -> Result<SqlStore> {
    let Some(url) = options.redis.as_ref().filter(|_| store.bell().is_none()) else { return Ok(store) };
    let place = database.split('?').next().unwrap_or(database);
    let name = place.rsplit_once('/').map_or(place, |(_, name)| name);
    let bell = RedisBell::start(Link::open(url)?, name, format!("{:016x}", fastrand::u64(..)));
    Ok(store.with_bell(Arc::new(bell)))
}
