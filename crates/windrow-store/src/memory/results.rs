use windrow_model::aggregate::{Aggregates, Tally};
use windrow_model::compare::{Comparison, Finding, Pairing, Side};
use windrow_model::record::{Attempt, BadScore, ItemResult};
use windrow_model::state::{AttemptState, ItemState, Outcome};
use windrow_model::step::{ContentKey, Score, Verdict};
use windrow_model::store::{Result, RunPart};
use windrow_model::{ErrorClass, ItemId, JobId, RunId};

use super::world::{AttemptRow, ItemRow, World};

impl World {
    /// Over the current results of a job's items.
    pub fn tally_current(&self, job: JobId) -> Aggregates {
        let rows = self.items.iter().filter(|(_, row)| row.job == job);
        tally(rows.filter_map(|(id, row)| {
            let archived = &self.attempts[&row.archived?];
            let error = row.error.as_ref().map(|(class, _)| *class);
            let variant = row.variant.as_deref();
            Some(Tallied {
                id: *id,
                variant,
                group: row.group,
                state: row.state,
                error,
                of: archived,
                scores: &row.scores,
            })
        }))
    }

    /// Over the results that a run archived.
    pub fn tally_of(&self, run: RunId) -> Aggregates {
        tally(self.handed_in(run).filter_map(|(id, row, outcome, of)| {
            let state = match outcome {
                Outcome::Succeeded => ItemState::Succeeded,
                Outcome::Failed => ItemState::Failed,
                Outcome::Skipped => ItemState::Skipped,
                Outcome::Cancelled | Outcome::Retried | Outcome::Lost => return None,
            };
            let error = of.attempt.error.as_ref().map(|(class, _)| *class);
            Some(Tallied {
                id,
                variant: row.variant.as_deref(),
                group: row.group,
                state,
                error,
                of,
                scores: &of.scores,
            })
        }))
    }

    pub fn failed_classes(&self, run: RunId) -> Vec<ErrorClass> {
        let failed = |attempt: &Attempt| attempt.run == run && attempt.outcome == Some(Outcome::Failed);
        let of_class =
            |attempt: &Attempt, class: ErrorClass| attempt.error.as_ref().is_some_and(|(of, _)| *of == class);
        let has = |class: &ErrorClass| {
            self.attempts.values().any(|row| failed(&row.attempt) && of_class(&row.attempt, *class))
        };
        ErrorClass::ALL.iter().copied().filter(has).collect()
    }

    /// What the run handed in for good, by item: at most one attempt each.
    fn handed_in(&self, run: RunId) -> impl Iterator<Item = (ItemId, &ItemRow, Outcome, &AttemptRow)> {
        self.attempts.values().filter_map(move |row| {
            let attempt = &row.attempt;
            let outcome = attempt.outcome.filter(|outcome| !matches!(outcome, Outcome::Retried | Outcome::Lost))?;
            let settled = attempt.run == run && attempt.state == AttemptState::Resulted;
            settled.then(|| (attempt.id.item(), &self.items[&attempt.id.item()], outcome, row))
        })
    }

    pub fn results(&self, run: RunId, after: Option<ItemId>, limit: usize) -> Result<Vec<ItemResult>> {
        let run = self.run(run)?.id;
        let behind = self.handed_in(run).filter(|(item, ..)| after.is_none_or(|after| *item > after));
        let result = |(item, row, outcome, handed_in): (ItemId, &ItemRow, Outcome, &AttemptRow)| ItemResult {
            item,
            ordinal: row.ordinal,
            attempt: handed_in.attempt.id,
            outcome,
            error: handed_in.attempt.error.clone(),
            latency_ms: handed_in.latency_ms,
            usage: handed_in.usage,
            scores: in_order(&handed_in.scores).into_iter().cloned().collect(),
        };
        Ok(behind.take(limit).map(result).collect())
    }

