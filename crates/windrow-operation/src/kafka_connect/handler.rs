//! The handler of Kafka Connect: which image each action looks at, and what comes next.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use minijinja::value::Serde;
use serde_json::{Value, json};
use windrow_jobfile::environment::{Environment, has_reference};
use windrow_jobfile::http_client::Request;
use windrow_jobfile::resolved_refs::ResolvedRefs;
use windrow_jobfile::template::TemplateError;
use windrow_jobfile::templated::Templated;
use windrow_model::step::ContentKey;
use windrow_model::{ErrorClass, Failure};

use super::config::{Config, Do};
use super::connector::{Cluster, PAUSED, RUNNING, STOPPED, failed, lasting};
use super::moving::Move;
use super::offsets;
use super::passwords::Passwords;
use crate::handler::{Call, ChangeContext, Handler, Next, Trouble, Way, thaw};
use crate::mask::is_secret_name;
use crate::target::Target;
use crate::web::{Miss, Web};

/// Connect itself gives up after 90 s.
const TIMEOUT: Duration = Duration::from_secs(95);

struct Connect {
    config: Config,
    web: Web,
    passwords: Passwords,
}

pub fn build(config: Value, environment: &Environment) -> Result<Arc<dyn Handler>, Failure> {
    let refs = ResolvedRefs::of(&config, environment)?;
    let config: Config = thaw(config)?;
    let web = Web::new(&config.url, TIMEOUT, refs)?.unredacted().refusing_in_json();
    Ok(Arc::new(Connect { config, web, passwords: Passwords::default() }))
}

pub fn irreversible(config: &Value) -> Option<&'static str> {
    (config["do"] == Do::Restart.as_str()).then_some("a restart has no inverse")
}

impl Connect {
    fn here(&self, target: &Target) -> Cluster {
        let (url, name) = (self.config.url.clone(), target.name.clone());
        Cluster { url, name, suffix: "", headers: self.config.headers.clone() }
    }

    fn there(&self, target: &Target) -> Option<Cluster> {
        let (url, name) = (self.config.to.clone()?, target.name.clone());
        Some(Cluster { url, name, suffix: " there", headers: self.config.headers.clone() })
    }

    fn reads_offsets(&self) -> bool {
        matches!(self.config.action, Do::ResetOffsets | Do::ResetGtid | Do::SwitchRunSystem | Do::Migrate)
            || self.config.to.is_some()
    }

    fn fill(&self, value: Option<&Value>, target: &Target) -> Result<Value, Failure> {
        let seen = json!({ "target": target.value() });
        let filled =
            value.map(|value| Templated::new(value)?.render(&minijinja::Value::from(Serde(&seen)))).transpose();
        Ok(filled.map_err(untemplated)?.unwrap_or_default())
    }

    fn next_of_offsets(&self, cluster: &Cluster, context: &ChangeContext<'_>, now: &Value) -> Result<Next, Failure> {
        let goal = context.goal();
        let state = lasting(&context.before["state"]);
        // Once it runs again its offsets move on by themselves.
        let resumed = ["resume", "pause"].iter().any(|call| context.has_called(call));
        if !resumed && now["offsets"] != goal["offsets"] {
            if let Some(next) = cluster.toward(now, STOPPED)? {
                return Ok(next);
            }
            if context.way == Way::Apply && !context.refined {
                return Ok(Next::RefinePreimage);
            }
            return Ok(cluster.patch_offsets(&now["offsets"], &goal["offsets"]));
        }
        Ok(cluster.toward(now, state)?.unwrap_or(Next::Reached))
    }

    fn next_of_migration(&self, cluster: &Cluster, context: &ChangeContext<'_>, now: &Value) -> Result<Next, Failure> {
        if context.way == Way::Undo {
            return match now {
                Value::Null => Ok(Next::Reached),
                now => Ok(match cluster.toward(now, STOPPED)? {
                    Some(next) => next,
                    None => cluster.call("delete", "DELETE", "", None),
                }),
            };
        }
        if now.is_null() {
            return Ok(cluster.create(&context.after["config"]));
        }
        if context.past_calls.is_empty() && !configured(now, &context.after["config"]) {
            let message = "a connector of that name exists already, with another configuration";
            return Err(Failure::new(ErrorClass::InvalidRequest, message));
        }
        let goal = &context.after["offsets"];
        if goal.is_array() && !context.has_called("resume") && now["offsets"] != *goal {
            return Ok(match cluster.toward(now, STOPPED)? {
                Some(next) => next,
                None => cluster.patch_offsets(&now["offsets"], goal),
            });
        }
        Ok(cluster.toward(now, RUNNING)?.unwrap_or(Next::Reached))
    }

    fn next_of_restart(&self, cluster: &Cluster, context: &ChangeContext<'_>, now: &Value) -> Result<Next, Failure> {
        if !context.past_calls.iter().any(|made| made.answered) {
            return Ok(cluster.call("restart", "POST", "/restart?includeTasks=true&onlyFailed=false", None));
        }
        // Connect leaves a paused connector paused.
        Ok(cluster.toward(now, lasting(&context.before["state"]))?.unwrap_or(Next::Reached))
    }
}

