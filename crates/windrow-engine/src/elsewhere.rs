//! Runs that other nodes coordinate: this one lends them its free places. It claims and does items like their own
//! node; planning, archiving and closing are the coordinator's.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures::future::join_all;
use windrow_model::RunId;
use windrow_model::record::Run;
use windrow_model::store::StoreError;

use crate::claim::{self, Want};
use crate::close;
use crate::coordinate::program_of;
use crate::node::{Node, Work};

#[derive(Default)]
pub struct Elsewhere {
    works: BTreeMap<RunId, Arc<Work>>,
    /// Found with nothing to claim since the last look.
    dry: BTreeSet<RunId>,
    /// Runs whose program cannot be made here, for want of a file or a secret; others can.
    unable: BTreeSet<RunId>,
}

impl Elsewhere {
    /// Finds what others have queued, and what has become of the runs whose items are at work here.
    pub async fn look(&mut self, node: &Arc<Node>) -> Result<(), StoreError> {
        let found = node.store.runs_elsewhere(node.session, node.settings.scope.clone(), node.now()).await?;
        self.dry.clear();
        let listed: BTreeSet<RunId> = found.iter().map(|run| run.id).collect();
        self.unable.retain(|run| listed.contains(run));
        for run in found {
            self.offer(node, run).await?;
        }
        let unlisted: Vec<RunId> = self.works.keys().copied().filter(|run| !listed.contains(run)).collect();
        for id in unlisted {
            if node.inflight().of(id) == 0 {
                self.works.remove(&id);
                continue;
            }
            let run = node.store.run(id).await?;
            if !run.state.dispatches() {
                close::hold_back(node, &run).await;
            }
            self.dry.insert(id);
        }
        Ok(())
    }

    async fn offer(&mut self, node: &Node, run: Run) -> Result<(), StoreError> {
        let id = run.id;
        if let Some(known) = self.works.get(&id).filter(|work| work.run.spec_hash == run.spec_hash) {
            let work = known.stands_like(run);
            self.works.insert(id, work);
            return Ok(());
        }
        if self.unable.contains(&id) {
            return Ok(());
        }
        match program_of(node, &run).await {
            Ok((job, Ok(program))) => drop(self.works.insert(id, Arc::new(Work { run, job, program }))),
            Ok((_, Err(failure))) => {
                tracing::warn!(run = %id, %failure, "this node cannot help with a run of another");
                self.unable.insert(id);
            }
            // Deleted meanwhile.
            Err(StoreError::NotFound { .. }) => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    pub fn all(&self) -> impl Iterator<Item = &Arc<Work>> {
        self.works.values()
    }

    /// Those that may have something to claim.
    pub fn open(&self) -> impl Iterator<Item = &Arc<Work>> {
        self.works.values().filter(|work| !self.dry.contains(&work.run.id))
    }

    /// True when there may be more at once.
    pub async fn claim(&mut self, node: &Arc<Node>, wants: &BTreeMap<RunId, Want>) -> bool {
        let claims = self.open().filter_map(|work| {
            let want = *wants.get(&work.run.id)?;
            Some(async move { (work.run.id, claim::claim(node, work, want).await) })
        });
        let mut busy = false;
        for (run, claimed) in join_all(claims).await {
            match claimed {
                Ok(n) if n > 0 => busy = true,
                Ok(_) => drop(self.dry.insert(run)),
                Err(error) => {
                    tracing::warn!(%run, %error, "could not claim of another node's run; trying again");
                    self.dry.insert(run);
                }
            }
        }
        busy
    }
}
