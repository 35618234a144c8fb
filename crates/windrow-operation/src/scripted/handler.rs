//! The handler of a scripted action.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use minijinja::value::Serde;
use serde_json::{Value, json};
use windrow_jobfile::environment::Environment;
use windrow_jobfile::http_client::Request;
use windrow_jobfile::resolved_refs::ResolvedRefs;
use windrow_jobfile::template::{Template, TemplateError};
use windrow_jobfile::templated::Templated;
use windrow_model::step::ContentKey;
use windrow_model::{ErrorClass, Failure};

use super::command::{self, Run};
use super::config::{CallConfig, Scripted, Unknown, condition};
use crate::handler::{Call, ChangeContext, Handler, Next, Trouble, Way, thaw};
use crate::target::Target;
use crate::web::{Miss, Web};

/// For one exchange; the target's own limit is above it.
const TIMEOUT: Duration = Duration::from_secs(600);

struct Action {
    config: Scripted,
    done: Option<Template>,
    after: Option<Templated>,
    web: Web,
    refs: ResolvedRefs,
}

pub fn build(config: Value, environment: &Environment) -> Result<Arc<dyn Handler>, Failure> {
    let refs = ResolvedRefs::of(&config, environment)?;
    let config: Scripted = thaw(config)?;
    let base_url = match &config.apply {
        CallConfig::Http(http) => http.url.split("{{").next().unwrap_or_default().to_owned(),
        CallConfig::Command(_) => String::new(),
    };
    Ok(Arc::new(Action {
        done: config.done.as_ref().map(|text| Template::new(&condition(text))).transpose().map_err(untemplated)?,
        after: config.after.as_ref().map(Templated::new).transpose().map_err(untemplated)?,
        web: Web::new(&base_url, TIMEOUT, refs.clone())?,
        refs,
        config,
    }))
}

pub fn irreversible(config: &Value) -> Option<&'static str> {
    config["undo"].is_null().then_some("the action has no `undo`")
}

impl Action {
    /// The call as it is recorded: templates filled in, secrets still references.
    fn write(&self, call: &CallConfig, target: &Target, before: &Value, now: &Value) -> Result<Value, Failure> {
        let seen = json!({ "target": target.value(), "before": before, "now": now });
        let variables = minijinja::Value::from(Serde(&seen));
        let render = |text: &str| Template::new(text)?.render(&variables);
        Ok(match call {
            CallConfig::Http(http) => {
                let headers = http.headers.iter().map(|(name, value)| Ok((name.clone(), render(value)?)));
                let body = http.body.as_ref().map(|body| Templated::new(body)?.render(&variables)).transpose();
                let method =
                    http.method.clone().unwrap_or_else(|| if http.body.is_some() { "POST" } else { "GET" }.to_owned());
                json!(Request {
                    method,
                    url: render(&http.url).map_err(untemplated)?,
                    headers: headers.collect::<Result<_, _>>().map_err(untemplated)?,
                    body: body.map_err(untemplated)?,
                })
            }
            CallConfig::Command(command) => {
                let words = command.run.iter().map(|word| render(word)).collect::<Result<_, _>>();
                let env = command.env.iter().map(|(name, value)| Ok((name.clone(), render(value)?)));
                let mut env: Vec<(String, String)> = env.collect::<Result<_, _>>().map_err(untemplated)?;
                env.push(("WINDROW_TARGET".to_owned(), target.name.clone()));
                json!(Run { run: words.map_err(untemplated)?, env, folder: command.folder.clone(), input: seen })
            }
        })
    }

    async fn make(&self, input: &Value, key: Option<&str>) -> Result<Value, Trouble> {
        if input.get("run").is_some() {
            let call: Run = thaw(input.clone()).map_err(Trouble::Failed)?;
            return command::run(&call, &self.refs).await;
        }
        let request: Request = thaw(input.clone()).map_err(Trouble::Failed)?;
        self.web.send(&request, key).await.map_err(|miss| match miss {
            Miss::Lost(failure) => Trouble::Unknown(failure),
            Miss::Unsent(failure) => Trouble::unsent(failure),
            Miss::Refused { failure, .. } => Trouble::Failed(failure),
        })
    }

