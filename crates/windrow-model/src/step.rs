//! What determines a step, what it yields, and what may be reused (design rule 9).

use std::borrow::Cow;

use crate::failure::Failure;
use crate::ids::StepId;
use crate::json::Json;

/// Hash of everything that determines a step's result. Equal key, equal step.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContentKey(pub [u8; 16]);

impl ContentKey {
    /// Each part is length-prefixed, so that `("ab","c")` and `("a","bc")` differ.
    pub fn of(parts: &[&[u8]]) -> Self {
        let mut hasher = blake3::Hasher::new();
        for part in parts {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
        let mut key = [0; 16];
        key.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
        Self(key)
    }

    /// Of the `n`th row with the same content, from the second on.
    pub fn repeated(&self, n: u64) -> Self {
        Self::of(&[&self.0, &n.to_le_bytes()])
    }
}

impl std::fmt::Display for ContentKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl std::fmt::Debug for ContentKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{self}")
    }
}

/// Kinds of steps that make what a reader calls the output of a row: a target, a column, an answer that came later.
pub const ANSWERING: [&str; 3] = ["target", "column", "collect"];

/// The text of an answer, from the output of such a step.
pub fn answer_text(kind: &str, output: &Json) -> Option<String> {
    let mut output = output.value();
    if kind == "collect" {
        output = output.get_mut("answer")?.take();
    }
    let text = output["content"].as_str().or(output.as_str()).map(str::to_owned);
    Some(text.unwrap_or_else(|| output.to_string()))
}

crate::vocabulary! {
    /// What to do about a call whose outcome is unknown.
    pub enum OnUnknown {
        #[doc = "Make it again; repeating does no harm (a model call: at worst it is paid twice)."]
        Repeat = "repeat",
        #[doc = "Read back from the target whether it happened, then decide."]
        Verify = "verify",
        #[doc = "Fail the item; a person has to look."]
        Fail = "fail",
    }
}

/// What a call used up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
pub struct Usage {
    pub tokens_in: i64,
    pub tokens_out: i64,
    /// Billionths of a dollar.
    pub cost_nanos: i64,
}

impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, other: Usage) {
        self.tokens_in += other.tokens_in;
        self.tokens_out += other.tokens_out;
        self.cost_nanos += other.cost_nanos;
    }
}

/// What a step is, before it is made.
#[derive(Debug, Clone, PartialEq)]
pub struct StepIntent {
    pub key: ContentKey,
    /// `target`, `evaluator`, `apply`, `undo`, `batch` …
    pub kind: Cow<'static, str>,
    /// Which one of its kind: the evaluator's name, the page number. Empty where there is only one.
    pub name: String,
    /// Turn of a conversation; 0 where there are none.
    pub turn: u32,
    pub input: Json,
    pub on_unknown: OnUnknown,
    /// Its result may serve other items and other jobs, and theirs may serve it.
    pub shared: bool,
}

/// Its result.
#[derive(Debug, Clone, PartialEq)]
pub enum StepResult {
    Done { output: Json, usage: Usage },
    Failed { failure: Failure },
}

/// An earlier step with the same key, found before making it again.
#[derive(Debug, Clone, PartialEq)]
pub enum Recalled {
    /// It was done: use its output.
    Done { from: StepId, output: Json, usage: Usage },
    /// Another item made the same call: use its output, and record it.
    Shared { from: StepId, output: Json, usage: Usage },
    /// It may have been done: the policy recorded with it says what to do.
    Unknown { from: StepId, on_unknown: OnUnknown },
}

crate::vocabulary! {
    /// What an evaluator found. Error, skipped and a score of zero are different things.
    pub enum Verdict {
        #[doc = "The output is what was asked for."]
        Pass = "pass",
        #[doc = "The output is not what was asked for."]
        Fail = "fail",
        #[doc = "The evaluator itself failed; it says nothing about the output."]
        Error = "error",
        #[doc = "The evaluator did not apply."]
        Skipped = "skipped",
    }
}

/// One evaluator's finding on one turn of one item.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
pub struct Score {
    pub name: String,
    /// Of the evaluator's configuration: another version is another column.
    #[serde(default)]
    pub version: String,
    pub turn: u32,
    pub verdict: Verdict,
    /// `None` if nothing can be averaged (error, skipped).
    pub value: Option<f64>,
    pub reason: String,
}

impl Score {
    /// Whether it is of an evaluator of the run itself. A column kept from an earlier version, next to
    /// the new one, is called `name@version`; no evaluator's own name has an `@`.
    pub fn is_own(&self) -> bool {
        is_own_column(&self.name)
    }
}

/// What a snapshot shows while an item is computed again that has scores of earlier runs: the new ones, and of the
/// earlier ones those not computed yet. A column computed in another version now is called `name@version`.
pub fn shown_while_running(earlier: Vec<Score>, new: &[Score]) -> Vec<Score> {
    let mut shown = new.to_vec();
    for old in earlier {
        let same_name = |score: &&Score| score.name == old.name;
        let replaced = new.iter().filter(same_name).any(|score| score.turn == old.turn && score.version == old.version);
        let changed = new.iter().filter(same_name).any(|score| score.version != old.version);
        let name = if changed { format!("{}@{}", old.name, old.version) } else { old.name.clone() };
        let taken = shown.iter().any(|score| score.turn == old.turn && score.name == name);
        let unnamed = changed && old.version.is_empty();
        if !replaced && !taken && !unnamed {
            shown.push(Score { name, ..old });
        }
    }
    shown.sort_by(|a, b| (a.turn, &a.name).cmp(&(b.turn, &b.name)));
    shown
}

pub fn is_own_column(name: &str) -> bool {
    !name.contains('@')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_keeps_the_columns_that_are_not_computed_yet() {
        let score = |name: &str, version: &str, turn| Score {
            name: name.into(),
            version: version.into(),
            turn,
            verdict: Verdict::Pass,
            value: None,
            reason: String::new(),
        };
        let earlier = vec![score("exact", "v1", 0), score("exact", "v1", 1), score("kind", "v1", 0)];
        let same = shown_while_running(earlier.clone(), &[score("exact", "v1", 0)]);
        assert_eq!(same, [score("exact", "v1", 0), score("kind", "v1", 0), score("exact", "v1", 1)]);
        let changed = shown_while_running(earlier, &[score("exact", "v2", 0)]);
        let names: Vec<(u32, &str)> = changed.iter().map(|score| (score.turn, score.name.as_str())).collect();
        assert_eq!(names, [(0, "exact"), (0, "exact@v1"), (0, "kind"), (1, "exact@v1")]);
    }

    #[test]
    fn keys_see_the_border_between_parts() {
        assert_ne!(ContentKey::of(&[b"ab", b"c"]), ContentKey::of(&[b"a", b"bc"]));
        assert_eq!(ContentKey::of(&[b"ab", b"c"]), ContentKey::of(&[b"ab", b"c"]));
    }
}
