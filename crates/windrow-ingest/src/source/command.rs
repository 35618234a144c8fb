//! Records that a program writes, one JSON object per line. A line `{"$checkpoint": …}` says that all
//! before it may be committed; the program is handed the last one when it is started again.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use windrow_jobfile::diagnostics::Problems;
use windrow_jobfile::http_client::ms_since;
use windrow_jobfile::job_file::{Base, Section};
use windrow_jobfile::resolved_refs::ResolvedRefs;
use windrow_jobfile::spec::invalid_request;
use windrow_model::Failure;
use windrow_model::ingest::{Checkpoint, Slice};
use windrow_model::workload::{Halt, Journal};

use super::process::{Process, replayed};
use super::{Means, Page, Pages, Source, SourceKind};
use crate::record::Table;

pub const KIND: SourceKind = SourceKind { name: "command", read, build, provenance };

/// Records of a page, where no checkpoint ends it earlier.
const PAGE: usize = 1000;
const MARK: &str = "$checkpoint";

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Config {
    run: Vec<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    env: BTreeMap<String, String>,
    #[serde(default)]
    folder: PathBuf,
}

fn read(section: &Section, base: Base<'_>, problems: &mut Problems) -> Option<Value> {
    if base.closed {
        let message = "a job sent to the server may not run commands";
        problems.add(section.span.clone(), message, "run it with `windrow run` on the machine itself");
        return None;
    }
    let config: Config = section.read(&[], problems)?;
    if config.run.is_empty() {
        problems.add(section.span_of("run"), "`run` is empty", "for example: run: [python3, export.py]");
    }
    let folder = std::path::absolute(base.folder.join(&config.folder)).ok()?;
    Some(serde_json::to_value(Config { folder, ..config }).expect("a configuration serialises to JSON"))
}

fn provenance(config: &Value) -> String {
    config["run"][0].as_str().unwrap_or("command").to_owned()
}

fn build(config: Value, means: &Means<'_>) -> Result<Arc<dyn Source>, Failure> {
    let refs = ResolvedRefs::of(&config, means.environment)?;
    let config: Config = serde_json::from_value(config).map_err(|error| invalid_request(error.to_string()))?;
    Ok(Arc::new(CommandSource { config, refs }))
}

struct CommandSource {
    config: Config,
    refs: ResolvedRefs,
}

#[async_trait]
impl Source for CommandSource {
    async fn open(&self, slice: &Slice, at: &Checkpoint) -> Result<Box<dyn Pages>, Failure> {
        let (state, taken) = replayed(at);
        let words: Vec<String> = self.config.run.iter().map(|word| self.refs.fill(word)).collect();
        let given = self.config.env.iter().map(|(name, value)| (name.clone(), self.refs.fill(value)));
        let told = [("WINDROW_CHECKPOINT", state.to_string()), ("WINDROW_SLICE", slice.variables().to_string())];
        let told = told.into_iter().filter(|(_, value)| value != "null").map(|(name, value)| (name.to_owned(), value));
        let variables: Vec<(String, String)> = given.chain(told).collect();
        let process = Process::start(&words, &self.config.folder, &variables, self.refs.secret())?;
        Ok(Box::new(CommandPages { process, state, taken }))
    }
}

struct CommandPages {
    process: Process,
    /// The last checkpoint, and how many records there were in the pass.
    state: Value,
    taken: u64,
}

#[async_trait]
impl Pages for CommandPages {
    async fn next(&mut self, _journal: &dyn Journal) -> Result<Page, Halt> {
        let (mut records, mut bytes_in, mut done, started) = (Vec::new(), 0, false, Instant::now());
        while records.len() < PAGE {
            let Some(line) = self.process.next_line().await? else {
                done = true;
                break;
            };
            if line.trim().is_empty() {
                continue;
            }
            bytes_in += line.len() as i64;
            let mut value: Value = serde_json::from_str(&line).map_err(|error| self.process.odd(&line, error))?;
            match value.get_mut(MARK) {
                Some(mark) => {
                    self.state = mark.take();
                    if !records.is_empty() {
                        break;
                    }
                }
                None => {
                    self.taken += 1;
                    records.push(value);
                }
            }
        }
        let position = json!({ "state": self.state, "taken": self.taken });
        Ok(Page {
            tables: vec![Table { records, ..Table::default() }],
            after: Some(position.clone()),
            high: (!self.state.is_null()).then_some(position),
            done,
            bytes_in,
            latency_ms: ms_since(started),
            ..Page::default()
        })
    }
}
