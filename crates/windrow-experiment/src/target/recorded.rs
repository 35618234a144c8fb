//! Outputs that are already in the dataset: nothing is called, only judged.

use std::sync::Arc;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use windrow_model::step::ContentKey;
use windrow_model::{ErrorClass, Failure, Json};

use super::{Answer, ComponentContext, Question, Target, thaw};
use crate::definition::component::Config;

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordedConfig {
    /// The row's field that holds the output.
    pub field: String,
}

impl Config for RecordedConfig {
    fn row_fields(&self) -> Vec<(&'static str, &str)> {
        vec![("field", &self.field)]
    }
}

pub struct Recorded {
    field: String,
    identity: String,
}

impl Recorded {
    pub fn build(config: Value, _setting: &ComponentContext) -> Result<Arc<dyn Target>, Failure> {
        let RecordedConfig { field } = thaw(config)?;
        Ok(Arc::new(Self { field, identity: r#"{"kind":"recorded"}"#.to_owned() }))
    }
}

#[async_trait]
impl Target for Recorded {
    fn identity(&self) -> &str {
        &self.identity
    }

    fn is_paid(&self) -> bool {
        false
    }

    fn request(&self, question: &Question<'_>) -> Result<Json, Failure> {
        let recorded = question.conversation.field(question.turn, &self.field);
        match recorded {
            None | Some(Value::Null) => {
                let message = format!("the row has no recorded output in its field `{}`", self.field);
                Err(Failure::new(ErrorClass::InvalidRequest, message))
            }
            Some(value) => Ok(Json::of(&serde_json::json!({ "field": self.field, "recorded": value }))),
        }
    }

    async fn call(&self, request: &Json, _key: &ContentKey) -> Result<Answer, Failure> {
        let content = match request.value()["recorded"].take() {
            Value::String(text) => text,
            other => other.to_string(),
        };
        Ok(Answer { content, finish_reason: Some("recorded".to_owned()), ..Answer::default() })
    }
}
