//! Step 7: everything workers report goes through a few queues and reaches the store in batches: while
//! one batch is being committed the next one gathers. Order per item is kept, since all of an item goes through
//! one queue, and a batch whose answer was lost is sent again, because the store recognises repetitions.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;
use windrow_model::store::{Ending, Receipt, Report, StepWrite};

use crate::bench::Bench;
use crate::journal::Flag;
use crate::meters::Tally;

const BATCH: usize = 1024;
/// Between tries to reach whoever takes the reports.
const FIRST_PAUSE_MS: u64 = 50;
const LONGEST_PAUSE_MS: u64 = 1_000;

enum Message {
    /// Send what the item has pending, if nobody has meanwhile.
    Flush(Arc<Flag>),
    Report(Report, oneshot::Sender<Receipt>),
}

/// A server commits them side by side, and a file together.
const QUEUES: usize = 2;

#[derive(Clone)]
pub struct Reporter {
    queues: [mpsc::UnboundedSender<Message>; QUEUES],
}

pub struct Inbox(mpsc::UnboundedReceiver<Message>);

impl Reporter {
    /// Unbounded, yet small: each item in flight has at most one report and one flush waiting.
    pub fn new() -> (Self, [Inbox; QUEUES]) {
        let channels = [(); QUEUES].map(|()| mpsc::unbounded_channel());
        let queues = channels.each_ref().map(|(queue, _)| queue.clone());
        (Self { queues }, channels.map(|(_, inbox)| Inbox(inbox)))
    }

    fn queue(&self, flag: &Flag) -> &mpsc::UnboundedSender<Message> {
        &self.queues[flag.lease.attempt.item().0 as usize % QUEUES]
    }

    pub fn flush(&self, flag: &Arc<Flag>) {
        let _ = self.queue(flag).send(Message::Flush(flag.clone()));
    }

    /// Returns when the store has answered. What the item has pending goes first, in the same report.
    pub async fn report(&self, flag: &Flag, steps: Vec<StepWrite>, ending: Ending) -> Receipt {
        let mut all = flag.take_pending();
        all.extend(steps);
        let (answer, receipt) = oneshot::channel();
        let report = Report { lease: flag.lease, steps: all, ending };
        let _ = self.queue(flag).send(Message::Report(report, answer));
        // The engine is gone: to the item that is the same as having lost its lease.
        receipt.await.unwrap_or(Receipt::Stale)
    }
}

/// Runs until the engine ends.
pub async fn send_reports(bench: Arc<Bench>, Inbox(mut inbox): Inbox) {
    let mut messages = Vec::with_capacity(BATCH);
    while inbox.recv_many(&mut messages, BATCH).await > 0 {
        let mut reports = Vec::with_capacity(messages.len());
        let mut senders = Vec::with_capacity(messages.len());
        for message in messages.drain(..) {
            match message {
                Message::Flush(flag) => {
                    let steps = flag.take_pending();
                    if !steps.is_empty() {
                        reports.push(Report { lease: flag.lease, steps, ending: Ending::None });
                        senders.push(Err(flag));
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
        let receipts = report_until_answered(&bench, reports.clone()).await;
        bench.meters.hand_in_seconds.record(began.elapsed().as_secs_f64());
        bench.meters.hand_in_reports.record(reports.len() as f64);
        Tally::count(&bench.meters, &reports, &receipts);
        for (sender, receipt) in senders.into_iter().zip(receipts) {
            match sender {
                Ok(answer) => {
                    let _ = answer.send(receipt);
                }
                Err(flag) if receipt == Receipt::Stale => flag.lose(),
                Err(_) => {}
            }
        }
    }
}

async fn report_until_answered(bench: &Bench, reports: Arc<[Report]>) -> Vec<Receipt> {
    let mut pause_ms = FIRST_PAUSE_MS;
    loop {
        match bench.backend.report(reports.clone(), bench.now()).await {
            Ok(receipts) => return receipts,
            Err(error) if error.is_transient() => {
                tracing::warn!(%error, reports = reports.len(), "reports not stored; trying again");
                tokio::time::sleep(Duration::from_millis(pause_ms)).await;
                pause_ms = (pause_ms * 2).min(LONGEST_PAUSE_MS);
            }
            Err(error) => {
                bench.give_up(error);
                return vec![Receipt::Stale; reports.len()];
            }
        }
    }
}
