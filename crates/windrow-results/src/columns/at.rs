//! What a row answers to a name, wherever it lies.

use std::io;

use windrow_model::ItemId;
use windrow_model::state::ItemState;
use windrow_model::step::{Usage, Verdict};

use crate::columns::scores::ScoreColumn;
use crate::columns::sheet::{FieldColumn, Sheet, TextName};
use crate::columns::words::Lexicon;
use crate::columns::{Grid, Pairs, Reader};
use crate::label::RowLabel;
use crate::query::{Kind, Name, Seen, Value, cost_delta, of_json, tokens};
use crate::row::{EXPECTED, ResultRow, RowOutcome};

/// A row in its sheet, or one that lies over it.
#[derive(Clone, Copy)]
pub(super) enum At<'a> {
    Row(&'a ResultRow),
    Sheet(&'a Sheet, usize),
}

macro_rules! answers {
    ($($name:ident -> $type:ty: $row:ident => $of_row:expr, $sheet:ident $at:ident => $of_sheet:expr;)+) => {
        impl<'a> At<'a> {
            $(pub fn $name(&self) -> $type {
                match *self {
                    At::Row($row) => $of_row,
                    At::Sheet($sheet, $at) => $of_sheet,
                }
            })+
        }
    };
}

answers! {
    item -> ItemId: row => row.item, sheet at => ItemId(sheet.item.number(at));
    key -> [u8; 16]: row => row.key.0, sheet at => sheet.key[at];
    ordinal -> i64: row => row.ordinal, sheet at => sheet.ordinal.number(at);
    planned -> i64: row => row.planned, sheet at => sheet.planned.number(at);
    trial -> i64: row => row.trial, sheet at => sheet.trial.number(at);
    state -> ItemState: row => row.state, sheet at => sheet.state(at);
    outcome -> RowOutcome: row => row.outcome, sheet at => sheet.outcome(at);
    latency_ms -> Option<i64>: row => row.latency_ms, sheet at => sheet.latency_ms.get(at);
    usage -> Usage: row => row.usage, sheet at => sheet.usage(at);
    labels -> &'a [RowLabel]: row => &row.labels, sheet at => sheet.labels(at);
}

impl<'a> At<'a> {
    pub fn variant(&self, lexicon: &'a Lexicon) -> Option<&'a str> {
        match *self {
            At::Row(row) => row.variant.as_deref(),
            At::Sheet(sheet, at) => sheet.variant_code(at).and_then(|code| lexicon.variant(code)),
        }
    }

    /// The findings of an evaluator, turn by turn.
    pub fn findings(&self, evaluator: &str, mut finding: impl FnMut(u32, Verdict, Option<f64>)) {
        match *self {
            At::Row(row) => {
                let mut own: Vec<_> = row.of_evaluator(evaluator).collect();
                own.sort_by_key(|score| score.turn);
                own.iter().for_each(|score| finding(score.turn, score.verdict, score.value));
            }
            At::Sheet(sheet, at) => {
                if let Some(column) = sheet.scores.get(evaluator) {
                    column.each(at, finding);
                }
            }
        }
    }

    pub fn score(&self, evaluator: &str) -> Option<f64> {
        match *self {
            At::Row(row) => row.score(evaluator),
            At::Sheet(sheet, at) => sheet.scores.get(evaluator).and_then(|column| column.lowest(at)),
        }
    }

    /// What a person says instead of the computed value.
    pub fn correction(&self, name: &str) -> Option<&'a RowLabel> {
        let label = self.labels().iter().find(|label| label.name == name);
        label.filter(|label| !label.outdated && label.number().is_some())
    }
}

/// The findings of one evaluator in row after row: its array is looked up once per sheet.
pub(super) struct Findings<'a, 'n> {
    name: &'n str,
    sheet: Option<&'a Sheet>,
    column: Option<&'a ScoreColumn>,
}

impl<'a, 'n> Findings<'a, 'n> {
    pub fn of(name: &'n str) -> Self {
        Self { name, sheet: None, column: None }
    }

    pub fn each(&mut self, at: At<'a>, finding: impl FnMut(u32, Verdict, Option<f64>)) {
        let At::Sheet(sheet, place) = at else { return at.findings(self.name, finding) };
        if !self.sheet.is_some_and(|known| std::ptr::eq(known, sheet)) {
            (self.sheet, self.column) = (Some(sheet), sheet.scores.get(self.name));
        }
        if let Some(column) = self.column {
            column.each(place, finding);
        }
    }
}

fn number<'a>(number: Option<f64>) -> Value<'a> {
    number.map_or(Value::Null, Value::Number)
}

fn text<'a>(text: Option<&'a str>) -> Value<'a> {
    text.map_or(Value::Null, |text| Value::Text(text.into()))
}