/// Connect adds the connector's name to a configuration that has none.
fn configured(now: &Value, wanted: &Value) -> bool {
    let without_name = |config: &Value| {
        let mut fields = config.as_object().cloned().unwrap_or_default();
        fields.remove("name");
        fields
    };
    without_name(&now["config"]) == without_name(wanted)
}

fn untemplated(error: TemplateError) -> Failure {
    Failure::new(ErrorClass::InvalidRequest, format!("a template cannot be filled in: {}", error.message))
}

fn missing(target: &Target) -> Failure {
    Failure::new(ErrorClass::InvalidRequest, format!("connector {} not found", target.name))
}

#[async_trait]
impl Handler for Connect {
    fn action(&self) -> &'static str {
        self.config.action.as_str()
    }

    fn lock(&self, target: &Target) -> String {
        format!("connector {}", target.name)
    }

    async fn read(&self, target: &Target) -> Result<Option<Value>, Failure> {
        let here = self.here(target).read(&self.web, self.reads_offsets()).await?;
        if let Some(class) = here.as_ref().and_then(|here| here["config"]["connector.class"].as_str()) {
            self.passwords.learn(class, &self.config, &self.web).await?;
        }
        if let Some(there) = self.there(target) {
            let there = there.read(&self.web, true).await?;
            return Ok(Some(json!({ "here": here, "there": there })));
        }
        match (here, self.config.action) {
            (None, Do::Migrate) => Ok(Some(Value::Null)),
            (None, _) => Err(missing(target)),
            (here, _) => Ok(here),
        }
    }

    fn after(&self, target: &Target, before: &Value) -> Result<Value, Failure> {
        let mut after = before.clone();
        if self.config.to.is_some() {
            after["there"] = json!({ "config": before["here"]["config"], "state": before["here"]["state"], "offsets": before["here"]["offsets"] });
            after["here"]["state"] = json!(STOPPED);
            return Ok(after);
        }
        match self.config.action {
            Do::Start => after["state"] = json!(RUNNING),
            Do::Stop => after["state"] = json!(STOPPED),
            Do::Pause => after["state"] = json!(PAUSED),
            Do::Restart | Do::SwitchRunSystem => {}
            Do::ChangeConfig | Do::SwitchAz => {
                let set = self.web.refs().fill_json(&self.fill(self.config.set.as_ref(), target)?);
                let mut config = before["config"].as_object().cloned().unwrap_or_default();
                for (key, value) in set.as_object().into_iter().flatten() {
                    match value {
                        Value::Null => drop(config.remove(key)),
                        Value::String(_) => drop(config.insert(key.clone(), value.clone())),
                        // The API takes texts only.
                        other => drop(config.insert(key.clone(), json!(other.to_string()))),
                    }
                }
                after["config"] = Value::Object(config);
            }
            Do::ResetOffsets => {
                let set = self.fill(self.config.offsets.as_ref(), target)?;
                after["offsets"] = offsets::with(&before["offsets"], &set);
            }
            Do::ResetGtid => {
                let gtid = self.fill(self.config.gtid.clone().map(Value::String).as_ref(), target)?;
                after["offsets"] = offsets::with_gtid(&before["offsets"], gtid.as_str().unwrap_or_default());
            }
            Do::Migrate => {
                let config = self.web.refs().fill_json(&self.fill(self.config.config.as_ref(), target)?);
                let offsets = self.fill(self.config.offsets.as_ref(), target)?;
                after = json!({ "config": config, "state": RUNNING });
                if offsets.is_array() {
                    after["offsets"] = offsets::sorted(&offsets);
                }
            }
        }
        Ok(after)
    }

    async fn validate(&self, target: &Target, after: &Value) -> Result<(), Failure> {
        let config = match self.config.action {
            Do::ChangeConfig | Do::Migrate => &after["config"],
            Do::SwitchAz if self.config.to.is_none() => &after["config"],
            _ => return Ok(()),
        };
        let Some(class) = config["connector.class"].as_str().and_then(|class| class.rsplit('.').next()) else {
            return Ok(());
        };
        let whole_class = config["connector.class"].as_str().unwrap_or_default();
        self.passwords.learn(whole_class, &self.config, &self.web).await?;
        let given = self.config.set.as_ref().or(self.config.config.as_ref()).and_then(Value::as_object);
        for (name, value) in given.into_iter().flatten().filter(|(name, _)| self.hides(name)) {
            if value.as_str().is_some_and(|text| !has_reference(text)) {
                let message = format!("{name} is a password, which must not stand in a job file: write ${{env:NAME}}");
                return Err(Failure::new(ErrorClass::InvalidRequest, message));
            }
        }
        let mut config = config.clone();
        config["name"] = json!(target.name);
        let url = format!("{}/connector-plugins/{class}/config/validate", self.config.url.trim_end_matches('/'));
        let request = Request { headers: self.config.headers.clone(), ..Request::new("PUT", url, Some(config)) };
        let answer = self.web.send(&request, None).await.map_err(Miss::failure)?;
        if answer["error_count"].as_i64().unwrap_or(0) == 0 {
            return Ok(());
        }
        let values = answer["configs"].as_array().into_iter().flatten().map(|config| &config["value"]);
        let said = values.flat_map(|value| {
            let errors = value["errors"].as_array().cloned().unwrap_or_default();
            errors
                .into_iter()
                .map(|error| format!("{}: {}", value["name"].as_str().unwrap_or("?"), error.as_str().unwrap_or("?")))
        });
        let said = said.collect::<Vec<_>>().join("; ");
        Err(Failure::new(ErrorClass::InvalidRequest, format!("the configuration is not valid: {said}")))
    }

    fn next(&self, context: &ChangeContext<'_>) -> Result<Next, Failure> {
        let now = context.now.unwrap_or(&Value::Null);
        let cluster = self.here(context.target);
        if let Some(there) = self.there(context.target) {
            let rewind = self.config.rewinds();
            return Move { here: &cluster, there: &there, rewind }.next(context, now);
        }
        match self.config.action {
            Do::Start if now["state"] == "FAILED" && !context.has_called("restart") && context.way == Way::Apply => {
                Ok(cluster.call("restart", "POST", "/restart?includeTasks=true&onlyFailed=true", None))
            }
            Do::Start | Do::Stop | Do::Pause => {
                Ok(cluster.toward(now, lasting(&context.goal()["state"]))?.unwrap_or(Next::Reached))
            }
            Do::Restart => self.next_of_restart(&cluster, context, now),
            Do::ChangeConfig | Do::SwitchAz | Do::SwitchRunSystem => {
                if now["config"] != context.goal()["config"] {
                    return Ok(cluster.put_config(&context.goal()["config"]));
                }
                if now["state"] == "FAILED" && context.before["state"] != "FAILED" {
                    return Err(failed(now));
                }
                if context.before["state"] == "FAILED" {
                    return Ok(Next::Reached);
                }
                Ok(cluster.toward(now, lasting(&context.before["state"]))?.unwrap_or(Next::Reached))
            }
            Do::ResetOffsets | Do::ResetGtid => self.next_of_offsets(&cluster, context, now),
            Do::Migrate => self.next_of_migration(&cluster, context, now),
        }
    }

    async fn call(&self, _target: &Target, call: &Call, _key: &ContentKey) -> Result<Value, Trouble> {
        let request: Request = thaw(call.input.clone()).map_err(Trouble::Failed)?;
        self.web.send(&request, None).await.map_err(|miss| match miss {
            Miss::Lost(failure) => Trouble::Unknown(failure),
            // A rebalance is under way, or the connector exists by now: look again.
            Miss::Refused { status: 409, failure } => Trouble::Busy(failure),
            Miss::Unsent(failure) => Trouble::unsent(failure),
            Miss::Refused { failure, .. } => Trouble::Failed(failure),
        })
    }

    /// Tasks start and end by themselves.
    fn normalize(&self, mut image: Value) -> Value {
        fn strip(image: &mut Value) {
            if let Some(fields) = image.as_object_mut() {
                fields.remove("tasks");
                fields.remove("trace");
            }
        }
        strip(&mut image);
        for cluster in ["here", "there"] {
            image.get_mut(cluster).map(strip);
        }
        image
    }

    /// Offsets are exact only while it is stopped; its state is that of before.
    fn refine_preimage(&self, before: &Value, now: &Value) -> Value {
        let mut refined = before.clone();
        if self.config.to.is_some() {
            refined["here"]["offsets"] = now["here"]["offsets"].clone();
        } else {
            refined["offsets"] = now["offsets"].clone();
        }
        refined
    }

    fn hides(&self, name: &str) -> bool {
        is_secret_name(name) || self.passwords.has(name)
    }

    fn secret_values(&self) -> Vec<String> {
        self.web.refs().values().map(str::to_owned).collect()
    }

    /// Tasks come and go, and offsets move on, without anybody changing anything.
    fn fingerprint(&self, image: &Value) -> Value {
        fn thin(image: &Value) -> Value {
            json!({ "config": image["config"], "state": lasting(&image["state"]) })
        }
        if self.config.to.is_some() {
            return json!({ "here": thin(&image["here"]), "there": thin(&image["there"]) });
        }
        thin(image)
    }

    fn timeout_ms(&self) -> i64 {
        self.config.action.timeout_ms()
    }

    fn steady_ms(&self) -> i64 {
        self.config.steady.ms
    }

    async fn select(&self, pattern: &str) -> Result<Vec<Target>, Failure> {
        let url = format!("{}/connectors", self.config.url.trim_end_matches('/'));
        let request = Request { headers: self.config.headers.clone(), ..Request::new("GET", url, None) };
        let names = self.web.send(&request, None).await.map_err(Miss::failure)?;
        let pattern = regex::escape(pattern).replace(r"\*", ".*").replace(r"\?", ".");
        let pattern = regex::Regex::new(&format!("^{pattern}$"))
            .map_err(|error| Failure::new(ErrorClass::InvalidRequest, error.to_string()))?;
        let mut names: Vec<&str> = names.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        names.sort_unstable();
        Ok(names.into_iter().filter(|name| pattern.is_match(name)).map(Target::named).collect())
    }
}
