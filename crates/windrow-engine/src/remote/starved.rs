//! Runs that wait for a remote worker, reported like any other wait, so that `jobs why` can explain it.

use std::sync::Arc;

use windrow_model::limit::{Hold, Wait};
use windrow_model::record::Session;
use windrow_model::workload::RunsOn;

use crate::node::{ActiveRun, Node};
use crate::waits::OtherWaits;

impl OtherWaits for Arc<Node> {
    async fn waits(&self) -> Vec<Wait> {
        let active_runs = self.active_runs();
        // The coordinator reports it.
        let own = active_runs.values().filter(|active| active.run.coordinator == Some(self.session));
        let starved: Vec<_> = own.filter(|active| is_starved(self, active)).collect();
        if starved.is_empty() {
            return Vec::new();
        }
        let sessions = self.store.sessions().await.unwrap_or_default();
        starved.into_iter().filter_map(|active| wait(active, &sessions)).collect()
    }
}

fn is_starved(node: &Node, active: &ActiveRun) -> bool {
    let run = &active.run;
    let served_here = node.settings.workers > 0 && active.program.runs_on().allows_local();
    !served_here && run.state.dispatches() && run.counters.queued > 0 && run.counters.running < run.limits.concurrency
}

/// `None` if a connected worker has a free slot.
fn wait(active: &ActiveRun, sessions: &[Session]) -> Option<Wait> {
    let (run, runs_on) = (&active.run, active.program.runs_on());
    let able: Vec<_> = sessions
        .iter()
        .filter_map(|session| Some((session, session.remote.as_ref()?)))
        .filter(|(_, worker)| {
            worker.serves(&active.job.workspace) && runs_on.needs().is_some_and(|needs| worker.is_able(needs))
        })
        .collect();
    if able.iter().any(|(session, worker)| session.at_work < worker.places) {
        return None;
    }
    let hold = Hold::NoWorker { connected: able.len() as i64 };
    Some(Wait { run: run.id, resource: wanted(&runs_on), items: run.counters.queued, hold, until: None })
}

fn wanted(runs_on: &RunsOn) -> String {
    let needs = runs_on.needs().unwrap_or_default().iter().map(|need| format!("`{need}`")).collect::<Vec<_>>();
    if needs.is_empty() { "a worker".to_owned() } else { format!("a worker with {}", needs.join(" and ")) }
}
