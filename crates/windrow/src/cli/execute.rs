//! Runs an engine in this process until one run is settled or somebody interrupts it.

use std::time::{Duration, Instant};

use tokio::signal::unix::{Signal, SignalKind, signal};
use windrow_model::RunId;
use windrow_model::record::Run;

use super::progress::Progress;
use super::text;
use crate::error::{Error, Result};
use crate::wiring::{App, Running};

const LOOK_EVERY: Duration = Duration::from_millis(100);

#[derive(Debug)]
pub enum Ending {
    Settled {
        run: Run,
        pace: Pace,
    },
    /// Somebody stopped the process; the run can be continued.
    Interrupted {
        run: Run,
        pace: Pace,
    },
}

/// What this process itself did, apart from earlier ones on the same run.
#[derive(Debug, Clone, Copy)]
pub struct Pace {
    pub items: i64,
    pub elapsed: Duration,
}

impl Pace {
    pub fn per_second(self) -> f64 {
        self.items as f64 / self.elapsed.as_secs_f64().max(0.001)
    }
}

pub async fn to_end(app: &App, id: RunId, concurrency: i64, mut progress: Progress) -> Result<Ending> {
    // Before the engine starts, so that no moment is left in which a signal would kill it.
    let mut signals = Signals::listen()?;
    let (before, started) = (app.store.run(id).await?.counters.executed(), Instant::now());
    let running = app.engine(id, concurrency).await?;
    let settled = watch(app, &running, id, &mut signals, &mut progress).await;
    match settled {
        Ok(true) => running.engine.drain().await,
        Ok(false) => interrupt(app, &running, id, &mut signals, &progress).await,
        Err(_) => running.engine.stop().await,
    }
    progress.clear();
    settled?;
    let run = app.store.run(id).await?;
    let pace = Pace { items: run.counters.executed() - before, elapsed: started.elapsed() };
    Ok(if run.state.is_final() { Ending::Settled { run, pace } } else { Ending::Interrupted { run, pace } })
}

/// True when the run has settled, false when a signal came first.
async fn watch(
    app: &App,
    running: &Running,
    id: RunId,
    signals: &mut Signals,
    progress: &mut Progress,
) -> Result<bool> {
    let settled = running.engine.settled(id);
    tokio::pin!(settled);
    let mut look = tokio::time::interval(LOOK_EVERY);
    loop {
        tokio::select! {
            run = &mut settled => return Ok(run.map(|_| true)?),
            () = signals.next() => return Ok(false),
            _ = look.tick() => {
                // A look that fails is no reason to stop working.
                if let Ok(run) = app.store.run(id).await {
                    progress.show(&run, &running.engine.waits(), app.now());
                }
            }
        }
    }
}

/// Once: let what runs finish. Twice: stop at once. Both leave a run that can be continued.
async fn interrupt(app: &App, running: &Running, id: RunId, signals: &mut Signals, progress: &Progress) {
    let at_work = app.store.run(id).await.map_or(0, |run| run.counters.running);
    progress.say(&format!("finishing {}; press Ctrl-C again to stop now", text::plural(at_work, "running item")));
    tokio::select! {
        () = running.engine.drain() => {}
        () = signals.next() => {
            progress.say("stopping now");
            running.engine.stop().await;
        }
    }
}

/// Ctrl-C and SIGTERM.
struct Signals {
    interrupt: Signal,
    terminate: Signal,
}

impl Signals {
    fn listen() -> Result<Self> {
        let listen = |kind| {
            signal(kind).map_err(|error| Error::new(format!("signals cannot be received: {error}"), "try again"))
        };
        Ok(Self { interrupt: listen(SignalKind::interrupt())?, terminate: listen(SignalKind::terminate())? })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}
