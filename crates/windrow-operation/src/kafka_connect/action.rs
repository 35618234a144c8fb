//! What can be done to a connector: one entry of [`ACTIONS`] for each action, and nothing else that knows them one by one
//! (B9).

use std::fmt;
use std::ops::Deref;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Value, json};
use windrow_model::vocabulary::UnknownWord;
use windrow_model::{ErrorClass, Failure};

use super::connector::{Cluster, PAUSED, RUNNING, STOPPED, failed, lasting};
use super::offsets;
use crate::handler::{ChangeContext, Next, Way};

pub struct Action {
    pub name: &'static str,
    /// B4.
    pub timeout_s: i64,
    /// Fields that say something to it, beside those of all.
    pub takes: &'static [&'static str],
    /// With `to` it is a move to another cluster, which takes `to` and `offsets`.
    pub moves: bool,
    /// Fields of which it needs one, and an example.
    pub needs: Option<(&'static [&'static str], &'static str)>,
    /// Its image has the offsets.
    pub offsets: bool,
    /// Connect says whether the configuration is valid.
    pub configures: bool,
    /// The connector may not be there.
    pub creates: bool,
    pub irreversible: Option<&'static str>,
    /// What it makes of an image.
    pub after: fn(&Value, &Given) -> Value,
    /// The next call toward the goal.
    pub next: fn(&Cluster, &ChangeContext<'_>, &Value) -> Result<Next, Failure>,
}

/// The fields of the job file, their templates filled in for the target.
#[derive(Debug, Default)]
pub struct Given {
    pub set: Value,
    pub offsets: Value,
    pub gtid: Value,
    pub config: Value,
}

/// Changes a state, and is done when the connector and all its tasks are in it.
const OF_STATE: Action = Action {
    name: "",
    timeout_s: 20,
    takes: &[],
    moves: false,
    needs: None,
    offsets: false,
    configures: false,
    creates: false,
    irreversible: None,
    after: |before, _| before.clone(),
    next: next_of_state,
};

pub const ACTIONS: &[Action] = &[
    Action { name: "start", after: |before, _| with_state(before, RUNNING), next: next_of_start, ..OF_STATE },
    Action { name: "stop", after: |before, _| with_state(before, STOPPED), ..OF_STATE },
    Action { name: "pause", after: |before, _| with_state(before, PAUSED), ..OF_STATE },
    Action { name: "restart", irreversible: Some("a restart has no inverse"), next: next_of_restart, ..OF_STATE },
    Action {
        name: "change_config",
        takes: &["set"],
        needs: Some((&["set"], "set: { tasks.max: \"4\" }")),
        configures: true,
        after: with_config,
        next: next_of_config,
        ..OF_STATE
    },
    Action {
        name: "reset_offsets",
        timeout_s: 480,
        takes: &["offsets"],
        needs: Some((&["offsets"], "offsets: [{ partition: { … }, offset: { … } }]")),
        offsets: true,
        after: |before, given| with_offsets(before, offsets::with(&before["offsets"], &given.offsets)),
        next: next_of_offsets,
        ..OF_STATE
    },
    Action {
        name: "reset_gtid",
        timeout_s: 480,
        takes: &["gtid"],
        needs: Some((&["gtid"], "gtid: \"{{ target.gtid }}\"")),
        offsets: true,
        after: |before, given| {
            let gtid = given.gtid.as_str().unwrap_or_default();
            with_offsets(before, offsets::with_gtid(&before["offsets"], gtid))
        },
        next: next_of_offsets,
        ..OF_STATE
    },
    Action {
        name: "switch_az",
        timeout_s: 30,
        takes: &["set"],
        moves: true,
        needs: Some((&["set", "to"], "set: { database.hostname: … }, or to: URL")),
        configures: true,
        after: with_config,
        next: next_of_config,
        ..OF_STATE
    },
    Action {
        name: "switch_run_system",
        timeout_s: 30,
        moves: true,
        needs: Some((&["to"], "to: http://other-cluster:8083")),
        ..OF_STATE
    },
    Action {
        name: "migrate",
        takes: &["config", "offsets"],
        needs: Some((&["config"], "config: { connector.class: …, … }")),
        offsets: true,
        configures: true,
        creates: true,
        after: created,
        next: next_of_migration,
        ..OF_STATE
    },
];

/// An action by its name.
#[derive(Clone, Copy)]
pub struct Do(&'static Action);

impl Do {
    pub fn name(self) -> &'static str {
        self.0.name
    }
}

impl Deref for Do {
    type Target = Action;
    fn deref(&self) -> &Action {
        self.0
    }
}

impl FromStr for Do {
    type Err = UnknownWord;
    fn from_str(text: &str) -> Result<Self, UnknownWord> {
        let unknown =
            || UnknownWord { text: text.to_owned(), expected: ACTIONS.iter().map(|action| action.name).collect() };
        ACTIONS.iter().find(|action| action.name == text).map(Self).ok_or_else(unknown)
    }
}

