//! Prefers one of two answers. In one of ten cases it prefers the first position, as real judges do; swapping the
//! positions reveals this bias.

use serde_json::json;

use super::section;
use crate::model::asked::{Asked, Format};
use crate::model::fill::fill;
use crate::model::said::Said;
use crate::model::words;

const BIASED: f64 = 0.1;
const REFERENCE: &[&str] = &["reference answer", "expected answer", "ground truth", "reference", "expected", "ideal"];

pub fn answer(asked: &Asked, seed: u64) -> Option<Said> {
    let prompt = asked.instructions();
    let lower = prompt.to_lowercase();
    if !["winner", "better", "prefer"].iter().any(|word| lower.contains(word)) {
        return None;
    }
    let side = |letter: &str| {
        let labels = ["answer", "response", "output", "assistant", "candidate"].map(|noun| format!("{noun} {letter}"));
        let labels: Vec<&str> = labels.iter().map(String::as_str).chain([letter]).collect();
        section::find(&prompt, &labels)
    };
    let (a, b) = (side("a")?, side("b")?);
    let (winner, reason) = match section::find(&prompt, REFERENCE) {
        _ if a == b => ("tie", "Both say the same."),
        _ if words::chance(seed, "bias", &asked.fingerprint()) < BIASED => ("A", "The first one reads better."),
        Some(reference) => match words::overlap(&a, &reference).total_cmp(&words::overlap(&b, &reference)) {
            std::cmp::Ordering::Greater => ("A", "A is closer to the reference."),
            std::cmp::Ordering::Less => ("B", "B is closer to the reference."),
            std::cmp::Ordering::Equal => ("tie", "Both are as close to the reference."),
        },
        None => match words::count(&a).cmp(&words::count(&b)) {
            std::cmp::Ordering::Greater => ("A", "A says more."),
            std::cmp::Ordering::Less => ("B", "B says more."),
            std::cmp::Ordering::Equal => ("tie", "Neither says more."),
        },
    };
    let hint = |name: &str| match name {
        "winner" | "better" | "preferred" | "choice" => Some(json!(winner)),
        "reason" | "reasoning" | "explanation" => Some(json!(reason)),
        _ => None,
    };
    let plain = json!({ "winner": winner, "reason": reason });
    Some(match &asked.format {
        Format::Json(Some(schema)) => Said::json(&fill(schema, "", &hint)),
        Format::Json(None) => Said::json(&plain),
        Format::Text if words::chance(seed, "form", &asked.fingerprint()) < 0.3 => {
            Said::text(format!("```json\n{plain}\n```"))
        }
        Format::Text => Said::json(&plain),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_closer_answer_wins_in_either_position() {
        let winner = |a: &str, b: &str| {
            let prompt = format!(
                "Which is better? Reply in JSON with winner.\nAnswer A: {a}\nAnswer B: {b}\nReference: the red fox"
            );
            answer(&Asked::user(&prompt), 3).unwrap().text
        };
        assert!(winner("a red fox", "a cow").contains(r#""A""#));
        assert!(winner("a cow", "a red fox").contains(r#""B""#));
        assert!(winner("a cow", "a cow").contains("tie"));
    }

    #[test]
    fn some_prefer_the_first_position() {
        let biased = (0..300).filter(|n| {
            let asked = Asked::user(&format!("Which is better?\nAnswer A: no\nAnswer B: {n} yes\nReference: {n} yes"));
            answer(&asked, 0).unwrap().text.contains(r#""A""#)
        });
        assert!((10..60).contains(&biased.count()));
    }
}
