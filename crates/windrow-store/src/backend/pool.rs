//! Threads that each own a connection and take whatever verb waits next. A verb is one transaction. This is the one
//! place where a transaction is run again: after a conflict or a cancelled statement, after an error code that is not
//! known, and when the connection was lost before anything was committed.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;
use windrow_model::retry::Backoff;
use windrow_model::store::{Result, StoreError};

use crate::backend::failure::{self, StoreFailure};
use crate::backend::{self, CommitMeter, Connection};

/// How long a transaction is run again after conflicts: less than the lease of a run.
const AGAIN_FOR: Duration = Duration::from_secs(10);
/// How often at least, on a machine that is too busy to do it more often.
const AGAIN: u32 = 3;
const BACKOFF: Backoff = Backoff { first_ms: 1, max_ms: 100 };
/// How often it is run again on a new connection.
const RECONNECTS: u32 = 2;
/// And after an error code that is not known.
const AFTER_UNKNOWN: u32 = 8;
const LONGER: Backoff = Backoff { first_ms: 10, max_ms: 1_000 };

pub(crate) type Connect = dyn Fn() -> backend::Result<Connection> + Send + Sync;
type Work = Box<dyn FnOnce(&mut PooledConnection) + Send>;

/// A few threads for one kind of work.
pub(crate) struct ConnectionPool {
    queue: mpsc::Sender<Work>,
}

pub(crate) struct PooledConnection {
    connect: Arc<Connect>,
    conn: Option<Connection>,
    /// How its transactions begin.
    begin: &'static str,
    meter: Arc<CommitMeter>,
}

impl ConnectionPool {
    /// The threads end when this is dropped and what waits is done.
    pub fn start(
        name: &str,
        lanes: usize,
        begin: &'static str,
        connect: &Arc<Connect>,
        meter: &Arc<CommitMeter>,
    ) -> Result<Self> {
        let (queue, waiting) = mpsc::channel::<Work>();
        let waiting = Arc::new(Mutex::new(waiting));
        for _ in 0..lanes {
            let waiting = Arc::clone(&waiting);
            let mut pooled =
                PooledConnection { connect: Arc::clone(connect), conn: None, begin, meter: Arc::clone(meter) };
            std::thread::Builder::new()
                .name(name.to_owned())
                .spawn(move || {
                    while let Some(work) = next(&waiting) {
                        work(&mut pooled);
                    }
                })
                .map_err(|error| StoreError::Unavailable(format!("cannot start a thread: {error}")))?;
        }
        Ok(Self { queue })
    }

    pub async fn run<T, F>(&self, verb: F) -> Result<T>
    where
        T: Send + 'static,
        F: Fn(&Connection) -> failure::Result<T> + Send + 'static,
    {
        let gone = || StoreError::Unavailable("the threads of the database have ended".into());
        let (reply, answer) = oneshot::channel();
        let work: Work = Box::new(move |pooled| {
            let _ = reply.send(pooled.run(&verb));
        });
        self.queue.send(work).map_err(|_| gone())?;
        answer.await.map_err(|_| gone())?
    }
}

fn next(waiting: &Mutex<mpsc::Receiver<Work>>) -> Option<Work> {
    waiting.lock().unwrap_or_else(PoisonError::into_inner).recv().ok()
}

impl PooledConnection {
    fn run<T>(&mut self, verb: &dyn Fn(&Connection) -> failure::Result<T>) -> Result<T> {
        let mut reruns = Reruns::new();
        loop {
            let began = Instant::now();
            match self.once(verb) {
                Ok(done) => {
                    self.meter.record(began.elapsed());
                    return Ok(done);
                }
                Err(Failed::Before(StoreFailure::Database(error))) => match reruns.delay(&error) {
                    Some(delay) => std::thread::sleep(delay),
                    None => return Err(StoreFailure::from(error).into()),
                },
                Err(Failed::Before(refused)) => return Err(refused.into()),
                Err(Failed::Committing(error)) => return Err(StoreError::Unavailable(error.to_string())),
            }
        }
    }