    fn is_done(&self, context: &ChangeContext<'_>, now: &Value) -> Result<bool, Failure> {
        if context.way == Way::Undo {
            return Ok(now == context.before);
        }
        let Some(done) = &self.done else {
            return Ok(match &self.after {
                Some(_) => holds(context.after, now),
                None => context.past_calls.iter().any(|made| made.answered),
            });
        };
        let seen = json!({ "target": context.target.value(), "before": context.before, "now": now });
        Ok(done.render(&minijinja::Value::from(Serde(&seen))).map_err(untemplated)?.trim() == "true")
    }
}

/// Every field that is wanted is there as wanted; others may be whatever they are.
fn holds(wanted: &Value, now: &Value) -> bool {
    match (wanted, now) {
        (Value::Object(wanted), Value::Object(now)) => {
            wanted.iter().all(|(name, value)| now.get(name).is_some_and(|now| holds(value, now)))
        }
        _ => wanted == now,
    }
}

fn merged(before: &Value, set: Value) -> Value {
    match (before, set) {
        (Value::Object(before), Value::Object(set)) => {
            let mut all = before.clone();
            for (name, value) in set {
                let value = merged(before.get(&name).unwrap_or(&Value::Null), value);
                all.insert(name, value);
            }
            Value::Object(all)
        }
        (_, set) => set,
    }
}

fn untemplated(error: TemplateError) -> Failure {
    Failure::new(ErrorClass::InvalidRequest, format!("a template cannot be filled in: {}", error.message))
}

#[async_trait]
impl Handler for Action {
    fn action(&self) -> &'static str {
        match self.config.apply {
            CallConfig::Http(_) => "http",
            CallConfig::Command(_) => "command",
        }
    }

    fn lock(&self, target: &Target) -> String {
        let seen = json!({ "target": target.value(), "before": null, "now": null });
        let lock = self.config.lock.as_ref().and_then(|lock| Template::new(lock).ok());
        let named = lock.and_then(|lock| lock.render(&minijinja::Value::from(Serde(&seen))).ok());
        named.unwrap_or_else(|| format!("target {}", target.name))
    }

    async fn read(&self, target: &Target) -> Result<Option<Value>, Failure> {
        let Some(read) = &self.config.read else { return Ok(None) };
        let input = self.write(read, target, &Value::Null, &Value::Null)?;
        self.make(&input, None).await.map(Some).map_err(Trouble::failure)
    }

    fn after(&self, target: &Target, before: &Value) -> Result<Value, Failure> {
        let Some(after) = &self.after else { return Ok(Value::Null) };
        let seen = json!({ "target": target.value(), "before": before, "now": before });
        let set = after.render(&minijinja::Value::from(Serde(&seen))).map_err(untemplated)?;
        Ok(merged(before, set))
    }

    fn changes(&self, target: &Target, before: &Value, after: &Value) -> Vec<String> {
        if self.after.is_some() {
            return crate::image::differences(before, after);
        }
        let call = self.write(&self.config.apply, target, before, before);
        vec![match call {
            Ok(call) if call.get("run").is_some() => format!("runs {}", call["run"]),
            Ok(call) => format!("{} {}", call["method"].as_str().unwrap_or("?"), call["url"].as_str().unwrap_or("?")),
            Err(failure) => failure.to_string(),
        }]
    }

    fn next(&self, context: &ChangeContext<'_>) -> Result<Next, Failure> {
        let name = context.way.as_str();
        match context.now {
            Some(now) if self.is_done(context, now)? => return Ok(Next::Reached),
            Some(_) => {}
            None if context.past_calls.iter().any(|made| made.answered) => return Ok(Next::Reached),
            None if !context.past_calls.is_empty() && self.config.unknown == Unknown::Fail => {
                let message = "the outcome of the call is unknown, and the target cannot be read; check it, then retry it \
                               with `unknown: repeat`";
                return Err(Failure::new(ErrorClass::Lost, message));
            }
            None => {}
        }
        let call = match context.way {
            Way::Apply => &self.config.apply,
            Way::Undo => self.config.undo.as_ref().ok_or_else(|| {
                Failure::new(ErrorClass::InvalidRequest, "the action has no `undo`, so it cannot be rolled back")
            })?,
        };
        let now = context.now.unwrap_or(&Value::Null);
        // Without `after` in it: what is being read back must not change the call.
        let input = self.write(
            call,
            context.target,
            context.before,
            if context.way == Way::Apply { context.before } else { now },
        )?;
        Ok(Next::call(name, input))
    }

    async fn call(&self, _target: &Target, call: &Call, key: &ContentKey) -> Result<Value, Trouble> {
        self.make(&call.input, Some(&key.to_string())).await
    }
}
