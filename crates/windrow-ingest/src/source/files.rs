//! Records of files: JSON lines, CSV, Parquet and the other formats of datasets, also gzipped. Files are
//! read in the order of their names; a later pass reads only files whose names come after.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use windrow_jobfile::dataset::{self, DatasetFile, Format, ReadError, Rows};
use windrow_jobfile::diagnostics::Problems;
use windrow_jobfile::http_client::ms_since;
use windrow_jobfile::job_file::{Base, Section};
use windrow_jobfile::spec::invalid_request;
use windrow_model::ingest::{Checkpoint, Slice};
use windrow_model::workload::{Halt, Journal};
use windrow_model::{ErrorClass, Failure};

use super::{Means, Page, Pages, Source, SourceKind};
use crate::record::Table;

pub const KIND: SourceKind = SourceKind { name: "files", read, build, provenance };

const PAGE: usize = 1000;
/// A page of long rows is shorter, so that memory does not depend on what is in them.
const PAGE_BYTES: usize = 4 << 20;

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Config {
    /// May have `*`, `?`, `[…]` and `**` in it.
    path: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    format: Option<Format>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    delimiter: Option<char>,
    /// Where all of them must lie.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    within: Option<PathBuf>,
}

fn read(section: &Section, base: Base<'_>, problems: &mut Problems) -> Option<Value> {
    let config: Config = section.read(&[], problems)?;
    if config.within.is_some() {
        problems.add(section.span_of("within"), "`source.files.within` is given by the server", "leave it out");
    }
    let Some(path) = base.locate(&config.path) else {
        let message = format!("{} lies outside of the folder for files", config.path);
        problems.add(section.span_of("path"), message, "name files below it");
        return None;
    };
    let within = base.closed.then(|| base.folder.canonicalize().ok()).flatten();
    let config = Config { path: path.display().to_string(), within, ..config };
    match files(&config) {
        Ok(files) if files.is_empty() => {
            problems.add(section.span_of("path"), "no file fits", "check the path; patterns may have * and ** in them");
        }
        Ok(found) => {
            if let Some(odd) = found.iter().find(|file| named(file, &config).is_none()) {
                let message = format!("the name of {} does not say its format", odd.display());
                problems.add(section.span_of("path"), message, format!("add `format`: {}", Format::list()));
            }
            let is_csv = |file: &PathBuf| named(file, &config).is_none_or(|file| file.format == Format::Csv);
            if config.delimiter.is_some() && !found.iter().all(is_csv) {
                let message = "`source.files.delimiter` is for CSV, and there are other files";
                problems.add(section.span_of("delimiter"), message, "leave it out, or add `format: csv`");
            }
        }
        Err(failure) => problems.add(section.span_of("path"), failure.message, "correct the pattern"),
    }
    Some(serde_json::to_value(config).expect("a configuration serialises to JSON"))
}

fn provenance(config: &Value) -> String {
    config["path"].as_str().unwrap_or("files").to_owned()
}

fn build(config: Value, _: &Means<'_>) -> Result<Arc<dyn Source>, Failure> {
    Ok(Arc::new(Files { config: serde_json::from_value(config).map_err(|error| invalid_request(error.to_string()))? }))
}

/// All that fit, by name.
fn files(config: &Config) -> Result<Vec<PathBuf>, Failure> {
    let found = glob::glob(&config.path).map_err(|error| invalid_request(format!("{}: {error}", config.path)))?;
    let is_inside = |file: &PathBuf| match &config.within {
        Some(folder) => file.canonicalize().is_ok_and(|real| real.starts_with(folder)),
        None => true,
    };
    let mut files: Vec<PathBuf> = found.flatten().filter(|file| file.is_file()).filter(is_inside).collect();
    files.sort();
    Ok(files)
}

fn is_gzip(file: &Path) -> bool {
    file.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("gz"))
}

/// The format of `rows.csv.gz` is that of `rows.csv`.
fn named(file: &Path, config: &Config) -> Option<DatasetFile> {
    let inner = if is_gzip(file) { file.with_extension("") } else { file.to_owned() };
    let named = DatasetFile::named(inner, config.format, config.delimiter)?;
    Some(DatasetFile { path: file.to_owned(), ..named })
}

