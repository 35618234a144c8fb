//! Rows of this machine for a job that a server runs. A local file that `dataset` names is sent first, under a name
//! made of its content: an unchanged file is not sent again, and a changed one gets another name.

use std::io::Read;
use std::path::{Path, PathBuf};

use windrow_jobfile::dataset::{DatasetFile, Format};
use windrow_jobfile::yaml::{Content, Node};
use windrow_wire::DatasetDetail;
use windrow_wire::request::Rows;

use crate::app::lookup::check_dataset_name;
use crate::cli::view::counting;
use crate::client::remote::{Remote, Upload};
use crate::error::{Code, Error, Exit, Result};

const DIGITS: usize = 16;

/// What a job file says of its dataset, as far as it can be read.
pub struct Local {
    pub path: PathBuf,
    format: Option<Format>,
    delimiter: Option<char>,
    workspace: Option<String>,
}

impl Local {
    /// `None` where the file names no dataset that is here; the server knows then, or says what is wrong.
    pub fn of(file: &Path, text: &str) -> Option<Self> {
        let root = Node::parse(text).ok()?;
        let dataset = field(&root, "dataset")?;
        let given = as_text(dataset).or_else(|| as_text(field(dataset, "path")?))?;
        let path = file.parent().unwrap_or(Path::new("")).join(given);
        let part = |name: &str| field(dataset, name).and_then(as_text);
        path.is_file().then(|| Self {
            path,
            format: part("format").and_then(|format| format.parse().ok()),
            delimiter: part("delimiter").and_then(|delimiter| delimiter.chars().next()),
            workspace: field(&root, "workspace").and_then(as_text).map(str::to_owned),
        })
    }

    /// Sends the rows, unless they are there.
    pub async fn send(self, remote: &Remote, quiet: bool) -> Result<Rows> {
        let Self { path, format, delimiter, workspace } = self;
        let name = name_of(path.clone(), format!("{format:?}{delimiter:?}")).await?;
        let query = (("workspace", &workspace), ("rows", 0));
        match remote.get::<DatasetDetail>(&["datasets", &name], &query).await {
            Ok(DatasetDetail { version, .. }) => return Ok(Rows { name, version: version.version }),
            Err(error) if error.is(Code::NotFound) => {}
            Err(error) => return Err(error),
        }
        let shown = path.display().to_string();
        let Some(file) = DatasetFile::named(path, format, delimiter) else {
            let what = format!("unknown format: {shown}");
            let remedy = format!("set it: dataset: {{ path: …, format: jsonl }} (or one of {})", Format::list());
            return Err(Error::new(what, remedy).ending_with(Exit::Usage));
        };
        let upload = Upload { file, shown: shown.clone(), name: name.clone(), workspace, schema: None };
        let sending = remote.import(upload);
        let imported = counting::while_counting(quiet, || format!("Sending {shown}"), sending).await?;
        Ok(Rows { name, version: imported.version.version })
    }
}

/// The job's name, as far as the file can be read.
pub fn job_name(text: &str) -> Option<String> {
    let root = Node::parse(text).ok()?;
    as_text(field(&root, "name")?).map(str::to_owned)
}

fn field<'a>(node: &'a Node, name: &str) -> Option<&'a Node> {
    let Content::Map(entries) = &node.content else { return None };
    entries.iter().find(|(key, _)| key.name == name).map(|(_, value)| value)
}

fn as_text(node: &Node) -> Option<&str> {
    match &node.content {
        Content::Text(text) => Some(text),
        _ => None,
    }
}

/// The file's name, as far as a dataset may have it, and the hash of its content and of how it is read.
async fn name_of(path: PathBuf, read_as: String) -> Result<String> {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let plain = |c: char| if c.is_alphanumeric() || "-_.".contains(c) { c } else { '-' };
    let stem: String = stem.chars().take(100).map(plain).collect();
    let shown = path.display().to_string();
    let hash = tokio::task::spawn_blocking(move || hash(&path, &read_as)).await;
    let hash = hash.map_err(std::io::Error::other).and_then(|hash| hash).map_err(|error| {
        Error::new(format!("cannot read the dataset {shown}: {error}"), "check the path and its permissions")
    })?;
    let name = format!("{stem}-{}", &hash[..DIGITS]);
    check_dataset_name(&name).map_err(|why| Error::new(why, "rename the file"))
}

fn hash(path: &Path, read_as: &str) -> std::io::Result<String> {
    let mut hasher = blake3::Hasher::new();
    hasher.update(read_as.as_bytes());
    let mut file = std::fs::File::open(path)?;
    let mut buffer = vec![0; 1 << 16];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hasher.finalize().to_hex().to_string()),
            n => hasher.update(&buffer[..n]),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_file_that_is_here_is_found_and_named_by_its_content() {
        let folder = tempfile::tempdir().unwrap();
        let job = folder.path().join("job.yaml");
        std::fs::write(folder.path().join("my rows.csv"), "n\n1\n").unwrap();
        let local = |text: &str| Local::of(&job, text);
        assert!(local("dataset: elsewhere.csv").is_none());
        assert!(local("dataset: { name: numbers }").is_none());
        assert!(local("dataset: [").is_none(), "what cannot be read is for the server to report");
        let plain = local("dataset: my rows.csv").unwrap();
        let other = local("workspace: mine\ndataset: { path: my rows.csv, delimiter: ';' }").unwrap();
        assert_eq!((other.workspace.as_deref(), other.delimiter), (Some("mine"), Some(';')));
        let name = name_of(plain.path.clone(), String::new()).await.unwrap();
        assert!(name.starts_with("my-rows-") && name.len() == "my-rows-".len() + DIGITS, "{name}");
        std::fs::write(folder.path().join("my rows.csv"), "n\n2\n").unwrap();
        assert_ne!(name_of(plain.path, String::new()).await.unwrap(), name);
    }
}
