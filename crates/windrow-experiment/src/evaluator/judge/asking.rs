//! Asks a model for a ruling: held to a schema where the endpoint can do that, and asked again,
//! with what was wrong, where its reply cannot be read. Each call is a separate step.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use windrow_jobfile::diagnostics::Problems;
use windrow_jobfile::job_file::Section;
use windrow_model::workload::Halt;
use windrow_model::{ErrorClass, Failure};

use super::super::{Calls, ComponentContext, Evaluation, quote};
use super::form::{Form, Ruling};
use crate::definition::component::{self, Checked, Component, Config, LoadContext};
use crate::definition::message::{Message, Role};
use crate::target::{self, Answer, Target, read_model};

const MODEL: &str = "model";
/// The target whose endpoints know `response_format`.
const STRUCTURED: &str = "openai";

/// An evaluator's configuration with the model it asks.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WithModel<C> {
    pub model: Component,
    pub own: C,
}

/// Reads `model:` and then the other fields as `C`.
pub fn read<C: Config>(
    section: &Section,
    also: &[&str],
    context: LoadContext<'_>,
    problems: &mut Problems,
) -> Option<Checked> {
    let mut section = section.clone();
    let model = section.require(MODEL, "model: { openai: { model: … } }", problems);
    let model = model.and_then(|model| read_model(model, context, problems));
    let checked = component::read::<C>(&section, &[also, &[MODEL]].concat(), context, problems);
    let (model, mut checked) = (model?, checked?);
    checked.warnings.extend(model.warnings);
    let config = WithModel { model: model.component, own: checked.config };
    let config = serde_json::to_value(config).expect("a configuration serialises to JSON");
    Some(Checked { config, ..checked })
}

pub struct Asking {
    plain: Arc<dyn Target>,
    structured: Option<Arc<dyn Target>>,
    /// The endpoint does not know schemas; it is not asked with one again.
    refused: AtomicBool,
    form: Form,
}

impl Asking {
    /// `structured` is the field of that name; where it is not given, only OpenAI itself is relied on.
    pub fn new(
        model: Component,
        form: Form,
        structured: Option<bool>,
        context: &ComponentContext,
    ) -> Result<Self, Failure> {
        let context = context.expecting(|| form.specimen());
        let build = |component: Component| target::build(&component.kind, component.config, &context);
        let official = model.config.get("base_url").is_none();
        let with_schema = structured.unwrap_or(official).then(|| held_to(&form.schema(), &model)).flatten();
        let structured = with_schema.map(build).transpose()?;
        Ok(Self { plain: build(model)?, structured, refused: AtomicBool::new(false), form })
    }

    /// The ruling on a prompt, or the finding that there is none. Where the recorded replies cannot
    /// be used, a retry asks again.
    pub async fn ruling(&self, prompt: String, calls: &Calls<'_>) -> Result<Result<Ruling, Evaluation>, Halt> {
        let messages = [Message { role: Role::User, content: prompt }];
        let mut round = 0;
        loop {
            let asked = calls.in_round(round);
            let ruling = self.ruling_in(&messages, &asked).await;
            calls.add(asked.used());
            let ruling = ruling?;
            round += 1;
            let again = asked.all_precede_the_retry() || self.is_asked(&messages, &calls.in_round(round));
            if ruling.is_ok() || !again {
                return Ok(ruling);
            }
        }
    }

    fn is_asked(&self, messages: &[Message], calls: &Calls<'_>) -> bool {
        let models = [self.structured.as_deref(), Some(&*self.plain)];
        models.into_iter().flatten().any(|model| calls.remembers(model, messages))
    }

    /// Asks, and asks again with what was wrong.
    async fn ruling_in(&self, messages: &[Message], calls: &Calls<'_>) -> Result<Result<Ruling, Evaluation>, Halt> {
        let mut messages = messages.to_vec();
        let reply = self.ask(&messages, calls).await?.content;
        let wrong = match self.form.read(&reply) {
            Ok(ruling) => return Ok(Ok(ruling)),
            Err(wrong) => wrong,
        };
        let repair = format!("This reply cannot be used: {wrong}. {}", self.form.instruction());
        messages.push(Message { role: Role::Assistant, content: reply });
        messages.push(Message { role: Role::User, content: repair });
        let reply = self.ask(&messages, calls).await?.content;
        Ok(self.form.read(&reply).map_err(|wrong| {
            Evaluation::error(format!(
                "the judge's reply cannot be used, asked twice: {wrong}; it said {}",
                quote(&reply)
            ))
        }))
    }

    async fn ask(&self, messages: &[Message], calls: &Calls<'_>) -> Result<Answer, Halt> {
        if let Some(structured) = &self.structured
            && !self.refused.load(Ordering::Relaxed)
        {
            match calls.ask(&**structured, messages).await {
                Err(Halt::Failed(failure)) if failure.class == ErrorClass::InvalidRequest => {
                    self.refused.store(true, Ordering::Relaxed);
                }
                answered => return answered,
            }
        }
        calls.ask(&*self.plain, messages).await
    }
}

/// The model with `response_format` among its parameters, unless it has one of its own.
fn held_to(schema: &Value, model: &Component) -> Option<Component> {
    if model.kind != STRUCTURED {
        return None;
    }
    let mut model = model.clone();
    let params = model.config.as_object_mut()?.entry("params").or_insert_with(|| json!({})).as_object_mut()?;
    if params.contains_key("response_format") {
        return None;
    }
    let schema = json!({ "name": "ruling", "strict": true, "schema": schema });
    params.insert("response_format".to_owned(), json!({ "type": "json_schema", "json_schema": schema }));
    Some(model)
}
