//! An evaluator of a program: built, named, and identified for its content keys.

use serde_json::json;

use windrow_model::step::ContentKey;
use windrow_model::{ErrorClass, Failure};

use super::{Evaluator, Subject, find};
use crate::canonical::canonical;
use crate::experiment::spec::{Component, NamedComponent};

pub struct Bound {
    pub name: String,
    identity: String,
    pub evaluator: Box<dyn Evaluator>,
}

impl Bound {
    pub fn new(component: NamedComponent) -> Result<Self, Failure> {
        let NamedComponent { name, kind, config } = component;
        let found = find(&kind).ok_or_else(|| {
            let message = format!("this version has no evaluator `{kind}`; use a newer one");
            Failure::new(ErrorClass::InvalidRequest, message)
        })?;
        // Without the name: renaming a column does not compute it again.
        let mut identity = canonical(&json!({ "kind": kind, "version": found.version, "config": config }));
        let evaluator = (found.build)(config)?;
        // The version of a part is not in the configuration of the whole.
        for part in evaluator.parts() {
            identity += &part.identity;
        }
        Ok(Self { name, identity, evaluator })
    }

    /// An evaluator inside another one.
    pub fn part(component: Component) -> Result<Self, Failure> {
        let Component { kind, config } = component;
        Self::new(NamedComponent { name: kind.clone(), kind, config })
    }

    pub fn key(&self, subject: Subject<'_>) -> ContentKey {
        let expected = subject.expected.map_or_else(|| "null".to_owned(), |text| json!(text).to_string());
        ContentKey::of(&[b"evaluator", self.identity.as_bytes(), subject.output.as_bytes(), expected.as_bytes()])
    }
}
