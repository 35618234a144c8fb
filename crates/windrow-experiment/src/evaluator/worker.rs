//! `worker`: the worker that does the items judges them too. The configuration is given to it as it
//! stands; here nothing can be judged.

use async_trait::async_trait;
use serde_json::Value;
use windrow_model::workload::Halt;
use windrow_model::{ErrorClass, Failure};

use super::{Calls, ComponentContext, Doc, Evaluation, Evaluator, Subject, thaw};
use crate::target::worker::WorkerConfig;

pub const DOC: Doc = Doc {
    passes: "is accepted by a worker of yours",
    value: "set by the worker",
    text: r##"For jobs whose target is a [`worker`](workers.md) too. The process that executes the items, in any language, also judges them.
Windrow interprets only `name` and `over`, and passes all other fields to the worker unchanged. When the fields change, the
evaluator has a new version.

```text
worker: gpu-box
target: { worker: { model: my-finetune } }
evaluators:
  - worker: { name: similarity, threshold: 0.8 }
```"##,
};

pub struct Worker;

impl Worker {
    pub fn build(config: Value, _setting: &ComponentContext) -> Result<Box<dyn Evaluator>, Failure> {
        let WorkerConfig(_) = thaw(config)?;
        Ok(Box::new(Self))
    }
}

#[async_trait]
impl Evaluator for Worker {
    async fn judge(&self, _subject: Subject<'_>, _calls: &Calls<'_>) -> Result<Evaluation, Halt> {
        let message = "this evaluator is a worker of your own (docs/workers.md)";
        Err(Failure::new(ErrorClass::InvalidRequest, message).into())
    }
}