fn owned<'a>(text: Option<&str>) -> Value<'a> {
    text.map_or(Value::Null, |text| Value::Text(text.to_owned().into()))
}

/// The texts that a name asks for; none: it is answered by arrays.
pub(super) fn texts_of(name: &Name) -> bool {
    matches!(
        name,
        Name::Input
            | Name::Output
            | Name::Expected
            | Name::AnyText
            | Name::OutputOf(_)
            | Name::Reason(_)
            | Name::Message
            | Name::Trace
            | Name::BaselineOutput
    )
}

impl Grid {
    /// As [`Seen::value`] of the same row.
    pub(super) fn value<'a>(
        &'a self,
        slot: u32,
        name: &Name,
        pairs: Option<&'a Pairs>,
        readers: &mut Readers<'a>,
    ) -> io::Result<Value<'a>> {
        let at = self.at(slot);
        let before = || pairs.and_then(|pairs| Some((pairs, pairs.of(slot)?)));
        Ok(match name {
            Name::Flaky => Value::Text(if self.is_flaky(slot) { "true" } else { "false" }.into()),
            Name::Removed => Value::Text(if self.is_removed(slot) { "true" } else { "false" }.into()),
            Name::Delta(evaluator) => number(self.delta(slot, evaluator, pairs)),
            Name::Change(evaluator) => text(self.delta(slot, evaluator, pairs).map(crate::query::change_of)),
            Name::DeltaLatencyMs => {
                let latency = |at: At<'_>| at.latency_ms().map(|ms| ms as f64);
                number(before().and_then(|(p, b)| Some(latency(at)? - latency(p.grid().at(b))?)))
            }
            Name::DeltaTokens => number(before().map(|(p, b)| tokens(at.usage()) - tokens(p.grid().at(b).usage()))),
            Name::DeltaCost => number(before().map(|(p, b)| cost_delta(at.usage(), p.grid().at(b).usage()))),
            Name::BaselineScore(evaluator) => number(before().and_then(|(p, b)| p.grid().at(b).score(evaluator))),
            Name::BaselineOutcome => text(before().map(|(pairs, before)| pairs.grid().at(before).outcome().as_str())),
            Name::BaselineOutput => match before() {
                Some((pairs, before)) => readers.of_baseline(pairs).value(before, &Name::Output)?,
                None => Value::Null,
            },
            name => match at {
                At::Row(row) => Seen { row, baseline: None }.value(name),
                At::Sheet(sheet, at) => match self.in_sheet(sheet, at, name) {
                    Some(value) => value,
                    None => readers.own.value(slot, name)?,
                },
            },
        })
    }

    pub(super) fn delta(&self, slot: u32, evaluator: &str, pairs: Option<&Pairs>) -> Option<f64> {
        let pairs = pairs?;
        Some(self.at(slot).score(evaluator)? - pairs.grid().at(pairs.of(slot)?).score(evaluator)?)
    }

    /// `None` if it takes a text.
    fn in_sheet<'a>(&'a self, sheet: &'a Sheet, at: usize, name: &Name) -> Option<Value<'a>> {
        let whole = |number: i64| Value::Number(number as f64);
        let variant = || sheet.variant_code(at).and_then(|code| self.lexicon.variant(code));
        Some(match name {
            Name::Id => whole(sheet.item.number(at)),
            Name::Row => whole(sheet.ordinal.number(at) + 1),
            Name::Key => Value::Text(windrow_model::step::ContentKey(sheet.key[at]).to_string().into()),
            Name::Variant => text(variant()),
            Name::Target => text(variant().map(crate::row::target_of)),
            Name::Prompt => text(variant().and_then(crate::row::prompt_of)),
            Name::Trial => whole(sheet.trial.number(at)),
            Name::State => Value::Text(sheet.state(at).as_str().into()),
            Name::Outcome => Value::Text(sheet.outcome(at).as_str().into()),
            Name::Run => whole(sheet.run.number(at)),
            Name::Error => text(sheet.error(at).map(|class| class.as_str())),
            Name::Message if sheet.error(at).is_none() => Value::Null,
            Name::Tries => whole(sheet.tries.number(at)),
            Name::Turns => whole(sheet.turns.number(at)),
            Name::Reviewed => {
                Value::Text(if crate::people::is_reviewed(sheet.labels(at)) { "true" } else { "false" }.into())
            }
            Name::LatencyMs => number(sheet.latency_ms.get(at).map(|ms| ms as f64)),
            Name::TokensIn => whole(sheet.tokens_in.number(at)),
            Name::TokensOut => whole(sheet.tokens_out.number(at)),
            Name::Tokens => Value::Number(tokens(sheet.usage(at))),
            Name::Cost => Value::Number(sheet.cost_nanos.number(at) as f64 / 1e9),
            Name::FinishedAt => number(sheet.finished_at.get(at).map(|at| at as f64)),
            Name::OutputOf(column) if !sheet.has_output(column, at) => Value::Null,
            Name::Field(field, kind) => return self.field_in_sheet(sheet, at, field, *kind),
            Name::Score(evaluator) => number(At::Sheet(sheet, at).score(evaluator)),
            Name::Verdict(evaluator) => {
                let mut found = Vec::new();
                At::Sheet(sheet, at).findings(evaluator, |_, verdict, _| found.push(verdict));
                crate::query::verdicts(|verdict| found.contains(verdict))
            }
            Name::Label(name) => match sheet.labels(at).iter().find(|label| label.name == *name) {
                Some(label) => Value::Text(label.text().into()),
                None => Value::Null,
            },
            Name::Corrected(name) => {
                let at = At::Sheet(sheet, at);
                let person = at.correction(name).and_then(RowLabel::number);
                number(person.or_else(|| crate::people::computed(name, at.score(name), at.outcome())))
            }
            _ => return None,
        })
    }

    fn field_in_sheet<'a>(&'a self, sheet: &'a Sheet, at: usize, field: &str, kind: Kind) -> Option<Value<'a>> {
        Some(match (sheet.fields.get(field), kind) {
            (None, _) => Value::Null,
            (Some(FieldColumn::Words(codes)), kind) => match codes.get(at) {
                Some(code) => of_json(self.lexicon.field(field)?.get(code as u32), kind),
                None => Value::Null,
            },
            (Some(FieldColumn::Ints(ints)), Kind::Number) => number(ints.get(at).map(|int| int as f64)),
            (Some(FieldColumn::Floats(floats)), Kind::Number) => number(floats.get(at)),
            (Some(FieldColumn::Texts), _) => return None,
            (Some(_), _) => owned(sheet.plain_field(field, at, &self.lexicon).map(|json| json.to_string()).as_deref()),
        })
    }
}

