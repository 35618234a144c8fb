//! Report: a worker's steps and its last word, under its lease. A stale worker changes nothing; a
//! report whose answer was lost is recognised.

use windrow_model::Time;
use windrow_model::state::{ATTEMPT, AttemptEvent, AttemptState, Outcome};
use windrow_model::store::{Ending, Receipt, Report, StepWrite};

use crate::backend::Connection;
use crate::backend::failure::Result;
use crate::sql::table::attempts::{self, AttemptHead};
use crate::sql::verb::batch::Batch;
use crate::sql::verb::deferred::Deferred;
use crate::sql::verb::{ending, step_writes};

pub(crate) fn report<'tx>(tx: &'tx Connection, reports: &'tx [Report], now: Time) -> Result<Vec<Receipt>> {
    let known = attempts::held(tx, reports.iter().map(|report| report.lease.attempt))?;
    let deferred = Deferred::read(tx, reports)?;
    let mut batch = Batch::open(tx, known, deferred, now);
    let receipts = reports.iter().map(|report| receive(&mut batch, report)).collect::<Result<_>>()?;
    batch.close()?;
    Ok(receipts)
}

fn receive<'tx>(batch: &mut Batch<'tx>, report: &'tx Report) -> Result<Receipt> {
    let Report { lease, steps, ending } = report;
    let Some(attempt) = batch.known.get(&lease.attempt).cloned() else { return Ok(Receipt::Stale) };
    if !attempt.is_of(*lease) {
        return Ok(Receipt::Stale);
    }
    if !ATTEMPT.allows(attempt.state, AttemptEvent::Renew) {
        return Ok(if ended_so(&attempt, ending) { Receipt::Repeated } else { Receipt::Stale });
    }
    if !steps.is_empty() {
        batch.facts(lease.run)?.heard = true;
    }
    let begins = |write: &&StepWrite| matches!(write, StepWrite::Begin { .. });
    let stop = steps.iter().any(|write| begins(&write)) && {
        let facts = batch.facts(lease.run)?;
        facts.state.stops_items() || facts.exhausted().is_some()
    };
    // What was finished is kept either way; it has been paid for.
    for write in steps.iter().filter(|write| !stop || !begins(write)) {
        step_writes::write(batch, &attempt, write)?;
    }
    if stop {
        return Ok(Receipt::Stop);
    }
    ending::end(batch, &attempt, ending)?;
    Ok(Receipt::Accepted)
}

/// The answer to the first delivery was lost, and this is the second.
fn ended_so(attempt: &AttemptHead, ending: &Ending) -> bool {
    use AttemptState::*;
    match ending {
        Ending::HandIn { outcome, .. } => {
            matches!(attempt.state, Logged | Resulted) && attempt.outcome == Some(*outcome)
        }
        Ending::Retry { .. } => attempt.state == Resulted && attempt.outcome == Some(Outcome::Retried),
        Ending::Release => attempt.state == Queued,
        Ending::None | Ending::Partial { .. } => false,
    }
}
