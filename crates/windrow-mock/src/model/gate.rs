//! Decides whether a request is answered: phases first, then the limit per minute, then random faults.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use super::Behaviour;
use super::fault::Fault;

const MINUTE: Duration = Duration::from_secs(60);

pub struct Gate {
    state: Mutex<State>,
}

struct State {
    dice: fastrand::Rng,
    first: Option<Instant>,
    /// Times of the requests admitted in the last minute; kept only if there is a limit.
    let_in: VecDeque<Instant>,
}

impl Gate {
    pub fn new(seed: u64) -> Self {
        let state = State { dice: fastrand::Rng::with_seed(seed), first: None, let_in: VecDeque::new() };
        Self { state: Mutex::new(state) }
    }

    pub fn pass(&self, behaviour: &Behaviour, now: Instant) -> Result<(), Fault> {
        let mut state = self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let first = *state.first.get_or_insert(now);
        if let Some(fault) = behaviour.phases.at(now - first) {
            return Err(fault);
        }
        if let Some(rpm) = behaviour.rpm {
            state.limit(rpm, now)?;
        }
        let roll = state.dice.f64();
        behaviour.faults.at(roll).map_or(Ok(()), Err)
    }
}

impl State {
    fn limit(&mut self, rpm: usize, now: Instant) -> Result<(), Fault> {
        while self.let_in.front().is_some_and(|oldest| now - *oldest >= MINUTE) {
            self.let_in.pop_front();
        }
        if self.let_in.len() < rpm {
            self.let_in.push_back(now);
            return Ok(());
        }
        let free_in = self.let_in.front().map_or(MINUTE, |oldest| MINUTE - (now - *oldest));
        Err(Fault::Status { code: 429, retry_after: Some(free_in) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_per_minute_slides() {
        let behaviour = Behaviour { rpm: Some(2), ..Behaviour::default() };
        let (gate, start) = (Gate::new(0), Instant::now());
        let pass = |secs| gate.pass(&behaviour, start + Duration::from_secs(secs));
        assert_eq!((pass(0), pass(20)), (Ok(()), Ok(())));
        let wait = |secs| Err(Fault::Status { code: 429, retry_after: Some(Duration::from_secs(secs)) });
        assert_eq!(pass(30), wait(30));
        assert_eq!(pass(60), Ok(()));
        assert_eq!(pass(61), wait(19));
    }

    #[test]
    fn the_same_seed_injects_the_same_faults() {
        let behaviour = Behaviour { faults: "500:30%".parse().unwrap(), ..Behaviour::default() };
        let fates = |seed| {
            let gate = Gate::new(seed);
            (0..200).map(|_| gate.pass(&behaviour, Instant::now()).is_err()).collect::<Vec<_>>()
        };
        assert_eq!(fates(1), fates(1));
        assert_ne!(fates(1), fates(2));
        assert!((30..90).contains(&fates(1).iter().filter(|failed| **failed).count()));
    }
}
