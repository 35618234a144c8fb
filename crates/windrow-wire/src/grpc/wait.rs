use windrow_model::Time;
use windrow_model::limit::Wait;

use super::bad::{Bad, parsed};
use super::v1;

impl v1::Wait {
    pub fn of(wait: &Wait, now: Time) -> Self {
        Self {
            run: wait.run.to_string(),
            resource: wait.resource.clone(),
            items: wait.items,
            hold_json: windrow_model::Json::of(&wait.hold).as_str().to_owned(),
            left_ms: wait.until.map(|until| until - now),
        }
    }

    pub fn read(self, now: Time) -> Result<Wait, Bad> {
        let hold = serde_json::from_str(&self.hold_json).map_err(|error| Bad(format!("`hold_json`: {error}")))?;
        let until = self.left_ms.map(|left| now + left);
        Ok(Wait { run: parsed("wait.run", &self.run)?, resource: self.resource, items: self.items, hold, until })
    }
}
