//! `windrow run FILE --online` (E11): rows come in on standard input, one JSON object per line, and
//! results go out on standard output as they are archived. The end of the input closes the intake; rows that are in
//! are finished. A row that was seen before is skipped, so the same input can be sent again. A resumed run
//! prints all its results again, because the reader may have missed any part of them.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use windrow_experiment::OnlineRows;
use windrow_model::event::ITEMS_ARCHIVED;
use windrow_model::record::Run;
use windrow_model::state::RunEvent;
use windrow_model::store::{NewItem, Store};
use windrow_model::{ItemId, RunId};
use windrow_wire::ItemDetailView;

use crate::app::audit::Change;
use crate::app::items::{self, BATCH, QUEUED_AT_MOST};
use crate::app::{App, control, lookup};
use crate::cli::run::{Started, input};
use crate::cli::view::output;
use crate::error::{Code, Error, Result};

const LOOK_EVERY: Duration = Duration::from_millis(50);
const PAGE: usize = 256;
/// Items that are read with all their steps at once.
const DETAILS: usize = 100;

/// Feeding and printing, in the background while the run is executed.
pub struct LocalStream {
    feeding: JoinHandle<Result<()>>,
    printing: JoinHandle<Result<Results>>,
    stop: Arc<tokio::sync::Notify>,
}

impl LocalStream {
    pub async fn open(app: &App, started: &Started) -> Result<Self> {
        let change = started.change.clone().expect("a run of this process was started by a change");
        let (job, run) = lookup::run(app, &change.actor, &started.run).await?;
        let arrivals = items::arrivals(app, &run).await?;
        let mut results = Results { store: app.store.clone(), run: run.id, kind: job.kind, after: 0 };
        if !started.resumed {
            results.after = app.store.outbox_reach().await?.newest;
        }
        let stop = Arc::new(tokio::sync::Notify::new());
        let feeder = Feeder { app: app.clone(), change, run, arrivals };
        let feeding = tokio::spawn(feeder.feed(input::lines()));
        let printing = tokio::spawn(results.print_until(stop.clone()));
        Ok(Self { feeding, printing, stop })
    }

    /// Returns when no more can be taken in for a reason that will not pass; otherwise never.
    pub async fn broken(&mut self) -> Error {
        input::broken(&mut self.feeding).await
    }

    /// After the run has ended or was interrupted: what landed last is printed too.
    pub async fn close(self) -> Result<()> {
        self.feeding.abort();
        self.stop.notify_one();
        match self.printing.await {
            Ok(results) => results?.print_new().await,
            Err(panic) => Err(Error::new(format!("printing results failed: {panic}"), "please report this")),
        }
    }
}

struct Feeder {
    app: App,
    change: Change,
    run: Run,
    arrivals: OnlineRows,
}

impl Feeder {
    async fn feed(self, mut input: mpsc::Receiver<String>) -> Result<()> {
        let (mut lines, mut line_no) = (Vec::with_capacity(BATCH), 0);
        while input.recv_many(&mut lines, BATCH).await > 0 {
            let items: Vec<NewItem> = lines.drain(..).flat_map(|line| self.items_in(&line, &mut line_no)).collect();
            while self.app.store.run(self.run.id).await?.counters.queued > QUEUED_AT_MOST {
                tokio::time::sleep(LOOK_EVERY).await;
            }
            match items::feed(&self.app, &self.change, &self.run, items).await {
                Ok(_) => {}
                // The run was cancelled and is ending.
                Err(error) if error.is(Code::IntakeClosed) => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        let job = self.run.job.to_string();
        match control::request_transition(&self.app, &self.change, &job, RunEvent::Drain, None).await {
            Err(error) if !error.is(Code::ForbiddenTransition) => Err(error),
            _ => Ok(()),
        }
    }

    /// A bad line is reported and left out; the others are no worse for it.
    fn items_in(&self, line: &str, line_no: &mut u64) -> Vec<NewItem> {
        *line_no += 1;
        if line.trim().is_empty() {
            return Vec::new();
        }
        self.arrivals.items(line).unwrap_or_else(|why| {
            output::say(&format!("warning: line {line_no} of the input is skipped: {why}"));
            Vec::new()
        })
    }
}

/// Reads the outbox: what is archived is told there once, and is not lost when printing is slow.
struct Results {
    store: Arc<dyn Store>,
    run: RunId,
    kind: String,
    after: i64,
}

impl Results {
    async fn print_until(mut self, stop: Arc<tokio::sync::Notify>) -> Result<Self> {
        loop {
            self.print_new().await?;
            if tokio::time::timeout(LOOK_EVERY, stop.notified()).await.is_ok() {
                return Ok(self);
            }
        }
    }

    async fn print_new(&mut self) -> Result<()> {
        loop {
            let page = self.store.outbox(self.after, PAGE).await?;
            for event in &page {
                self.after = event.id;
                if event.run != self.run || event.kind != ITEMS_ARCHIVED {
                    continue;
                }
                let run = self.store.run(self.run).await?;
                let body = event.body.value();
                let ids = body["items"].as_array().into_iter().flatten().filter_map(|item| item["id"].as_i64());
                for some in ids.map(ItemId).collect::<Vec<_>>().chunks(DETAILS) {
                    for detail in self.store.details(some.to_vec()).await? {
                        output::print_json_line(&ItemDetailView::of(&self.kind, &run, &detail));
                    }
                }
            }
            if page.len() < PAGE {
                return Ok(());
            }
        }
    }
}
