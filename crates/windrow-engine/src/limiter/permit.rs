//! The two halves of leave to make a call: waiting for it, and holding it. Either may be dropped at
//! any moment, and nothing leaks.

use std::sync::Arc;

use tokio::sync::oneshot;
use windrow_model::RunId;
use windrow_model::limit::{Permit, Response, Settle};
use windrow_model::workload::Stopped;

use super::Limiter;
use super::resource::Pass;

pub struct Waiting {
    limiter: Arc<Limiter>,
    resource: String,
    run: RunId,
    no: u64,
    granted: oneshot::Receiver<Pass>,
    over: bool,
}

impl Waiting {
    pub fn new(limiter: Arc<Limiter>, resource: String, run: RunId, no: u64, granted: oneshot::Receiver<Pass>) -> Self {
        Self { limiter, resource, run, no, granted, over: false }
    }

    /// An error when the wait was ended.
    pub async fn end(mut self) -> Result<Permit, Stopped> {
        let granted = (&mut self.granted).await;
        self.over = true;
        let pass = granted.map_err(|_| Stopped)?;
        let (limiter, resource) = (self.limiter.clone(), self.resource.clone());
        Ok(Permit::new(Box::new(Grant { limiter, resource, pass, response: None })))
    }
}

impl Drop for Waiting {
    /// A call that no longer waits leaves the queue; a permit granted at the same moment is returned.
    fn drop(&mut self) {
        if self.over {
            return;
        }
        let (mut state, now) = (self.limiter.state(), self.limiter.now_ms());
        let Some(resource) = state.resources.get_mut(&self.resource) else { return };
        let no = self.no;
        let waited = resource.queue.remove(self.run, |waiter| waiter.no == no);
        if !waited && let Ok(pass) = self.granted.try_recv() {
            resource.undo(pass, now);
        }
        // The next call gets its position or its permit.
        self.limiter.serve_one(&mut state, &self.resource, now);
    }
}

pub struct Grant {
    limiter: Arc<Limiter>,
    resource: String,
    pass: Pass,
    response: Option<Response>,
}

impl Settle for Grant {
    fn settle(mut self: Box<Self>, response: Response) {
        self.response = Some(response);
    }
}

impl Drop for Grant {
    fn drop(&mut self) {
        self.limiter.settle(&self.resource, self.pass, self.response.take());
    }
}
