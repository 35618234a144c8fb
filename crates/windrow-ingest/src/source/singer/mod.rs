//! Any Singer tap. Its records go into one table per stream, under the key its schema names; its state is
//! the checkpoint, advanced only together with the records before it. Taps promise no order of repeats, so
//! a stream without a key may have some records twice after a crash between two states.

mod catalog;
mod message;

use std::collections::HashMap;
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

use self::message::Message;
use super::process::{Process, replayed};
use super::{Means, Page, Pages, Source, SourceKind};
use crate::record::Table;

pub const KIND: SourceKind = SourceKind { name: "singer", read, build, provenance };

/// A page ends at the first state behind so many records, and at the latest at ten times as many.
const PAGE: usize = 1000;
const LONGEST: usize = 10 * PAGE;

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Config {
    /// The program and its own arguments.
    tap: Vec<String>,
    #[serde(default)]
    config: Value,
    /// Streams to select; all that the tap selects itself where none is named.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    streams: Vec<String>,
    #[serde(default)]
    folder: PathBuf,
}

fn read(section: &Section, base: Base<'_>, problems: &mut Problems) -> Option<Value> {
    if base.closed {
        let message = "a job sent to the server may not run programs";
        problems.add(section.span.clone(), message, "run it with `windrow run` on the machine itself");
        return None;
    }
    let config: Config = section.read(&[], problems)?;
    if config.tap.is_empty() {
        problems.add(section.span_of("tap"), "`tap` is empty", "for example: tap: [tap-github]");
    }
    let folder = std::path::absolute(base.folder.join(&config.folder)).ok()?;
    Some(serde_json::to_value(Config { folder, ..config }).expect("a configuration serialises to JSON"))
}

fn provenance(config: &Value) -> String {
    let tap = config["tap"][0].as_str().unwrap_or("singer");
    tap.rsplit('/').next().unwrap_or(tap).to_owned()
}

fn build(config: Value, means: &Means<'_>) -> Result<Arc<dyn Source>, Failure> {
    let refs = ResolvedRefs::of(&config, means.environment)?;
    let config: Config = serde_json::from_value(config).map_err(|error| invalid_request(error.to_string()))?;
    Ok(Arc::new(Singer { config, refs }))
}

struct Singer {
    config: Config,
    refs: ResolvedRefs,
}

impl Singer {
    /// Files that only this user can read, gone when the pass is over.
    fn file(&self, name: &str, content: &str) -> Result<tempfile::NamedTempFile, Failure> {
        let made = tempfile::Builder::new().prefix(name).suffix(".json").tempfile();
        let write = |mut file: tempfile::NamedTempFile| {
            std::io::Write::write_all(&mut file, content.as_bytes())?;
            Ok(file)
        };
        made.and_then(write).map_err(|error| invalid_request(format!("the tap's {name} cannot be written: {error}")))
    }

    fn start(&self, arguments: &[String]) -> Result<Process, Failure> {
        let words: Vec<String> = self.config.tap.iter().chain(arguments).map(|word| self.refs.fill(word)).collect();
        Process::start(&words, &self.config.folder, &[], self.refs.secret())
    }
}

#[async_trait]
impl Source for Singer {
    async fn open(&self, _slice: &Slice, at: &Checkpoint) -> Result<Box<dyn Pages>, Failure> {
        let given = if self.config.config.is_null() { json!({}) } else { self.config.config.clone() };
        let config = self.file("config", &self.refs.fill(&given.to_string()))?;
        let mut arguments = vec!["--config".to_owned(), config.path().display().to_string()];
        let mut files = vec![config];
        if !self.config.streams.is_empty() {
            let asked = [arguments.as_slice(), &["--discover".to_owned()]].concat();
            let catalog = catalog::discover(self.start(&asked)?).await?;
            let catalog = catalog::select(catalog, &self.config.streams)?;
            let catalog = self.file("catalog", &catalog.to_string())?;
            arguments.extend(["--catalog".to_owned(), catalog.path().display().to_string()]);
            files.push(catalog);
        }
        let (state, taken) = replayed(at);
        if !state.is_null() {
            let file = self.file("state", &state.to_string())?;
            arguments.extend(["--state".to_owned(), file.path().display().to_string()]);
            files.push(file);
        }
        let process = self.start(&arguments)?;
        Ok(Box::new(TapPages { process, state, taken, keys: HashMap::new(), _files: files }))
    }
}

struct TapPages {
    process: Process,
    /// The last state, and how many records there were in the pass.
    state: Value,
    taken: u64,
    /// By stream, as their schemas say.
    keys: HashMap<String, Vec<String>>,
    _files: Vec<tempfile::NamedTempFile>,
}

#[async_trait]
impl Pages for TapPages {
    async fn next(&mut self, _journal: &dyn Journal) -> Result<Page, Halt> {
        let started = Instant::now();
        let mut page = Page::default();
        let mut count = 0;
        while count < LONGEST {
            let Some(line) = self.process.next_line().await? else {
                page.done = true;
                break;
            };
            page.bytes_in += line.len() as i64;
            match Message::parse(&line).map_err(|why| self.process.odd(&line, why))? {
                Message::Schema { stream, key_properties } => {
                    self.keys.insert(stream, key_properties);
                }
                Message::Record { stream, record } => {
                    count += 1;
                    self.taken += 1;
                    self.add(&mut page, stream, record);
                }
                Message::State { value } => {
                    self.state = value;
                    if count >= PAGE {
                        break;
                    }
                }
                Message::Other => {}
            }
        }
        let position = json!({ "state": self.state, "taken": self.taken });
        page.high = (!self.state.is_null()).then(|| position.clone());
        page.after = Some(position);
        page.latency_ms = ms_since(started);
        Ok(page)
    }
}

impl TapPages {
    fn add(&self, page: &mut Page, stream: String, record: Value) {
        match page.tables.iter_mut().find(|table| table.name.as_ref() == Some(&stream)) {
            Some(table) => table.records.push(record),
            None => {
                let key = self.keys.get(&stream).cloned();
                page.tables.push(Table { name: Some(stream), key, records: vec![record] });
            }
        }
    }
}
