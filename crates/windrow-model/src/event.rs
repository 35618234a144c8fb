//! What the events of the outbox say: their bodies, the same from every adapter. A reader who draws a live
//! table from them needs nothing else: each item comes with its result, each event of a run with its counters.

use serde::Serialize;

use crate::counters::Counters;
use crate::failure::ErrorClass;
use crate::ids::ItemId;
use crate::json::Json;
use crate::state::{ItemState, Mode, RunState};
use crate::step::{Score, Usage, Verdict, answer_text};

pub const RUN_SUBMITTED: &str = "run_submitted";
pub const RUN_STATE: &str = "run_state";
pub const RUN_PLANNED: &str = "run_planned";
pub const ITEMS_ARCHIVED: &str = "items_archived";
pub const ITEMS_PARTIAL: &str = "items_partial";

/// Items in one event, at most: a reader holds a few of them in memory.
pub const ITEMS: usize = 100;
/// Characters of an error's message, of an output and of a score's reason; all of it is with the item.
const MESSAGE: usize = 300;

/// An item that was settled, with its result.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ArchivedItem {
    pub id: ItemId,
    pub ordinal: i64,
    pub state: ItemState,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency_ms: Option<i64>,
    pub usage: Usage,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorNote>,
    /// The beginning of the last output, in online runs: their results are pushed (E11).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    pub scores: Vec<ScoreNote>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ErrorNote {
    class: ErrorClass,
    message: String,
}

impl ErrorNote {
    pub fn of((class, message): &(ErrorClass, String)) -> Self {
        Self { class: *class, message: shortened(message) }
    }
}

/// Adds the beginning of an answer; of several the last stays.
pub fn add_answer(item: &mut ArchivedItem, kind: &str, output: &Json) {
    if let Some(text) = answer_text(kind, output) {
        item.output = Some(shortened(&text));
    }
}

fn shortened(text: &str) -> String {
    let end = text.char_indices().nth(MESSAGE).map_or(text.len(), |(end, _)| end);
    text[..end].to_owned()
}

/// A score with the beginning of its reason.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ScoreNote {
    pub name: String,
    pub turn: u32,
    pub verdict: Verdict,
    pub value: Option<f64>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
}

impl ScoreNote {
    pub fn new(name: String, turn: u32, verdict: Verdict, value: Option<f64>, reason: &str) -> Self {
        Self { name, turn, verdict, value, reason: shortened(reason) }
    }

    /// By turn and name.
    pub fn all(scores: &[Score]) -> Vec<Self> {
        let note = |score: &Score| Self::new(score.name.clone(), score.turn, score.verdict, score.value, &score.reason);
        let mut notes: Vec<Self> = scores.iter().map(note).collect();
        notes.sort_by(|a, b| (a.turn, &a.name).cmp(&(b.turn, &b.name)));
        notes
    }
}

/// An item that is still running, with what it has shown so far (E22).
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PartialItem {
    pub id: ItemId,
    pub scores: Vec<ScoreNote>,
}

#[derive(Serialize)]
struct Submitted<'a> {
    no: i64,
    mode: Mode,
    actor: &'a str,
}

#[derive(Serialize)]
struct State<'a> {
    state: RunState,
    actor: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
    counts: Counters,
}

#[derive(Serialize)]
struct Planned {
    counts: Counters,
}

#[derive(Serialize)]
struct Archived<'a> {
    counts: Counters,
    items: &'a [ArchivedItem],
}

#[derive(Serialize)]
struct Partial<'a> {
    items: &'a [PartialItem],
}

pub fn submitted(no: i64, mode: Mode, actor: &str) -> Json {
    Json::of(&Submitted { no, mode, actor })
}

pub fn state(state: RunState, actor: &str, reason: Option<&str>, counts: Counters) -> Json {
    Json::of(&State { state, actor, reason, counts })
}

pub fn planned(counts: Counters) -> Json {
    Json::of(&Planned { counts })
}

/// One event for at most [`ITEMS`] of them; the counters are the run's after all of them.
pub fn archived(counts: Counters, items: &[ArchivedItem]) -> impl Iterator<Item = Json> + '_ {
    items.chunks(ITEMS).map(move |items| Json::of(&Archived { counts, items }))
}

pub fn partial(items: &[PartialItem]) -> impl Iterator<Item = Json> + '_ {
    items.chunks(ITEMS).map(|items| Json::of(&Partial { items }))
}
