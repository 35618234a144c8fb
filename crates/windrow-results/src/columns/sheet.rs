//! A sheet: the rows of one segment as columns. What is asked of every row is an array in memory; texts lie on the shelf.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::Arc;

use serde_json::{Map, Value};
use windrow_model::state::ItemState;
use windrow_model::step::{Score, Usage};
use windrow_model::trace::TraceId;
use windrow_model::{ErrorClass, ItemId, Time};

use crate::columns::arrays::{Bits, Floats, Ints};
use crate::columns::bytes::{Put, Take};
use crate::columns::scores::ScoreColumn;
use crate::columns::texts::{BLOCK, Laid, Shelf, Texts};
use crate::columns::words::Lexicon;
use crate::label::RowLabel;
use crate::row::{EXPECTED, ResultRow, RowOutcome, text_of};
use crate::table::survey::Found;

/// A column of texts.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub enum TextName {
    Input,
    Output,
    Message,
    /// The version and the reason of every score, in the order of the scores, as JSON.
    Reasons,
    Trace,
    OutputOf(String),
    /// As JSON.
    Field(String),
}

#[derive(Debug)]
pub enum FieldColumn {
    /// Codes of the lexicon; null: the row has no such field.
    Words(Ints),
    Ints(Ints),
    Floats(Floats),
    /// On the shelf.
    Texts,
}

#[derive(Debug)]
pub struct Sheet {
    pub len: usize,
    pub item: Ints,
    pub key: Box<[[u8; 16]]>,
    pub ordinal: Ints,
    pub variant: Option<Ints>,
    pub trial: Ints,
    pub state: Ints,
    pub outcome: Ints,
    pub run: Ints,
    pub error: Ints,
    pub tries: Ints,
    pub turns: Ints,
    pub planned: Ints,
    pub latency_ms: Ints,
    pub tokens_in: Ints,
    pub tokens_out: Ints,
    pub cost_nanos: Ints,
    pub finished_at: Ints,
    pub fields: BTreeMap<String, FieldColumn>,
    pub scores: BTreeMap<String, ScoreColumn>,
    pub labels: BTreeMap<usize, Vec<RowLabel>>,
    outputs: BTreeMap<String, Bits>,
    texts: BTreeMap<TextName, Vec<Laid>>,
    found: Found,
}

impl Sheet {
    pub fn of(rows: &[Arc<ResultRow>], lexicon: &mut Lexicon, shelf: &Arc<dyn Shelf>) -> io::Result<Self> {
        let ints = |value: &dyn Fn(&ResultRow) -> Option<i64>| {
            Ints::of(&rows.iter().map(|row| value(row)).collect::<Vec<_>>())
        };
        let mut found = Found::default();
        rows.iter().for_each(|row| found.add(row));
        let fields: BTreeSet<&String> = rows.iter().flat_map(|row| row.fields.keys()).collect();
        let fields: BTreeMap<String, FieldColumn> =
            fields.into_iter().map(|name| (name.clone(), field(name, rows, lexicon))).collect();
        let names: BTreeSet<&str> = rows.iter().flat_map(|row| row.scores.iter().map(|s| s.name.as_str())).collect();
        let outputs: BTreeSet<&String> = rows.iter().flat_map(|row| row.outputs.keys()).collect();
        let there = |name: &String| {
            let mut there = Bits::new(rows.len());
            rows.iter().enumerate().for_each(|(at, row)| there.set(at, row.outputs.contains_key(name)));
            there
        };
        let labels = rows.iter().enumerate().filter(|(_, row)| !row.labels.is_empty());
        let mut sheet = Self {
            len: rows.len(),
            item: ints(&|row| Some(row.item.0)),
            key: rows.iter().map(|row| row.key.0).collect(),
            ordinal: ints(&|row| Some(row.ordinal)),
            variant: lexicon.variants_of(rows).map(|codes| Ints::of(&codes)),
            trial: ints(&|row| Some(row.trial)),
            state: ints(&|row| Some(row.state as i64)),
            outcome: ints(&|row| Some(row.outcome as i64)),
            run: ints(&|row| Some(row.run)),
            error: ints(&|row| row.error.as_ref().map(|(class, _)| *class as i64)),
            tries: ints(&|row| Some(row.tries.into())),
            turns: ints(&|row| Some(row.turns.into())),
            planned: ints(&|row| Some(row.planned)),
            latency_ms: ints(&|row| row.latency_ms),
            tokens_in: ints(&|row| Some(row.usage.tokens_in)),
            tokens_out: ints(&|row| Some(row.usage.tokens_out)),
            cost_nanos: ints(&|row| Some(row.usage.cost_nanos)),
            finished_at: ints(&|row| row.finished_at.map(|at| at.0)),
            fields,
            scores: names.into_iter().map(|name| (name.to_owned(), ScoreColumn::of(name, rows))).collect(),
            labels: labels.map(|(at, row)| (at, row.labels.clone())).collect(),
            outputs: outputs.into_iter().map(|name| (name.clone(), there(name))).collect(),
            texts: BTreeMap::new(),
            found,
        };
        if sheet.variant.is_none() {
            return Err(io::Error::other("a job has more variants than a table can name"));
        }
        sheet.lay(rows, shelf)?;
        Ok(sheet)
    }

