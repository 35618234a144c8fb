//! Changes made by a command go into the audit log like those made over HTTP: begun before, ended after.

use std::pin::Pin;

use rustix::process::getuid;
use windrow_model::audit::{NewAudit, Verdict};
use windrow_wire::DatasetImported;

use crate::app::error::Result;
use crate::app::exit::Exit;
use crate::app::wiring::{self, App};

/// Does the work of a command that changes something. Boxed at once: commands are large futures.
pub fn change<'a, T: Ends + 'a>(
    app: &'a App,
    operation: &'a str,
    resource: impl Into<String>,
    work: impl Future<Output = Result<T>> + 'a,
) -> impl Future<Output = Result<T>> + 'a {
    write_down(app, operation, resource.into(), Box::pin(work))
}

async fn write_down<T: Ends>(
    app: &App,
    operation: &str,
    resource: String,
    work: Pin<Box<impl Future<Output = Result<T>>>>,
) -> Result<T> {
    let entry = NewAudit {
        actor: wiring::actor(),
        via: "cli".to_owned(),
        workspace: None,
        operation: operation.to_owned(),
        resource,
        address: Some(format!("uid {}, {}", getuid().as_raw(), gethostname::gethostname().to_string_lossy())),
        request: None,
    };
    let id = app.audit.begin_audit(entry, app.now()).await?;
    let done = work.await;
    let (verdict, exit) = match &done {
        Ok(done) => (Verdict::Done, done.exit()),
        Err(error) => (Verdict::Refused, error.exit()),
    };
    app.audit.end_audit(id, verdict, &format!("exit {}", exit.code())).await?;
    done
}

/// How a command ends that did what it was asked.
pub trait Ends {
    fn exit(&self) -> Exit {
        Exit::Passed
    }
}

impl Ends for Exit {
    fn exit(&self) -> Exit {
        *self
    }
}

impl Ends for DatasetImported {}
