//! Any service that speaks HTTP: the request is made of templates, the answer is found by JSONPath.
//! A service that answers later is polled, or calls back; handing in and collecting are two steps, so
//! that a crash in between hands nothing in twice.

mod callback;
mod config;
mod exchange;
mod handed_in;
mod listener;
mod poll;
mod reading;
mod slot;

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::Value;

use windrow_model::limit::Demand;
use windrow_model::step::ContentKey;
use windrow_model::{ErrorClass, Failure, Json};

pub use config::HttpConfig;

use super::account::Account;
use super::{Answer, Collected, ComponentContext, Later, Question, Target, thaw};
use crate::definition::message::{Message, Role};
use callback::Callback;
use exchange::Exchange;
use handed_in::HandedIn;
use poll::Poll;
use reading::Reading;
use windrow_jobfile::canonical::canonical;
use windrow_jobfile::environment::{BadReference, Environment, has_reference};
use windrow_jobfile::http_client::{Request, web_url};
use windrow_jobfile::template::{Template, TemplateError};
use windrow_jobfile::templated::Templated;

/// What its templates see beside the row.
pub const GIVEN: &[&str] = &["messages", "prompt", "token", "callback_url"];

pub struct Http {
    method: reqwest::Method,
    /// A reference to the environment at the beginning, then a template.
    url: (String, Template),
    headers: Vec<(String, Template)>,
    body: Option<Templated>,
    exchange: Exchange,
    /// Where its host can be told before the templates are filled in.
    account: Option<Account>,
    reading: Reading,
    collects: Option<Collects>,
    identity: String,
}

enum Collects {
    ByPolling(Poll),
    ByCallback(Callback),
}

impl Http {
    pub fn build(config: Value, context: &ComponentContext) -> Result<Arc<dyn Target>, Failure> {
        let config: HttpConfig = thaw(config)?;
        let timeout = config.timeout.unwrap_or(context.timeout);
        let (prefix, rest) = config.split_url();
        let templated = config.headers.iter().filter(|(_, value)| !has_reference(value));
        let headers = templated.map(|(name, value)| Ok((name.clone(), template(value)?)));
        let collects = match (&config.poll, &config.callback) {
            (Some(poll), _) => Some(Collects::ByPolling(Poll::new(poll)?)),
            (None, Some(callback)) => Some(Collects::ByCallback(Callback::new(callback)?)),
            (None, None) => None,
        };
        Ok(Arc::new(Self {
            method: config.method().map_err(wrong)?,
            url: (prefix.to_owned(), template(rest)?),
            headers: headers.collect::<Result<_, Failure>>()?,
            body: config.body.as_ref().map(Templated::new).transpose().map_err(untemplated)?,
            account: account(&config, &context.environment)?,
            exchange: Exchange::new(&config, timeout, &context.environment, context.place("http"))?,
            reading: Reading::new(&config).map_err(wrong)?,
            collects,
            identity: identity(&config),
        }))
    }
}

/// Targets that send the same secret headers to the same host share its limits.
fn account(config: &HttpConfig, environment: &Environment) -> Result<Option<Account>, Failure> {
    let resolve = |text: &str| environment.resolve(text).map_err(|error| wrong(error.to_string()));
    let (prefix, rest) = config.split_url();
    let fixed = format!("{}{}", resolve(prefix)?, rest.split("{{").next().unwrap_or_default());
    let secret = config.headers.values().filter(|value| has_reference(value));
    let secret = secret.map(|value| Ok(environment.resolve_secret(value)?.text)).collect::<Result<Vec<_>, _>>();
    let secret = secret.map_err(|error: BadReference| wrong(error.to_string()))?.join("\n");
    let key = (!secret.is_empty()).then_some(secret.as_str());
    Ok(web_url(&fixed).ok().map(|url| Account::new(url.as_str(), key, config.limits, None)))
}

/// How long it may take and how often it may be called do not change what is answered.
fn identity(config: &HttpConfig) -> String {
    let mut config = serde_json::to_value(config).expect("a configuration serialises to JSON");
    if let Some(fields) = config.as_object_mut() {
        fields.remove("timeout");
        fields.remove("limits");
    }
    canonical(&serde_json::json!({ "kind": "http", "config": config }))
}

#[async_trait]
impl Target for Http {
    fn identity(&self) -> &str {
        &self.identity
    }

    fn is_paid(&self) -> bool {
        true
    }

    fn demand(&self, request: &Json) -> Option<Demand> {
        Some(self.account.as_ref()?.demand(request))
    }

    fn request(&self, question: &Question<'_>) -> Result<Json, Failure> {
        let variables = question.conversation.variables(question.turn, question.messages);
        let messages = variables.history.clone();
        let said = |message: &&Message| message.role == Role::User;
        let prompt = question.messages.iter().rev().find(said).map_or("", |message| message.content.as_str());
        let variables = variables
            .with("messages", messages)
            .with("prompt", prompt)
            .with("token", callback::TOKEN)
            .with("callback_url", callback::URL);
        let seen = minijinja::Value::from_object(variables);
        let rendered = |template: &Template| template.render(&seen).map_err(untemplated);
        let headers = self.headers.iter().map(|(name, value)| Ok((name.clone(), rendered(value)?)));
        Ok(Json::of(&Request {
            method: self.method.to_string(),
            url: format!("{}{}", self.url.0, rendered(&self.url.1)?),
            headers: headers.collect::<Result<_, Failure>>()?,
            body: self.body.as_ref().map(|body| body.render(&seen)).transpose().map_err(untemplated)?,
        }))
    }

    async fn call(&self, request: &Json, key: &ContentKey) -> Result<Answer, Failure> {
        let request: Request = request.parse().map_err(|error| wrong(format!("the recorded request: {error}")))?;
        match &self.collects {
            None => {
                let reply = self.exchange.send(&request, Some(key)).await?;
                let answer = self.reading.answer(&reply.good()?)?;
                self.account.iter().for_each(|account| account.observe(&answer.used));
                Ok(answer)
            }
            Some(Collects::ByPolling(_)) => {
                let reply = self.exchange.send(&request, Some(key)).await?;
                Ok(HandedIn::of(&reply.good()?).into_answer())
            }
            Some(Collects::ByCallback(callback)) => {
                let expected = callback.expect(key)?;
                let reply = self.exchange.send(&callback.address(request, key)?, Some(key)).await?;
                let handed_in = HandedIn::of(&reply.good()?).into_answer();
                expected.keep();
                Ok(handed_in)
            }
        }
    }

    fn later(&self) -> Option<&dyn Later> {
        self.collects.as_ref().map(|_| self as &dyn Later)
    }
}

#[async_trait]
impl Later for Http {
    async fn collect(&self, request: &Json, handed_in: &Answer, key: &ContentKey) -> Result<Collected, Failure> {
        let request: Request = request.parse().map_err(|error| wrong(format!("the recorded request: {error}")))?;
        let handed_in = HandedIn::from_answer(handed_in)?;
        match &self.collects {
            Some(Collects::ByPolling(poll)) => poll.collect(&request, &handed_in, &self.exchange, &self.reading).await,
            Some(Collects::ByCallback(callback)) => {
                callback.collect(&handed_in, key, &self.exchange, &self.reading).await
            }
            None => Err(wrong("nothing is to be collected here".to_owned())),
        }
    }
}

fn template(text: &str) -> Result<Template, Failure> {
    Template::new(text).map_err(untemplated)
}

fn untemplated(error: TemplateError) -> Failure {
    wrong(error.message)
}

fn wrong(message: String) -> Failure {
    Failure::new(ErrorClass::InvalidRequest, message)
}