    pub fn worst(&self, run: RunId, limit: usize) -> Result<Vec<BadScore>> {
        let run = self.run(run)?.id;
        let mut found = Vec::new();
        for (item, row, _, handed_in) in self.handed_in(run) {
            for score in in_order(&handed_in.scores) {
                if score.is_own() && matches!(score.verdict, Verdict::Fail | Verdict::Error) {
                    let attempt = handed_in.attempt.id;
                    found.push(BadScore { item, ordinal: row.ordinal, attempt, score: score.clone() });
                }
            }
        }
        // Stable, so that equals stay in the order of items, turns and names.
        found.sort_by(|a, b| {
            let rank = |bad: &BadScore| (bad.score.verdict == Verdict::Error, bad.score.value.is_some());
            let value = |bad: &BadScore| bad.score.value.unwrap_or(0.0);
            rank(a).cmp(&rank(b)).then(value(a).total_cmp(&value(b)))
        });
        found.truncate(limit);
        Ok(found)
    }

    pub fn compare(&self, before: &RunPart, after: &RunPart, limit: usize) -> Result<Comparison> {
        let mut found: Vec<(&str, ContentKey, Side, ItemId, &ItemRow, &Score)> = Vec::new();
        for (side, part) in [(Side::Before, before), (Side::After, after)] {
            let run = self.run(part.run)?.id;
            let is_meant = |row: &ItemRow| part.variant.is_none() || part.variant == row.variant;
            let scored: Vec<(ItemId, &ItemRow, &[Score])> = match part.whole {
                true => {
                    let job = self.run(run)?.job;
                    let rows = self.items.iter().filter(|(_, row)| row.job == job && row.archived.is_some());
                    rows.map(|(item, row)| (*item, row, row.scores.as_slice())).collect()
                }
                false => self
                    .handed_in(run)
                    .map(|(item, row, _, handed_in)| (item, row, handed_in.scores.as_slice()))
                    .collect(),
            };
            for (item, row, scores) in scored.into_iter().filter(|(_, row, _)| is_meant(row)) {
                let counts = |s: &&Score| s.is_own() && matches!(s.verdict, Verdict::Pass | Verdict::Fail);
                for score in scores.iter().filter(counts) {
                    found.push((&score.name, row.group.unwrap_or(row.key), side, item, row, score));
                }
            }
        }
        found.sort_by_key(|(evaluator, row, side, item, _, score)| (*evaluator, *row, *side as i64, *item, score.turn));
        let mut pairing = Pairing::new(limit);
        for (evaluator, row, side, item, of, score) in found {
            let (variant, ordinal, verdict, value) = (of.variant.as_deref(), of.ordinal, score.verdict, score.value);
            pairing.add(Finding { evaluator, row, side, item, variant, ordinal, verdict, value });
        }
        Ok(pairing.finish())
    }
}

/// One item's part in a tally.
struct Tallied<'a> {
    id: ItemId,
    variant: Option<&'a str>,
    group: Option<ContentKey>,
    state: ItemState,
    error: Option<ErrorClass>,
    of: &'a AttemptRow,
    scores: &'a [Score],
}

fn tally<'a>(items: impl Iterator<Item = Tallied<'a>>) -> Aggregates {
    let mut tally = Tally::default();
    let mut items: Vec<Tallied> = items.collect();
    items.sort_by_key(|item| (item.group, item.id));
    for item in items {
        tally.item_of(item.variant, item.group, item.state, Some(item.of.latency_ms), item.of.usage);
        if let (ItemState::Failed, Some(class)) = (item.state, item.error) {
            tally.error(class);
        }
        for score in in_order(item.scores) {
            tally.score(score.turn, &score.name, score.verdict, score.value);
        }
    }
    tally.finish()
}

fn in_order(scores: &[Score]) -> Vec<&Score> {
    let mut scores: Vec<&Score> = scores.iter().collect();
    scores.sort_by(|a, b| (a.turn, &a.name).cmp(&(b.turn, &b.name)));
    scores
}
