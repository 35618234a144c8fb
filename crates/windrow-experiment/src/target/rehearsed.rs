//! A target that is asked as the real one would be, and answers at once with a placeholder.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::Value;

use windrow_model::limit::Demand;
use windrow_model::step::{ContentKey, Usage};
use windrow_model::{Failure, Json};

use super::{Answer, ComponentContext, Question, Target};
use crate::context::Rehearsal;
use windrow_jobfile::prices::{Prices, Tokens};

/// What of the configuration says how a call is counted.
pub struct Part {
    provider: String,
    /// The model, or what is called where there is none.
    model: String,
    has_tokens: bool,
    max_reply: Option<i64>,
    prices: Arc<Prices>,
}

impl Part {
    pub fn new(kind: &str, config: &Value, context: &ComponentContext) -> Self {
        // A recording is of another target.
        if let (Some(kind), inner) = (config["target"]["kind"].as_str(), &config["target"]["config"]) {
            return Self::new(kind, inner, context);
        }
        let model = config["model"].as_str();
        Self {
            provider: kind.to_owned(),
            model: model.map_or_else(|| kind.to_owned(), |text| context.environment.resolve(text).unwrap_or_default()),
            has_tokens: model.is_some(),
            max_reply: config["max_completion_tokens"].as_i64().or_else(|| config["max_tokens"].as_i64()),
            prices: context.prices.clone(),
        }
    }
}

pub struct Rehearsed {
    inner: Arc<dyn Target>,
    part: Part,
    rehearsal: Rehearsal,
}

impl Rehearsed {
    pub fn new(inner: Arc<dyn Target>, part: Part, rehearsal: Rehearsal) -> Self {
        Self { inner, part, rehearsal }
    }
}

#[async_trait]
impl Target for Rehearsed {
    fn identity(&self) -> &str {
        self.inner.identity()
    }

    fn is_paid(&self) -> bool {
        self.inner.is_paid()
    }

    fn demand(&self, request: &Json) -> Option<Demand> {
        self.inner.demand(request)
    }

    fn request(&self, question: &Question<'_>) -> Result<Json, Failure> {
        self.inner.request(question)
    }

    async fn call(&self, request: &Json, key: &ContentKey) -> Result<Answer, Failure> {
        if !self.inner.is_paid() && !self.part.has_tokens {
            // Recorded in the row: taking it from there calls nothing, and judges read the real one.
            return self.inner.call(request, key).await;
        }
        let output = self.rehearsal.tokens_out(self.part.max_reply);
        let content = self.rehearsal.answer(output);
        let model = Some(self.part.model.clone());
        if !self.part.has_tokens {
            return Ok(Answer { content, model, ..Answer::default() });
        }
        let tokens = Tokens { input: self.rehearsal.tokens_in(request), output, ..Tokens::default() };
        let cost_nanos = self.part.prices.cost(&self.part.provider, &self.part.model, &tokens).unwrap_or(0);
        let used = Usage { tokens_in: tokens.input, tokens_out: tokens.output, cost_nanos };
        Ok(Answer { content, model, used, ..Answer::default() })
    }
}
