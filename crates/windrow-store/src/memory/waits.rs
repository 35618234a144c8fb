use windrow_model::limit::Wait;
use windrow_model::store::Result;
use windrow_model::{RunId, SessionId};

use super::world::World;

impl World {
    pub fn note_waits(&mut self, session: SessionId, waits: Vec<Wait>) -> Result<()> {
        self.live_session(session)?;
        self.waits.insert(session, waits);
        Ok(())
    }

    pub fn waits_of(&self, run: RunId) -> Vec<Wait> {
        let mut waits: Vec<(SessionId, &Wait)> = Vec::new();
        for (session, noted) in &self.waits {
            waits.extend(noted.iter().filter(|wait| wait.run == run).map(|wait| (*session, wait)));
        }
        waits.sort_by(|a, b| (a.0, &a.1.resource).cmp(&(b.0, &b.1.resource)));
        waits.into_iter().map(|(_, wait)| wait.clone()).collect()
    }
}
