//! Uploads a file as a dataset of the server, streamed whatever its size.

use std::path::PathBuf;

use reqwest::Body;
use windrow_jobfile::dataset::DatasetFile;
use windrow_wire::DatasetImported;

use crate::client::remote::Remote;
use crate::error::{Error, Result};

pub struct Upload {
    pub file: DatasetFile,
    /// The path as it was typed.
    pub shown: String,
    pub name: String,
    pub workspace: Option<String>,
    /// A file with a JSON Schema that every row must satisfy.
    pub schema: Option<PathBuf>,
}

impl Remote {
    pub async fn import(&self, upload: Upload) -> Result<DatasetImported> {
        let Upload { file, shown, name, workspace, schema } = upload;
        let unreadable = |path: &std::path::Path, error: std::io::Error| {
            Error::new(format!("cannot read {}: {error}", path.display()), "check its permissions")
        };
        let schema = match &schema {
            Some(path) => Some(std::fs::read_to_string(path).map_err(|error| unreadable(path, error))?),
            None => None,
        };
        let rows = tokio::fs::File::open(&file.path).await.map_err(|error| unreadable(&file.path, error))?;
        let query = (
            ("workspace", workspace),
            ("format", file.format.as_str()),
            ("delimiter", file.delimiter),
            ("schema", schema),
            ("source", shown),
        );
        self.upload(&["datasets", &name], &query, Body::from(rows)).await
    }
}
