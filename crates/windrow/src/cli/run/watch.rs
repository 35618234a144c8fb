//! Follows a run that a server works on. The server's events say when to look; a broken connection is
//! opened again, and a server that is started again is found again. Ctrl-C stops following; the run continues.

use std::time::{Duration, Instant};

use windrow_engine::SystemClock;
use windrow_model::Clock;
use windrow_model::state::RunState;
use windrow_wire::RunDetail;

use crate::cli::run::execute::{Ending, Pace, Signals};
use crate::cli::view::progress::Progress;
use crate::client::remote::{Events, Happened, Remote};
use crate::error::{Code, Error, Result};

/// A look at the run at most so often, and at least so often where no event comes.
const LOOK_AT_MOST_EVERY: Duration = Duration::from_millis(100);
const LOOK_AT_LEAST_EVERY: Duration = Duration::from_secs(2);
const TRY_AGAIN: Duration = Duration::from_millis(500);
/// A server that is away for longer is not waited for.
const PATIENCE: Duration = Duration::from_secs(600);

pub async fn to_end(remote: &Remote, run: &str, mut progress: Progress) -> Result<Ending> {
    let mut signals = Signals::listen()?;
    let mut line = Line { remote, run, events: None, away_since: None };
    let (started, mut before) = (Instant::now(), None);
    loop {
        let run = tokio::select! {
            run = line.look(&progress) => run?,
            () = signals.next() => return leave(remote, run, progress).await,
        };
        let before = *before.get_or_insert(run.items.executed());
        let spent = run.state == RunState::Paused && run.spent_its_budget();
        if run.state.is_final() {
            progress.clear();
            let pace = Pace { items: run.items.executed() - before, elapsed: started.elapsed() };
            return Ok(Ending::Settled { run, pace });
        }
        if spent && run.items.running == 0 {
            progress.clear();
            return Ok(Ending::Spent { run });
        }
        if run.is_halted() && run.items.running == 0 {
            progress.clear();
            return Ok(Ending::Halted { run });
        }
        if !spent {
            progress.show(&run, &[], SystemClock.now());
        }
        tokio::select! {
            () = line.quiet(&run.job) => {}
            () = signals.next() => return leave(remote, &run.id, progress).await,
        }
    }
}

async fn leave(remote: &Remote, run: &str, progress: Progress) -> Result<Ending> {
    progress.clear();
    Ok(Ending::Interrupted { run: look(remote, run).await? })
}

async fn look(remote: &Remote, run: &str) -> Result<RunDetail> {
    remote.get(&["runs", run], &[("aggregates", false)]).await
}

/// The connection to the server, which may come and go.
struct Line<'a> {
    remote: &'a Remote,
    run: &'a str,
    events: Option<Events>,
    away_since: Option<Instant>,
}

impl Line<'_> {
    /// The current state of the run, as soon as the server answers.
    async fn look(&mut self, progress: &Progress) -> Result<RunDetail> {
        loop {
            match look(self.remote, self.run).await {
                Ok(run) => {
                    if self.away_since.take().is_some() {
                        progress.say("Reconnected to the server");
                    }
                    return Ok(run);
                }
                Err(error) if error.is(Code::Unavailable) || error.is(Code::TimedOut) => {
                    self.lost(error, progress)?;
                    tokio::time::sleep(TRY_AGAIN).await;
                }
                Err(error) => return Err(error),
            }
        }
    }

    fn lost(&mut self, error: Error, progress: &Progress) -> Result<()> {
        self.events = None;
        match self.away_since {
            None => progress
                .say(&format!("note: {}; retrying (Ctrl-C stops following; the server keeps the run)", error.what())),
            Some(since) if since.elapsed() > PATIENCE => return Err(error),
            Some(_) => {}
        }
        self.away_since.get_or_insert_with(Instant::now);
        Ok(())
    }

    /// Returns when something has happened, or nothing for a while.
    async fn quiet(&mut self, job: &str) {
        tokio::time::sleep(LOOK_AT_MOST_EVERY).await;
        let happened = tokio::time::timeout(LOOK_AT_LEAST_EVERY, async {
            if self.events.is_none() {
                self.events = self.remote.events(job, None).await.ok();
            }
            match &mut self.events {
                Some(events) => events.next().await.is_ok_and(|happened| matches!(happened, Happened::Event(_))),
                None => false,
            }
        });
        if happened.await.is_ok_and(|lives| !lives) {
            self.events = None;
        }
    }
}
