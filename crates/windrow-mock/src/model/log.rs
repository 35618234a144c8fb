//! Writes one line of JSON per request, in the order of the responses.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Mutex;

use serde_json::Value;

#[derive(Debug, Default)]
pub struct Log {
    file: Option<Mutex<File>>,
}

impl Log {
    pub fn to(path: &Path) -> io::Result<Self> {
        let file = File::options().create(true).append(true).open(path)?;
        Ok(Self { file: Some(Mutex::new(file)) })
    }

    /// Ignores write errors, so that a full disk does not stop the endpoint.
    pub fn write(&self, line: &Value) {
        if let Some(file) = &self.file {
            let mut file = file.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            let _ = file.write_all(format!("{line}\n").as_bytes());
        }
    }
}