    fn lay(&mut self, rows: &[Arc<ResultRow>], shelf: &Arc<dyn Shelf>) -> io::Result<()> {
        let mut names = vec![TextName::Input, TextName::Output, TextName::Message, TextName::Reasons, TextName::Trace];
        names.extend(self.outputs.keys().cloned().map(TextName::OutputOf));
        let texts = self.fields.iter().filter(|(_, column)| matches!(column, FieldColumn::Texts));
        names.extend(texts.map(|(name, _)| TextName::Field(name.clone())));
        for name in names {
            let all: Texts = rows.iter().map(|row| text(row, &name)).collect();
            if all.iter().all(Option::is_none) {
                continue;
            }
            let all: Vec<Option<&str>> = all.iter().map(Option::as_deref).collect();
            let laid = all.chunks(BLOCK).map(|block| Laid::lay(shelf, block)).collect::<io::Result<_>>()?;
            self.texts.insert(name, laid);
        }
        Ok(())
    }

    /// As bytes; `keep` takes the texts, compressed, and says where they lie.
    pub fn put(&self, out: &mut Put, keep: &mut dyn FnMut(Vec<u8>) -> io::Result<u64>) -> io::Result<()> {
        out.len(self.len);
        for column in self.numbers() {
            column.put(out);
        }
        out.byte(u8::from(self.variant.is_some()));
        self.variant.iter().for_each(|codes| codes.put(out));
        out.bytes(self.key.as_flattened());
        out.len(self.fields.len());
        for (name, column) in &self.fields {
            out.bytes(name.as_bytes());
            match column {
                FieldColumn::Words(codes) => {
                    out.byte(0);
                    codes.put(out);
                }
                FieldColumn::Ints(ints) => {
                    out.byte(1);
                    ints.put(out);
                }
                FieldColumn::Floats(floats) => {
                    out.byte(2);
                    floats.put(out);
                }
                FieldColumn::Texts => out.byte(3),
            }
        }
        out.len(self.scores.len());
        for (name, column) in &self.scores {
            out.bytes(name.as_bytes());
            column.put(out);
        }
        out.len(self.outputs.len());
        for (name, there) in &self.outputs {
            out.bytes(name.as_bytes());
            there.put(out);
        }
        out.json(&self.labels)?;
        out.json(&self.found)?;
        let mut texts = Vec::new();
        for (name, blocks) in &self.texts {
            let places = blocks.iter().map(|block| keep(block.bytes()?)).collect::<io::Result<Vec<u64>>>()?;
            texts.push((name, places));
        }
        out.json(&texts)
    }

