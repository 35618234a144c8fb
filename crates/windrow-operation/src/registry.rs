//! The one place where types of targets are registered.

use std::path::Path;
use std::sync::Arc;

use serde_json::Value;
use windrow_jobfile::diagnostics::Problems;
use windrow_jobfile::environment::Environment;
use windrow_jobfile::job_file::Section;
use windrow_jobfile::spec::invalid_request;
use windrow_model::Failure;

use super::handler::Handler;
use super::spec::Component;
use super::{kafka_connect, own_worker, scripted};

type Build = fn(Value, &Environment) -> Result<Arc<dyn Handler>, Failure>;

/// A type of target.
pub struct Kind {
    pub name: &'static str,
    /// Checks the section of a job file and freezes it. `None` when problems were found.
    pub read: fn(Section, &Path, &mut Problems) -> Option<Value>,
    pub build: Build,
    /// Says why, where what a frozen section describes has no inverse.
    pub irreversible: fn(&Value) -> Option<&'static str>,
}

pub const KINDS: &[Kind] = &[
    Kind {
        name: "kafka-connect",
        read: kafka_connect::read,
        build: kafka_connect::build,
        irreversible: kafka_connect::irreversible,
    },
    Kind { name: "http", read: scripted::read_http, build: scripted::build, irreversible: scripted::irreversible },
    Kind {
        name: "command",
        read: scripted::read_command,
        build: scripted::build,
        irreversible: scripted::irreversible,
    },
    Kind { name: own_worker::KIND, read: own_worker::read, build: own_worker::build, irreversible: |_| None },
];

/// Says why, where the action has no inverse.
pub fn irreversible(action: &Component) -> Option<&'static str> {
    let kind = KINDS.iter().find(|kind| kind.name == action.kind)?;
    (kind.irreversible)(&action.config)
}

pub fn build(action: &Component, environment: &Environment) -> Result<Arc<dyn Handler>, Failure> {
    let Some(kind) = KINDS.iter().find(|kind| kind.name == action.kind) else {
        return Err(invalid_request(format!("unknown action {:?}", action.kind)));
    };
    (kind.build)(action.config.clone(), environment)
}
