//! All clusters of the mock, and the rules for changing their connectors. It also records violations of an invariant: a
//! connector must never run in two clusters at once.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use axum::http::StatusCode;
use serde_json::{Map, Value, json};

use super::connector::{Connector, State};
use super::source::Source;

/// An error in the format of Kafka Connect.
pub type Answer = Result<(StatusCode, Value), (StatusCode, String)>;

#[derive(Default)]
pub struct Clusters {
    pub delay: Duration,
    connectors: BTreeMap<(String, String), Connector>,
    pub calls: BTreeMap<&'static str, u64>,
    /// Connectors that ran in two clusters at once.
    pub doubled: Vec<String>,
    pub source: Source,
    /// Until when the worker of a cluster is starting.
    starting: BTreeMap<String, Instant>,
}

impl Clusters {
    pub fn new(delay: Duration) -> Self {
        Self { delay, ..Self::default() }
    }

    pub fn seed(&mut self, cluster: &str, name: &str, breaks: bool, now: Instant) {
        let config = json!({
            "name": name, "connector.class": "io.debezium.connector.mysql.MySqlConnector", "tasks.max": "1",
            "database.hostname": "mysql-a.internal", "topic.prefix": name, "snapshot.mode": "when_needed",
            "database.password": "0ld-mysql-pass", "database.login.line": "user=cdc;pw=0ld-l0gin",
        });
        let offsets = vec![json!({ "partition": { "server": name }, "offset": Source::offset() })];
        let mut connector = Connector::new(fields(config), offsets, State::Running, now);
        connector.breaks = breaks;
        self.connectors.insert((cluster.to_owned(), name.to_owned()), connector);
    }

    pub fn names(&self, cluster: &str) -> Vec<&str> {
        self.connectors.keys().filter(|(of, _)| of == cluster).map(|(_, name)| name.as_str()).collect()
    }

    /// The worker starts again. Its connectors keep running, as on the other workers of a cluster.
    pub fn start(&mut self, cluster: &str, lasts: Duration, now: Instant) {
        self.starting.insert(cluster.to_owned(), now + lasts);
    }

    pub fn is_starting(&self, cluster: &str, now: Instant) -> bool {
        self.starting.get(cluster).is_some_and(|until| now < *until)
    }

    pub fn count(&mut self, call: &'static str) {
        *self.calls.entry(call).or_default() += 1;
    }

    pub fn of(&mut self, cluster: &str, name: &str) -> Result<&mut Connector, (StatusCode, String)> {
        let key = (cluster.to_owned(), name.to_owned());
        let missing = || (StatusCode::NOT_FOUND, format!("Connector {name} not found"));
        let connector = self.connectors.get_mut(&key).ok_or_else(missing)?;
        if connector.reads(Instant::now()) {
            self.source.read(name, &mut connector.offsets);
        }
        Ok(connector)
    }

    pub fn create(&mut self, cluster: &str, body: &Value, now: Instant) -> Answer {
        let name = body["name"].as_str().unwrap_or_default().to_owned();
        let key = (cluster.to_owned(), name.clone());
        if self.connectors.contains_key(&key) {
            return Err((StatusCode::CONFLICT, format!("Connector {name} already exists")));
        }
        let mut config = fields(body["config"].clone());
        config.insert("name".to_owned(), json!(name));
        let state = match body["initial_state"].as_str() {
            Some("STOPPED") => State::Stopped,
            Some("PAUSED") => State::Paused,
            _ => State::Running,
        };
        self.connectors.insert(key, Connector::new(config.clone(), Vec::new(), state, now));
        self.watch(&name, now);
        Ok((StatusCode::CREATED, json!({ "name": name, "config": config, "tasks": [], "type": "source" })))
    }

    pub fn delete(&mut self, cluster: &str, name: &str) -> Answer {
        self.of(cluster, name)?;
        self.connectors.remove(&(cluster.to_owned(), name.to_owned()));
        Ok((StatusCode::NO_CONTENT, Value::Null))
    }

    pub fn want(&mut self, cluster: &str, name: &str, state: State, now: Instant) -> Answer {
        let delay = self.delay;
        self.of(cluster, name)?.want(state, delay, now);
        self.watch(name, now);
        let status = if state == State::Stopped { StatusCode::NO_CONTENT } else { StatusCode::ACCEPTED };
        Ok((status, Value::Null))
    }

    pub fn put(&mut self, cluster: &str, name: &str, body: Value, now: Instant) -> Answer {
        let mut config = fields(body);
        if config.get("name").is_some_and(|given| given != name) {
            return Err((StatusCode::BAD_REQUEST, "the name in the body must equal the name in the path".to_owned()));
        }
        config.insert("name".to_owned(), json!(name));
        let delay = self.delay;
        let connector = self.of(cluster, name)?;
        connector.put(config.clone(), delay, now);
        Ok((StatusCode::OK, json!({ "name": name, "config": config, "tasks": [], "type": "source" })))
    }

    /// `None` deletes all offsets.
    pub fn alter_offsets(&mut self, cluster: &str, name: &str, body: Option<&Value>, now: Instant) -> Answer {
        let connector = self.of(cluster, name)?;
        if !connector.is_stopped(now) {
            return Err((
                StatusCode::BAD_REQUEST,
                "Connectors must be in the STOPPED state before their offsets can be modified".to_owned(),
            ));
        }
        connector.patches += 1;
        let Some(body) = body else {
            connector.offsets.clear();
            return Ok((
                StatusCode::OK,
                json!({ "message": "The offsets for this connector have been reset successfully" }),
            ));
        };
        let list = body["offsets"].as_array().cloned().unwrap_or_default();
        if list.is_empty() {
            return Err((
                StatusCode::BAD_REQUEST,
                "Partitions / offsets need to be provided for an alter offsets request".to_owned(),
            ));
        }
        for entry in list {
            connector.offsets.retain(|known| known["partition"] != entry["partition"]);
            if !entry["offset"].is_null() {
                connector.offsets.push(entry);
            }
        }
        Ok((StatusCode::OK, json!({ "message": "The offsets for this connector have been altered successfully" })))
    }

    /// Called after every change of a desired state.
    fn watch(&mut self, name: &str, now: Instant) {
        let at_work =
            self.connectors.iter().filter(|((_, of), connector)| of == name && connector.may_run(now)).count();
        if at_work > 1 {
            self.doubled.push(name.to_owned());
        }
    }

    /// Transactions that all running connectors read.
    pub fn insert(&mut self, transactions: u64, now: Instant) {
        self.catch_up(now);
        self.source.insert(transactions);
        self.catch_up(now);
    }

    fn catch_up(&mut self, now: Instant) {
        for ((_, name), connector) in self.connectors.iter_mut().filter(|(_, connector)| connector.reads(now)) {
            self.source.read(name, &mut connector.offsets);
        }
    }

    pub fn stats(&mut self, now: Instant) -> Value {
        self.catch_up(now);
        let one = |((cluster, name), connector): (&(String, String), &Connector)| {
            json!({ "cluster": cluster, "name": name, "puts": connector.puts, "patches": connector.patches,
                    "config": connector.config, "offsets": connector.offsets, "state": connector.state(now).as_str() })
        };
        json!({ "connectors": self.connectors.iter().map(one).collect::<Vec<_>>(), "calls": self.calls, "doubled": self.doubled })
    }
}

fn fields(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}
