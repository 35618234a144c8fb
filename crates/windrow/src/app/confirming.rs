//! `confirm: N` in a job file: before a failed gate counts, the rows that failed are run again, up to N times. Every
//! call is repeated; each time the new results replace the old ones, and the gates are judged by the whole job.

use windrow_model::ItemId;
use windrow_model::aggregate::Aggregates;
use windrow_model::gate::{Gate, GateVerdict, Judged, Metric, RunMeasure};
use windrow_model::item_query::{Cursor, FoundItem, ItemQuery};
use windrow_model::record::Job;
use windrow_model::state::{ItemState, Mode};
use windrow_model::step::Verdict;
use windrow_model::store::Selection;
use windrow_wire::Confirming;
use windrow_wire::request::ConfirmRequest;

use crate::app::audit::Change;
use crate::app::results::{self, Options};
use crate::app::{App, lookup, submit};
use crate::error::{Exit, Result};
use crate::text;

/// More failing rows than this are no accident.
const MOST: usize = 1_000;
const PAGE: usize = 1_000;

/// Runs the failing rows of the latest run again, if it failed its gates and the job file wants that.
pub async fn next(app: &App, change: &Change, job: &str, wish: ConfirmRequest) -> Result<Confirming> {
    let (job, latest) = lookup::job(app, &change.actor, job).await?;
    if job.kind != windrow_experiment::KIND || !latest.state.is_final() {
        return Ok(Confirming::default());
    }
    let spec = app.store.spec(&latest.spec_hash).await?;
    let quality =
        windrow_experiment::quality(&spec).map_err(|error| results::unreadable_gates(&job, &latest, &error))?;
    let before = latest.selection.as_ref().and_then(|selection| selection.confirm_no);
    // A retry or an append by a person is not a build.
    let Some(of) = quality.confirm.filter(|_| latest.mode == Mode::Submit || before.is_some()) else {
        return Ok(Confirming::default());
    };
    let done = before.unwrap_or(0);
    let nothing = |note: Option<String>| Ok(Confirming { no: done, of, note, ..Confirming::default() });
    let options = Options { baseline: wish.baseline, worst: 0 };
    let assessed = results::assessment(app, &change.actor, &latest.id.to_string(), &options).await?;
    if assessed.exit != Exit::GateFailed {
        return nothing(None);
    }
    if done >= of {
        return nothing(Some(format!("still failing after {} of the failing rows", text::plural(of.into(), "repeat"))));
    }
    let items = Failing::of(&assessed.gates, &assessed.whole.aggregates).items(app, &job).await?;
    if items.is_empty() {
        return nothing(Some("no rows to run again: the failed gates are not about failing rows".to_owned()));
    }
    if items.len() > MOST {
        return nothing(Some(format!("more than {MOST} rows fail; that many are not run again")));
    }
    let count = items.len();
    use ItemState::*;
    let states = vec![Succeeded, Failed, Cancelled, Skipped];
    let selection = Selection { states, items, confirm_no: Some(done + 1), ..Selection::default() };
    let request = submit::of_run(app, change, &job, &latest, Mode::FailRetry).await?;
    let request = windrow_engine::Request { selection: Some(selection), fresh: true, ..request };
    let started = submit::start(app, request, Vec::new()).await?;
    Ok(Confirming { run: Some(started.run), no: done + 1, of, items: count, note: None })
}

/// What the failed gates are about.
#[derive(Default)]
struct Failing {
    /// Evaluators, with the variant where the gate names one.
    evaluators: Vec<(Option<String>, String)>,
    /// Items that failed themselves.
    items: bool,
}

impl Failing {
    fn of(gates: &[Judged], aggregates: &Aggregates) -> Self {
        let mut failing = Self::default();
        let failed = gates.iter().filter(|judged| judged.verdict == GateVerdict::Failed);
        for gate in failed.filter_map(|judged| Gate::parse(&judged.gate).ok()) {
            match gate.metric {
                Metric::Evaluator { name, .. } => {
                    let (variant, evaluator) = aggregates.named(&name).unwrap_or((None, &name));
                    failing.evaluators.push((variant.map(str::to_owned), evaluator.to_owned()));
                }
                Metric::Run(RunMeasure::Failed | RunMeasure::Succeeded) => failing.items = true,
                Metric::Run(_) => {}
            }
        }
        failing
    }

    fn takes(&self, found: &FoundItem) -> bool {
        let fails = |(variant, name): &(Option<String>, String)| {
            (variant.is_none() || *variant == found.item.variant)
                && found.scores.iter().any(|score| score.name == *name && score.verdict == Verdict::Fail)
        };
        match found.item.state {
            ItemState::Succeeded => self.evaluators.iter().any(fails),
            ItemState::Failed => self.items,
            _ => false,
        }
    }

    /// At most one more than are run again.
    async fn items(&self, app: &App, job: &Job) -> Result<Vec<ItemId>> {
        let (mut items, mut after): (Vec<ItemId>, Option<Cursor>) = (Vec::new(), None);
        loop {
            let (condition, sort) = (None, None);
            let query = ItemQuery { job: job.id, run: None, condition, sort, after, limit: PAGE, scan: PAGE };
            let page = app.store.search_items(query).await?;
            items.extend(page.items.iter().filter(|found| self.takes(found)).map(|found| found.item.id));
            after = page.next;
            if after.is_none() || items.len() > MOST {
                return Ok(items);
            }
        }
    }
}
