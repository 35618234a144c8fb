//! Files in a folder, one per batch and table: JSON lines or Parquet. A file is whole or not there. Its
//! ledger entry is made last and can be made once only, so a batch that was cut short is written again
//! under the same name, and of two writers one is told that it was too late.

mod ledger;
mod write;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use windrow_jobfile::diagnostics::Problems;
use windrow_jobfile::environment::Environment;
use windrow_jobfile::job_file::{Base, Section};
use windrow_jobfile::spec::invalid_request;
use windrow_model::ingest::Entry;
use windrow_model::{ErrorClass, Failure};

use self::ledger::Ledger;
use self::write::Shape;
use super::{Batch, Committed, Destination, DestinationKind};

pub const JSONL: DestinationKind = DestinationKind {
    name: "jsonl",
    typed: false,
    read,
    build: |config, _: &Environment| build(config, Shape::JsonLines),
};
pub const PARQUET: DestinationKind = DestinationKind {
    name: "parquet",
    typed: false,
    read,
    build: |config, _: &Environment| build(config, Shape::Parquet),
};

const BATCH: usize = 10_000;
const MOST: usize = 200_000;

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Config {
    path: PathBuf,
    /// Records of a file, at least.
    #[serde(default = "batch")]
    batch: usize,
}

fn batch() -> usize {
    BATCH
}

fn read(section: &Section, base: Base<'_>, problems: &mut Problems) -> Option<Value> {
    let config: Config = section.read(&[], problems)?;
    let given = config.path.display().to_string();
    let Some(path) = base.locate(&given) else {
        let message = format!("{given} lies outside of the folder for files");
        problems.add(section.span_of("path"), message, "name a folder below it");
        return None;
    };
    if !(1..=MOST).contains(&config.batch) {
        let message = format!("`batch` is {}, but must be 1 to {MOST}", config.batch);
        problems.add(section.span_of("batch"), message, "a batch is held in memory; 10000 is a good size");
    }
    Some(serde_json::to_value(Config { path, ..config }).expect("a configuration serialises to JSON"))
}

fn build(config: Value, shape: Shape) -> Result<Arc<dyn Destination>, Failure> {
    let config: Config = serde_json::from_value(config).map_err(|error| invalid_request(error.to_string()))?;
    let create = std::fs::create_dir_all(&config.path);
    create.map_err(|error| invalid_request(format!("{}: {error}", config.path.display())))?;
    let ledger = Ledger::new(&config.path);
    Ok(Arc::new(Folder { inner: Arc::new(Inner { root: config.path, ledger, shape }), batch: config.batch }))
}

struct Folder {
    inner: Arc<Inner>,
    batch: usize,
}

struct Inner {
    root: PathBuf,
    ledger: Ledger,
    shape: Shape,
}

impl Folder {
    async fn with<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Inner) -> std::io::Result<T> + Send + 'static,
    ) -> Result<T, Failure> {
        let inner = self.inner.clone();
        let done = tokio::task::spawn_blocking(move || work(&inner)).await;
        let done = done.map_err(|error| Failure::new(ErrorClass::Handler, format!("the destination: {error}")))?;
        done.map_err(|error| {
            let class = match error.kind() {
                std::io::ErrorKind::StorageFull | std::io::ErrorKind::Interrupted => ErrorClass::Server,
                _ => ErrorClass::Handler,
            };
            Failure::new(class, format!("the destination: {error}"))
        })
    }
}

#[async_trait]
impl Destination for Folder {
    async fn last(&self, scope: &str) -> Result<Option<Entry>, Failure> {
        let scope = scope.to_owned();
        self.with(move |inner| inner.ledger.last(&scope)).await
    }

    async fn commit(&self, batch: Batch) -> Result<Committed, Failure> {
        self.with(|inner| inner.commit(batch)).await
    }

    async fn history(&self, scope: &str, below: Option<i64>, limit: usize) -> Result<Vec<Entry>, Failure> {
        let scope = scope.to_owned();
        self.with(move |inner| inner.ledger.history(&scope, below, limit)).await
    }

    fn batch_records(&self) -> usize {
        self.batch
    }
}

impl Inner {
    fn commit(&self, batch: Batch) -> std::io::Result<Committed> {
        let Batch { scope, entry, tables, rejected, .. } = batch;
        if self.ledger.is_taken(&scope, &entry) {
            return Ok(Committed::Taken);
        }
        let name = format!("{}-{:08}-{}", ledger::slug(&scope), entry.version, &entry.key[..entry.key.len().min(8)]);
        let (mut upserted, mut bytes_out, mut files) = (0, 0, Vec::new());
        for table in tables.into_iter().filter(|table| !table.records.is_empty()) {
            upserted += table.records.len() as i64;
            let file = self.root.join(&table.name).join(format!("{name}.{}", self.shape.extension()));
            bytes_out += place(&file, |out| self.shape.write(out, table.records))?;
            files.push(file);
        }
        if !rejected.is_empty() {
            let file = self.root.join("_windrow_rejected").join(format!("{name}.jsonl"));
            place(&file, |out| write::rejected(out, &rejected))?;
            files.push(file);
        }
        if !self.ledger.append(&scope, &entry)? {
            // The other writer's files have other names, or are the same.
            files.iter().for_each(|file| drop(std::fs::remove_file(file)));
            return Ok(Committed::Taken);
        }
        Ok(Committed::Done { upserted, bytes_out, rejected: 0, changes: Vec::new() })
    }
}

/// Writes a file that is whole or not there. Returns its size.
fn place(file: &Path, write: impl FnOnce(std::fs::File) -> std::io::Result<()>) -> std::io::Result<i64> {
    let folder = file.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder)?;
    let hidden = file.with_file_name(format!(".{}", file.file_name().unwrap_or_default().to_string_lossy()));
    let out = std::fs::File::create(&hidden)?;
    let kept = out.try_clone()?;
    write(out)?;
    kept.sync_data()?;
    let size = kept.metadata()?.len();
    std::fs::rename(&hidden, file)?;
    std::fs::File::open(folder)?.sync_all()?;
    Ok(size as i64)
}
