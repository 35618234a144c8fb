//! Asks the account that all nodes share, one question at a time for whatever has happened meanwhile, and lets go
//! whom the answer allows. No lock is held while an answer is on its way.

use std::sync::Arc;
use std::time::Duration;

use windrow_model::limit::shared::{Answer, Ask, SharedLimits};
use windrow_model::{Clock, SessionId};

use super::{Limiter, serve};

/// After a failure.
const PAUSE: Duration = Duration::from_millis(200);

/// Limits kept together with other nodes.
pub struct Shared {
    limits: Arc<dyn SharedLimits>,
    session: SessionId,
    /// A node that is silent for so long has no calls under way any more.
    lasts_ms: i64,
}

impl Shared {
    /// Calls of a node that died may continue at the provider for a while: for a lease after its lease.
    pub fn new(limits: Arc<dyn SharedLimits>, session: SessionId, lease_ms: i64) -> Self {
        Self { limits, session, lasts_ms: lease_ms.saturating_mul(2) }
    }
}

/// Runs until the engine ends.
pub async fn share(limiter: Arc<Limiter>, clock: Arc<dyn Clock>) {
    let Some(shared) = &limiter.shared else { return };
    let (mut no, mut failing) = (0, false);
    loop {
        let (asks, at) = limiter.questions(shared, &mut no);
        if asks.is_empty() {
            limiter.wait_for_news(at).await;
            continue;
        }
        match shared.limits.ask(shared.session, asks.clone(), clock.now()).await {
            Ok(answers) => {
                if std::mem::take(&mut failing) {
                    tracing::info!("limits are shared with the other nodes again");
                }
                limiter.answered(&asks, &answers);
            }
            Err(error) => {
                if !std::mem::replace(&mut failing, true) {
                    tracing::warn!(%error, "the other nodes cannot be asked about limits; limited calls wait");
                }
                limiter.unanswered(&asks);
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
}

impl Limiter {
    pub fn trouble(&self) -> Option<String> {
        self.shared.as_ref().and_then(|shared| shared.limits.trouble())
    }

    /// What has to be asked now, and when there will be something else.
    fn questions(&self, shared: &Shared, no: &mut i64) -> (Vec<Ask>, Option<i64>) {
        let (mut state, now) = (self.state(), self.now_ms());
        let (mut asks, mut next) = (Vec::new(), None);
        for (name, resource) in &mut state.resources {
            match resource.question(now) {
                Ok(ask) => {
                    *no += 1;
                    asks.push(Ask { resource: name.clone(), no: *no, lasts_ms: shared.lasts_ms, ..ask });
                }
                Err(at) => next = next.into_iter().chain(at).min(),
            }
        }
        (asks, next)
    }

    async fn wait_for_news(&self, at: Option<i64>) {
        let news = self.news.notified();
        match at {
            None => news.await,
            Some(at) => {
                let at = self.started + Duration::from_millis(at.max(0) as u64);
                let _ = tokio::time::timeout_at(at, news).await;
            }
        }
    }

    fn answered(&self, asks: &[Ask], answers: &[Answer]) {
        let (mut state, now) = (self.state(), self.now_ms());
        let closed = state.closed;
        let mut until = None;
        for (ask, answer) in asks.iter().zip(answers) {
            let Some(resource) = state.resources.get_mut(&ask.resource) else { continue };
            resource.answered(ask, answer.clone(), now);
            until = until.into_iter().chain(serve(resource, now)).min();
            if let Some(sharing) = &mut resource.sharing {
                sharing.return_leave();
            }
            if closed {
                resource.queue.clear();
            }
        }
        self.wake_by(&mut state, until);
    }

    fn unanswered(&self, asks: &[Ask]) {
        let (mut state, now) = (self.state(), self.now_ms());
        let closed = state.closed;
        for ask in asks {
            let Some(resource) = state.resources.get_mut(&ask.resource) else { continue };
            if let Some(sharing) = &mut resource.sharing {
                sharing.unanswered(ask, now);
            }
            if closed {
                resource.queue.clear();
            }
        }
    }
}
