//! The span of the call under way, known to whoever speaks to a service for it, so that the service can
//! join the trace and the call can be described where it is understood. Beside it, where the answer is shown while it
//! arrives.

use std::future::Future;
use std::sync::Arc;

use windrow_model::trace::CallSpan;
use windrow_model::workload::Shown;

/// The header of W3C Trace Context.
pub const TRACEPARENT: &str = "traceparent";

tokio::task_local! {
    static SPAN: Arc<dyn CallSpan>;
    static SHOWN: Arc<dyn Shown>;
}

/// Makes the call with its span at hand, where there is one.
pub async fn within<T>(span: Option<Arc<dyn CallSpan>>, call: impl Future<Output = T>) -> T {
    match span {
        Some(span) => SPAN.scope(span, call).await,
        None => call.await,
    }
}

pub fn current_span() -> Option<Arc<dyn CallSpan>> {
    SPAN.try_with(Arc::clone).ok()
}

/// Makes the call with a place at hand where its answer is shown while it arrives, if there is one.
pub async fn showing<T>(shown: Option<Arc<dyn Shown>>, call: impl Future<Output = T>) -> T {
    match shown {
        Some(shown) => SHOWN.scope(shown, call).await,
        None => call.await,
    }
}

pub fn current_shown() -> Option<Arc<dyn Shown>> {
    SHOWN.try_with(Arc::clone).ok()
}
