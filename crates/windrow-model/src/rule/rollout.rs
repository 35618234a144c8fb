//! Rollouts: a run starts its items in waves. A wave opens when the previous one has settled, its bake time has passed, the
//! health check passed and it is approved; never during a freeze. The failure cap counts running items as failed, so
//! that it is never exceeded.

use crate::counters::Counters;
use crate::time::Time;

crate::vocabulary! {
    /// What happens to a run whose failure cap is reached, or whose health check fails.
    pub enum OnFailure {
        #[doc = "The run fails; items that have not started are cancelled, changes stay."]
        Stop = "stop",
        #[doc = "The run pauses until it is resumed or cancelled."]
        Pause = "pause",
        #[doc = "The run fails, and a run that takes everything back follows at once."]
        Rollback = "rollback",
    }
}

crate::vocabulary! {
    /// Which waves need approval before they start.
    pub enum Approval {
        #[doc = "None."]
        Never = "never",
        #[doc = "The second: what follows the canary."]
        AfterFirst = "after_first",
        #[doc = "Every one but the first."]
        Each = "each",
    }
}

#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Rollout {
    /// Sizes of the waves in their order; the last one repeats. Empty: everything is one wave.
    pub waves: Vec<i64>,
    /// How long a wave is watched after it has settled.
    pub bake_ms: i64,
    pub approval: Approval,
    /// The program has a health check that must pass before the next wave opens.
    pub check: bool,
    pub on_failure: OnFailure,
    /// Nothing starts within these.
    pub freeze: Vec<Freeze>,
}

impl Default for Rollout {
    fn default() -> Self {
        Self {
            waves: Vec::new(),
            bake_ms: 0,
            approval: Approval::Never,
            check: false,
            on_failure: OnFailure::Stop,
            freeze: Vec::new(),
        }
    }
}

impl Rollout {
    /// The wave of the item with this position in the plan, from 0.
    pub fn wave_of(&self, place: i64) -> i64 {
        let mut first = 0;
        for (wave, size) in self.waves.iter().enumerate() {
            if place < first + size {
                return wave as i64;
            }
            first += size;
        }
        match self.waves.last() {
            Some(&size) => self.waves.len() as i64 + (place - first) / size.max(1),
            None => 0,
        }
    }

    /// How many items are in this wave and those before it.
    pub fn up_to(&self, wave: i64) -> i64 {
        let Some(&last) = self.waves.last() else { return i64::MAX };
        let named = usize::try_from(wave + 1).unwrap_or(0).min(self.waves.len());
        let beyond = (wave + 1 - self.waves.len() as i64).max(0);
        self.waves[..named].iter().sum::<i64>() + beyond * last
    }

    /// The number of waves of this many items.
    pub fn waves_of(&self, items: i64) -> i64 {
        if items <= 0 { 0 } else { self.wave_of(items - 1) + 1 }
    }

    fn approves(&self, wave: i64) -> bool {
        match self.approval {
            Approval::Never => false,
            Approval::AfterFirst => wave == 1,
            Approval::Each => wave > 0,
        }
    }
}

/// A part of every week, in UTC, in minutes since Monday 00:00; it may run over the week's end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
pub struct Freeze {
    pub from: i64,
    pub to: i64,
}

const MINUTE_MS: i64 = 60_000;
const WEEK: i64 = 7 * 24 * 60;

impl Freeze {
    /// When it ends, if `now` is within it.
    pub fn until(&self, now: Time) -> Option<Time> {
        // The first of January 1970 was a Thursday.
        let minute = (now.0.div_euclid(MINUTE_MS) + 3 * 24 * 60).rem_euclid(WEEK);
        let length = (self.to - self.from).rem_euclid(WEEK);
        let since = (minute - self.from).rem_euclid(WEEK);
        (since < length).then(|| Time((now.0.div_euclid(MINUTE_MS) + length - since) * MINUTE_MS))
    }
}

/// The progress of a run in its rollout.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stage {
    /// The open wave, from 0. Only its items may start.
    pub wave: i64,
    /// When its last item settled.
    pub settled_at: Option<Time>,
    /// The last approved wave.
    pub approved: i64,
    /// The failure cap or the health check halted the run.
    pub halted: bool,
}

/// What keeps items of a run from starting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Holdup {
    Frozen { until: Time },
    Capped { failed: i64, running: i64, max: i64 },
    Baking { wave: i64, until: Time },
    Approval { wave: i64 },
    Checking { wave: i64 },
}

impl Holdup {
    /// Short form, for the progress line.
    pub fn phrase(&self, now: Time) -> String {
        let left = |until: Time| format!("{:.0} s", (until - now).max(0) as f64 / 1000.0);
        match self {
            Holdup::Frozen { until } => format!("frozen for {}", left(*until)),
            Holdup::Capped { .. } => "failure cap reached".to_owned(),
            Holdup::Baking { until, .. } => format!("bake time, {} left", left(*until)),
            Holdup::Approval { .. } => "waits for approval".to_owned(),
            Holdup::Checking { .. } => "checking health".to_owned(),
        }
    }
}

