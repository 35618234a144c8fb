//! Step 7: reports of workers reach the store in batches: while one batch commits, the next one fills. A batch whose
//! answer was lost is sent again, because the store recognises repeated reports.

use std::sync::Arc;

use tokio::time::Instant;
use windrow_model::retry::Backoff;
use windrow_model::store::{Ending, Receipt, Report};

use crate::meters::Tally;
use crate::reporter::{Inbox, Message};
use crate::worker_context::WorkerContext;

const BATCH: usize = 1024;
/// Between attempts to reach the backend.
const BACKOFF: Backoff = Backoff { first_ms: 50, max_ms: 1_000 };

/// Runs until the engine ends.
pub async fn send_reports(context: Arc<WorkerContext>, Inbox(mut inbox): Inbox) {
    let mut messages = Vec::with_capacity(BATCH);
    while inbox.recv_many(&mut messages, BATCH).await > 0 {
        let mut reports = Vec::with_capacity(messages.len());
        let mut senders = Vec::with_capacity(messages.len());
        for message in messages.drain(..) {
            match message {
                Message::Flush(control) => {
                    let steps = control.take_pending();
                    if !steps.is_empty() {
                        reports.push(Report { lease: control.lease, steps, ending: Ending::None });
                        senders.push(Err(control));
                    }
                }
                Message::Report(report, answer) => {
                    reports.push(report);
                    senders.push(Ok(answer));
                }
            }
        }
        if reports.is_empty() {
            continue;
        }
        let (reports, began): (Arc<[Report]>, _) = (reports.into(), Instant::now());
        let receipts = report_until_answered(&context, reports.clone()).await;
        context.meters.hand_in_seconds.record(began.elapsed().as_secs_f64());
        context.meters.hand_in_reports.record(reports.len() as f64);
        Tally::count(&context.meters, &reports, &receipts);
        for (sender, receipt) in senders.into_iter().zip(receipts) {
            match sender {
                Ok(answer) => {
                    let _ = answer.send(receipt);
                }
                Err(control) if receipt == Receipt::Stale => control.lose(),
                Err(_) => {}
            }
        }
    }
}

async fn report_until_answered(context: &WorkerContext, reports: Arc<[Report]>) -> Vec<Receipt> {
    let mut failures = 0;
    loop {
        match context.backend.report(reports.clone(), context.now()).await {
            Ok(receipts) => return receipts,
            Err(error) if error.is_transient() => {
                tracing::warn!(%error, reports = reports.len(), "failed to store reports, retrying");
                tokio::time::sleep(BACKOFF.after(failures)).await;
                failures += 1;
            }
            Err(error) => {
                context.stop_after(error);
                return vec![Receipt::Stale; reports.len()];
            }
        }
    }
}
