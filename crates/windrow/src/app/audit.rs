//! The audit log (T7). A use case that changes something takes a [`Change`], and only [`App::audited`] makes one,
//! so no change can be left out, and none is made by an actor without the role for it: the entry is begun before the
//! work and ended after it.

use std::sync::{Arc, Mutex, PoisonError};

use rustix::process::getuid;
use windrow_model::Time;
use windrow_model::access::Role;
use windrow_model::audit::{AuditFilter, AuditLog, NewAudit, Verdict};
use windrow_wire::{AuditLine, AuditList};

use crate::app::App;
use crate::app::actor::Actor;
use crate::error::Result;

/// Rejected requests recorded per minute; a flood of them must not fill the disk.
const REJECTED_PER_MINUTE: i64 = 60;
const MINUTE_MS: i64 = 60_000;

/// A change that is on the audit log, and who makes it.
#[derive(Debug, Clone)]
pub struct Change {
    pub actor: Actor,
    /// Keeps other modules from making one.
    _recorded: (),
}

/// When the entry is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recording {
    /// Before the work starts and after it has ended.
    Awaited,
    /// For changes made thousands of times: the entry enters the store's queue before the work, which does not
    /// wait for it.
    Queued,
}

impl App {
    /// A change made on this machine by a command.
    pub async fn act<T, F: Future<Output = Result<T>>>(
        &self,
        actor: &Actor,
        operation: &str,
        resource: &str,
        work: impl FnOnce(Change) -> F,
    ) -> Result<T> {
        self.act_until(actor, operation, resource, work, |_| 0).await
    }

    /// As [`act`](Self::act), with the exit code of work that ended without an error.
    pub async fn act_until<T, F: Future<Output = Result<T>>>(
        &self,
        actor: &Actor,
        operation: &str,
        resource: &str,
        work: impl FnOnce(Change) -> F,
        exit: impl FnOnce(&T) -> u8,
    ) -> Result<T> {
        let entry = NewAudit {
            actor: actor.name.clone(),
            via: "cli".to_owned(),
            workspace: None,
            operation: operation.to_owned(),
            resource: resource.to_owned(),
            address: Some(format!("uid {}, {}", getuid().as_raw(), gethostname::gethostname().to_string_lossy())),
            request: None,
        };
        let outcome = |done: &Result<T>| match done {
            Ok(done) => (Verdict::Done, format!("exit {}", exit(done))),
            Err(error) => (Verdict::Refused, format!("exit {}", error.exit().code())),
        };
        self.audited((actor, Role::Operator), entry, Recording::Awaited, work, outcome).await?
    }

    /// Does the work between the beginning and the end of its entry, if the actor has at least this role.
    pub async fn audited<T, F: Future<Output = T>>(
        &self,
        (actor, least): (&Actor, Role),
        entry: NewAudit,
        recording: Recording,
        work: impl FnOnce(Change) -> F,
        outcome: impl FnOnce(&T) -> (Verdict, String),
    ) -> Result<T> {
        actor.check_role(least)?;
        // Commands are large futures.
        let work = Box::pin(work(Change { actor: actor.clone(), _recorded: () }));
        let begin = self.audit.begin_audit(entry, self.now());
        let (id, done) = match recording {
            Recording::Awaited => (begin.await?, work.await),
            // Polled in this order, so the store's queue has the entry first.
            Recording::Queued => {
                let (id, done) = futures::join!(begin, work);
                (id?, done)
            }
        };
        let (verdict, detail) = outcome(&done);
        let end = end(self.audit.clone(), id, verdict, detail);
        match recording {
            Recording::Awaited => end.await,
            Recording::Queued => drop(tokio::spawn(end)),
        }
        Ok(done)
    }

    /// Records a request that was rejected before it reached a use case. Nobody waits for the entry.
    pub fn record_rejected(&self, entry: NewAudit, mut detail: String) {
        let now = self.now();
        let Some(left_out) = self.rejected.count(now) else { return };
        if left_out > 0 {
            detail += &format!("; {left_out} earlier ones were not recorded");
        }
        let audit = self.audit.clone();
        tokio::spawn(async move {
            match audit.begin_audit(entry, now).await {
                Ok(id) => end(audit, id, Verdict::Refused, detail).await,
                Err(error) => tracing::error!(%error, "failed to record a rejected request in the audit log"),
            }
        });
    }
}

async fn end(audit: Arc<dyn AuditLog>, id: i64, verdict: Verdict, detail: String) {
    if let Err(error) = audit.end_audit(id, verdict, &detail).await {
        tracing::error!(%error, entry = id, "failed to record the outcome of a change in the audit log");
    }
}

/// Entries of the actor's workspace, newest first.
pub async fn list(app: &App, actor: &Actor, filter: AuditFilter) -> Result<AuditList> {
    let limit = filter.limit;
    let workspace = actor.workspace.clone().or(filter.workspace);
    let found = app.audit.audit(AuditFilter { workspace, ..filter }).await?;
    let next = found.last().filter(|_| found.len() == limit).map(|entry| entry.id);
    Ok(AuditList { entries: found.iter().map(AuditLine::from).collect(), next })
}

/// Rejected requests recorded in the current minute.
#[derive(Default)]
pub struct Rejected(Mutex<Counts>);

#[derive(Default)]
struct Counts {
    minute: i64,
    recorded: i64,
    left_out: i64,
}

impl Rejected {
    /// `None` once enough were recorded; otherwise how many were left out since the last one.
    fn count(&self, now: Time) -> Option<i64> {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if now.0 / MINUTE_MS != counts.minute {
            (counts.minute, counts.recorded) = (now.0 / MINUTE_MS, 0);
        }
        if counts.recorded < REJECTED_PER_MINUTE {
            counts.recorded += 1;
            return Some(std::mem::take(&mut counts.left_out));
        }
        counts.left_out += 1;
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_of_rejected_requests_is_counted_and_not_listed() {
        let rejected = Rejected::default();
        let minute = |n: i64| Time(n * MINUTE_MS + 5);
        let recorded = (0..200).filter(|_| rejected.count(minute(7)).is_some()).count();
        assert_eq!(recorded as i64, REJECTED_PER_MINUTE);
        assert_eq!(rejected.count(minute(8)), Some(200 - REJECTED_PER_MINUTE));
        assert_eq!(rejected.count(minute(8)), Some(0));
    }
}
