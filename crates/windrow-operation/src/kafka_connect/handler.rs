//! The handler of Kafka Connect: how connectors are read and called, whatever the action.

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

use super::action::{Do, Given};
use super::config::Config;
use super::connector::{Cluster, STOPPED, lasting};
use super::moving::Move;
use super::passwords::Passwords;
use crate::handler::{Call, ChangeContext, Handler, Next, Trouble, thaw};
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
    config["do"].as_str()?.parse::<Do>().ok()?.irreversible
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
        self.config.action.offsets || self.config.to.is_some()
    }

    fn fill(&self, value: Option<&Value>, target: &Target) -> Result<Value, Failure> {
        let seen = json!({ "target": target.value() });
        let filled =
            value.map(|value| Templated::new(value)?.render(&minijinja::Value::from(Serde(&seen)))).transpose();
        Ok(filled.map_err(untemplated)?.unwrap_or_default())
    }
}

/// Of a cluster, however its URL is written: connectors of one name on two clusters are two targets.
fn address(url: &str) -> String {
    let Ok(url) = windrow_jobfile::http_client::web_url(url) else { return url.to_owned() };
    let (host, port) = (url.host_str().unwrap_or_default(), url.port_or_known_default().unwrap_or_default());
    format!("{host}:{port}{}", url.path().trim_end_matches('/'))
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
        self.config.action.name()
    }

    fn lock(&self, target: &Target) -> String {
        format!("connector {} at {}", target.name, address(&self.config.url))
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
        match here {
            None if self.config.action.creates => Ok(Some(Value::Null)),
            None => Err(missing(target)),
            here => Ok(here),
        }
    }

    fn after(&self, target: &Target, before: &Value) -> Result<Value, Failure> {
        if self.config.to.is_some() {
            let mut after = before.clone();
            let moved = &before["here"];
            after["there"] = json!({ "config": moved["config"], "state": moved["state"], "offsets": moved["offsets"] });
            after["here"]["state"] = json!(STOPPED);
            return Ok(after);
        }
        let Config { set, offsets, gtid, config, .. } = &self.config;
        let gtid = gtid.clone().map(Value::String);
        let given = Given {
            set: self.web.refs().fill_json(&self.fill(set.as_ref(), target)?),
            offsets: self.fill(offsets.as_ref(), target)?,
            gtid: self.fill(gtid.as_ref(), target)?,
            config: self.web.refs().fill_json(&self.fill(config.as_ref(), target)?),
        };
        Ok((self.config.action.after)(before, &given))
    }

    async fn validate(&self, target: &Target, after: &Value) -> Result<(), Failure> {
        if !self.config.action.configures || self.config.to.is_some() {
            return Ok(());
        }
        let config = &after["config"];
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
        (self.config.action.next)(&cluster, context, now)
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
        self.config.action.timeout_s * 1_000
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
