//! The span of the call under way, known to the code that calls a service for it, so that the service can
//! join the trace and the call can be described where it is understood.

use std::future::Future;
use std::sync::Arc;

use windrow_model::trace::CallSpan;

/// The header of W3C Trace Context.
pub const TRACEPARENT: &str = "traceparent";

tokio::task_local! {
    static SPAN: Arc<dyn CallSpan>;
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
