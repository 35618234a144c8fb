//! Simulates a user with a goal: asks for its parts one by one, then sends the stop phrase.

use std::sync::LazyLock;

use regex::Regex;

use super::section;
use crate::model::asked::{Asked, Role};
use crate::model::said::Said;

static PERSONA: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)(play|simulat|pretend|act|role)\w*\b[^.\n]{0,60}\b(user|customer|person|client)\b")
        .expect("the pattern is valid")
});
/// `write exactly [END] and nothing else`.
static EXACTLY: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"(?i)\bexactly\W*?["`“']?([^\s"`”']+?)["`”']?(?:[.,]?\s|[.,]?$)"#).expect("the pattern is valid")
});
/// A stop phrase in quotes or brackets: `"DONE"`, `<STOP>`, `[[END]]`.
static STOP: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"["`“']([^"`”'\n]{2,60})["`”']|(<\w+>|\[\[\w+\]\]|###\w+###)|\b([A-Z][A-Z_]{3,})\b"#)
        .expect("the pattern is valid")
});
static PARTS: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)[.;,]\s+(?:and |then )*|\s+and then\s+|\s+then\s+|\s+and\s+").expect("the pattern is valid")
});
static OWN_LINE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?im)^\W*(user|customer|you)\W*:").expect("the pattern is valid"));

pub fn answer(asked: &Asked, _seed: u64) -> Option<Said> {
    let told: String = match asked.last(Role::System) {
        Some(system) => system.text.clone(),
        None => asked.turns.first()?.text.clone(),
    };
    if !PERSONA.is_match(&told) {
        return None;
    }
    let goal = goal(&told)?;
    let parts: Vec<&str> = PARTS.split(&goal).map(|part| part.trim_matches(['.', ' ', '!'])).collect();
    let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    // Its own messages have the role assistant here, or are in a transcript.
    let said = asked.said_by(Role::Assistant).count();
    let said = if said > 0 { said } else { OWN_LINE.find_iter(asked.question()).count() };
    Some(Said::text(match parts.get(said) {
        Some(part) if said == 0 => format!("Hello, this is what I want: {part}."),
        Some(part) => format!("There is one more thing: {part}."),
        None => match stop_phrase(&told) {
            Some(stop) => format!("Thank you, that is all. {stop}"),
            None => "Thank you, that is all. Goodbye.".to_owned(),
        },
    }))
}

fn goal(told: &str) -> Option<String> {
    let labelled = section::find(told, &["what you want", "your goal", "goal", "task"]).filter(|goal| !goal.is_empty());
    let first_line = |goal: String| goal.lines().next().unwrap_or_default().to_owned();
    let in_prose = || {
        let lower = told.to_lowercase();
        let at = ["goal is to ", "goal is ", "you want to ", "wants to "]
            .iter()
            .find_map(|mark| Some(lower.find(mark)? + mark.len()))?;
        told.get(at..).map(|rest| rest.split(['\n', '.']).next().unwrap_or_default().to_owned())
    };
    labelled.map(first_line).or_else(in_prose)
}

/// The phrase in the sentence about ending.
fn stop_phrase(told: &str) -> Option<String> {
    if let Some(found) = EXACTLY.captures(told) {
        return Some(found[1].to_owned());
    }
    let ending = ["stop", "end the", "finish", "done", "satisfied", "reached", "achieved", "fulfilled", "met"];
    let sentences = told.split_inclusive(['\n', '.']);
    sentences.filter(|sentence| ending.iter().any(|word| sentence.to_lowercase().contains(word))).find_map(|sentence| {
        let found = STOP.captures(sentence)?;
        (1..=3).find_map(|group| found.get(group)).map(|found| found.as_str().to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::asked::Turn;

    fn told(text: &str) -> Asked {
        Asked { turns: vec![Turn { role: Role::System, text: text.to_owned() }], ..Asked::default() }
    }

    #[test]
    fn the_user_asks_part_by_part_and_ends() {
        let asked = told(
            "You are playing a customer of a shop.\nPersona: hasty\nGoal: find order #7 and cancel it\n\
             When the goal is reached, reply with \"ALL DONE\".",
        );
        let say = |asked: &Asked| answer(asked, 0).unwrap().text;
        let asked = asked.then(Role::User, "How can I help?");
        assert_eq!(say(&asked), "Hello, this is what I want: find order #7.");
        let asked = asked.then(Role::Assistant, "Hello").then(Role::User, "Here it is.");
        assert_eq!(say(&asked), "There is one more thing: cancel it.");
        let asked = asked.then(Role::Assistant, "Cancel it").then(Role::User, "Done.");
        assert_eq!(say(&asked), "Thank you, that is all. ALL DONE");
    }

    #[test]
    fn the_user_follows_rephrased_instructions() {
        let asked = told(
            "You play a person who talks to an assistant.\n\nWho you are: Ada\nWhat you want: a refund for #7\n\nOnce \
             you have what you want, write exactly [END] and nothing else.",
        );
        let asked = asked.then(Role::User, "(Begin.)");
        assert_eq!(answer(&asked, 0).unwrap().text, "Hello, this is what I want: a refund for #7.");
        let asked = asked.then(Role::Assistant, "A refund").then(Role::User, "It is on its way.");
        assert_eq!(answer(&asked, 0).unwrap().text, "Thank you, that is all. [END]");
    }

    #[test]
    fn a_transcript_in_one_message_works_too() {
        let asked = told("Simulate a user whose goal is to get a refund. If satisfied, say <STOP>")
            .then(Role::User, "Transcript:\nUser: a refund, please\nAssistant: It is on its way.");
        assert_eq!(answer(&asked, 0).unwrap().text, "Thank you, that is all. <STOP>");
        assert_eq!(answer(&Asked::user("What is a user?"), 0), None);
    }
}
