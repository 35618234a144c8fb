//! What nobody may see, and what stands in its place where it is shown.

use serde_json::Value;
use windrow_jobfile::environment::SEALED;
use windrow_model::{Failure, Json};

pub const MASK: &str = "••••";
const WORDS: [&str; 6] = ["password", "passwd", "secret", "token", "credential", "credentials"];

/// Whether a field of this name holds what nobody may see.
pub fn is_secret_name(name: &str) -> bool {
    let lower = name.to_lowercase();
    lower.split(|c: char| !c.is_alphanumeric()).any(|word| WORDS.contains(&word))
}

/// The image as a person may see it.
pub fn masked(image: Value) -> Value {
    let mask = |text: &str| text.starts_with(SEALED).then(|| MASK.to_owned());
    rewritten(&image, false, &|text, _| Ok::<_, ()>(mask(text)), &|_| false).unwrap_or(Value::Null)
}

pub fn is_sealed(value: &Value) -> bool {
    match value {
        Value::String(text) => text.starts_with(SEALED),
        Value::Array(list) => list.iter().any(is_sealed),
        Value::Object(fields) => fields.values().any(is_sealed),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// The same failure without them.
pub fn redacted(failure: Failure, secrets: &[String]) -> Failure {
    let clean = |text: &str| secrets.iter().fold(text.to_owned(), |text, secret| text.replace(secret.as_str(), MASK));
    let message = clean(&failure.message);
    let detail = failure.detail.as_ref().map(|detail| Json::from_text(clean(detail.as_str())));
    Failure { message, detail, ..failure }
}

/// `each` gives the text to stand in place of one; it is told whether it stands under a hidden name.
pub fn rewritten<E>(
    value: &Value,
    hidden: bool,
    each: &impl Fn(&str, bool) -> Result<Option<String>, E>,
    hides: &impl Fn(&str) -> bool,
) -> Result<Value, E> {
    Ok(match value {
        Value::String(text) => Value::String(each(text, hidden)?.unwrap_or_else(|| text.clone())),
        Value::Array(list) => {
            list.iter().map(|value| rewritten(value, hidden, each, hides)).collect::<Result<_, _>>()?
        }
        Value::Object(fields) => fields
            .iter()
            .map(|(name, value)| Ok((name.clone(), rewritten(value, hidden || hides(name), each, hides)?)))
            .collect::<Result<_, E>>()?,
        other => other.clone(),
    })
}
