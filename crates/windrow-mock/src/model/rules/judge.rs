//! Judges an answer by the words it shares with the reference. Writes JSON, sometimes inside a fence or after a
//! sentence, as real judges do.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::{Value, json};

use super::{errs, section};
use crate::model::asked::{Asked, Format};
use crate::model::fill::fill;
use crate::model::said::Said;
use crate::model::words;

const REFERENCE: &[&str] = &[
    "reference answer",
    "expected answer",
    "expected output",
    "correct answer",
    "ideal answer",
    "ground truth",
    "reference",
    "expected",
    "ideal",
    "target",
];
const GRADED: &[&str] = &[
    "submitted answer",
    "model answer",
    "model output",
    "actual output",
    "assistant answer",
    "answer to grade",
    "submission",
    "response",
    "output",
    "answer",
    "conversation",
    "transcript",
];

static RANGE: LazyLock<Regex> = LazyLock::new(|| {
    let number = r"(-?\d+(?:\.\d+)?)";
    Regex::new(&format!(r"(?i){number}\s*(?:\([^)]*\)\s*)?(?:to|and|-|–|\.\.=?)\s*{number}"))
        .expect("the pattern is valid")
});

pub fn answer(asked: &Asked, seed: u64) -> Option<Said> {
    let prompt = asked.instructions();
    let lower = prompt.to_lowercase();
    let wants_score = ["score", "rate the", "rating", "grade"].iter().any(|word| lower.contains(word));
    let wants_json = lower.contains("json") || asked.format != Format::Text;
    if !wants_score || !wants_json {
        return None;
    }
    let graded = section::find(&prompt, GRADED)?;
    let (share, reason) = judged(asked, &graded, section::find(&prompt, REFERENCE), seed);
    let (low, high) = range(asked, &lower);
    let raw = low + share * (high - low);
    // A scale of integers gets an integer score.
    let whole = high - low > 1.0 && low.fract() == 0.0 && high.fract() == 0.0;
    let score = if whole { json!(raw.round() as i64) } else { json!((raw * 100.0).round() / 100.0) };
    Some(write(asked, score, share >= 0.5, &reason, seed))
}

/// A value from 0 to 1, and a reason.
fn judged(asked: &Asked, graded: &str, reference: Option<String>, seed: u64) -> (f64, String) {
    if graded.is_empty() {
        return (0.0, "The answer is empty.".to_owned());
    }
    let Some(reference) = reference.filter(|reference| !reference.is_empty()) else {
        let share = 0.6 + 0.4 * words::chance(seed, "grade", &asked.fingerprint());
        return (share, "No reference was given; the answer reads well.".to_owned());
    };
    let overlap = words::overlap(graded, &reference);
    if errs(asked, seed) {
        return (1.0 - overlap, "The answer was compared in haste.".to_owned());
    }
    let reason = match overlap {
        1.0.. => "The answer says what the reference says.".to_owned(),
        0.0 => "The answer has nothing in common with the reference.".to_owned(),
        _ => format!("The answer shares {:.0}% of its words with the reference.", overlap * 100.0),
    };
    (overlap, reason)
}

/// The range of the schema, or of the prompt (`from 1 to 5`, `0-10`), or 0 to 1.
fn range(asked: &Asked, prompt: &str) -> (f64, f64) {
    if let Format::Json(Some(schema)) = &asked.format {
        let score = &schema["properties"]["score"];
        if let (Some(low), Some(high)) = (score["minimum"].as_f64(), score["maximum"].as_f64()) {
            return (low, high);
        }
    }
    let near_score = prompt.find("score").or(prompt.find("rat")).or(prompt.find("grade")).unwrap_or(0);
    let ranges = |text: &str| {
        RANGE.captures_iter(text).find_map(|found| {
            let (low, high): (f64, f64) = (found[1].parse().ok()?, found[2].parse().ok()?);
            (low < high && high <= 100.0).then_some((low, high))
        })
    };
    ranges(&prompt[near_score..]).or_else(|| ranges(prompt)).unwrap_or((0.0, 1.0))
}

fn write(asked: &Asked, score: Value, passed: bool, reason: &str, seed: u64) -> Said {
    let hint = |name: &str| match name {
        "score" | "rating" | "grade" => Some(score.clone()),
        "reason" | "reasoning" | "explanation" | "rationale" | "comment" => Some(json!(reason)),
        "pass" | "passed" | "correct" => Some(json!(passed)),
        "verdict" | "label" => Some(json!(if passed { "pass" } else { "fail" })),
        _ => None,
    };
    match &asked.format {
        Format::Json(Some(schema)) => Said::json(&fill(schema, "", &hint)),
        Format::Json(None) => Said::json(&json!({ "score": score, "reason": reason })),
        Format::Text => {
            let json = json!({ "score": score, "reason": reason });
            Said::text(match words::chance(seed, "form", &asked.fingerprint()) {
                chance if chance < 0.3 => format!("```json\n{json:#}\n```"),
                chance if chance < 0.4 => format!("Here is my judgement: {json}"),
                _ => json.to_string(),
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn score(prompt: &str) -> f64 {
        let text = answer(&Asked::user(prompt), 1).unwrap().text;
        let json = &text[text.find('{').unwrap()..=text.rfind('}').unwrap()];
        serde_json::from_str::<Value>(json).unwrap()["score"].as_f64().unwrap()
    }

    #[test]
    fn a_good_answer_gets_a_better_score() {
        let prompt = |answer: &str| {
            format!(
                "Score the answer from 1 to 5 and reply in JSON.\nAnswer: {answer}\nReference: Paris is the capital"
            )
        };
        assert_eq!(score(&prompt("Paris is the capital")), 5.0);
        assert_eq!(score(&prompt("No idea")), 1.0);
        assert_eq!(score(&prompt("Paris is nice")), 3.0);
    }

    #[test]
    fn a_schema_is_respected() {
        let schema = json!({ "type": "object", "properties": {
            "score": { "type": "integer", "minimum": 0, "maximum": 10 }, "reason": { "type": "string" },
            "verdict": { "enum": ["fail", "pass"] },
        }});
        let mut asked = Asked::user("Grade it.\n<answer>Paris</answer>\n<reference>Paris</reference>");
        asked.format = Format::Json(Some(schema));
        let said: Value = serde_json::from_str(&answer(&asked, 1).unwrap().text).unwrap();
        assert_eq!((&said["score"], &said["verdict"]), (&json!(10), &json!("pass")));
    }

    #[test]
    fn some_answers_are_fenced() {
        let fenced = (0..100).filter(|n| {
            let asked = Asked::user(&format!("Score it, in JSON.\nAnswer: {n}\nReference: {n}"));
            answer(&asked, 0).unwrap().text.starts_with("```json")
        });
        assert!((15..45).contains(&fenced.count()));
    }
}
