//! Who answers a command: this process on a data directory, or a server. Every question and every change is one
//! method: a call of the use case in `app`, or the request that calls it on the server. Answers have the same shapes,
//! so commands cannot tell the two apart.

mod access;
mod analytics;
mod comparison;
mod datasets;
mod ingest;
mod items;
mod jobs;
mod labels;
mod nodes;
mod operations;
mod results;
mod secrets;
mod steering;
mod views;
mod webhooks;

use crate::app::App;
use crate::app::actor::Actor;
use crate::client::remote::Remote;
use crate::error::Result;
use crate::node::options::GlobalOptions;

/// The largest page a server returns.
const PAGE: usize = 1000;

pub enum Api {
    Local(Box<App>, Actor),
    Remote(Remote),
}

impl Api {
    pub fn local(app: App) -> Self {
        Api::Local(Box::new(app), Actor::local())
    }

    /// On a data directory that exists, unless a server is named.
    pub async fn open(options: &GlobalOptions, remote: Option<Remote>) -> Result<Self> {
        match remote {
            Some(remote) => Ok(Api::Remote(remote)),
            None => Ok(Api::local(App::open(options).await?)),
        }
    }

    /// As [`open`](Self::open), on a data directory that is created if need be.
    pub async fn create(options: &GlobalOptions, remote: Option<Remote>) -> Result<Self> {
        match remote {
            Some(remote) => Ok(Api::Remote(remote)),
            None => Ok(Api::local(App::create(options).await?)),
        }
    }

    /// A command line for the same data directory or server, to be shown as a hint.
    pub fn command(&self, arguments: &str) -> String {
        match self {
            Api::Local(app, _) => app.command(arguments),
            Api::Remote(remote) => remote.command(arguments),
        }
    }
}
