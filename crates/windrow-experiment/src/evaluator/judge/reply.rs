//! What a judge meant by its reply. Models wrap JSON in fences and small talk, leave commas at its
//! end, write numbers as text, or answer `Score: 4/5`; all of that is read. Nothing is guessed: a
//! reply from which the score cannot be told is reported as such.

use std::sync::LazyLock;

use regex::{Captures, Regex};
use serde_json::Value;

const MARKS: &[&str] = &["score", "choice", "rating", "grade", "verdict", "winner", "label", "answer", "value"];
const REASONS: &[&str] = &["reason", "reasoning", "explanation", "rationale", "justification", "comment"];
/// Signs that stand around a word or number without meaning anything.
const DECORATION: &[char] = &['*', '_', '`', '"', '\'', '.', '[', ']', '(', ')', '#', ' ', '\n', '\r', '\t'];

/// `4`, `4/5` or `4 out of 5`.
const NUMBER: &str = r"(-?\d+(?:\.\d+)?)(?:\s*(?:/|out of)\s*(\d+(?:\.\d+)?))?";

fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("the pattern is a constant")
}

static WHOLE: LazyLock<Regex> = LazyLock::new(|| regex(&format!("^{NUMBER}$")));
static MARKED: LazyLock<Regex> =
    LazyLock::new(|| regex(&format!(r#"(?i)\b(?:score|rating|grade)\b["'*_`\s]*(?:is\b|[:=])["'*_`\[\s]*{NUMBER}"#)));
static SHARE: LazyLock<Regex> = LazyLock::new(|| regex(r"(-?\d+(?:\.\d+)?)\s*(?:/|out of)\s*(\d+(?:\.\d+)?)"));
static NAMED: LazyLock<Regex> = LazyLock::new(|| {
    let marks = MARKS.join("|");
    regex(&format!(r#"(?i)\b(?:{marks})\b["'*_`\s]*(?:is\b|[:=])["'*_`\[\s]*([^\n,;}}]+)"#))
});

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Number {
    pub number: f64,
    /// The scale it was given on, where the judge said so: 5 in `4/5`.
    pub out_of: Option<f64>,
}

pub struct Reply<'a> {
    text: &'a str,
    /// The last object with a mark in it: judges think first and conclude at the end.
    object: Option<Value>,
}

impl<'a> Reply<'a> {
    pub fn new(reply: &'a str) -> Self {
        let text = reply.rsplit("</think>").next().unwrap_or(reply).trim();
        let object = objects(text).into_iter().rev().find(|object| field(object, MARKS).is_some());
        Self { text, object }
    }

    pub fn number(&self, high: f64) -> Option<Number> {
        if let Some(mark) = self.mark() {
            return match mark {
                Value::Number(number) => Some(Number { number: number.as_f64()?, out_of: None }),
                Value::String(text) => WHOLE.captures(text.trim_matches(DECORATION)).and_then(|found| number(&found)),
                _ => None,
            };
        }
        let whole = WHOLE.captures(self.text.trim_matches(DECORATION));
        let found = whole.or_else(|| MARKED.captures_iter(self.text).last());
        let share = || SHARE.captures_iter(self.text).filter_map(|found| number(&found));
        found.and_then(|found| number(&found)).or_else(|| share().filter(|share| share.out_of == Some(high)).last())
    }

    /// The one of `known` that it names; neither case nor decoration counts.
    pub fn choice<'k>(&self, known: &[&'k str]) -> Option<&'k str> {
        let is_named = |text: &str| {
            let text = text.trim_matches(DECORATION).to_lowercase();
            known.iter().copied().find(|name| name.trim_matches(DECORATION).to_lowercase() == text)
        };
        match self.mark() {
            Some(Value::String(text)) => is_named(text),
            Some(other) => is_named(&other.to_string()),
            None => {
                let last_line = || self.text.lines().rfind(|line| !line.trim().is_empty());
                let after_mark = || NAMED.captures_iter(self.text).last().and_then(|found| found.get(1));
                is_named(self.text)
                    .or_else(|| after_mark().and_then(|found| is_named(found.as_str())))
                    .or_else(|| last_line().and_then(is_named))
            }
        }
    }

    /// What it says for it; all of a reply that has no object.
    pub fn reason(&self) -> String {
        match &self.object {
            None => self.text.to_owned(),
            Some(object) => match field(object, REASONS) {
                None | Some(Value::Null) => String::new(),
                Some(Value::String(reason)) => reason.trim().to_owned(),
                Some(other) => other.to_string(),
            },
        }
    }

    fn mark(&self) -> Option<&Value> {
        self.object.as_ref().and_then(|object| field(object, MARKS))
    }
}

fn number(found: &Captures<'_>) -> Option<Number> {
    let part = |no| found.get(no).and_then(|part| part.as_str().parse::<f64>().ok());
    Some(Number { number: part(1)?, out_of: part(2) })
}

/// The value under the first of `names` that the object has, at its top or inside.
fn field<'v>(object: &'v Value, names: &[&str]) -> Option<&'v Value> {
    let fields = object.as_object()?;
    let named = |name: &&str| fields.iter().find(|(key, _)| key.to_lowercase() == **name).map(|(_, value)| value);
    names.iter().find_map(named).or_else(|| fields.values().find_map(|inner| field(inner, names)))
}