/// What has to happen before the next wave opens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum NextWave {
    /// The open wave has unsettled items, or is the last one.
    NotYet,
    /// Time has to pass, or a person has to approve.
    Held(Holdup),
    /// The program's health check decides.
    Check {
        wave: i64,
    },
    Open {
        wave: i64,
    },
}

/// Everything that decides which items of a run may start.
#[derive(Debug, Clone, Copy)]
pub struct Position<'a> {
    pub rollout: Option<&'a Rollout>,
    pub stage: Stage,
    pub counters: Counters,
    pub max_failed: Option<i64>,
}

impl Position<'_> {
    /// How many more items the rollout and the failure cap allow to start now.
    pub fn may_start(&self, now: Time) -> i64 {
        if self.frozen_until(now).is_some() {
            return 0;
        }
        let Counters { failed, running, .. } = self.counters;
        self.max_failed.map_or(i64::MAX, |max| (max - failed - running).max(0))
    }

    /// Every item of the open wave is settled.
    pub fn wave_settled(&self) -> bool {
        self.rollout.is_some_and(|rollout| self.counters.settled() >= rollout.up_to(self.stage.wave))
    }

    pub fn next_wave(&self, now: Time) -> NextWave {
        let Some(rollout) = self.rollout else { return NextWave::NotYet };
        let next = self.stage.wave + 1;
        let follows = self.counters.total > rollout.up_to(self.stage.wave);
        let (true, Some(settled_at)) = (follows && self.wave_settled(), self.stage.settled_at) else {
            return NextWave::NotYet;
        };
        let until = settled_at + rollout.bake_ms;
        if now < until {
            return NextWave::Held(Holdup::Baking { wave: next, until });
        }
        if rollout.approves(next) && self.stage.approved < next {
            return NextWave::Held(Holdup::Approval { wave: next });
        }
        if rollout.check { NextWave::Check { wave: next } } else { NextWave::Open { wave: next } }
    }

    /// What the rollout or the failure cap waits for.
    pub fn holdup(&self, now: Time) -> Option<Holdup> {
        if let Some(until) = self.frozen_until(now) {
            return Some(Holdup::Frozen { until });
        }
        match self.next_wave(now) {
            NextWave::Held(holdup) => return Some(holdup),
            NextWave::Check { wave } => return Some(Holdup::Checking { wave }),
            NextWave::NotYet | NextWave::Open { .. } => {}
        }
        let max = self.max_failed?;
        let Counters { failed, running, .. } = self.counters;
        (self.may_start(now) == 0).then_some(Holdup::Capped { failed, running, max })
    }

    fn frozen_until(&self, now: Time) -> Option<Time> {
        self.rollout?.freeze.iter().filter_map(|freeze| freeze.until(now)).max()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sized(waves: &[i64]) -> Rollout {
        Rollout { waves: waves.to_vec(), ..Rollout::default() }
    }

    #[test]
    fn the_last_size_repeats_and_both_directions_agree() {
        for rollout in [sized(&[2, 5]), sized(&[1]), sized(&[3, 1, 4])] {
            for place in 0..50 {
                let wave = rollout.wave_of(place);
                assert!(place < rollout.up_to(wave), "{rollout:?} {place}");
                assert!(wave == 0 || place >= rollout.up_to(wave - 1), "{rollout:?} {place}");
            }
        }
        let waves: Vec<i64> = (0..14).map(|place| sized(&[2, 5]).wave_of(place)).collect();
        assert_eq!(waves, [0, 0, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 3, 3]);
        assert_eq!((sized(&[2, 5]).waves_of(14), sized(&[2, 5]).waves_of(0), sized(&[]).waves_of(9)), (4, 0, 1));
        assert_eq!((sized(&[]).wave_of(99), sized(&[]).up_to(0)), (0, i64::MAX));
    }

    #[test]
    fn a_freeze_ends_when_it_says_also_over_the_end_of_the_week() {
        // Friday 16:00 to Monday 08:00.
        let weekend = Freeze { from: (4 * 24 + 16) * 60, to: 8 * 60 };
        // 1970-01-02 was a Friday.
        let friday = |hour: i64| Time((24 + hour) * 60 * MINUTE_MS + 30_000);
        let monday = Time((4 * 24 + 8) * 60 * MINUTE_MS);
        assert_eq!(weekend.until(friday(15)), None);
        assert_eq!(weekend.until(friday(16)), Some(monday));
        assert_eq!(weekend.until(monday + -1), Some(monday));
        assert_eq!(weekend.until(monday), None);
    }
}
