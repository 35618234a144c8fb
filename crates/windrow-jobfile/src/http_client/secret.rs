//! API keys and other secrets, kept out of everything that is recorded or shown. What comes back from
//! outside may hold a secret in other clothes (escaped, encoded), so each is looked for in all of them.

mod forms;

use std::ops::BitOr;

use serde_json::Value;
use windrow_model::{Failure, Json};

use crate::environment::SHORTEST_SECRET;
use forms::forms_of;

const REDACTED: &str = "[redacted]";

#[derive(Debug, Clone, Default)]
pub struct Secret {
    /// The longest first: a secret that holds another one must go first.
    forms: Vec<String>,
}

impl Secret {
    pub fn new(secrets: impl IntoIterator<Item = String>) -> Self {
        let long = secrets.into_iter().filter(|secret| secret.len() >= SHORTEST_SECRET);
        let mut forms: Vec<String> = long.flat_map(|secret| forms_of(&secret)).collect();
        forms.sort_unstable();
        forms.dedup();
        forms.sort_by_key(|form| std::cmp::Reverse(form.len()));
        Self { forms }
    }

    pub fn redact(&self, text: String) -> String {
        let text = self.forms.iter().fold(text, |text, form| match text.contains(form.as_str()) {
            true => text.replace(form.as_str(), REDACTED),
            false => text,
        });
        // JSON may spell any character as an escape, and a text in it may be JSON that was escaped once more.
        match !self.forms.is_empty() && text.contains('\\') {
            true => self.redact_spelled(&text).unwrap_or(text),
            false => text,
        }
    }

    /// Of a text that is still arriving: its end, where that may be the beginning of a secret, waits for the rest.
    pub fn redact_arriving(&self, text: &str) -> String {
        let mut clean = self.redact(text.to_owned());
        let begins = |form: &String| {
            let longest = (form.len() - 1).min(clean.len());
            (1..=longest).rev().find(|n| clean.as_bytes()[clean.len() - n..] == form.as_bytes()[..*n])
        };
        let held = self.forms.iter().filter_map(begins).max().unwrap_or(0);
        let mut end = clean.len() - held;
        while !clean.is_char_boundary(end) {
            end -= 1;
        }
        clean.truncate(end);
        clean
    }

    /// `None` where there is nothing to cut out.
    fn redact_spelled(&self, text: &str) -> Option<String> {
        let mut value: Value = serde_json::from_str(text).ok()?;
        self.redact_value(&mut value).then(|| value.to_string())
    }

    /// Whether something was cut out.
    fn redact_value(&self, value: &mut Value) -> bool {
        match value {
            Value::String(text) if self.forms.iter().any(|form| text.contains(form.as_str())) => {
                *text = self.redact(std::mem::take(text));
                true
            }
            // Every one of them is looked at, also behind one that was found.
            Value::Array(list) => list.iter_mut().map(|value| self.redact_value(value)).fold(false, BitOr::bitor),
            Value::Object(fields) => {
                fields.values_mut().map(|value| self.redact_value(value)).fold(false, BitOr::bitor)
            }
            _ => false,
        }
    }

    pub fn redact_failure(&self, failure: Failure) -> Failure {
        Failure {
            message: self.redact(failure.message),
            detail: failure.detail.map(|detail| Json::from_text(self.redact(detail.as_str().to_owned()))),
            ..failure
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use windrow_model::ErrorClass;

    #[test]
    fn the_key_is_found_as_text_and_inside_json() {
        let secret = Secret::new(Some("k\"ey\\1-long".to_owned()));
        let failure = Failure::new(ErrorClass::Auth, "bad k\"ey\\1-long")
            .with_detail(Json::of(&serde_json::json!({ "body": "you sent k\"ey\\1-long" })));
        let clean = secret.redact_failure(failure);
        assert_eq!(clean.message, "bad [redacted]");
        assert_eq!(clean.detail.unwrap().value()["body"], "you sent [redacted]");
        assert_eq!(Secret::new(Some("x".to_owned())).redact("Mexico".to_owned()), "Mexico");
        assert_eq!(Secret::default().redact("text".to_owned()), "text");
    }

    #[test]
    fn a_secret_that_is_still_arriving_is_held_back() {
        let secret = Secret::new(Some("key-0123456789".to_owned()));
        assert_eq!(secret.redact_arriving("the key-0123"), "the ");
        assert_eq!(secret.redact_arriving("the key-0123456789 is"), "the [redacted] is");
        assert_eq!(secret.redact_arriving("the door is grün"), "the door is grün");
        assert_eq!(Secret::default().redact_arriving("key-0123"), "key-0123");
    }

    #[test]
    fn however_json_spells_it_the_key_is_found() {
        let secret = Secret::new(Some("ab/cd+ef==gh".to_owned()));
        assert_eq!(secret.redact(r#"{"a":["ab\/cd+ef==gh"]}"#.to_owned()), r#"{"a":["[redacted]"]}"#);
        assert_eq!(secret.redact(r#"{"a":"\u0061b/cd+ef==gh!"}"#.to_owned()), r#"{"a":"[redacted]!"}"#);
        let twice = serde_json::json!({ "a": r#"{"b":"ab\/cd+ef==gh"}"# }).to_string();
        assert!(secret.redact(twice).contains("[redacted]"));
        let other = r#"{"a": "\u00e9"}"#;
        assert_eq!(secret.redact(other.to_owned()), other, "what holds no secret stays as it was written");
    }
}