/// Every outermost `{…}` of a text that can be read.
fn objects(text: &str) -> Vec<Value> {
    let mut objects = Vec::new();
    let mut rest = text;
    while let Some(start) = rest.find('{') {
        rest = &rest[start..];
        let end = closing(rest);
        let object = end.and_then(|end| lenient(&rest[..=end]));
        // A brace that opens nothing readable is passed over; what is inside may still be.
        let passed = if object.is_some() { end.unwrap_or(0) } else { 0 };
        objects.extend(object);
        rest = &rest[passed + 1..];
    }
    objects
}

/// Where the object that begins the text ends.
fn closing(text: &str) -> Option<usize> {
    let (mut depth, mut quoted, mut escaped) = (0, false, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b'{' if !quoted => depth += 1,
            b'}' if !quoted => {
                depth -= 1;
                if depth == 0 {
                    return Some(at);
                }
            }
            _ => {}
        }
    }
    None
}

/// YAML's flow style is JSON as it is carelessly written: commas at the end, other quotes or none,
/// line breaks inside texts.
fn lenient(text: &str) -> Option<Value> {
    let strict = serde_json::from_str(text).ok();
    strict.or_else(|| serde_saphyr::from_str::<Value>(text).ok()).filter(Value::is_object)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn score(reply: &str) -> Option<f64> {
        Reply::new(reply).number(5.0).map(|number| number.number)
    }

    #[test]
    fn scores_are_found_in_careless_json() {
        for reply in [
            r#"{"score": 4, "reason": "ok"}"#,
            "```json\n{\"score\": 4}\n```",
            "Sure! Here is my verdict:\n\n```\n{ \"reason\": \"a } in it\", \"score\": 4 }\n```\nHope it helps {x}.",
            r#"{"score": "4", "reason": "a number as text",}"#,
            r#"{"Score": "4/5"}"#,
            r#"{"score": "4 out of 5"}"#,
            "{'score': 4, 'reason': 'single quotes'}",
            "{score: 4, reason: \"no quotes\"}",
            "{\"reason\": \"two\nlines\", \"score\": 4}",
            r#"{"result": {"rating": 4}}"#,
            r#"First {"score": 1}, on reflection {"score": 4}"#,
            "<think>perhaps {\"score\": 1}</think>{\"score\": 4}",
            r#"{"score": 4, "reason": "cut off by the limit of tok"#,
        ] {
            assert_eq!(score(reply), Some(4.0), "{reply}");
        }
    }

    #[test]
    fn scores_are_found_in_plain_text() {
        for reply in
            ["4", "**4**", "4/5", "Score: 4/5", "**Score:** 4", "Good.\n\nscore = 4", "I give it 4 out of 5.", "[[4]]"]
        {
            assert_eq!(score(reply), Some(4.0), "{reply}");
        }
        assert_eq!(Reply::new("Good.\n\nScore: 3.5").number(5.0).unwrap().number, 3.5);
    }

    #[test]
    fn numbers_that_are_no_score_are_left_alone() {
        for reply in
            ["", "The capital has 2 million people.", "On a score of 1 to 5 this is good.", r#"{"score": null}"#]
        {
            assert_eq!(score(reply), None, "{reply}");
        }
    }

    #[test]
    fn choices_are_found_whatever_surrounds_them() {
        let choice = |reply| Reply::new(reply).choice(&["A", "B", "tie"]);
        for reply in
            [r#"{"choice": "B"}"#, "b", "**B**", "[[B]]", "Verdict: B", "The winner is B.", "Both are fine.\n\nB"]
        {
            assert_eq!(choice(reply), Some("B"), "{reply}");
        }
        assert_eq!(choice("Choice: Tie"), Some("tie"));
        assert_eq!(choice("A or B, who knows"), None);
        assert_eq!(Reply::new(r#"{"choice": 2}"#).choice(&["1", "2"]), Some("2"));
    }

    #[test]
    fn the_reason_is_taken_from_the_object_or_is_the_text() {
        assert_eq!(Reply::new(r#"{"score": 4, "explanation": " Right. "}"#).reason(), "Right.");
        assert_eq!(Reply::new("Right.\nScore: 4").reason(), "Right.\nScore: 4");
    }
}
