//! Code of the user in a process of its own, for the evaluators and the targets `command` and
//! `python`: JSON in, JSON out. Processes stay and are reused, are restarted when they die, are too
//! slow or say too much, and end with everything they started when the program does.

mod config;
mod exchange;
mod reply;
mod start;
mod trial;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::Semaphore;
use windrow_jobfile::environment::Resolved;
use windrow_jobfile::http_client::Secret;
use windrow_model::{ErrorClass, Failure};

use crate::context::ComponentContext;
use config::{Launch, Limits, Mode, content_of};
use exchange::Running;
use start::Start;

pub use config::{CommandConfig, Frozen, Kind, Own, PythonConfig, read};
pub use reply::opened;
pub use trial::broken_code;

pub struct Process {
    start: Start,
    mode: Mode,
    timeout: Duration,
    max_bytes: usize,
    places: Semaphore,
    idle: Mutex<Vec<Running>>,
    secret: Secret,
    /// Nothing is started, and what is asked has a reply at once.
    rehearsed: bool,
    /// It has answered once, so that it can be started.
    proven: AtomicBool,
    /// What is to be checked if it cannot.
    setting: String,
}

impl Process {
    pub fn new<O>(frozen: &Frozen<O>, context: &ComponentContext) -> Result<Self, Failure> {
        let wrong = |message: String| Failure::new(ErrorClass::InvalidRequest, message);
        for (file, content) in &frozen.contents {
            if content_of(&frozen.folder, file).ok().as_ref() != Some(content) {
                return Err(wrong(format!(
                    "{file} has changed since the job was submitted; submit the job file again"
                )));
            }
        }
        let Limits { mode, workers, timeout, max_output, env, .. } = &frozen.limits;
        let environment = &context.environment;
        let secrets = env.values().filter(|value| windrow_jobfile::environment::has_reference(value));
        let secrets = secrets.map(|value| environment.resolve_secret(value)).collect::<Result<Vec<_>, _>>();
        let secrets = secrets.map_err(|error| wrong(error.to_string()))?;
        let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get());
        Ok(Self {
            start: Start::new(frozen, environment).map_err(|error| wrong(error.to_string()))?,
            mode: *mode,
            timeout: timeout.unwrap_or(context.timeout).to_std(),
            max_bytes: usize::try_from(max_output.bytes).unwrap_or(usize::MAX - 1),
            places: Semaphore::new(workers.unwrap_or(cores)),
            idle: Mutex::default(),
            secret: Secret::new(secrets.into_iter().flat_map(Resolved::into_parts)),
            rehearsed: context.rehearsal.is_some(),
            proven: AtomicBool::new(false),
            setting: match frozen.launch {
                Launch::Command(_) => context.place("command").setting("run"),
                Launch::Python(_) => context.place("python").setting("file"),
            },
        })
    }

    /// The reply to one request, without secrets in it.
    pub async fn ask(&self, request: &str) -> Result<String, Failure> {
        if self.rehearsed {
            return Ok(r#"{"score": 1}"#.to_owned());
        }
        let Ok(_place) = self.places.acquire().await else {
            return Err(Failure::new(ErrorClass::Handler, "no process may be started any more"));
        };
        let asked = match self.mode {
            Mode::Once => self.once(request).await,
            Mode::Persistent => self.of_a_worker(request).await,
        };
        self.proven.fetch_or(asked.is_ok(), Ordering::Relaxed);
        asked.map(|reply| self.secret.redact(reply)).map_err(|failure| self.blamed(self.secret.redact_failure(failure)))
    }

    /// A process that ends before it ever gave a reply cannot be started, misses an import, or has a syntax error.
    fn blamed(&self, failure: Failure) -> Failure {
        let setting = failure.setting.as_ref().filter(|_| !self.proven.load(Ordering::Relaxed));
        Failure { setting: setting.map(|_| self.setting.clone()), ..failure }
    }

    async fn once(&self, request: &str) -> Result<String, Failure> {
        let running = Running::start(&self.start)?;
        let whole = running.whole(request, self.max_bytes);
        tokio::time::timeout(self.timeout, whole).await.unwrap_or_else(|_| Err(self.too_slow(None)))
    }

    /// A worker is put back only after a whole exchange: one that was given up in the middle would
    /// answer the next request with this one's reply.
    async fn of_a_worker(&self, request: &str) -> Result<String, Failure> {
        let mut worker = match self.idle_worker() {
            Some(worker) => worker,
            None => Running::start(&self.start)?,
        };
        match tokio::time::timeout(self.timeout, worker.line(request, self.max_bytes)).await {
            Err(_) => Err(self.too_slow(Some(&worker))),
            Ok(Err(failure)) => Err(failure),
            Ok(Ok(reply)) => {
                self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(worker);
                Ok(reply)
            }
        }
    }

    fn idle_worker(&self) -> Option<Running> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        std::iter::from_fn(|| idle.pop()).find_map(|mut worker| worker.is_alive().then_some(worker))
    }

    fn too_slow(&self, worker: Option<&Running>) -> Failure {
        let message = format!("the process gave no reply within {} ms and was ended", self.timeout.as_millis());
        worker.map_or_else(|| Failure::new(ErrorClass::Handler, message.clone()), |worker| worker.failed(&message))
    }
}

/// What of the configuration shapes the reply: neither where it runs nor how much it may take.
pub fn identity<O>(frozen: &Frozen<O>, own: &Value) -> Value {
    let launch = match &frozen.launch {
        Launch::Command(command) => json!(command.run),
        Launch::Python(python) => json!({ "file": python.file, "function": python.function }),
    };
    json!({ "launch": launch, "contents": frozen.contents, "env": frozen.limits.env, "own": own })
}