    fn once<T>(&mut self, verb: &dyn Fn(&Connection) -> failure::Result<T>) -> std::result::Result<T, Failed> {
        if self.conn.as_ref().is_none_or(Connection::is_closed) {
            self.conn = None;
            let conn = (self.connect)()?;
            // The settings of a new connection do not count as statements of a verb.
            conn.take_sent();
            self.conn = Some(conn);
        }
        let Some(conn) = &self.conn else { unreachable!("it was just made") };
        let outcome = attempt(conn, self.begin, verb);
        let clean = match &outcome {
            Ok(_) | Err(Failed::Before(StoreFailure::Refused(_))) => true,
            Err(Failed::Before(StoreFailure::Database(error))) => !error.is_lost() && is_undone(conn),
            Err(Failed::Committing(_)) => false,
        };
        self.meter.sent(conn.take_sent());
        // A new connection costs little. On one whose transaction is still open, BEGIN would commit it.
        if !clean {
            self.conn = None;
        }
        outcome
    }
}

/// How often one verb was run again, by reason.
struct Reruns {
    since: Instant,
    conflicts: u32,
    lost: u32,
    unknown: u32,
}

impl Reruns {
    fn new() -> Self {
        Self { since: Instant::now(), conflicts: 0, lost: 0, unknown: 0 }
    }

    /// How long to wait before the verb is run again; none if it is not.
    fn delay(&mut self, error: &backend::Error) -> Option<Duration> {
        if error.is_conflict() || error.is_interrupted() {
            self.conflicts += 1;
            let again = self.conflicts <= AGAIN || self.since.elapsed() < AGAIN_FOR;
            return again.then(|| BACKOFF.after(self.conflicts - 1));
        }
        if error.is_lost() {
            tracing::warn!(%error, "lost the connection to the database, reconnecting");
            self.lost += 1;
            return (self.lost <= RECONNECTS).then_some(Duration::ZERO);
        }
        let miscounted = matches!(error, backend::Error::Miscounted { .. });
        if (error.is_damage() && !miscounted) || error.is_refused() {
            return None;
        }
        tracing::warn!(%error, "unexpected database error, running the transaction again");
        self.unknown += 1;
        (self.unknown <= AFTER_UNKNOWN).then(|| LONGER.after(self.unknown - 1))
    }
}

enum Failed {
    /// Nothing of it has happened.
    Before(StoreFailure),
    /// It may or may not have happened.
    Committing(backend::Error),
}

impl From<StoreError> for Failed {
    fn from(refusal: StoreError) -> Self {
        Failed::Before(refusal.into())
    }
}

impl From<backend::Error> for Failed {
    fn from(error: backend::Error) -> Self {
        Failed::Before(error.into())
    }
}

fn attempt<T>(
    conn: &Connection,
    begin: &str,
    verb: &dyn Fn(&Connection) -> failure::Result<T>,
) -> std::result::Result<T, Failed> {
    conn.begin(begin)?;
    // A bug in one verb must not take its thread down.
    let done = catch_unwind(AssertUnwindSafe(|| verb(conn))).unwrap_or_else(|_| {
        Err(StoreError::Corrupt("a verb of the store panicked; its change is undone".into()).into())
    });
    match done {
        Ok(done) => match conn.commit() {
            Ok(()) => Ok(done),
            Err(error) if error.is_conflict() => Err(error.into()),
            Err(error) => Err(Failed::Committing(error)),
        },
        // What the verb read may be of two transactions; only of a whole one is a refusal believed.
        Err(StoreFailure::Refused(refusal)) => Err(conn.roll_back().map_or_else(Failed::from, |()| refusal.into())),
        Err(fault) => Err(Failed::Before(fault)),
    }
}

fn is_undone(conn: &Connection) -> bool {
    let undone = conn.perform("ROLLBACK");
    if let Err(error) = &undone {
        tracing::debug!(%error, "the transaction could not be rolled back; closing its connection");
    }
    undone.is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_update_that_missed_its_row_is_run_again_before_it_is_damage() {
        let missed = || backend::Error::Miscounted { what: "budget of a run".into(), expected: 1, changed: 0 };
        let mut reruns = Reruns::new();
        assert!((0..AFTER_UNKNOWN).all(|_| reruns.delay(&missed()).is_some()));
        assert!(reruns.delay(&missed()).is_none());
        let told: StoreError = StoreFailure::from(missed()).into();
        assert!(matches!(told, StoreError::Corrupt(text) if text.contains("1 row(s) should have changed, 0 did")));
        assert!(Reruns::new().delay(&backend::Error::NoRows).is_none());
    }
}
