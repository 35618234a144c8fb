//! Counts a batch of reports after the store has answered it, as accepted, so that metrics agree with the rows.

use windrow_model::state::Outcome;
use windrow_model::step::{StepResult, Usage};
use windrow_model::store::{Ending, Receipt, Report, StepWrite};

use super::{Meters, SETTLED_AS};

#[derive(Default)]
pub struct Tally {
    refused: u64,
    settled: [u64; SETTLED_AS.len()],
    used: Usage,
}

impl Tally {
    pub fn count(meters: &Meters, reports: &[Report], receipts: &[Receipt]) {
        let mut tally = Self::default();
        for (report, receipt) in reports.iter().zip(receipts) {
            match receipt {
                Receipt::Stale => tally.refused += 1,
                // A repeated report is one of this batch whose first answer was lost.
                Receipt::Accepted | Receipt::Repeated => tally.add(meters, report),
                Receipt::Stop => tally.add_steps(meters, report),
            }
        }
        tally.add_to(meters);
    }

    fn add(&mut self, meters: &Meters, report: &Report) {
        self.add_steps(meters, report);
        match &report.ending {
            Ending::HandIn { outcome, failure, .. } => {
                if let Some(index) = SETTLED_AS.iter().position(|known| known == outcome) {
                    self.settled[index] += 1;
                }
                if let (Outcome::Failed, Some(failure)) = (outcome, failure) {
                    meters.item_errors[failure.class as usize].increment(1);
                }
            }
            Ending::Retry { failure, .. } => meters.retries[failure.class as usize].increment(1),
            Ending::None | Ending::Partial { .. } | Ending::Release => {}
        }
    }

    fn add_steps(&mut self, meters: &Meters, report: &Report) {
        for step in &report.steps {
            match step {
                StepWrite::Finish { result, .. } | StepWrite::Whole { result, .. } => match result {
                    StepResult::Done { usage, .. } => self.used += *usage,
                    StepResult::Failed { failure } => meters.step_errors[failure.class as usize].increment(1),
                },
                StepWrite::Begin { .. } | StepWrite::Reuse { .. } => {}
            }
        }
    }

    fn add_to(self, meters: &Meters) {
        if self.refused > 0 {
            meters.refused.increment(self.refused);
        }
        self.settled
            .iter()
            .zip(&meters.settled)
            .filter(|(n, _)| **n > 0)
            .for_each(|(n, counter)| counter.increment(*n));
        if self.used != Usage::default() {
            meters.tokens_in.increment(self.used.tokens_in.max(0) as u64);
            meters.tokens_out.increment(self.used.tokens_out.max(0) as u64);
            meters.cost.increment(self.used.cost_nanos.max(0) as u64);
        }
    }
}
