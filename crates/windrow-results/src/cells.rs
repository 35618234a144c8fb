//! The cells of one item: what each column holds, or what it waits for, at any moment and from the records alone
//! (T15, T16). The only definition of a cell's state.

use windrow_model::record::{Attempt, ItemDetail, Step};
use windrow_model::state::{AttemptState, ItemState, StepState};
use windrow_model::step::{Score, Usage, Verdict, answer_text};
use windrow_model::{AttemptId, StepId, Time};

windrow_model::vocabulary! {
    /// State of a cell; the words of the task API.
    pub enum CellState {
        #[doc = "Not computed yet, or waits for a retry."]
        Pending = "pending",
        #[doc = "Its call is in flight. After a crash: until the lease of its worker expires."]
        Running = "running",
        #[doc = "Computed; it is not computed again."]
        Completed = "completed",
        #[doc = "Its call failed, or its evaluator could not judge."]
        Failed = "failed",
        #[doc = "Will not be computed: its evaluator does not apply, a column before it failed, or the item was cancelled."]
        Skipped = "skipped",
    }
}

/// How a column is filled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Filled {
    /// An entry of `columns` with an output.
    Column,
    /// The target of a job without `columns`.
    Target,
    Evaluator,
}

/// A column of a definition; they stand in the order of computation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CellColumn {
    pub name: String,
    pub filled: Filled,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    pub column: String,
    pub state: CellState,
    /// The whole output; a number for an evaluator.
    pub value: Option<String>,
    /// Of an evaluator.
    pub score: Option<Score>,
    /// Why it is failed, skipped, or pending again.
    pub reason: Option<String>,
    /// Calls made for it, reused ones not counted.
    pub tries: u32,
    pub usage: Usage,
    pub took_ms: Option<i64>,
    pub finished_at: Option<Time>,
    /// The record behind it.
    pub step: Option<StepId>,
}

/// In the order of `columns`. `counts` says which attempts are of the definition that the columns are of.
pub fn of(detail: &ItemDetail, columns: &[CellColumn], counts: impl Fn(&Attempt) -> bool) -> Vec<Cell> {
    let counted: Vec<AttemptId> = detail.attempts.iter().filter(|one| counts(one)).map(|one| one.id).collect();
    let records = Records {
        detail,
        running: detail.attempts.last().filter(|one| one.state == AttemptState::Running).map(|one| one.id),
        steps: detail.steps.iter().filter(|step| counted.contains(&step.id.attempt())).collect(),
    };
    let mut cells: Vec<Cell> = columns.iter().map(|column| records.cell(column)).collect();
    close(&mut cells, detail);
    cells
}

struct Records<'a> {
    detail: &'a ItemDetail,
    /// The attempt that a worker executes.
    running: Option<AttemptId>,
    steps: Vec<&'a Step>,
}

