//! Passwords of targets. In memory they are themselves; whatever is recorded has them sealed, and whatever is shown has
//! a mask in their place.

use std::sync::Arc;

use serde_json::Value;
use tokio::sync::OnceCell;
use windrow_jobfile::environment::{Environment, SEALED, Sealer};
use windrow_jobfile::spec::{invalid_request, prepare_blocking};
use windrow_model::Failure;

use super::handler::Handler;
use super::mask::{is_sealed, rewritten};

/// A shorter one is found by its key only: it would be found in too much.
const SHORTEST: usize = 4;

/// All that nobody may see in these images.
pub fn secrets<'a>(handler: &dyn Handler, images: impl IntoIterator<Item = &'a Value>) -> Vec<String> {
    let mut found = handler.secret_values();
    for image in images {
        collect(image, false, &|name| handler.hides(name), &mut found);
    }
    found.retain(|text| text.chars().count() >= SHORTEST);
    found.sort_by_key(|text| std::cmp::Reverse(text.len()));
    found.dedup();
    found
}

fn collect(value: &Value, hidden: bool, hides: &impl Fn(&str) -> bool, found: &mut Vec<String>) {
    match value {
        Value::String(text) if hidden => found.push(text.clone()),
        Value::Array(list) => list.iter().for_each(|value| collect(value, hidden, hides, found)),
        Value::Object(fields) => {
            fields.iter().for_each(|(name, value)| collect(value, hidden || hides(name), hides, found));
        }
        _ => {}
    }
}

/// With `seal` for every text that must not be seen.
fn covered<E>(
    value: &Value,
    handler: &dyn Handler,
    secrets: &[String],
    seal: &impl Fn(&str) -> Result<String, E>,
) -> Result<Value, E> {
    let each = |text: &str, hidden: bool| {
        let covered = hidden && !text.is_empty() || secrets.iter().any(|secret| text.contains(secret.as_str()));
        if covered { seal(text).map(Some) } else { Ok(None) }
    };
    rewritten(value, false, &each, &|name| handler.hides(name))
}

/// For a preview, which records nothing: equal texts look equal, and that is all they tell.
pub fn blurred(value: &Value, handler: &dyn Handler, secrets: &[String], salt: &[u8; 32]) -> Value {
    let blur = |text: &str| Ok::<_, ()>(format!("{SEALED}{}", blake3::keyed_hash(salt, text.as_bytes())));
    covered(value, handler, secrets, &blur).unwrap_or(Value::Null)
}

/// Seals and opens with the key of the store, which is asked for when there is something to seal.
pub struct Veil {
    environment: Environment,
    sealer: OnceCell<Arc<dyn Sealer>>,
}

impl Veil {
    pub fn new(environment: Environment) -> Self {
        Self { environment, sealer: OnceCell::new() }
    }

    async fn sealer(&self) -> Result<&Arc<dyn Sealer>, Failure> {
        let environment = self.environment.clone();
        let found = || async {
            prepare_blocking(move || {
                environment.sealer().map_err(|why| invalid_request(format!("its passwords cannot be kept: {why}")))
            })
            .await
        };
        self.sealer.get_or_try_init(found).await
    }

    pub async fn seal(&self, value: &Value, handler: &dyn Handler, secrets: &[String]) -> Result<Value, Failure> {
        // Found out first, because most targets have nothing to hide.
        if covered(value, handler, secrets, &|_: &str| Err(())).is_ok() {
            return Ok(value.clone());
        }
        let sealer = self.sealer().await?;
        Ok(covered(value, handler, secrets, &|text: &str| Ok::<_, ()>(sealer.seal(text))).unwrap_or(Value::Null))
    }

    pub async fn open(&self, value: Value) -> Result<Value, Failure> {
        if !is_sealed(&value) {
            return Ok(value);
        }
        let sealer = self.sealer().await?;
        let open = |text: &str, _| match text.starts_with(SEALED) {
            true => sealer.open(text).map(Some).ok_or(()),
            false => Ok(None),
        };
        let opened = rewritten(&value, false, &open, &|_| false);
        opened.map_err(|()| invalid_request("its passwords were encrypted with another key; restore the master key"))
    }
}
