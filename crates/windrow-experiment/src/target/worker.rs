//! `worker`: a worker of the user's own answers, in whatever language. The configuration is given to it
//! as it stands; here nothing can be called.

use std::sync::Arc;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use windrow_model::step::ContentKey;
use windrow_model::{ErrorClass, Failure, Json};

use super::{Answer, ComponentContext, Question, Target, thaw};
use crate::definition::component::Config;
use windrow_jobfile::canonical::canonical;

/// Whatever the worker understands.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub struct WorkerConfig(pub Map<String, Value>);

impl Config for WorkerConfig {}

pub struct Worker {
    identity: String,
}

impl Worker {
    pub fn build(config: Value, _setting: &ComponentContext) -> Result<Arc<dyn Target>, Failure> {
        let WorkerConfig(config) = thaw(config)?;
        Ok(Arc::new(Self { identity: canonical(&json!({ "kind": "worker", "config": config })) }))
    }
}

#[async_trait]
impl Target for Worker {
    fn identity(&self) -> &str {
        &self.identity
    }

    fn is_paid(&self) -> bool {
        true
    }

    fn request(&self, question: &Question<'_>) -> Result<Json, Failure> {
        let row = minijinja::Value::from_object(question.conversation.variables(question.turn, &[]));
        Ok(Json::of(&json!({ "row": row, "turn": question.turn, "trial": question.trial })))
    }

    async fn call(&self, _request: &Json, _key: &ContentKey) -> Result<Answer, Failure> {
        let message = "this target is a worker of your own (docs/workers.md), and a `windrow worker` has leased the item; \
                       give your worker a capability that no `windrow worker` has";
        Err(Failure::new(ErrorClass::InvalidRequest, message))
    }
}
