//! Frozen definitions: how one is written and hashed, read back, and prepared to run.

use std::fmt::Display;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use windrow_model::{ErrorClass, Failure, Json};

use crate::canonical::canonical;

/// The definition of one kind of job.
pub trait Spec: Serialize + DeserializeOwned {
    /// As canonical JSON, and the hash of it.
    fn freeze(&self) -> (Json, String) {
        let value = serde_json::to_value(self).expect("a definition serialises to JSON");
        let spec = Json::from_text(canonical(&value));
        let hash = blake3::hash(spec.as_str().as_bytes()).to_hex().to_string();
        (spec, hash)
    }

    fn thaw(spec: &Json) -> Result<Self, Failure> {
        spec.parse().map_err(|error| unfit("definition", error))
    }
}

/// The configuration of a component, which is frozen as a part of a definition.
pub fn thaw_config<C: DeserializeOwned>(component: &str, config: Value) -> Result<C, Failure> {
    serde_json::from_value(config).map_err(|error| unfit(component, error))
}

pub fn unfit(part: &str, reason: impl Display) -> Failure {
    invalid_request(format!("the frozen {part} does not fit this version: {reason}; submit the job file again"))
}

/// The request itself is wrong; a retry cannot help.
pub fn invalid_request(message: impl Into<String>) -> Failure {
    Failure::new(ErrorClass::InvalidRequest, message)
}

/// Preparing reads files and secrets, so it must not block the runtime.
pub async fn prepare_blocking<P: Send + 'static>(
    prepare: impl FnOnce() -> Result<P, Failure> + Send + 'static,
) -> Result<P, Failure> {
    let prepared = tokio::task::spawn_blocking(prepare).await;
    prepared.map_err(|panic| Failure::new(ErrorClass::Handler, format!("preparing the run failed: {panic}")))?
}
