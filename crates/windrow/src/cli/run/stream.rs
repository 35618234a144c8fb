//! Rows in and results out while an online run is open, wherever it is worked on.

use crate::cli::run::Started;
use crate::cli::run::online::LocalStream;
use crate::cli::run::remote_stream::RemoteStream;
use crate::client::api::Api;
use crate::error::{Error, Result};

pub enum Stream {
    Local(LocalStream),
    Remote(RemoteStream),
}

impl Stream {
    pub async fn open(api: &Api, started: &Started) -> Result<Self> {
        match api {
            Api::Local(app, _) => Ok(Self::Local(LocalStream::open(app, started).await?)),
            Api::Remote(remote) => Ok(Self::Remote(RemoteStream::open(remote, &started.name, &started.run))),
        }
    }

    /// Returns when no more can be taken in for a reason that will not pass; otherwise never.
    pub async fn broken(&mut self) -> Error {
        match self {
            Self::Local(stream) => stream.broken().await,
            Self::Remote(stream) => stream.broken().await,
        }
    }

    /// After the run has ended (`over`) or was left: what landed last is printed too.
    pub async fn close(self, over: bool) -> Result<()> {
        match self {
            Self::Local(stream) => stream.close().await,
            Self::Remote(stream) => stream.close(over).await,
        }
    }
}
