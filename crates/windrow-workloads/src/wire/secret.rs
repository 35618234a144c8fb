//! API keys and other secrets, kept out of everything that is recorded or shown.

use windrow_model::{Failure, Json};

const REDACTED: &str = "[redacted]";
/// Shorter than any real key: a placeholder such as `x` would be cut out of ordinary words.
const SHORTEST: usize = 8;

#[derive(Debug, Clone, Default)]
pub struct Secret {
    /// Each as it is, and as it would stand inside JSON.
    forms: Vec<String>,
}

impl Secret {
    pub fn new(secrets: impl IntoIterator<Item = String>) -> Self {
        let mut forms = Vec::new();
        for secret in secrets.into_iter().filter(|secret| secret.len() >= SHORTEST) {
            let quoted = serde_json::to_string(&secret).expect("text serialises to JSON");
            let escaped = quoted[1..quoted.len() - 1].to_owned();
            if escaped != secret {
                forms.push(escaped);
            }
            forms.push(secret);
        }
        // A secret that holds another one must go first.
        forms.sort_by_key(|form| std::cmp::Reverse(form.len()));
        Self { forms }
    }

    pub fn redact(&self, text: String) -> String {
        self.forms.iter().fold(text, |text, form| match text.contains(form.as_str()) {
            true => text.replace(form.as_str(), REDACTED),
            false => text,
        })
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
}