struct Files {
    config: Config,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct At {
    file: PathBuf,
    /// `None`: the file was read to its end.
    place: Option<dataset::Position>,
}

#[async_trait]
impl Source for Files {
    async fn open(&self, _slice: &Slice, at: &Checkpoint) -> Result<Box<dyn Pages>, Failure> {
        let at = at.position.as_ref().or(at.since.as_ref()).cloned();
        let at: Option<At> =
            at.map(serde_json::from_value).transpose().map_err(|error| invalid_request(error.to_string()))?;
        let config = self.config.clone();
        let opened = tokio::task::spawn_blocking(move || {
            let all = files(&config)?;
            let rest = all.into_iter().filter(|file| match &at {
                None => true,
                Some(At { file: last, place: None }) => file > last,
                Some(At { file: last, place: Some(_) }) => file >= last,
            });
            let mut rest: Vec<PathBuf> = rest.collect();
            rest.reverse();
            let resume = at.filter(|at| at.place.is_some());
            Ok(Reader { config, rest, resume, open: None, last: None })
        });
        let reader = opened.await.map_err(|error| Failure::new(ErrorClass::Handler, error.to_string()))??;
        Ok(Box::new(FilePages { reader: Arc::new(Mutex::new(reader)) }))
    }
}

struct FilePages {
    reader: Arc<Mutex<Reader>>,
}

struct Reader {
    config: Config,
    /// The next one last.
    rest: Vec<PathBuf>,
    resume: Option<At>,
    open: Option<Open>,
    last: Option<PathBuf>,
}

struct Open {
    path: PathBuf,
    rows: Box<dyn Rows>,
    /// What was unpacked lives as long as it is read.
    _unpacked: Option<tempfile::NamedTempFile>,
}

#[async_trait]
impl Pages for FilePages {
    async fn next(&mut self, _journal: &dyn Journal) -> Result<Page, Halt> {
        let reader = self.reader.clone();
        let read = tokio::task::spawn_blocking(move || reader.lock().unwrap_or_else(PoisonError::into_inner).page());
        let page = read.await.map_err(|error| Failure::new(ErrorClass::Handler, error.to_string()))?;
        Ok(page?)
    }
}

impl Reader {
    fn page(&mut self) -> Result<Page, Failure> {
        let started = Instant::now();
        let (mut records, mut bytes) = (Vec::new(), 0);
        while records.len() < PAGE && bytes < PAGE_BYTES {
            let Some(open) = self.opened()? else { break };
            match open.rows.next_row() {
                Some(Ok(row)) => {
                    bytes += row.text.len();
                    records.push(Value::Object(row.fields));
                }
                // Put aside with what is known of it; the rows after it still can be read.
                Some(Err(ReadError::Row(bad))) => {
                    bytes += bad.text.len();
                    records.push(json!(format!("{}:{}: {}: {}", open.path.display(), bad.line, bad.message, bad.text)));
                }
                Some(Err(ReadError::File(error))) => {
                    return Err(Failure::new(ErrorClass::Server, format!("{}: {error}", open.path.display())));
                }
                None => self.last = self.open.take().map(|open| open.path),
            }
        }
        // A file that is read to its end is behind us, and its end is where the next pass begins.
        if let Some(open) = &mut self.open
            && open.rows.at_end().unwrap_or(false)
        {
            self.last = self.open.take().map(|open| open.path);
        }
        let place = self.open.as_ref().map(|open| At { file: open.path.clone(), place: Some(open.rows.position()) });
        let at = place.or_else(|| self.last.clone().map(|file| At { file, place: None }));
        let after = at.map(|at| serde_json::to_value(at).expect("a place serialises to JSON"));
        Ok(Page {
            tables: vec![Table { records, ..Table::default() }],
            done: self.open.is_none() && self.rest.is_empty(),
            high: after.clone(),
            after,
            bytes_in: bytes as i64,
            latency_ms: ms_since(started),
            ..Page::default()
        })
    }

    fn opened(&mut self) -> Result<Option<&mut Open>, Failure> {
        if self.open.is_none() {
            let Some(path) = self.rest.pop() else { return Ok(None) };
            let place = self.resume.take().filter(|at| at.file == path).and_then(|at| at.place);
            self.open = Some(self.open_at(path, place.unwrap_or(dataset::Position::START))?);
        }
        Ok(self.open.as_mut())
    }

    fn open_at(&self, path: PathBuf, place: dataset::Position) -> Result<Open, Failure> {
        let broken =
            |error: &dyn std::fmt::Display| Failure::new(ErrorClass::Server, format!("{}: {error}", path.display()));
        let file = named(&path, &self.config)
            .ok_or_else(|| invalid_request(format!("the name of {} does not say its format", path.display())))?;
        let unpacked = match is_gzip(&path) {
            true => Some(unpack(&path).map_err(|error| broken(&error))?),
            false => None,
        };
        let file = match &unpacked {
            Some(unpacked) => DatasetFile { path: unpacked.path().to_owned(), ..file },
            None => file,
        };
        let rows = file.open(place).map_err(|error| broken(&error))?;
        Ok(Open { path, rows, _unpacked: unpacked })
    }
}

/// Places are counted in what is unpacked, so it must be at hand as a file.
fn unpack(path: &Path) -> std::io::Result<tempfile::NamedTempFile> {
    let mut unpacked = tempfile::NamedTempFile::new()?;
    let mut packed = flate2::read::MultiGzDecoder::new(std::fs::File::open(path)?);
    std::io::copy(&mut packed, &mut unpacked)?;
    Ok(unpacked)
}
