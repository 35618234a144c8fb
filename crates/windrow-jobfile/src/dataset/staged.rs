//! Rows that belong to a definition, found while the job file is read. They lie in a temporary file until the job is
//! stored; the definition refers to them by their digest, so that it stays small however many they are.

use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Lines, Write};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tempfile::NamedTempFile;
use windrow_model::Json;
use windrow_model::dataset::{Digest, NewRow};
use windrow_model::step::ContentKey;

/// The name of a dataset a person may choose has no slash.
const PREFIX: &str = "targets/";

/// Where the rows of a definition are kept, and which they are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RowList {
    pub dataset: String,
    pub rows: u64,
    pub digest: String,
}

/// The dataset that keeps the rows of a job's definition. No person made it.
pub fn list_of_job(job: &str) -> String {
    format!("{PREFIX}{job}")
}

/// The job whose rows a dataset keeps; `None` for a dataset of a person's.
pub fn job_of_list(dataset: &str) -> Option<&str> {
    dataset.strip_prefix(PREFIX)
}

/// Their order counts, so their places are part of their keys.
pub fn keyed(place: u64, text: impl Into<Box<str>>) -> NewRow {
    let text = text.into();
    NewRow { key: ContentKey::of(&[b"staged", &place.to_le_bytes(), text.as_bytes()]), body: Json::from_text(text) }
}

/// Rows being staged.
pub struct Staging {
    file: BufWriter<NamedTempFile>,
    rows: u64,
    digest: Digest,
}

impl Staging {
    pub fn new() -> io::Result<Self> {
        Ok(Self { file: BufWriter::new(NamedTempFile::new()?), rows: 0, digest: Digest::default() })
    }

    pub fn push(&mut self, row: &Value) -> io::Result<()> {
        let text = row.to_string();
        writeln!(self.file, "{text}")?;
        self.digest.add(&keyed(self.rows, text).key);
        self.rows += 1;
        Ok(())
    }

    pub fn len(&self) -> u64 {
        self.rows
    }

    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Of this job.
    pub fn finish(self, job: &str) -> io::Result<StagedRows> {
        let file = self.file.into_inner().map_err(io::IntoInnerError::into_error)?;
        let list = RowList { dataset: list_of_job(job), rows: self.rows, digest: self.digest.to_string() };
        Ok(StagedRows { file: Arc::new(file), list })
    }
}

/// Rows on disk. The file goes with the last copy of this.
#[derive(Debug, Clone)]
pub struct StagedRows {
    file: Arc<NamedTempFile>,
    pub list: RowList,
}

impl PartialEq for StagedRows {
    fn eq(&self, other: &Self) -> bool {
        self.list == other.list
    }
}

impl StagedRows {
    /// The rows as JSON, one at a time.
    pub fn open(&self) -> io::Result<Lines<BufReader<File>>> {
        Ok(BufReader::new(self.file.reopen()?).lines())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn rows_come_back_in_their_order_and_the_digest_knows_it() {
        let staged = |names: &[&str]| {
            let mut staging = Staging::new().unwrap();
            names.iter().for_each(|name| staging.push(&json!({ "name": name })).unwrap());
            staging.finish("change").unwrap()
        };
        let (ab, ba) = (staged(&["a", "b"]), staged(&["b", "a"]));
        assert_eq!(ab, staged(&["a", "b"]));
        assert_ne!(ab, ba);
        let read: Vec<String> = ba.open().unwrap().map(Result::unwrap).collect();
        assert_eq!(read, [r#"{"name":"b"}"#, r#"{"name":"a"}"#]);
        assert_eq!(job_of_list(&ab.list.dataset), Some("change"));
    }
}
