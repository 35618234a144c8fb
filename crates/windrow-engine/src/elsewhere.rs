//! Runs that other nodes coordinate: this node executes their items in its free slots. Planning, archiving and closing
//! stay with the coordinator.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures::future::join_all;
use windrow_model::RunId;
use windrow_model::record::Run;
use windrow_model::store::StoreError;

use crate::claim::{self, Want};
use crate::close;
use crate::node::{ActiveRun, Node};
use crate::programs::program_of;

#[derive(Default)]
pub struct Elsewhere {
    runs: BTreeMap<RunId, Arc<ActiveRun>>,
    /// Had nothing to claim since the last poll.
    empty: BTreeSet<RunId>,
    /// Their program cannot be prepared on this node, e.g. because a file or a secret is missing.
    unable: BTreeSet<RunId>,
}

impl Elsewhere {
    /// Finds runs with queued items, and re-reads the runs whose items execute here.
    pub async fn poll(&mut self, node: &Arc<Node>) -> Result<(), StoreError> {
        let found = node.store.runs_elsewhere(node.session, node.settings.scope.clone(), node.now()).await?;
        self.empty.clear();
        let listed: BTreeSet<RunId> = found.iter().map(|run| run.id).collect();
        self.unable.retain(|run| listed.contains(run));
        for run in found {
            self.add(node, run).await?;
        }
        let unlisted: Vec<RunId> = self.runs.keys().copied().filter(|run| !listed.contains(run)).collect();
        for id in unlisted {
            if node.workers.inflight().of(id) == 0 {
                self.runs.remove(&id);
                continue;
            }
            let run = node.store.run(id).await?;
            if !run.state.dispatches() {
                close::stop_starting(node, &run).await;
            }
            self.empty.insert(id);
        }
        Ok(())
    }

    async fn add(&mut self, node: &Node, run: Run) -> Result<(), StoreError> {
        let id = run.id;
        if let Some(known) = self.runs.get(&id).filter(|known| known.run.spec_hash == run.spec_hash) {
            let known = known.with_run(run);
            self.runs.insert(id, known);
            return Ok(());
        }
        if self.unable.contains(&id) {
            return Ok(());
        }
        match program_of(node, &run).await {
            Ok((job, Ok(program))) => drop(self.runs.insert(id, ActiveRun::new(node, run, job, program))),
            Ok((_, Err(failure))) => {
                tracing::warn!(run = %id, %failure, "failed to prepare another node's run; its items are not executed here");
                self.unable.insert(id);
            }
            // Deleted in the meantime.
            Err(StoreError::NotFound { .. }) => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    pub fn all(&self) -> impl Iterator<Item = &Arc<ActiveRun>> {
        self.runs.values()
    }

    /// Runs that may have items to claim.
    pub fn open(&self) -> impl Iterator<Item = &Arc<ActiveRun>> {
        self.runs.values().filter(|active| !self.empty.contains(&active.run.id))
    }

    /// True when there may be more at once.
    pub async fn claim(&mut self, node: &Arc<Node>, wants: &BTreeMap<RunId, Want>) -> bool {
        let claims = self.open().filter_map(|active| {
            let want = *wants.get(&active.run.id)?;
            Some(async move { (active.run.id, claim::claim(node, active, want).await) })
        });
        let mut busy = false;
        for (run, claimed) in join_all(claims).await {
            match claimed {
                Ok(n) if n > 0 => busy = true,
                Ok(_) => drop(self.empty.insert(run)),
                Err(error) => {
                    tracing::warn!(%run, %error, "failed to claim from another node's run, retrying");
                    self.empty.insert(run);
                }
            }
        }
        busy
    }
}