impl Records<'_> {
    fn cell(&self, column: &CellColumn) -> Cell {
        let own: Vec<&Step> = self.steps.iter().copied().filter(|step| is_of(step, column)).collect();
        let latest = own.iter().copied().max_by_key(|step| step.id);
        let made = latest.map(|step| self.made(step));
        let cell = Cell {
            column: column.name.clone(),
            state: CellState::Pending,
            value: None,
            score: None,
            reason: None,
            tries: own.iter().filter(|step| step.state != StepState::Reused).count() as u32,
            usage: latest.map_or_else(Usage::default, |latest| self.used(&own, latest.id.attempt())),
            took_ms: made.and_then(|step| step.ended_at.map(|ended| ended - step.started_at)),
            finished_at: None,
            step: latest.map(|step| step.id),
        };
        match column.filled {
            Filled::Evaluator => self.judged(cell, &own),
            Filled::Column | Filled::Target => match latest {
                Some(step) => self.computed(cell, step),
                None => cell,
            },
        }
    }

    /// A cell may take several calls, of a judge or of a target that answers later.
    fn used(&self, own: &[&Step], attempt: AttemptId) -> Usage {
        let mut usage = Usage::default();
        let of_attempt = own.iter().filter(|step| step.id.attempt() == attempt);
        of_attempt.for_each(|step| usage += self.made(step).usage);
        usage
    }

    fn computed(&self, cell: Cell, step: &Step) -> Cell {
        let state = self.state_of(step);
        let value = match state {
            CellState::Completed => answer_of(self.made(step)),
            _ => None,
        };
        let finished_at = step.ended_at.filter(|_| state == CellState::Completed);
        Cell { state, value, finished_at, reason: step.failure.as_ref().map(ToString::to_string), ..cell }
    }

    /// Pending where the call failed: whether it is made again, the item knows.
    fn state_of(&self, step: &Step) -> CellState {
        match step.state {
            StepState::Done | StepState::Reused => CellState::Completed,
            StepState::Intent if self.running == Some(step.id.attempt()) => CellState::Running,
            StepState::Intent | StepState::Failed | StepState::Unknown => CellState::Pending,
        }
    }

    fn judged(&self, cell: Cell, own: &[&Step]) -> Cell {
        let finding = own.iter().filter(|step| step.kind == "evaluator").max_by_key(|step| step.id);
        let finding = finding.filter(|step| self.state_of(step) == CellState::Completed);
        let score = match self.detail.item.state {
            ItemState::Queued => finding.and_then(|step| score_of(&cell.column, self.made(step))),
            _ => worst(self.detail.scores.iter().filter(|score| score.name == cell.column)).cloned(),
        };
        let Some(score) = score else {
            let calls = own.iter().any(|step| self.state_of(step) == CellState::Running);
            let state = if calls { CellState::Running } else { CellState::Pending };
            return Cell { state, ..cell };
        };
        let state = match score.verdict {
            Verdict::Pass | Verdict::Fail => CellState::Completed,
            Verdict::Error => CellState::Failed,
            Verdict::Skipped => CellState::Skipped,
        };
        Cell {
            state,
            value: score.value.map(|value| value.to_string()),
            reason: Some(score.reason.clone()).filter(|reason| !reason.is_empty()),
            finished_at: finding.and_then(|step| step.ended_at),
            score: Some(score),
            ..cell
        }
    }

    /// The step that has the result: a reused one has it from another.
    fn made<'b>(&'b self, step: &'b Step) -> &'b Step {
        let from = step.reused_from.and_then(|from| self.detail.steps.iter().find(|other| other.id == from));
        from.unwrap_or(step)
    }
}

fn is_of(step: &Step, column: &CellColumn) -> bool {
    match column.filled {
        Filled::Column => step.name == column.name && matches!(step.kind.as_str(), "column" | "collect"),
        Filled::Target => step.name.is_empty() && matches!(step.kind.as_str(), "target" | "collect"),
        Filled::Evaluator => step.name == column.name && matches!(step.kind.as_str(), "evaluator" | "call"),
    }
}

fn answer_of(made: &Step) -> Option<String> {
    answer_text(&made.kind, made.output.as_ref()?)
}

fn score_of(name: &str, made: &Step) -> Option<Score> {
    let finding = made.output.as_ref()?.value();
    Some(Score {
        name: name.to_owned(),
        version: String::new(),
        turn: made.turn,
        verdict: finding["verdict"].as_str()?.parse().ok()?,
        value: finding["value"].as_f64(),
        reason: finding["reason"].as_str().unwrap_or_default().to_owned(),
    })
}

/// Of the turns of a conversation: an error before a verdict, the lowest value, a skipped one last.
fn worst<'a>(scores: impl Iterator<Item = &'a Score>) -> Option<&'a Score> {
    let rank = |score: &Score| match score.verdict {
        Verdict::Error => 0,
        Verdict::Pass | Verdict::Fail => 1,
        Verdict::Skipped => 2,
    };
    scores.min_by(|a, b| rank(a).cmp(&rank(b)).then(a.value.unwrap_or(1.0).total_cmp(&b.value.unwrap_or(1.0))))
}

/// What the end of the item says about cells that have no value.
fn close(cells: &mut [Cell], detail: &ItemDetail) {
    let open = |cell: &Cell| matches!(cell.state, CellState::Pending | CellState::Running);
    match detail.item.state {
        ItemState::Queued | ItemState::Succeeded => {}
        ItemState::Failed => {
            let culprit = cells.iter().position(|cell| open(cell) && cell.reason.is_some());
            let Some(culprit) = culprit.or_else(|| cells.iter().position(open)) else { return };
            let error = detail.item.error.as_ref().map(|(class, message)| format!("{class}: {message}"));
            let reason = format!("`{}` failed", cells[culprit].column);
            cells[culprit].state = CellState::Failed;
            cells[culprit].reason = error.or(cells[culprit].reason.take());
            skip(cells, &reason);
        }
        ItemState::Cancelled => skip(cells, "the item was cancelled"),
        ItemState::Skipped => skip(cells, "the item was skipped"),
    }
}

fn skip(cells: &mut [Cell], reason: &str) {
    for cell in cells.iter_mut().filter(|cell| matches!(cell.state, CellState::Pending | CellState::Running)) {
        (cell.state, cell.reason) = (CellState::Skipped, Some(reason.to_owned()));
    }
}
