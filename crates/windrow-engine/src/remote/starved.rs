//! Runs that wait for a worker elsewhere: noted like any other wait, so that `why` can say it.

use std::sync::Arc;

use windrow_model::limit::{Hold, Wait};
use windrow_model::record::Session;
use windrow_model::workload::Place;

use crate::limiter::OtherWaits;
use crate::node::{Node, Work};

impl OtherWaits for Arc<Node> {
    async fn waits(&self) -> Vec<Wait> {
        let board = self.board();
        // Of another node's run that node says it.
        let own = board.values().filter(|work| work.run.coordinator == Some(self.session));
        let starved: Vec<_> = own.filter(|work| is_starved(self, work)).collect();
        if starved.is_empty() {
            return Vec::new();
        }
        let sessions = self.store.sessions().await.unwrap_or_default();
        starved.into_iter().filter_map(|work| wait(work, &sessions)).collect()
    }
}

fn is_starved(node: &Node, work: &Work) -> bool {
    let run = &work.run;
    let served_here = node.settings.workers > 0 && work.program.place().is_here();
    !served_here && run.state.dispatches() && run.counters.queued > 0 && run.counters.running < run.limits.concurrency
}

/// `None` if somebody is about to take them.
fn wait(work: &Work, sessions: &[Session]) -> Option<Wait> {
    let (run, place) = (&work.run, work.program.place());
    let able: Vec<_> = sessions
        .iter()
        .filter_map(|session| Some((session, session.remote.as_ref()?)))
        .filter(|(_, worker)| {
            worker.serves(&work.job.workspace) && place.needs().is_some_and(|needs| worker.is_able(needs))
        })
        .collect();
    if able.iter().any(|(session, worker)| session.at_work < worker.places) {
        return None;
    }
    let hold = Hold::NoWorker { connected: able.len() as i64 };
    Some(Wait { run: run.id, resource: wanted(&place), items: run.counters.queued, hold, until: None })
}

fn wanted(place: &Place) -> String {
    let needs = place.needs().unwrap_or_default().iter().map(|need| format!("`{need}`")).collect::<Vec<_>>();
    if needs.is_empty() { "a worker".to_owned() } else { format!("a worker with {}", needs.join(" and ")) }
}
