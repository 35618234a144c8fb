//! `windrow run FILE --online --server URL` (E11): rows from standard input go to the server, results come
//! back as they land. A batch whose answer was lost is sent again, since a row seen before is left alone,
//! and the stream of results is taken up again behind the last event that was seen.

use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use windrow_model::event::{ITEMS_ARCHIVED, RUN_STATE};
use windrow_model::state::{RunEvent, RunState};
use windrow_wire::request::Reason;
use windrow_wire::{Event, Fed, ItemDetailView, RunDetail};

use crate::app::items::BATCH;
use crate::cli::run::input;
use crate::cli::view::output;
use crate::client::remote::{Happened, NOTHING, Remote};
use crate::error::{Code, Error, Result};

const TRY_AGAIN: Duration = Duration::from_millis(500);

/// Feeding and printing, in the background while the run is followed.
pub struct RemoteStream {
    feeding: JoinHandle<Result<()>>,
    printing: JoinHandle<Result<()>>,
}

impl RemoteStream {
    pub fn open(remote: &Remote, job: &str, run: &str) -> Self {
        let (remote, job, run) = (remote.clone(), job.to_owned(), run.to_owned());
        let feeder = Feeder { remote: remote.clone(), job: job.clone() };
        let feeding = tokio::spawn(feeder.feed(input::lines()));
        let printing = tokio::spawn(Results { remote, job, run, after: 0 }.print());
        Self { feeding, printing }
    }

    /// Returns when no more can be taken in for a reason that will not pass; otherwise never.
    pub async fn broken(&mut self) -> Error {
        input::broken(&mut self.feeding).await
    }

    /// `over`: the run has ended, so what landed last is still to come.
    pub async fn close(self, over: bool) -> Result<()> {
        self.feeding.abort();
        if !over {
            self.printing.abort();
            return Ok(());
        }
        match self.printing.await {
            Ok(printed) => printed,
            Err(panic) => Err(Error::new(format!("printing results failed: {panic}"), "please report this")),
        }
    }
}

fn will_pass(error: &Error) -> bool {
    [Code::Unavailable, Code::TimedOut, Code::QueueFull].iter().any(|code| error.is(*code))
}

struct Feeder {
    remote: Remote,
    job: String,
}

impl Feeder {
    async fn feed(self, mut input: mpsc::Receiver<String>) -> Result<()> {
        let (mut lines, mut line_no) = (Vec::with_capacity(BATCH), 0);
        while input.recv_many(&mut lines, BATCH).await > 0 {
            let numbered = lines.drain(..).map(|line| {
                line_no += 1;
                (line_no, line)
            });
            let batch = numbered.filter(|(_, line)| !line.trim().is_empty()).collect();
            match self.send(batch).await {
                Ok(()) => {}
                // The run was cancelled and is ending.
                Err(error) if error.is(Code::IntakeClosed) => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        let path = ["jobs", &self.job, RunEvent::Drain.as_str()];
        loop {
            match self.remote.post::<RunDetail>(&path, &Reason::default()).await {
                Err(error) if will_pass(&error) => tokio::time::sleep(TRY_AGAIN).await,
                Err(error) if !error.is(Code::ForbiddenTransition) => return Err(error),
                _ => return Ok(()),
            }
        }
    }

    /// A bad line is reported and left out; the others are no worse for it.
    async fn send(&self, mut batch: Vec<(u64, String)>) -> Result<()> {
        while !batch.is_empty() {
            let body: String = batch.iter().map(|(_, line)| format!("{line}\n")).collect();
            let path = ["jobs", &self.job, "items"];
            match self.remote.post_lines::<Fed>(&path, body).await {
                Ok(_) => return Ok(()),
                Err(error) if will_pass(&error) => tokio::time::sleep(TRY_AGAIN).await,
                Err(Error::File(report)) => {
                    let places = report.problems.iter().filter_map(|problem| {
                        let place = problem.location.as_ref()?;
                        Some((place.excerpt.first_line - 1, &problem.message))
                    });
                    let mut broken: Vec<(usize, &String)> = places.filter(|(place, _)| *place < batch.len()).collect();
                    if broken.is_empty() {
                        return Err(Error::File(report));
                    }
                    broken.sort_unstable();
                    for (place, why) in &broken {
                        output::say(&format!("warning: line {} of the input is skipped: {why}", batch[*place].0));
                    }
                    broken.iter().rev().for_each(|(place, _)| drop(batch.remove(*place)));
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

struct Results {
    remote: Remote,
    job: String,
    run: String,
    after: i64,
}

impl Results {
    /// Until the run has ended.
    async fn print(mut self) -> Result<()> {
        loop {
            match self.print_connected().await {
                Ok(true) => return Ok(()),
                Ok(false) => {}
                Err(error) if will_pass(&error) => {}
                Err(error) => return Err(error),
            }
            tokio::time::sleep(TRY_AGAIN).await;
        }
    }

    /// True when the run has ended, false when the stream has.
    async fn print_connected(&mut self) -> Result<bool> {
        let mut events = self.remote.events(&self.job, Some(self.after)).await?;
        while let Happened::Event(event) = events.next().await? {
            if event.run.as_deref() == Some(&self.run) {
                self.print_items(&event).await?;
                if ends_run(&event) {
                    return Ok(true);
                }
            }
            self.after = event.id;
        }
        Ok(false)
    }

    async fn print_items(&self, event: &Event) -> Result<()> {
        if event.kind != ITEMS_ARCHIVED {
            return Ok(());
        }
        let body = event.body.value();
        for item in body["items"].as_array().into_iter().flatten() {
            let id = item["id"].to_string();
            let item: ItemDetailView = self.remote.get(&["items", &id], NOTHING).await?;
            output::print_json_line(&item);
        }
        Ok(())
    }
}

fn ends_run(event: &Event) -> bool {
    let state = event.body.value()["state"].as_str().and_then(|state| state.parse::<RunState>().ok());
    event.kind == RUN_STATE && state.is_some_and(RunState::is_final)
}