impl fmt::Display for Do {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name)
    }
}

impl fmt::Debug for Do {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl PartialEq for Do {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Serialize for Do {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_str(self.name)
    }
}

impl<'de> Deserialize<'de> for Do {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        String::deserialize(d)?.parse().map_err(serde::de::Error::custom)
    }
}

fn with_state(before: &Value, state: &str) -> Value {
    let mut after = before.clone();
    after["state"] = json!(state);
    after
}

fn with_offsets(before: &Value, offsets: Value) -> Value {
    let mut after = before.clone();
    after["offsets"] = offsets;
    after
}

fn with_config(before: &Value, given: &Given) -> Value {
    let mut config = before["config"].as_object().cloned().unwrap_or_default();
    for (key, value) in given.set.as_object().into_iter().flatten() {
        match value {
            Value::Null => drop(config.remove(key)),
            Value::String(_) => drop(config.insert(key.clone(), value.clone())),
            // The API takes texts only.
            other => drop(config.insert(key.clone(), json!(other.to_string()))),
        }
    }
    let mut after = before.clone();
    after["config"] = Value::Object(config);
    after
}

fn created(_before: &Value, given: &Given) -> Value {
    let mut after = json!({ "config": given.config, "state": RUNNING });
    if given.offsets.is_array() {
        after["offsets"] = offsets::sorted(&given.offsets);
    }
    after
}

fn next_of_state(cluster: &Cluster, context: &ChangeContext<'_>, now: &Value) -> Result<Next, Failure> {
    Ok(cluster.toward(now, lasting(&context.goal()["state"]))?.unwrap_or(Next::Reached))
}

fn next_of_start(cluster: &Cluster, context: &ChangeContext<'_>, now: &Value) -> Result<Next, Failure> {
    if now["state"] == "FAILED" && !context.has_called("restart") && context.way == Way::Apply {
        return Ok(cluster.call("restart", "POST", "/restart?includeTasks=true&onlyFailed=true", None));
    }
    next_of_state(cluster, context, now)
}

fn next_of_restart(cluster: &Cluster, context: &ChangeContext<'_>, now: &Value) -> Result<Next, Failure> {
    if !context.past_calls.iter().any(|made| made.answered) {
        return Ok(cluster.call("restart", "POST", "/restart?includeTasks=true&onlyFailed=false", None));
    }
    // Connect leaves a paused connector paused.
    Ok(cluster.toward(now, lasting(&context.before["state"]))?.unwrap_or(Next::Reached))
}

fn next_of_config(cluster: &Cluster, context: &ChangeContext<'_>, now: &Value) -> Result<Next, Failure> {
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

fn next_of_offsets(cluster: &Cluster, context: &ChangeContext<'_>, now: &Value) -> Result<Next, Failure> {
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

fn next_of_migration(cluster: &Cluster, context: &ChangeContext<'_>, now: &Value) -> Result<Next, Failure> {
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

/// Connect adds the connector's name to a configuration that has none.
fn configured(now: &Value, wanted: &Value) -> bool {
    let without_name = |config: &Value| {
        let mut fields = config.as_object().cloned().unwrap_or_default();
        fields.remove("name");
        fields
    };
    without_name(&now["config"]) == without_name(wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// B4.
    #[test]
    fn every_action_has_its_own_timeout() {
        let seconds = |action: &Action| (action.name, action.timeout_s);
        let expected = [
            ("start", 20),
            ("stop", 20),
            ("pause", 20),
            ("restart", 20),
            ("change_config", 20),
            ("reset_offsets", 480),
            ("reset_gtid", 480),
            ("switch_az", 30),
            ("switch_run_system", 30),
            ("migrate", 20),
        ];
        assert_eq!(ACTIONS.iter().map(seconds).collect::<Vec<_>>(), expected);
    }

    /// B9: an action is one entry here; no other file of the crate names one.
    #[test]
    fn no_other_file_names_an_action() {
        let sources = concat!(env!("CARGO_MANIFEST_DIR"), "/src");
        let mut folders = vec![std::path::PathBuf::from(sources)];
        let mut read = 0;
        while let Some(folder) = folders.pop() {
            for path in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
                if path.is_dir() {
                    folders.push(path);
                    continue;
                }
                if path.ends_with("kafka_connect/action.rs") || path.ends_with("program/tests.rs") {
                    continue;
                }
                let text = std::fs::read_to_string(&path).unwrap();
                read += 1;
                for action in ACTIONS.iter().filter(|action| action.name.contains('_')) {
                    assert!(
                        !text.contains(&format!("\"{}\"", action.name)),
                        "{} names {}",
                        path.display(),
                        action.name
                    );
                }
            }
        }
        assert!(read > 20);
    }
}
