//! `${env:NAME}` references. A frozen definition keeps the reference; the value is looked up when a
//! run is prepared and never written anywhere.

use std::fmt;
use std::sync::Arc;

const OPEN: &str = "${env:";

type Lookup = dyn Fn(&str) -> Option<String> + Send + Sync;

/// Where references are looked up; the process environment outside of tests.
#[derive(Clone)]
pub struct Environment(Arc<Lookup>);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadReference {
    #[error("the environment variable {0} is not set")]
    Unset(String),
    #[error("{0:?} is not a reference to an environment variable; write ${{env:NAME}}")]
    Malformed(String),
}

impl Environment {
    pub fn new(lookup: impl Fn(&str) -> Option<String> + Send + Sync + 'static) -> Self {
        Self(Arc::new(lookup))
    }

    pub fn process() -> Self {
        Self::new(|name| std::env::var(name).ok())
    }

    /// Where nothing is unset: what has no value reads as this one.
    pub fn with_stand_in(&self, value: &'static str) -> Self {
        let lookup = self.0.clone();
        Self::new(move |name| lookup(name).filter(|found| !found.is_empty()).or_else(|| Some(value.to_owned())))
    }

    /// Replaces every reference. An empty variable counts as unset: an empty key helps nobody.
    pub fn resolve(&self, text: &str) -> Result<String, BadReference> {
        let mut resolved = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(start) = rest.find(OPEN) {
            resolved.push_str(&rest[..start]);
            let body = &rest[start + OPEN.len()..];
            let end = body.find('}').ok_or_else(|| BadReference::Malformed(text.to_owned()))?;
            let name = body[..end].trim();
            if name.is_empty() {
                return Err(BadReference::Malformed(text.to_owned()));
            }
            let value = (self.0)(name).filter(|value| !value.is_empty());
            resolved.push_str(&value.ok_or_else(|| BadReference::Unset(name.to_owned()))?);
            rest = &body[end + 1..];
        }
        resolved.push_str(rest);
        Ok(resolved)
    }
}

impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Environment")
    }
}

pub fn has_reference(text: &str) -> bool {
    text.contains(OPEN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_replaced_and_unset_ones_named() {
        let env = Environment::new(|name| (name == "KEY").then(|| "s3cret".to_owned()));
        assert_eq!(env.resolve("plain"), Ok("plain".to_owned()));
        assert_eq!(env.resolve("a-${env:KEY}-${env:KEY}"), Ok("a-s3cret-s3cret".to_owned()));
        assert_eq!(env.resolve("${env:NONE}"), Err(BadReference::Unset("NONE".to_owned())));
        assert!(matches!(env.resolve("${env:"), Err(BadReference::Malformed(_))));
    }
}
