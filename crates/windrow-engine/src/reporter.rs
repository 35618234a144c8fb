//! The queues through which workers report. All reports of an item go through the same queue, so that their order
//! is kept.

use std::sync::Arc;

use tokio::sync::{mpsc, oneshot};
use windrow_model::store::{Ending, Receipt, Report, StepWrite};

use crate::attempt_control::AttemptControl;

pub enum Message {
    /// Send the item's pending steps, unless a report has taken them along.
    Flush(Arc<AttemptControl>),
    Report(Report, oneshot::Sender<Receipt>),
}

/// A database server commits both queues in parallel, SQLite in one transaction.
const QUEUES: usize = 2;

#[derive(Clone)]
pub struct Reporter {
    queues: [mpsc::UnboundedSender<Message>; QUEUES],
}

pub struct Inbox(pub mpsc::UnboundedReceiver<Message>);

impl Reporter {
    /// Unbounded, yet small: each item in flight has at most one report and one flush waiting.
    pub fn new() -> (Self, [Inbox; QUEUES]) {
        let channels = [(); QUEUES].map(|()| mpsc::unbounded_channel());
        let queues = channels.each_ref().map(|(queue, _)| queue.clone());
        (Self { queues }, channels.map(|(_, inbox)| Inbox(inbox)))
    }

    fn queue(&self, control: &AttemptControl) -> &mpsc::UnboundedSender<Message> {
        &self.queues[control.lease.attempt.item().0 as usize % QUEUES]
    }

    pub fn flush(&self, control: &Arc<AttemptControl>) {
        let _ = self.queue(control).send(Message::Flush(control.clone()));
    }

    /// Returns when the store has answered. The item's pending steps go first, in the same report.
    pub async fn report(&self, control: &AttemptControl, steps: Vec<StepWrite>, ending: Ending) -> Receipt {
        let mut all = control.take_pending();
        all.extend(steps);
        let (answer, receipt) = oneshot::channel();
        let report = Report { lease: control.lease, steps: all, ending };
        let _ = self.queue(control).send(Message::Report(report, answer));
        // The engine ended: for the item that is the same as a lost lease.
        receipt.await.unwrap_or(Receipt::Stale)
    }
}
