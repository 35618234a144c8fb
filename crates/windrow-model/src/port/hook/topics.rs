//! What there is to tell, and which of it a webhook wants: a topic, all of a family (`run.*`), or all (`*`).

use std::str::FromStr;

use crate::state::RunState;

pub const ITEMS_ARCHIVED: &str = "items.archived";
/// Events were forgotten before a webhook read them.
pub const GAP: &str = "gap";

/// Every topic, with what it tells.
pub fn known_topics() -> Vec<(String, &'static str)> {
    let mut topics = vec![
        ("run.submitted".to_owned(), "A run was asked for."),
        ("run.planned".to_owned(), "All its items are known."),
    ];
    topics.extend(RunState::ALL.iter().map(|state| (format!("run.{state}"), state.doc())));
    topics.extend([
        (ITEMS_ARCHIVED.to_owned(), "Results: items with their state, scores and error."),
        ("items.partial".to_owned(), "Scores of items that are still running."),
        ("alert.raised".to_owned(), "Something needs attention."),
        ("alert.cleared".to_owned(), "It no longer does."),
    ]);
    topics
}

/// As a person writes them: `run.completed`, `run.*`, `*`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Topics(Vec<String>);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown event {0:?}")]
pub struct BadTopic(pub String);

impl Topics {
    pub fn of<S: AsRef<str>>(words: &[S]) -> Result<Self, BadTopic> {
        let known = known_topics();
        let words: Vec<String> = words.iter().map(|word| word.as_ref().trim().to_owned()).collect();
        let bad = words.iter().find(|word| !known.iter().any(|(topic, _)| matches(word, topic)));
        match bad {
            Some(word) => Err(BadTopic(word.clone())),
            None if words.is_empty() => Err(BadTopic(String::new())),
            None => Ok(Self(words)),
        }
    }

    pub fn include(&self, topic: &str) -> bool {
        // A receiver must know when something is missing.
        topic == GAP || self.0.iter().any(|word| matches(word, topic))
    }

    pub fn words(&self) -> &[String] {
        &self.0
    }
}

fn matches(word: &str, topic: &str) -> bool {
    match word.strip_suffix('*') {
        Some("") => true,
        Some(family) => family.ends_with('.') && topic.starts_with(family),
        None => word == topic,
    }
}

impl std::fmt::Display for Topics {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(&self.0.join(","))
    }
}

impl FromStr for Topics {
    type Err = BadTopic;
    fn from_str(text: &str) -> Result<Self, BadTopic> {
        Self::of(&text.split(',').collect::<Vec<_>>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_family_includes_its_topics_and_no_others() {
        let topics: Topics = "run.*, alert.raised".parse().unwrap();
        assert!(topics.include("run.completed") && topics.include("alert.raised") && topics.include(GAP));
        assert!(!topics.include("items.archived") && !topics.include("alert.cleared"));
        assert!("*".parse::<Topics>().unwrap().include("items.archived"));
    }

    #[test]
    fn what_never_happens_cannot_be_subscribed_to() {
        for word in ["run.finished", "runs.*", "run*", "", "run.completed,,"] {
            assert!(word.parse::<Topics>().is_err(), "{word:?}");
        }
    }
}
