//! What the references of an action stand for. They are looked up once, when it is prepared, and filled
//! in on the way out; whatever is recorded still has the references.

use serde_json::Value;
use windrow_model::{ErrorClass, Failure};

use crate::environment::{Environment, references};
use crate::http_client::Secret;
use crate::templated::texts;

#[derive(Debug, Clone, Default)]
pub struct ResolvedRefs {
    /// The reference as it is written, and its value.
    values: Vec<(String, String)>,
}

impl ResolvedRefs {
    /// All that stand in these texts. Looking a secret up may block.
    pub fn of(config: &Value, environment: &Environment) -> Result<Self, Failure> {
        let mut values: Vec<(String, String)> = Vec::new();
        for text in texts(config) {
            let (variables, secrets) = references(text);
            let written = variables.into_iter().map(|name| format!("${{env:{name}}}"));
            for reference in written.chain(secrets.into_iter().map(|name| format!("${{secret:{name}}}"))) {
                let found = environment.resolve_secret(&reference);
                let found = found.map_err(|error| Failure::new(ErrorClass::InvalidRequest, error.to_string()))?;
                values.push((reference, found.text));
            }
        }
        Ok(Self { values })
    }

    pub fn fill(&self, text: &str) -> String {
        self.values.iter().fold(text.to_owned(), |text, (reference, value)| text.replace(reference.as_str(), value))
    }

    /// In every text of it, so that a value with quotes in it stays one text.
    pub fn fill_json(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.fill(text)),
            Value::Array(list) => list.iter().map(|value| self.fill_json(value)).collect(),
            Value::Object(fields) => {
                fields.iter().map(|(name, value)| (self.fill(name), self.fill_json(value))).collect()
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        }
    }

    /// What they stand for.
    pub fn values(&self) -> impl Iterator<Item = &str> {
        self.values.iter().map(|(_, value)| value.as_str())
    }

    /// All that must not be seen.
    pub fn secret(&self) -> Secret {
        Secret::new(self.values.iter().map(|(_, value)| value.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn references_are_filled_in_anywhere_and_unset_ones_are_named() {
        let environment = Environment::new(|name| (name == "TOKEN").then(|| "t0ken-value".to_owned()));
        let config = json!({ "headers": { "authorization": "Bearer ${env:TOKEN}" } });
        let refs = ResolvedRefs::of(&config, &environment).unwrap();
        assert_eq!(refs.fill("Bearer ${env:TOKEN}"), "Bearer t0ken-value");
        assert_eq!(refs.secret().redact("it was t0ken-value".to_owned()), "it was [redacted]");
        assert!(ResolvedRefs::of(&json!("${env:GONE}"), &environment).unwrap_err().message.contains("GONE"));
    }

    #[test]
    fn a_value_with_quotes_stays_one_text_of_a_body() {
        let environment = Environment::new(|_| Some(r#"a"b\c", "admin": "yes"#.to_owned()));
        let body = json!({ "password": "${env:PASSWORD}", "list": ["${env:PASSWORD}", 1, null] });
        let refs = ResolvedRefs::of(&body, &environment).unwrap();
        let value = r#"a"b\c", "admin": "yes"#;
        assert_eq!(refs.fill_json(&body), json!({ "password": value, "list": [value, 1, null] }));
    }
}