    /// `None` if these are not the bytes of a sheet.
    pub fn take(from: &mut Take, kept: &Arc<dyn Shelf>) -> Option<Self> {
        let len = from.len()?;
        let mut ints = || Ints::take(from, len);
        let [item, ordinal, trial, state, outcome, run] = [ints()?, ints()?, ints()?, ints()?, ints()?, ints()?];
        let [error, tries, turns, planned, latency_ms] = [ints()?, ints()?, ints()?, ints()?, ints()?];
        let [tokens_in, tokens_out, cost_nanos, finished_at] = [ints()?, ints()?, ints()?, ints()?];
        let variant = match from.byte()? {
            0 => None,
            _ => Some(Ints::take(from, len)?),
        };
        let (key, rest) = from.bytes()?.as_chunks::<16>();
        let text = |from: &mut Take| String::from_utf8(from.bytes()?.to_vec()).ok();
        let mut fields = BTreeMap::new();
        for _ in 0..from.len()? {
            let name = text(from)?;
            let column = match from.byte()? {
                0 => FieldColumn::Words(Ints::take(from, len)?),
                1 => FieldColumn::Ints(Ints::take(from, len)?),
                2 => FieldColumn::Floats(Floats::take(from, len)?),
                _ => FieldColumn::Texts,
            };
            fields.insert(name, column);
        }
        let mut scores = BTreeMap::new();
        for _ in 0..from.len()? {
            scores.insert(text(from)?, ScoreColumn::take(from, len)?);
        }
        let mut outputs = BTreeMap::new();
        for _ in 0..from.len()? {
            outputs.insert(text(from)?, Bits::take(from)?);
        }
        let labels = from.json()?;
        let found = from.json()?;
        let texts: Vec<(TextName, Vec<u64>)> = from.json()?;
        let laid = |places: Vec<u64>| places.into_iter().map(|place| Laid::at(kept, place)).collect();
        let fits = key.len() == len && rest.is_empty() && from.0.is_empty();
        fits.then_some(Self {
            len,
            item,
            key: key.into(),
            ordinal,
            variant,
            trial,
            state,
            outcome,
            run,
            error,
            tries,
            turns,
            planned,
            latency_ms,
            tokens_in,
            tokens_out,
            cost_nanos,
            finished_at,
            fields,
            scores,
            labels,
            outputs,
            texts: texts.into_iter().map(|(name, places)| (name, laid(places))).collect(),
            found,
        })
    }

    /// The columns of whole numbers that every row has, in the order of their bytes.
    fn numbers(&self) -> [&Ints; 15] {
        [
            &self.item,
            &self.ordinal,
            &self.trial,
            &self.state,
            &self.outcome,
            &self.run,
            &self.error,
            &self.tries,
            &self.turns,
            &self.planned,
            &self.latency_ms,
            &self.tokens_in,
            &self.tokens_out,
            &self.cost_nanos,
            &self.finished_at,
        ]
    }

    /// The texts of one block; `None` if no row of the segment has one.
    pub fn block(&self, name: &TextName, block: usize) -> io::Result<Option<Texts>> {
        self.texts.get(name).map(|blocks| blocks[block].take()).transpose()
    }

    pub fn state(&self, at: usize) -> ItemState {
        ItemState::ALL[self.state.number(at) as usize]
    }

    pub fn outcome(&self, at: usize) -> RowOutcome {
        RowOutcome::ALL[self.outcome.number(at) as usize]
    }

    pub fn error(&self, at: usize) -> Option<ErrorClass> {
        self.error.get(at).map(|code| ErrorClass::ALL[code as usize])
    }

    pub fn usage(&self, at: usize) -> Usage {
        let [tokens_in, tokens_out, cost_nanos] =
            [&self.tokens_in, &self.tokens_out, &self.cost_nanos].map(|column| column.number(at));
        Usage { tokens_in, tokens_out, cost_nanos }
    }

    pub fn variant_code(&self, at: usize) -> Option<i64> {
        self.variant.as_ref().and_then(|codes| codes.get(at))
    }

