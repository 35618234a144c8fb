//! Runs an engine in this process until one run is settled or the process is interrupted.

use std::time::{Duration, Instant};

use tokio::signal::unix::{Signal, SignalKind, signal};
use windrow_model::RunId;
use windrow_model::state::RunState;
use windrow_wire::RunDetail;

use crate::app::{App, Running};
use crate::cli::view::progress::Progress;
use crate::error::{Error, Result};
use crate::text;

const LOOK_EVERY: Duration = Duration::from_millis(100);

#[derive(Debug)]
pub enum Ending {
    Settled {
        run: RunDetail,
        pace: Pace,
    },
    /// The process was stopped; the run can be resumed, or a server continues it.
    Interrupted {
        run: RunDetail,
    },
    /// The run paused because too many failed, or because all was not well after a wave.
    Halted {
        run: RunDetail,
    },
    /// The run paused because its budget is spent; it can be continued with more.
    Spent {
        run: RunDetail,
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

pub async fn to_end(app: &App, id: RunId, mut progress: Progress) -> Result<Ending> {
    let run = app.store.run(id).await?;
    let job = app.store.job(run.job).await?;
    // Before the engine starts, so that no moment is left in which a signal would kill it.
    let mut signals = Signals::listen()?;
    let (before, started) = (run.counters.executed(), Instant::now());
    let running = app.engine(id, run.limits.concurrency).await?;
    let watched = watch(app, &running, id, &mut signals, &mut progress).await;
    match watched {
        Ok(Watched::Settled | Watched::Spent | Watched::Halted) => running.engine.drain().await,
        Ok(Watched::Signal) => interrupt(app, &running, id, &mut signals, &progress).await,
        Err(_) => running.engine.stop().await,
    }
    progress.clear();
    let watched = watched?;
    let run = RunDetail::of(&job.kind, &app.store.run(id).await?);
    let pace = Pace { items: run.items.executed() - before, elapsed: started.elapsed() };
    Ok(match watched {
        _ if run.state.is_final() => Ending::Settled { run, pace },
        Watched::Spent => Ending::Spent { run },
        Watched::Halted => Ending::Halted { run },
        _ => Ending::Interrupted { run },
    })
}

/// What ended the watching.
enum Watched {
    Settled,
    Signal,
    Spent,
    Halted,
}

async fn watch(
    app: &App,
    running: &Running,
    id: RunId,
    signals: &mut Signals,
    progress: &mut Progress,
) -> Result<Watched> {
    let settled = running.engine.settled(id);
    tokio::pin!(settled);
    let mut look = tokio::time::interval(LOOK_EVERY);
    loop {
        tokio::select! {
            run = &mut settled => return Ok(run.map(|_| Watched::Settled)?),
            () = signals.next() => return Ok(Watched::Signal),
            _ = look.tick() => {
                // A failed read does not stop the work.
                if let Ok(run) = app.store.run(id).await
                    && let Ok(job) = app.store.job(run.job).await
                {
                    let run = RunDetail::of(&job.kind, &run).within(&job);
                    let spent = run.state == RunState::Paused && run.spent_its_budget();
                    if spent && run.items.running == 0 {
                        return Ok(Watched::Spent);
                    }
                    if run.is_halted() && run.items.running == 0 {
                        return Ok(Watched::Halted);
                    }
                    if !spent {
                        progress.show(&run, &running.engine.waits(), app.now());
                    }
                }
            }
        }
    }
}

/// Once: let what runs finish. Twice: stop at once. Both leave a run that can be continued.
async fn interrupt(app: &App, running: &Running, id: RunId, signals: &mut Signals, progress: &Progress) {
    let at_work = app.store.run(id).await.map_or(0, |run| run.counters.running);
    let items = text::plural(at_work, "running item");
    progress.say(&format!("Stopping: waiting for {items} (Ctrl-C again to stop now)"));
    tokio::select! {
        () = running.engine.drain() => {}
        () = signals.next() => {
            progress.say("Stopping now");
            running.engine.stop().await;
        }
    }
}

/// Ctrl-C and SIGTERM.
pub struct Signals {
    interrupt: Signal,
    terminate: Signal,
}

impl Signals {
    pub fn listen() -> Result<Self> {
        let listen =
            |kind| signal(kind).map_err(|error| Error::new(format!("cannot receive signals: {error}"), "try again"));
        Ok(Self { interrupt: listen(SignalKind::interrupt())?, terminate: listen(SignalKind::terminate())? })
    }

    pub async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}
