//! `worker`: a worker of the user's own supplies a type of target, in whatever language (B9). It looks at the targets, and
//! changes and restores them; the server plans, keeps the record and decides about waves (docs/workers.md).

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Map, Value};
use windrow_jobfile::diagnostics::Problems;
use windrow_jobfile::environment::Environment;
use windrow_jobfile::job_file::Section;
use windrow_jobfile::spec::invalid_request;
use windrow_model::Failure;
use windrow_model::step::ContentKey;

use super::handler::{Call, ChangeContext, Handler, Next, Trouble, thaw};
use super::target::Target;

pub const KIND: &str = "worker";

/// Whatever the worker understands; only the type says something to the server.
pub fn read(section: Section, _folder: &Path, problems: &mut Problems) -> Option<Value> {
    let span = section.span.clone();
    let config: Map<String, Value> = section.read(&[], problems)?;
    if config.get("type").and_then(Value::as_str).is_none_or(str::is_empty) {
        let example = "action: { worker: { type: dns-zone, do: set_record } }";
        problems.add(span, "`action.worker` needs `type`: the type of its targets", format!("for example: {example}"));
    }
    Some(Value::Object(config))
}

pub fn build(config: Value, _environment: &Environment) -> Result<Arc<dyn Handler>, Failure> {
    Ok(Arc::new(thaw::<OwnWorker>(config)?))
}

#[derive(serde::Deserialize)]
struct OwnWorker {
    #[serde(rename = "type")]
    kind: String,
}

impl OwnWorker {
    fn elsewhere(&self) -> Failure {
        let message = format!("targets of type {} are read and changed by a worker of your own", self.kind);
        invalid_request(format!("{message} (docs/workers.md)"))
    }
}

#[async_trait]
impl Handler for OwnWorker {
    fn lock(&self, target: &Target) -> String {
        format!("{} {}", self.kind, target.name)
    }

    async fn read(&self, _target: &Target) -> Result<Option<Value>, Failure> {
        Err(self.elsewhere())
    }

    fn after(&self, _target: &Target, _before: &Value) -> Result<Value, Failure> {
        Err(self.elsewhere())
    }

    fn next(&self, _context: &ChangeContext<'_>) -> Result<Next, Failure> {
        Err(self.elsewhere())
    }

    async fn call(&self, _target: &Target, _call: &Call, _key: &ContentKey) -> Result<Value, Trouble> {
        Err(Trouble::Failed(self.elsewhere()))
    }
}
