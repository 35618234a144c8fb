//! `command` and `python`: code of the user judges the output. It is given the output, what was
//! expected, the row, the conversation and the facts of the answer, and returns a score.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use windrow_jobfile::environment::Environment;
use windrow_jobfile::template::Template;
use windrow_model::Failure;
use windrow_model::step::Verdict;
use windrow_model::workload::Halt;

use super::{
    Calls, Case, ComponentContext, Doc, Evaluation, Evaluator, Subject, check_threshold, rendered, template, thaw,
};
use crate::definition::component::{self, Config};
use crate::process::{self, Frozen, Own, Process, opened};

pub const COMMAND: Doc = Doc {
    passes: "is accepted by a program of yours",
    value: "set by the program, threshold 0.5",
    text: r##"`run` is a program with its arguments, in any language. It reads and writes JSON:

- input: `{"output", "expected", "row", "history", "answer": {"latency_ms", "tool_calls", "usage", …}}`
- output: `true` or `false`, a number from 0 to 1, or `{"score": 0.8, "pass": true, "reason": "…"}` with at least one of `score`
  and `pass`
- does not apply: `{"skip": "why"}`
- failed: `{"error": "why"}`, or `{"error": {"message": "…", "class": "rate_limited"}}` to request a retry

`mode` is `persistent` or `once`. Persistent processes read one line of JSON and write one line per item, so the start-up
cost is paid once. With `once`, each item starts a process that reads all of standard input and writes all of standard
output. `workers` (default: one per core) is the number of processes. `expect` (*template*) is passed as `expected`.
`threshold` (default 0.5) turns a score into a verdict if `pass` is missing.

If a process exits, takes longer than `timeout` (default: the item's timeout) or writes more than `max_output` (default
1MB), Windrow kills it and starts a new one for the next item. The verdict of the current item is `error`, and the end of
standard error is kept. `memory` limits the address space (`ulimit -v`). If a process ends before it ever replied, the
run [pauses](runs.md#stop-early-when-the-first-calls-fail) with the end of standard error.

The process runs in the directory of the job file, in its own process group. Its environment contains only PATH, HOME, LANG
and the variables in `env`. Values of `${env:NAME}` and `${secret:NAME}` are redacted from everything that is recorded.

Files named in `run` or listed in `files` are part of the evaluator. When their content changes, only this evaluator is
computed again.

```yaml
- command: { run: [python3, check.py, --strict], timeout: 10s, memory: 2GB }
- command: { run: [./check.sh], mode: once, expect: "{{ capital }}", env: { LEVEL: high }, name: shell }
```"##,
};

pub const PYTHON: Doc = Doc {
    passes: "is accepted by a Python function of yours",
    value: "set by the function, threshold 0.5",
    text: r##"Calls `function` (default `evaluate`) of `file` with the parameters that it declares: `output`, `expected`, `row`, `history`,
`answer`. The function returns what a [`command`](#command) writes: a bool, a number from 0 to 1, or a dict. It may be
`async`. An exception is an `error` with its line. `windrow check` imports the file. Printed text goes to standard error. Each process imports the file once;
imports from the file's own directory work. `interpreter` (default `python3`) may be the Python of a virtual environment.
All other fields are those of `command`.

```python
def evaluate(output, expected, row):
    return {"score": float(expected in output), "reason": f"asked about {row['country']}"}
```

```yaml
- python: { file: check.py, expect: "{{ capital }}" }
- python: { file: check.py, function: polite, interpreter: .venv/bin/python, files: [words.txt], name: polite }
```"##,
};

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CodeConfig {
    /// Template of what the code gets as `expected`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expect: Option<String>,
    #[serde(default = "threshold")]
    pub threshold: f64,
}

fn threshold() -> f64 {
    0.5
}

impl Config for CodeConfig {
    fn templates(&self) -> Vec<(&'static str, &str)> {
        self.expect.iter().map(|expect| ("expect", expect.as_str())).collect()
    }

    fn check(&self, _environment: &Environment) -> Vec<component::Issue> {
        check_threshold(self.threshold).into_iter().collect()
    }
}

impl Own for CodeConfig {
    const FIELDS: &'static [&'static str] = &["expect", "threshold"];
    const FUNCTION: &'static str = "evaluate";
}

pub struct Code {
    process: Process,
    expect: Option<Template>,
    threshold: f64,
    identity: Value,
}

impl Code {
    pub fn build(config: Value, context: &ComponentContext) -> Result<Box<dyn Evaluator>, Failure> {
        let frozen: Frozen<CodeConfig> = thaw(config)?;
        Ok(Box::new(Self {
            process: Process::new(&frozen, context)?,
            expect: frozen.own.expect.as_deref().map(template).transpose()?,
            threshold: frozen.own.threshold,
            identity: process::identity(&frozen, &json!(frozen.own)),
        }))
    }

    fn found(&self, reply: &Value) -> Result<Evaluation, String> {
        if let Some(reason) = reply.get("skip").or_else(|| reply.get("skipped")).filter(|skip| **skip != json!(false)) {
            return Ok(Evaluation::skipped(reason.as_str().unwrap_or("the code skipped it")));
        }
        let fields = match reply {
            Value::Object(fields) => fields.clone(),
            Value::Bool(_) => Map::from_iter([("pass".to_owned(), reply.clone())]),
            Value::Number(_) => Map::from_iter([("score".to_owned(), reply.clone())]),
            other => return Err(format!("{other} is neither true or false, a number, nor an object")),
        };
        let field = |name: &str| fields.get(name).filter(|value| !value.is_null());
        let score = match field("score").map(|score| score.as_f64().or_else(|| score.as_bool().map(f64::from))) {
            None => None,
            Some(Some(score)) if (0.0..=1.0).contains(&score) => Some(score),
            Some(_) => return Err(format!("the score {} is not a number from 0 to 1", fields["score"])),
        };
        let pass = match field("pass").map(Value::as_bool) {
            Some(None) => return Err(format!("`pass` is {}, which is neither true nor false", fields["pass"])),
            pass => pass.flatten(),
        };
        let reason = match field("reason") {
            Some(Value::String(reason)) => reason.clone(),
            Some(other) => other.to_string(),
            None => String::new(),
        };
        match (score, pass) {
            (None, None) => Err("it has neither `score` nor `pass`".to_owned()),
            (Some(score), None) => Ok(Evaluation::graded(score, self.threshold, reason)),
            (score, Some(pass)) => {
                let verdict = if pass { Verdict::Pass } else { Verdict::Fail };
                Ok(Evaluation::new(verdict, Some(score.unwrap_or(f64::from(pass))), reason))
            }
        }
    }
}

#[async_trait]
impl Evaluator for Code {
    fn identity(&self) -> Option<Value> {
        Some(self.identity.clone())
    }

    fn runs_code(&self) -> bool {
        true
    }

    fn expected(&self, variables: &minijinja::Value) -> Result<Option<String>, String> {
        self.expect.as_ref().map(|expect| rendered(expect, variables)).transpose()
    }

    fn evidence(&self, case: &Case<'_>) -> Result<Option<Value>, String> {
        let row = serde_json::to_value(case.variables).map_err(|error| error.to_string())?;
        let mut answer = json!(case.answer);
        if let Some(fields) = answer.as_object_mut() {
            // It is given as `output`.
            fields.remove("content");
        }
        Ok(Some(json!({ "row": row, "history": case.history, "answer": answer })))
    }

    async fn judge(&self, subject: Subject<'_>, _calls: &Calls<'_>) -> Result<Evaluation, Halt> {
        let mut request = json!({ "output": subject.output, "expected": subject.expected });
        if let (Some(request), Some(Value::Object(evidence))) = (request.as_object_mut(), subject.evidence) {
            request.extend(evidence.clone());
        }
        let reply = opened(&self.process.ask(&request.to_string()).await?)?;
        Ok(self
            .found(&reply)
            .unwrap_or_else(|wrong| Evaluation::error(format!("the code's reply cannot be used: {wrong}"))))
    }
}
