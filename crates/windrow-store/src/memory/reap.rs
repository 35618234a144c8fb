use windrow_model::failure::{ErrorClass, Failure};
use windrow_model::ids::MAX_TRIES;
use windrow_model::record::LogLevel;
use windrow_model::state::{AttemptEvent, Outcome};
use windrow_model::store::Reaped;
use windrow_model::{AttemptId, Time};

use super::world::World;

impl World {
    pub fn reap(&mut self, limit: usize, now: Time) -> Reaped {
        let expired: Vec<AttemptId> =
            self.leased.iter().take_while(|(due, _)| *due <= now).take(limit).map(|(_, id)| *id).collect();
        let mut reaped = Reaped::default();
        for id in expired {
            let attempt = &self.attempts[&id].attempt;
            let (run, losses) = (attempt.run, attempt.losses + 1);
            if i64::from(losses) > self.runs[&run].limits.max_losses || id.no() >= MAX_TRIES {
                let failure = Failure::new(ErrorClass::Lost, format!("its worker disappeared {losses} times"));
                self.give_up(id, AttemptEvent::Abandon, failure, now);
                reaped.abandoned += 1;
            } else {
                let failure = Failure::new(ErrorClass::Lost, "its worker disappeared");
                let message = failure.message.clone();
                self.try_again(id, AttemptEvent::Lose, Outcome::Lost, failure, now, now);
                self.log_system(run, Some(id.item()), LogLevel::Warn, "item_lost", message, now);
                reaped.lost += 1;
            }
        }
        reaped
    }
}