/// Readers of a table and of the one it is compared with.
pub(super) struct Readers<'a> {
    own: Reader<'a>,
    before: Option<Reader<'a>>,
}

impl<'a> Readers<'a> {
    pub fn of(grid: &'a Grid) -> Self {
        Self { own: Reader::of(grid), before: None }
    }

    fn of_baseline(&mut self, pairs: &'a Pairs) -> &mut Reader<'a> {
        self.before.get_or_insert_with(|| Reader::of(pairs.grid()))
    }
}

impl<'a> Reader<'a> {
    /// Of a name that takes a text.
    fn value(&mut self, slot: u32, name: &Name) -> io::Result<Value<'a>> {
        let plain = match name {
            Name::Input => TextName::Input,
            Name::Output => TextName::Output,
            Name::Message => TextName::Message,
            Name::Trace => TextName::Trace,
            Name::OutputOf(column) => TextName::OutputOf(column.clone()),
            Name::Expected => return self.expected(slot),
            Name::Field(field, kind) => {
                let json = self.text(slot, &TextName::Field(field.clone()))?.map(str::to_owned);
                let json: serde_json::Value =
                    json.and_then(|json| serde_json::from_str(&json).ok()).unwrap_or_default();
                return Ok(match of_json(&json, *kind) {
                    Value::Text(text) => Value::Text(text.into_owned().into()),
                    Value::Number(number) => Value::Number(number),
                    _ => Value::Null,
                });
            }
            name => {
                let row = self.plain_row(slot)?;
                return Ok(match (Seen { row: &row, baseline: None }).value(name) {
                    Value::Text(text) => Value::Text(text.into_owned().into()),
                    Value::Number(number) => Value::Number(number),
                    Value::Words(words) => Value::Words(words),
                    Value::Null => Value::Null,
                });
            }
        };
        if let (At::Row(row), Name::Output) = (self.grid.at(slot), name) {
            return Ok(owned(row.output.as_deref()));
        }
        // The input of a row is there, if only an empty one.
        Ok(match self.text(slot, &plain)? {
            None if plain == TextName::Input => Value::Text("".into()),
            found => owned(found),
        })
    }

    fn expected(&mut self, slot: u32) -> io::Result<Value<'a>> {
        let At::Sheet(sheet, at) = self.grid.at(slot) else { return Ok(Value::Null) };
        for name in EXPECTED {
            let json = match sheet.fields.get(name) {
                None => continue,
                Some(FieldColumn::Texts) => {
                    let text = self.text(slot, &TextName::Field(name.to_owned()))?;
                    text.map(|text| serde_json::from_str(text).unwrap_or_default())
                }
                Some(_) => sheet.plain_field(name, at, &self.grid.lexicon),
            };
            if let Some(json) = json {
                return Ok(Value::Text(crate::row::text_of(&json).into()));
            }
        }
        Ok(Value::Null)
    }
}
