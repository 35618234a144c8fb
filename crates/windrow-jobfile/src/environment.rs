//! `${env:NAME}` and `${secret:NAME}` references. A frozen definition keeps the reference; the value
//! is looked up when a run is prepared and never written anywhere.

use std::fmt;
use std::sync::Arc;

/// What a reference begins with, by where it is looked up.
const SOURCES: &[(&str, Source)] = &[("${env:", Source::Variable), (SECRET, Source::Secret)];
/// A shorter value could not be told from ordinary words, and so not be cut out of what is recorded.
pub const SHORTEST_SECRET: usize = 8;
pub const SECRET: &str = "${secret:";
/// Variables of the program itself that no job may read, however it comes by its references.
const HIDDEN: &[&str] = &["WINDROW_MASTER_KEY", "WINDROW_API_KEY"];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    Variable,
    Secret,
}

type Variables = dyn Fn(&str) -> Option<String> + Send + Sync;
/// By workspace and name; an error says why secrets cannot be read.
type Secrets = dyn Fn(&str, &str) -> Result<Option<String>, String> + Send + Sync;

/// Encrypted texts begin with this.
pub const SEALED: &str = "sealed:";

/// Makes a text unreadable for all who do not have the key. Equal texts look equal.
pub trait Sealer: Send + Sync {
    fn seal(&self, text: &str) -> String;
    /// `None` where it was encrypted with another key, or changed.
    fn open(&self, sealed: &str) -> Option<String>;
}

type Sealers = dyn Fn() -> Result<Arc<dyn Sealer>, String> + Send + Sync;

/// Where references are looked up; the process environment and the vault outside of tests.
#[derive(Clone)]
pub struct Environment {
    variables: Arc<Variables>,
    secrets: Arc<Secrets>,
    sealer: Arc<Sealers>,
    workspace: Arc<str>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadReference {
    #[error("the environment variable {0} is not set")]
    Unset(String),
    #[error("secret {name} not found in workspace {workspace}; set it with `windrow secrets set {name}`")]
    NoSecret { name: String, workspace: String },
    #[error("the secret {name} cannot be read: {why}")]
    Sealed { name: String, why: String },
    #[error("{0:?} is not a reference; write ${{env:NAME}} or ${{secret:NAME}}")]
    Malformed(String),
    #[error("a secret may stand only where it is never recorded: in api_key, headers and env")]
    Misplaced,
}

/// A text with its references replaced, and what they stood for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolved {
    pub text: String,
    pub values: Vec<String>,
}

impl Resolved {
    /// All that must not be seen: the whole, and each value in it.
    pub fn into_parts(self) -> impl Iterator<Item = String> {
        std::iter::once(self.text).chain(self.values)
    }
}

impl Environment {
    pub fn new(variables: impl Fn(&str) -> Option<String> + Send + Sync + 'static) -> Self {
        let none = |_: &str, _: &str| Err("there are no secrets here".to_owned());
        let no_sealer = || Err("no master key in this data directory; run the job where its data is".to_owned());
        Self {
            variables: Arc::new(variables),
            secrets: Arc::new(none),
            sealer: Arc::new(no_sealer),
            workspace: "default".into(),
        }
    }

    pub fn process() -> Self {
        Self::new(|name| std::env::var(name).ok().filter(|_| !HIDDEN.contains(&name)))
    }

    /// With secrets as well. Looking one up may block.
    pub fn with_secrets(
        self,
        secrets: impl Fn(&str, &str) -> Result<Option<String>, String> + Send + Sync + 'static,
    ) -> Self {
        Self { secrets: Arc::new(secrets), ..self }
    }

    /// With a key for what is recorded and must not be seen. Looking it up may block.
    pub fn with_sealer(self, sealer: impl Fn() -> Result<Arc<dyn Sealer>, String> + Send + Sync + 'static) -> Self {
        Self { sealer: Arc::new(sealer), ..self }
    }

    pub fn sealer(&self) -> Result<Arc<dyn Sealer>, String> {
        (self.sealer)()
    }

