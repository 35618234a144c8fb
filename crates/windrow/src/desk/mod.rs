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

use crate::audited;
use crate::error::Result;
use crate::exit::Exit;
use crate::remote::Remote;
use crate::site::Site;
use crate::wiring::App;

pub use steering::MORE;

/// What a server gives at most in one answer.
const PAGE: usize = 1000;

pub enum Desk {
    Folder(Box<App>),
    Server(Remote),
}

impl Desk {
    /// On a folder that exists, unless a server is meant.
    pub async fn open(site: &Site, remote: Option<Remote>) -> Result<Self> {
        match remote {
            Some(remote) => Ok(Desk::Server(remote)),
            None => Ok(Desk::Folder(Box::new(App::open(site).await?))),
        }
    }

    /// The same on a folder that is made if need be.
    pub async fn create(site: &Site, remote: Option<Remote>) -> Result<Self> {
        match remote {
            Some(remote) => Ok(Desk::Server(remote)),
            None => Ok(Desk::Folder(Box::new(App::create(site).await?))),
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
            Desk::Folder(app) => Box::pin(audited::change(app, operation, resource, work)),
            Desk::Server(_) => Box::pin(work),
        }
    }

    /// A command line for the same folder or server, to be shown as a hint.
    pub fn command(&self, arguments: &str) -> String {
        match self {
            Desk::Folder(app) => app.command(arguments),
            Desk::Server(remote) => remote.command(arguments),
        }
    }
}
