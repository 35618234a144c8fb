//! A connector moves to another cluster with its offsets of now, and back the same way. It is stopped on one side, with
//! no task left, before it may run on the other, and nothing is deleted before the other side runs.

use serde_json::Value;
use windrow_model::{ErrorClass, Failure};

use super::connector::{Cluster, RUNNING, STOPPED, lasting};
use crate::handler::{ChangeContext, Next, PastCall, Way};

pub struct Move<'a> {
    pub here: &'a Cluster,
    pub there: &'a Cluster,
    /// The way back starts from the offsets of before, not from those of now.
    pub rewind: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Here,
    There,
}

/// The side that was let run last has the newest offsets; also where nobody knows whether that call happened, because
/// then its offsets are those that were carried there.
fn newest(calls: &[PastCall]) -> Side {
    let side = |call: &PastCall| match call.name.as_str() {
        "resume" | "pause" => Some(Side::Here),
        "resume there" | "pause there" => Some(Side::There),
        _ => None,
    };
    calls.iter().rev().find_map(side).unwrap_or(Side::Here)
}

impl Move<'_> {
    pub fn next(&self, context: &ChangeContext<'_>, now: &Value) -> Result<Next, Failure> {
        match context.way {
            Way::Apply => self.forth(context, now),
            Way::Undo => self.back(context, now),
        }
    }

    fn forth(&self, context: &ChangeContext<'_>, now: &Value) -> Result<Next, Failure> {
        let (source, copy) = (&now["here"], &now["there"]);
        if source.is_null() {
            return Err(Failure::new(ErrorClass::InvalidRequest, "connector not found on the first cluster"));
        }
        if context.calls.is_empty() && source["state"] == STOPPED && self.there.has_reached(copy, RUNNING) {
            return Ok(Next::Reached);
        }
        if context.calls.is_empty() && !context.before["there"].is_null() {
            let message = "a connector of that name is on the other cluster already";
            return Err(Failure::new(ErrorClass::InvalidRequest, message));
        }
        if let Some(next) = self.here.toward(source, STOPPED)? {
            return Ok(next);
        }
        if newest(context.calls) == Side::Here || copy.is_null() {
            if !context.refined && !context.has_called("create there") {
                return Ok(Next::RefinePreimage);
            }
            if copy.is_null() {
                return Ok(self.there.create(&source["config"]));
            }
            if let Some(next) = self.there.carry(copy, &source["offsets"])? {
                return Ok(next);
            }
        }
        Ok(self.there.toward(copy, lasting(&context.before["here"]["state"]))?.unwrap_or(Next::Reached))
    }

    fn back(&self, context: &ChangeContext<'_>, now: &Value) -> Result<Next, Failure> {
        let (source, copy) = (&now["here"], &now["there"]);
        let before = &context.before["here"];
        if !copy.is_null()
            && let Some(next) = self.there.toward(copy, STOPPED)?
        {
            return Ok(next);
        }
        if source.is_null() {
            return Ok(self.here.create(&before["config"]));
        }
        let carried = if self.rewind { &before["offsets"] } else { &copy["offsets"] };
        if newest(context.calls) == Side::There
            && carried.is_array()
            && let Some(next) = self.here.carry(source, carried)?
        {
            return Ok(next);
        }
        if let Some(next) = self.here.toward(source, lasting(&before["state"]))? {
            return Ok(next);
        }
        if copy.is_null() {
            return Ok(Next::Reached);
        }
        if copy["offsets"].as_array().is_some_and(|offsets| !offsets.is_empty()) {
            return Ok(self.there.call("delete_offsets", "DELETE", "/offsets", None));
        }
        Ok(self.there.call("delete", "DELETE", "", None))
    }
}

#[cfg(test)]
mod tests;