    /// Where these variables read otherwise than the process has them.
    pub fn with_variables(self, given: Vec<(&'static str, String)>) -> Self {
        let variables = self.variables.clone();
        let given = move |name: &str| given.iter().find(|(known, _)| *known == name).map(|(_, value)| value.clone());
        Self { variables: Arc::new(move |name| given(name).or_else(|| variables(name))), ..self }
    }

    /// With the secrets of this workspace and no other.
    pub fn of_workspace(&self, workspace: &str) -> Self {
        Self { workspace: workspace.into(), ..self.clone() }
    }

    /// Where nothing is unset: what has no value reads as this one.
    pub fn with_stand_in(&self, value: &'static str) -> Self {
        let (variables, secrets) = (self.variables.clone(), self.secrets.clone());
        let variables = move |name: &str| {
            Some(variables(name).filter(|value| !value.is_empty()).unwrap_or_else(|| value.to_owned()))
        };
        let secrets = move |workspace: &str, name: &str| {
            Ok(Some(secrets(workspace, name).ok().flatten().unwrap_or_else(|| value.to_owned())))
        };
        Self { variables: Arc::new(variables), secrets: Arc::new(secrets), ..self.clone() }
    }

    /// For text that ends up where it can be seen: it may name variables, but no secret.
    pub fn resolve(&self, text: &str) -> Result<String, BadReference> {
        match text.contains(SECRET) {
            true => Err(BadReference::Misplaced),
            false => Ok(self.resolve_secret(text)?.text),
        }
    }

    /// For text that is sent and never recorded. An empty variable counts as unset: an empty key is
    /// useless.
    pub fn resolve_secret(&self, text: &str) -> Result<Resolved, BadReference> {
        let mut resolved = Resolved { text: String::with_capacity(text.len()), values: Vec::new() };
        let mut rest = text;
        while let Some((start, open, source)) = next_reference(rest) {
            resolved.text.push_str(&rest[..start]);
            let body = &rest[start + open.len()..];
            let end = body.find('}').ok_or_else(|| BadReference::Malformed(text.to_owned()))?;
            let name = body[..end].trim();
            if name.is_empty() {
                return Err(BadReference::Malformed(text.to_owned()));
            }
            let value = self.look_up(source, name)?;
            resolved.text.push_str(&value);
            resolved.values.push(value);
            rest = &body[end + 1..];
        }
        resolved.text.push_str(rest);
        Ok(resolved)
    }

    fn look_up(&self, source: Source, name: &str) -> Result<String, BadReference> {
        match source {
            Source::Variable => (self.variables)(name)
                .filter(|value| !value.is_empty())
                .ok_or_else(|| BadReference::Unset(name.to_owned())),
            Source::Secret => {
                let found = (self.secrets)(&self.workspace, name);
                let found = found.map_err(|why| BadReference::Sealed { name: name.to_owned(), why })?;
                let workspace = self.workspace.to_string();
                found.ok_or_else(|| BadReference::NoSecret { name: name.to_owned(), workspace })
            }
        }
    }
}

fn next_reference(text: &str) -> Option<(usize, &'static str, Source)> {
    let found = SOURCES.iter().filter_map(|(open, source)| Some((text.find(open)?, *open, *source)));
    found.min_by_key(|(start, _, _)| *start)
}

impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Environment")
    }
}

pub fn has_reference(text: &str) -> bool {
    next_reference(text).is_some()
}

/// The names that a text refers to, of variables and of secrets.
pub fn references(text: &str) -> (Vec<String>, Vec<String>) {
    let (mut variables, mut secrets, mut rest) = (Vec::new(), Vec::new(), text);
    while let Some((start, open, source)) = next_reference(rest) {
        rest = &rest[start + open.len()..];
        let Some(end) = rest.find('}') else { break };
        let names = if source == Source::Secret { &mut secrets } else { &mut variables };
        names.push(rest[..end].trim().to_owned());
    }
    (variables, secrets)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment() -> Environment {
        Environment::new(|name| (name == "KEY").then(|| "s3cret".to_owned())).with_secrets(|workspace, name| {
            match (workspace, name) {
                ("team", "TOKEN") => Ok(Some("t0ken".to_owned())),
                ("team", "BROKEN") => Err("another master key".to_owned()),
                _ => Ok(None),
            }
        })
    }

    #[test]
    fn references_are_replaced_and_unset_ones_named() {
        let env = environment();
        assert_eq!(env.resolve("plain"), Ok("plain".to_owned()));
        assert_eq!(env.resolve("a-${env:KEY}-${env:KEY}"), Ok("a-s3cret-s3cret".to_owned()));
        assert_eq!(env.resolve("${env:NONE}"), Err(BadReference::Unset("NONE".to_owned())));
        assert!(matches!(env.resolve("${env:"), Err(BadReference::Malformed(_))));
    }

    #[test]
    fn secrets_are_those_of_the_workspace_and_stand_only_where_nothing_is_recorded() {
        let team = environment().of_workspace("team");
        let resolved = team.resolve_secret("Bearer ${secret:TOKEN} ${env:KEY}").unwrap();
        assert_eq!(resolved.text, "Bearer t0ken s3cret");
        assert_eq!(resolved.values, ["t0ken", "s3cret"]);
        assert_eq!(team.resolve("${secret:TOKEN}"), Err(BadReference::Misplaced));
        let missing = environment().resolve_secret("${secret:TOKEN}").unwrap_err();
        assert!(missing.to_string().contains("workspace default"), "{missing}");
        assert!(matches!(team.resolve_secret("${secret:BROKEN}"), Err(BadReference::Sealed { .. })));
        assert_eq!(team.with_stand_in("x").resolve_secret("${secret:NONE}").unwrap().text, "x");
    }

    #[test]
    fn the_names_in_a_text_are_found() {
        let (variables, secrets) = references("a ${secret: A } ${env:B}${secret:C} ${env:");
        assert_eq!((variables, secrets), (vec!["B".to_owned()], vec!["A".to_owned(), "C".to_owned()]));
    }
}
