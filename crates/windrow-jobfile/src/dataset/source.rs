//! Where an experiment's rows are: in a file, in the store under a name, or nowhere, because they are sent.

use std::{fmt, io};

use serde::{Deserialize, Serialize};

use super::library::{Library, StoredVersion};
use super::{DatasetFile, Position, ReadError, Reading, Rows};

/// The dataset of a definition: where its rows are, and how they are understood.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dataset {
    #[serde(flatten)]
    pub source: Source,
    #[serde(flatten)]
    pub reading: Reading,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Source {
    File(DatasetFile),
    Stored(StoredVersion),
    /// The job file names no dataset: its rows are sent to an online run.
    Sent {
        online: bool,
    },
}

impl Source {
    /// Blocks while it reads. The library is needed for a named dataset only.
    pub fn open(&self, library: Option<&Library>, position: Position) -> Result<Box<dyn Rows>, ReadError> {
        match (self, library) {
            (Source::File(file), _) => file.open(position),
            (Source::Stored(version), Some(library)) => Ok(library.open(version, position)),
            (Source::Sent { .. }, _) => {
                let message = "the job has no dataset: its rows are sent to an online run";
                Err(io::Error::other(message).into())
            }
            (Source::Stored(version), None) => {
                let message = format!("no store to read {}@{} from", version.name, version.version);
                Err(io::Error::other(message).into())
            }
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::File(file) => write!(f, "{}", file.path.display()),
            Source::Stored(version) => write!(f, "{}@{}", version.name, version.version),
            Source::Sent { .. } => f.write_str("rows that are sent"),
        }
    }
}
