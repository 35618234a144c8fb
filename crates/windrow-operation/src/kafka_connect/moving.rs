//! A connector moves to another cluster with its offsets. It is stopped here, with no task left, before
//! it may run there, and the other way round on the way back: at no moment do both run it.

use serde_json::Value;
use windrow_model::{ErrorClass, Failure};

use super::connector::{Place, RUNNING, STOPPED, lasting};
use crate::handler::{Journey, Next, Way};

pub fn next(here: &Place, there: &Place, journey: &Journey<'_>, now: &Value) -> Result<Next, Failure> {
    match journey.way {
        Way::Apply => forth(here, there, journey, now),
        Way::Undo => back(here, there, journey, now),
    }
}

fn forth(here: &Place, there: &Place, journey: &Journey<'_>, now: &Value) -> Result<Next, Failure> {
    let (source, copy) = (&now["here"], &now["there"]);
    let goal = lasting(&journey.before["here"]["state"]);
    if source.is_null() {
        return Err(Failure::new(ErrorClass::InvalidRequest, "there is no such connector on the first cluster"));
    }
    if journey.made.is_empty() && source["state"] == STOPPED && copy["state"] == RUNNING {
        return Ok(Next::Reached);
    }
    if !journey.before["there"].is_null() && journey.made.is_empty() {
        let message = "a connector of that name is on the other cluster already";
        return Err(Failure::new(ErrorClass::InvalidRequest, message));
    }
    if let Some(next) = here.toward(source, STOPPED)? {
        return Ok(next);
    }
    if !journey.kept && !journey.made("create there") {
        return Ok(Next::Keep);
    }
    if copy.is_null() {
        return Ok(there.create(&source["config"]));
    }
    let carried = &journey.before["here"]["offsets"];
    let resumed = ["resume there", "pause there"].iter().any(|call| journey.made(call));
    if !resumed && copy["offsets"] != *carried {
        return Ok(match there.toward(copy, STOPPED)? {
            Some(next) => next,
            None => there.patch_offsets(&copy["offsets"], carried),
        });
    }
    Ok(there.toward(copy, goal)?.unwrap_or(Next::Reached))
}

fn back(here: &Place, there: &Place, journey: &Journey<'_>, now: &Value) -> Result<Next, Failure> {
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
    Ok(here.toward(source, lasting(&journey.before["here"]["state"]))?.unwrap_or(Next::Reached))
}
