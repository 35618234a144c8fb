//! A connector moves to another cluster with its offsets. It is stopped here, with no task left, before
//! it may run there, and the other way change on the way back: at no moment do both run it.

use serde_json::Value;
use windrow_model::{ErrorClass, Failure};

use super::connector::{Cluster, RUNNING, STOPPED, lasting};
use crate::handler::{ChangeContext, Next, Way};

pub fn next(here: &Cluster, there: &Cluster, context: &ChangeContext<'_>, now: &Value) -> Result<Next, Failure> {
    match context.way {
        Way::Apply => forth(here, there, context, now),
        Way::Undo => back(here, there, context, now),
    }
}

fn forth(here: &Cluster, there: &Cluster, context: &ChangeContext<'_>, now: &Value) -> Result<Next, Failure> {
    let (source, copy) = (&now["here"], &now["there"]);
    let goal = lasting(&context.before["here"]["state"]);
    if source.is_null() {
        return Err(Failure::new(ErrorClass::InvalidRequest, "there is no such connector on the first cluster"));
    }
    if context.past_calls.is_empty() && source["state"] == STOPPED && copy["state"] == RUNNING {
        return Ok(Next::Reached);
    }
    if !context.before["there"].is_null() && context.past_calls.is_empty() {
        let message = "a connector of that name is on the other cluster already";
        return Err(Failure::new(ErrorClass::InvalidRequest, message));
    }
    if let Some(next) = here.toward(source, STOPPED)? {
        return Ok(next);
    }
    if !context.refined && !context.has_called("create there") {
        return Ok(Next::RefinePreimage);
    }
    if copy.is_null() {
        return Ok(there.create(&source["config"]));
    }
    let carried = &context.before["here"]["offsets"];
    let resumed = ["resume there", "pause there"].iter().any(|call| context.has_called(call));
    if !resumed && copy["offsets"] != *carried {
        return Ok(match there.toward(copy, STOPPED)? {
            Some(next) => next,
            None => there.patch_offsets(&copy["offsets"], carried),
        });
    }
    Ok(there.toward(copy, goal)?.unwrap_or(Next::Reached))
}

fn back(here: &Cluster, there: &Cluster, context: &ChangeContext<'_>, now: &Value) -> Result<Next, Failure> {
    let (source, copy) = (&now["here"], &now["there"]);
    if !copy.is_null() {
        if let Some(next) = there.toward(copy, STOPPED)? {
            return Ok(next);
        }
        if copy["offsets"].as_array().is_some_and(|offsets| !offsets.is_empty()) {
            return Ok(there.call("delete_offsets", "DELETE", "/offsets", None));
        }
        return Ok(there.call("delete", "DELETE", "", None));
    }
    Ok(here.toward(source, lasting(&context.before["here"]["state"]))?.unwrap_or(Next::Reached))
}
