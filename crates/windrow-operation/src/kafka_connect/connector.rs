//! One connector on one cluster: how it is read, which requests change it, and what brings it from one
//! state to another.

use serde_json::{Value, json};
use windrow_jobfile::http_client::Request;
use windrow_model::{ErrorClass, Failure};

use crate::handler::Next;
use crate::web::{Miss, Web};

pub const STOPPED: &str = "STOPPED";
pub const RUNNING: &str = "RUNNING";
pub const PAUSED: &str = "PAUSED";

/// A place where a connector is or may come to be.
#[derive(Debug, Clone)]
pub struct Cluster {
    pub url: String,
    pub name: String,
    /// Appended to the names of its calls, where an action concerns two places.
    pub suffix: &'static str,
    pub headers: std::collections::BTreeMap<String, String>,
}

impl Cluster {
    pub fn request(&self, method: &str, path: &str, body: Option<Value>) -> Request {
        let url = format!("{}/connectors/{}{path}", self.url.trim_end_matches('/'), encoded(&self.name));
        Request { headers: self.headers.clone(), ..Request::new(method, url, body) }
    }

    pub fn call(&self, name: &str, method: &str, path: &str, body: Option<Value>) -> Next {
        Next::call(&format!("{name}{}", self.suffix), json!(self.request(method, path, body)))
    }

    pub fn create(&self, config: &Value) -> Next {
        let url = format!("{}/connectors", self.url.trim_end_matches('/'));
        let body = json!({ "name": self.name, "config": config, "initial_state": STOPPED });
        let request = Request { headers: self.headers.clone(), ..Request::new("POST", url, Some(body)) };
        Next::call(&format!("create{}", self.suffix), json!(request))
    }

    pub fn put_config(&self, config: &Value) -> Next {
        self.call("put_config", "PUT", "/config", Some(config.clone()))
    }

    pub fn patch_offsets(&self, now: &Value, goal: &Value) -> Next {
        self.call("patch_offsets", "PATCH", "/offsets", Some(json!({ "offsets": super::offsets::patch(now, goal) })))
    }

    /// `None` where there is no such connector. Offsets are read where they matter.
    pub async fn read(&self, web: &Web, offsets: bool) -> Result<Option<Value>, Failure> {
        let Some(info) = self.get(web, "").await? else { return Ok(None) };
        let Some(status) = self.get(web, "/status").await? else { return Ok(None) };
        let tasks = status["tasks"].as_array().cloned().unwrap_or_default();
        let states: Vec<&str> = tasks.iter().filter_map(|task| task["state"].as_str()).collect();
        let trace = tasks.iter().chain([&status["connector"]]).find_map(|part| part["trace"].as_str());
        let mut image = json!({ "config": info["config"], "state": status["connector"]["state"], "tasks": states });
        if let Some(trace) = trace {
            image["trace"] = json!(trace.lines().next());
        }
        if offsets {
            let read = self.get(web, "/offsets").await?.unwrap_or_default();
            image["offsets"] = super::offsets::sorted(&read["offsets"]);
        }
        Ok(Some(image))
    }

    async fn get(&self, web: &Web, path: &str) -> Result<Option<Value>, Failure> {
        match web.send(&self.request("GET", path, None), None).await {
            Ok(value) => Ok(Some(value)),
            Err(Miss::Refused { status: 404, .. }) => Ok(None),
            // A rebalance is under way.
            Err(Miss::Refused { status: 409, failure }) => Err(Failure { class: ErrorClass::Server, ..failure }),
            Err(miss) => Err(miss.failure()),
        }
    }

    /// The next call that gives it these offsets, for which it must be stopped; `None` when it has them.
    pub fn carry(&self, now: &Value, offsets: &Value) -> Result<Option<Next>, Failure> {
        if now["offsets"] == *offsets {
            return Ok(None);
        }
        let stop = self.toward(now, STOPPED)?;
        Ok(Some(stop.unwrap_or_else(|| self.patch_offsets(&now["offsets"], offsets))))
    }

    pub fn has_reached(&self, now: &Value, state: &str) -> bool {
        !now.is_null() && matches!(self.toward(now, state), Ok(None))
    }

    /// The next call toward a state; `None` when it is reached: by the connector and by all its tasks.
    pub fn toward(&self, now: &Value, state: &str) -> Result<Option<Next>, Failure> {
        let tasks: Vec<&str> = now["tasks"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let current = now["state"].as_str().unwrap_or_default();
        Ok(match (current, state) {
            (STOPPED, STOPPED) if tasks.is_empty() => None,
            (STOPPED, STOPPED) => Some(Next::Wait("its tasks are ending".to_owned())),
            (PAUSED, PAUSED) if tasks.iter().all(|task| *task == PAUSED) => None,
            (PAUSED, PAUSED) => Some(Next::Wait("its tasks are pausing".to_owned())),
            (RUNNING, RUNNING) if tasks.contains(&"FAILED") => return Err(failed(now)),
            (RUNNING, RUNNING) if !tasks.is_empty() && tasks.iter().all(|task| *task == RUNNING) => None,
            (RUNNING, RUNNING) => Some(Next::Wait("its tasks are starting".to_owned())),
            ("UNASSIGNED" | "RESTARTING", RUNNING) => Some(Next::Wait("it is starting".to_owned())),
            ("FAILED", RUNNING) => return Err(failed(now)),
            (_, STOPPED) => Some(self.call("stop", "PUT", "/stop", None)),
            (_, PAUSED) => Some(self.call("pause", "PUT", "/pause", None)),
            (_, RUNNING) => Some(self.call("resume", "PUT", "/resume", None)),
            (_, other) => Some(Next::Wait(format!("it was {other}, a state that cannot be requested"))),
        })
    }
}

pub fn failed(now: &Value) -> Failure {
    let trace = now["trace"].as_str().unwrap_or("no trace");
    Failure::new(ErrorClass::Handler, format!("the connector or one of its tasks FAILED: {trace}"))
}

/// What of the state before an action can be asked for again.
pub fn lasting(state: &Value) -> &str {
    match state.as_str() {
        Some(STOPPED) => STOPPED,
        Some(PAUSED) => PAUSED,
        _ => RUNNING,
    }
}

fn encoded(name: &str) -> String {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(byte);
    name.bytes().map(|byte| if plain(&byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }).collect()
}
