//! Deletions are rows: of a job that was deleted, and of what is left of a job that was sent as a whole.

use windrow_model::JobId;

use crate::client::{Client, Failure, literal};
use crate::schema::KEYS;

#[derive(Debug, Clone, Copy)]
pub struct Sweep {
    pub job: JobId,
    /// Rows with lower numbers are superfluous.
    pub below: i64,
}

impl Sweep {
    pub async fn perform(self, client: &Client, revision: i64) -> Result<(), Failure> {
        let job = self.job.0;
        let places = KEYS.map(|(table, _)| format!("SELECT DISTINCT workspace FROM {table} WHERE job_id = {job}"));
        let known = client.perform(&format!("SELECT DISTINCT workspace FROM ({})", places.join(" UNION ALL "))).await?;
        for workspace in known.lines().map(unescaped) {
            let place = format!("workspace = {} AND job_id = {job}", literal(&workspace));
            for (table, key) in KEYS {
                let sql = format!(
                    "INSERT INTO {table} ({key}, revision, deleted) SELECT {key}, {revision}, 1 FROM {table} FINAL \
                     WHERE {place} AND revision < {}",
                    self.below
                );
                client.perform(&sql).await?;
            }
        }
        Ok(())
    }
}

/// A text of a tab-separated answer.
fn unescaped(text: &str) -> String {
    text.replace("\\'", "'").replace("\\t", "\t").replace("\\n", "\n").replace("\\\\", "\\")
}