    pub fn has_output(&self, name: &str, at: usize) -> bool {
        self.outputs.get(name).is_some_and(|there| there.get(at))
    }

    pub fn labels(&self, at: usize) -> &[RowLabel] {
        self.labels.get(&at).map_or(&[], Vec::as_slice)
    }

    /// The names that its rows have, without those in `except`.
    pub fn found(&self, lexicon: &Lexicon, except: &BTreeMap<usize, Arc<ResultRow>>) -> io::Result<Found> {
        if except.keys().all(|at| *at >= self.len) {
            return Ok(self.found.clone());
        }
        let rest = || (0..self.len).filter(|at| !except.contains_key(at));
        let mut found = Found::default();
        let given = |column: &&ScoreColumn| rest().any(|at| column.is_given(at));
        found.evaluators = self.scores.iter().filter(|(_, c)| given(c)).map(|(name, _)| name.clone()).collect();
        let has = |name: &&String| rest().any(|at| self.has_output(name, at));
        found.outputs = self.outputs.keys().filter(has).cloned().collect();
        let codes: BTreeSet<i64> = rest().filter_map(|at| self.variant_code(at)).collect();
        found.variants = codes.into_iter().filter_map(|code| lexicon.variant(code).map(str::to_owned)).collect();
        let labels = self.labels.iter().filter(|(at, _)| !except.contains_key(at)).flat_map(|(_, labels)| labels);
        found.labels = labels.map(|label| label.name.clone()).collect();
        for (name, column) in &self.fields {
            match column {
                FieldColumn::Texts => {
                    for block in 0..self.len.div_ceil(BLOCK) {
                        let texts = self.block(&TextName::Field(name.clone()), block)?.unwrap_or_default();
                        let kept =
                            texts.iter().enumerate().filter(|(at, _)| !except.contains_key(&(block * BLOCK + at)));
                        for text in kept.filter_map(|(_, text)| text.as_deref()) {
                            found.field(name, &serde_json::from_str(text).unwrap_or_default());
                        }
                    }
                }
                _ => rest().filter_map(|at| self.plain_field(name, at, lexicon)).for_each(|v| found.field(name, &v)),
            }
        }
        Ok(found)
    }

    /// A field that is no text on the shelf.
    pub fn plain_field(&self, name: &str, at: usize, lexicon: &Lexicon) -> Option<Value> {
        match self.fields.get(name)? {
            FieldColumn::Words(codes) => Some(lexicon.field(name)?.get(codes.get(at)? as u32).clone()),
            FieldColumn::Ints(ints) => ints.get(at).map(Value::from),
            FieldColumn::Floats(floats) => floats.get(at).map(Value::from),
            FieldColumn::Texts => None,
        }
    }

    /// A row as it was, `flaky` and `removed` apart; `text` takes texts from the shelf.
    pub fn row(
        &self,
        at: usize,
        lexicon: &Lexicon,
        text: &mut dyn FnMut(&TextName) -> io::Result<Option<String>>,
    ) -> io::Result<ResultRow> {
        let mut fields = Map::new();
        for (name, column) in &self.fields {
            let value = match column {
                FieldColumn::Texts => text(&TextName::Field(name.clone()))?.map(|text| json(&text)).transpose()?,
                _ => self.plain_field(name, at, lexicon),
            };
            fields.extend(value.map(|value| (name.clone(), value)));
        }
        let reasons: Vec<(String, String)> =
            text(&TextName::Reasons)?.map(|text| json(&text)).transpose()?.unwrap_or_default();
        let mut outputs = BTreeMap::new();
        for name in self.outputs.keys().filter(|name| self.has_output(name, at)) {
            outputs.extend(text(&TextName::OutputOf(name.clone()))?.map(|text| (name.clone(), text)));
        }
        let message = text(&TextName::Message)?.unwrap_or_default();
        Ok(ResultRow {
            item: ItemId(self.item.number(at)),
            key: windrow_model::step::ContentKey(self.key[at]),
            ordinal: self.ordinal.number(at),
            variant: self.variant_code(at).and_then(|code| lexicon.variant(code)).map(str::to_owned),
            trial: self.trial.number(at),
            state: self.state(at),
            outcome: self.outcome(at),
            run: self.run.number(at),
            error: self.error(at).map(|class| (class, message)),
            tries: self.tries.number(at) as u32,
            turns: self.turns.number(at) as u32,
            flaky: false,
            planned: self.planned.number(at),
            removed: false,
            latency_ms: self.latency_ms.get(at),
            usage: self.usage(at),
            finished_at: self.finished_at.get(at).map(Time),
            trace: text(&TextName::Trace)?.and_then(|text| trace(&text)).unwrap_or(TraceId(0)),
            input: text(&TextName::Input)?.unwrap_or_default(),
            expected: EXPECTED.iter().find_map(|name| fields.get(*name)).map(text_of),
            output: text(&TextName::Output)?,
            outputs,
            fields,
            scores: self.scores_of(at, reasons),
            labels: self.labels(at).to_vec(),
        })
    }

