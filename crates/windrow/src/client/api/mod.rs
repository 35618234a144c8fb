//! Who answers a command: the data folder right here, or a server that has one. Every question and every
//! wish is one method with both ways side by side. The answers have the same shapes, so that what a command
//! shows does not depend on who gave them.

mod access;
mod datasets;
mod ingest;
mod items;
mod jobs;
mod nodes;
mod operations;
mod results;
mod secrets;
mod steering;
mod webhooks;

use std::pin::Pin;

use crate::app::audited;
use crate::app::error::Result;
use crate::app::exit::Exit;
use crate::app::wiring::App;
use crate::client::remote::Remote;
use crate::node::options::GlobalOptions;

pub use steering::MORE;

/// What a server gives at most in one answer.
const PAGE: usize = 1000;

pub enum Api {
    Local(Box<App>),
    Remote(Remote),
}

impl Api {
    /// On a folder that exists, unless a server is meant.
    pub async fn open(options: &GlobalOptions, remote: Option<Remote>) -> Result<Self> {
        match remote {
            Some(remote) => Ok(Api::Remote(remote)),
            None => Ok(Api::Local(Box::new(App::open(options).await?))),
        }
    }

    /// The same on a folder that is made if need be.
    pub async fn create(options: &GlobalOptions, remote: Option<Remote>) -> Result<Self> {
        match remote {
            Some(remote) => Ok(Api::Remote(remote)),
            None => Ok(Api::Local(Box::new(App::create(options).await?))),
        }
    }

    /// Does the work of a command that changes something. What changes here is written down here; a server
    /// does so itself.
    pub fn change<'a>(
        &'a self,
        operation: &'a str,
        resource: impl Into<String>,
        work: impl Future<Output = Result<Exit>> + 'a,
    ) -> Pin<Box<dyn Future<Output = Result<Exit>> + 'a>> {
        match self {
            Api::Local(app) => Box::pin(audited::change(app, operation, resource, work)),
            Api::Remote(_) => Box::pin(work),
        }
    }

    /// A command line for the same folder or server, to be shown as a hint.
    pub fn command(&self, arguments: &str) -> String {
        match self {
            Api::Local(app) => app.command(arguments),
            Api::Remote(remote) => remote.command(arguments),
        }
    }
}
