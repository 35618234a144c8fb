//! What people said about a row (E19), beside what was computed: a correction replaces the computed value only where the
//! reader asks for corrected numbers, and only while the output is the one that was looked at.

use windrow_model::label::{NOTE, OUTCOME};
use windrow_model::step::Verdict;

use crate::label::RowLabel;
use crate::row::{ResultRow, RowOutcome};

pub(crate) fn is_reviewed(labels: &[RowLabel]) -> bool {
    labels.iter().any(|label| label.name != NOTE && !label.outdated && label.number().is_some())
}

pub(crate) fn computed(name: &str, score: Option<f64>, outcome: RowOutcome) -> Option<f64> {
    match (score, outcome) {
        (None, RowOutcome::Pass) if name == OUTCOME => Some(1.0),
        (None, RowOutcome::Fail) if name == OUTCOME => Some(0.0),
        (score, _) => score,
    }
}

/// A row as people see it: each evaluator that they corrected has one score, theirs.
pub struct Judgement<'a> {
    pub turn: u32,
    pub name: &'a str,
    pub verdict: Verdict,
    pub value: Option<f64>,
}

impl ResultRow {
    pub fn label(&self, name: &str) -> Option<&RowLabel> {
        self.labels.iter().find(|label| label.name == name)
    }

    /// What a person says instead of the computed value.
    pub fn correction(&self, name: &str) -> Option<&RowLabel> {
        self.label(name).filter(|label| !label.outdated && label.number().is_some())
    }

    /// What an evaluator found; under `outcome`, whether the row passed.
    pub fn computed(&self, name: &str) -> Option<f64> {
        computed(name, self.score(name), self.outcome)
    }

    /// Whether an evaluator passed the row in every turn; `None` where it could not tell.
    pub fn computed_pass(&self, name: &str) -> Option<bool> {
        let mut verdicts = self.of_evaluator(name).map(|score| score.verdict).peekable();
        if verdicts.peek().is_none() {
            return (name == OUTCOME).then(|| self.computed(name)).flatten().map(|value| value == 1.0);
        }
        let verdicts: Vec<Verdict> = verdicts.collect();
        match verdicts.contains(&Verdict::Fail) {
            true => Some(false),
            false => verdicts.iter().all(|verdict| *verdict == Verdict::Pass).then_some(true),
        }
    }

    /// The correction, else the computed value.
    pub fn corrected(&self, name: &str) -> Option<f64> {
        self.correction(name).and_then(RowLabel::number).or_else(|| self.computed(name))
    }

    /// Somebody gave a verdict or a value on this output.
    pub fn is_reviewed(&self) -> bool {
        is_reviewed(&self.labels)
    }

    pub fn judgements(&self, corrected: bool) -> impl Iterator<Item = Judgement<'_>> {
        let of_people = self.labels.iter().filter(move |label| corrected && self.correction(&label.name).is_some());
        let theirs = of_people.filter_map(|label| {
            let verdict = if label.passes()? { Verdict::Pass } else { Verdict::Fail };
            Some(Judgement { turn: 0, name: &label.name, verdict, value: label.number() })
        });
        let computed = self.scores.iter().filter(move |score| !corrected || self.correction(&score.name).is_none());
        let computed = computed.map(|score| Judgement {
            turn: score.turn,
            name: &score.name,
            verdict: score.verdict,
            value: score.value,
        });
        computed.chain(theirs)
    }
}