    fn scores_of(&self, at: usize, reasons: Vec<(String, String)>) -> Vec<Score> {
        let mut scores = Vec::new();
        for (name, column) in &self.scores {
            column.each(at, |turn, verdict, value| {
                let (version, reason) = (String::new(), String::new());
                scores.push(Score { name: name.clone(), version, turn, verdict, value, reason });
            });
        }
        scores.sort_by(|a, b| (a.turn, &a.name).cmp(&(b.turn, &b.name)));
        for (score, (version, reason)) in scores.iter_mut().zip(reasons) {
            (score.version, score.reason) = (version, reason);
        }
        scores
    }
}

fn json<T: serde::de::DeserializeOwned>(text: &str) -> io::Result<T> {
    serde_json::from_str(text).map_err(io::Error::other)
}

fn trace(text: &str) -> Option<TraceId> {
    u128::from_str_radix(text, 16).ok().map(TraceId)
}

/// What is laid of a row under this name.
fn text(row: &ResultRow, name: &TextName) -> Option<String> {
    match name {
        TextName::Input => Some(row.input.clone()),
        TextName::Output => row.output.clone(),
        TextName::Message => row.error.as_ref().map(|(_, message)| message.clone()),
        TextName::Trace => Some(row.trace.to_string()),
        TextName::OutputOf(column) => row.outputs.get(column).cloned(),
        TextName::Field(field) => row.fields.get(field).map(Value::to_string),
        TextName::Reasons if row.scores.iter().all(|s| s.reason.is_empty() && s.version.is_empty()) => None,
        TextName::Reasons => {
            let mut scores: Vec<&Score> = row.scores.iter().collect();
            scores.sort_by(|a, b| (a.turn, &a.name).cmp(&(b.turn, &b.name)));
            let said: Vec<(&str, &str)> = scores.iter().map(|s| (s.version.as_str(), s.reason.as_str())).collect();
            serde_json::to_string(&said).ok()
        }
    }
}

fn field(name: &str, rows: &[Arc<ResultRow>], lexicon: &mut Lexicon) -> FieldColumn {
    let values = || rows.iter().map(|row| row.fields.get(name));
    if let Some(ints) = values().map(|v| v.map_or(Some(None), |v| v.as_i64().map(Some))).collect::<Option<Vec<_>>>() {
        return FieldColumn::Ints(Ints::of(&ints));
    }
    let float = |value: &Value| value.as_f64().filter(|_| value.is_f64());
    if let Some(floats) = values().map(|v| v.map_or(Some(None), |v| float(v).map(Some))).collect::<Option<Vec<_>>>() {
        return FieldColumn::Floats(Floats::of(&floats));
    }
    match lexicon.codes_of(name, rows) {
        Some(codes) => FieldColumn::Words(Ints::of(&codes)),
        None => FieldColumn::Texts,
    }
}
