//! A batch as `POST /api/batch` takes it (B14): it becomes the job file of an operation.

use serde_json::{Map, Value, json};
use windrow_wire::Submitted;
use windrow_wire::request::{BatchRequest, Submit};

use crate::app::App;
use crate::app::audit::Change;
use crate::app::resolve_run::{self, RunExecutor};
use crate::error::{Error, Result};

const PREFIX: &str = "cdc_job_";

pub async fn create(
    app: &App,
    change: &Change,
    wish: BatchRequest,
    key: Option<String>,
    executor: &impl RunExecutor,
) -> Result<Submitted> {
    resolve_run::submit(app, change, Submit::of(file_of(wish)?), key, executor).await
}

fn file_of(wish: BatchRequest) -> Result<String> {
    let BatchRequest { batch_name, batch_type, targets, params, creator, cmdb_service, env, region, az, .. } = wish;
    let Some(action) = batch_type.strip_prefix(PREFIX) else {
        let what = format!("`batch_type` is {batch_type:?}, but must begin with {PREFIX}");
        return Err(Error::invalid("batch_type", what, "for example: cdc_job_start"));
    };
    let targets = targets.into_iter().map(target).collect::<Result<Vec<Value>>>()?;
    let mut connect = params;
    if connect.contains_key("do") {
        return Err(Error::invalid("params", "`params.do` is given by `batch_type`", "leave it out"));
    }
    connect.insert("do".into(), json!(action));
    let mut file = json!({
        "kind": "operation",
        "name": batch_name,
        "labels": {
            "creator": creator, "service": cmdb_service, "environment": env, "region": region, "az": az,
            "extra": wish.extra_info,
        },
        "targets": { "list": targets },
        "action": { "kafka-connect": connect },
    });
    if !wish.strategy.is_empty() {
        file["strategy"] = Value::Object(wish.strategy);
    }
    // JSON is YAML.
    Ok(file.to_string())
}

/// A name, or an object whose `target_name` is the name. `target_id`, `target_type` and `target_env` are what a target
/// calls `id`, `type` and `environment` (B15).
fn target(given: Value) -> Result<Value> {
    match given {
        Value::String(name) => Ok(Value::String(name)),
        Value::Object(mut fields) if fields.get("target_name").is_some_and(Value::is_string) => {
            let name = fields.remove("target_name").unwrap_or_default();
            for (given, own) in [("target_id", "id"), ("target_type", "type"), ("target_env", "environment")] {
                if let Some(value) = fields.remove(given) {
                    fields.insert(own.to_owned(), value);
                }
            }
            match fields.is_empty() {
                true => Ok(name),
                false => Ok(Value::Object(Map::from_iter([("name".to_owned(), name)].into_iter().chain(fields)))),
            }
        }
        other => {
            let what = format!("a target is a name or an object with `target_name`, found {other}");
            Err(Error::invalid("targets", what, "for example: {\"target_name\": \"orders-0001\"}"))
        }
    }
}
