//! The findings of one evaluator: one per row in an array, several turns of a row in a list behind it.

use std::sync::Arc;

use windrow_model::step::Verdict;

use crate::columns::arrays::Floats;
use crate::columns::bytes::{Put, Take};
use crate::row::ResultRow;

const NONE: u8 = 0;
const SEVERAL: u8 = u8::MAX;

#[derive(Debug)]
pub struct ScoreColumn {
    /// One more than the place of the verdict; rows with several findings, or one of a later turn, are in `several`.
    verdicts: Box<[u8]>,
    values: Floats,
    several: Several,
}

#[derive(Debug, Default)]
struct Several {
    rows: Vec<u32>,
    ends: Vec<u32>,
    findings: Vec<(u32, u8)>,
    values: Floats,
}

impl ScoreColumn {
    pub fn of(name: &str, rows: &[Arc<ResultRow>]) -> Self {
        let (mut verdicts, mut values) = (Vec::with_capacity(rows.len()), Vec::with_capacity(rows.len()));
        let (mut several, mut of_several) = (Several::default(), Vec::new());
        for (at, row) in rows.iter().enumerate() {
            let mut own: Vec<_> = row.of_evaluator(name).collect();
            own.sort_by_key(|score| score.turn);
            match own.as_slice() {
                [] => verdicts.push(NONE),
                [one] if one.turn == 0 => verdicts.push(one.verdict as u8 + 1),
                _ => verdicts.push(SEVERAL),
            }
            let one = own.first().filter(|_| verdicts.last().is_some_and(|verdict| *verdict != SEVERAL));
            values.push(one.and_then(|score| score.value));
            if verdicts.last() == Some(&SEVERAL) {
                several.rows.push(at as u32);
                several.findings.extend(own.iter().map(|score| (score.turn, score.verdict as u8)));
                several.ends.push(several.findings.len() as u32);
                of_several.extend(own.iter().map(|score| score.value));
            }
        }
        several.values = Floats::of(&of_several);
        Self { verdicts: verdicts.into(), values: Floats::of(&values), several }
    }

    pub fn put(&self, out: &mut Put) {
        let Several { rows, ends, findings, values } = &self.several;
        out.bytes(&self.verdicts);
        self.values.put(out);
        out.ints(rows.iter().map(|row| i64::from(*row)));
        out.ints(ends.iter().map(|end| i64::from(*end)));
        out.ints(findings.iter().map(|(turn, _)| i64::from(*turn)));
        out.bytes(&findings.iter().map(|(_, verdict)| *verdict).collect::<Vec<_>>());
        values.put(out);
    }

    /// Of so many rows.
    pub fn take(from: &mut Take, len: usize) -> Option<Self> {
        let narrow = |ints: Vec<i64>| ints.into_iter().map(|int| u32::try_from(int).ok()).collect::<Option<Vec<_>>>();
        let verdicts: Box<[u8]> = from.bytes()?.into();
        let values = Floats::take(from, len)?;
        let (rows, ends, turns) = (narrow(from.ints()?)?, narrow(from.ints()?)?, narrow(from.ints()?)?);
        let of_several = from.bytes()?;
        let fits = verdicts.len() == len && rows.len() == ends.len() && turns.len() == of_several.len();
        let findings: Vec<(u32, u8)> = turns.into_iter().zip(of_several.iter().copied()).collect();
        let several = Several { rows, ends, values: Floats::take(from, findings.len())?, findings };
        fits.then_some(Self { verdicts, values, several })
    }

    pub fn is_given(&self, at: usize) -> bool {
        self.verdicts[at] != NONE
    }

    /// Turn by turn.
    pub fn each(&self, at: usize, mut finding: impl FnMut(u32, Verdict, Option<f64>)) {
        match self.verdicts[at] {
            NONE => {}
            SEVERAL => {
                let Ok(no) = self.several.rows.binary_search(&(at as u32)) else { return };
                let from = no.checked_sub(1).map_or(0, |before| self.several.ends[before]);
                for n in from as usize..self.several.ends[no] as usize {
                    let (turn, verdict) = self.several.findings[n];
                    finding(turn, Verdict::ALL[usize::from(verdict)], self.several.values.get(n));
                }
            }
            verdict => finding(0, Verdict::ALL[usize::from(verdict) - 1], self.values.get(at)),
        }
    }

    /// The lowest value over the turns.
    pub fn lowest(&self, at: usize) -> Option<f64> {
        if self.verdicts[at] != SEVERAL {
            return self.values.get(at);
        }
        let mut lowest: Option<f64> = None;
        self.each(at, |_, _, value| {
            lowest = value.map(|value| lowest.map_or(value, |low| low.min(value))).or(lowest);
        });
        lowest
    }
}
