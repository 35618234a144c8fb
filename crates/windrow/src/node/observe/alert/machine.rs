//! When an alert is raised and when it is taken back. Over the threshold for long enough, it is raised; calm
//! for long enough, it is cleared; in between nothing happens, so that it does not flutter.

use std::collections::BTreeMap;

use windrow_model::alert::Alert;
use windrow_model::{AlertId, RunId, Time};

use crate::node::observe::Thresholds;
use crate::node::observe::alert::{Rule, Signal};

type Subject = (Rule, Option<RunId>);

#[derive(Debug)]
enum RunDiagnosis {
    /// Over the threshold since then.
    Suspected(Time),
    /// Calm since then, if it is.
    Raised(Box<Alert>, Option<Time>),
}

#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    Raised(Alert),
    Cleared(Alert),
}

#[derive(Debug, Default)]
pub struct Machine {
    /// The subject of alerts about this node.
    node: String,
    standing: BTreeMap<Subject, RunDiagnosis>,
}

impl Machine {
    /// Continues with alerts that were raised before: they are not raised again, and cleared when their condition ends.
    /// Alerts about other nodes are theirs to clear.
    pub fn resume(node: String, active: Vec<Alert>) -> Self {
        let known = active.into_iter().filter_map(|alert| {
            let rule: Rule =
                alert.rule.parse().ok().filter(|rule: &Rule| !rule.is_of_node() || alert.subject == node)?;
            Some(((rule, alert.run), RunDiagnosis::Raised(Box::new(alert), None)))
        });
        let standing = known.collect();
        Self { node, standing }
    }

    pub fn active(&self) -> impl Iterator<Item = &Alert> {
        self.standing.values().filter_map(|standing| match standing {
            RunDiagnosis::Raised(alert, _) => Some(&**alert),
            RunDiagnosis::Suspected(_) => None,
        })
    }

    /// `chance` makes the ids of new alerts.
    pub fn see(
        &mut self,
        signals: &[Signal],
        thresholds: &Thresholds,
        now: Time,
        mut chance: impl FnMut() -> u64,
    ) -> Vec<Change> {
        let mut changes = Vec::new();
        for signal in signals {
            let threshold = thresholds.of(signal.rule);
            let subject = (signal.rule, signal.about.as_ref().map(|about| about.run));
            changes.extend(self.judge(subject, signal, threshold, now, &mut chance));
        }
        changes.extend(self.let_go(signals, now));
        changes
    }

    fn judge(
        &mut self,
        subject: Subject,
        signal: &Signal,
        threshold: f64,
        now: Time,
        chance: &mut impl FnMut() -> u64,
    ) -> Option<Change> {
        let rule = signal.rule;
        let (over, calm) = (signal.value >= threshold, signal.value < rule.calm_below(threshold));
        match self.standing.get_mut(&subject) {
            None | Some(RunDiagnosis::Suspected(_)) if !over => {
                self.standing.remove(&subject);
                None
            }
            None if rule.raise_after_ms() > 0 => {
                self.standing.insert(subject, RunDiagnosis::Suspected(now));
                None
            }
            Some(RunDiagnosis::Suspected(since)) if now - *since < rule.raise_after_ms() => None,
            None | Some(RunDiagnosis::Suspected(_)) => {
                let alert = raised(signal, &self.node, threshold, AlertId::mint(now, chance()), now);
                self.standing.insert(subject, RunDiagnosis::Raised(Box::new(alert.clone()), None));
                Some(Change::Raised(alert))
            }
            Some(RunDiagnosis::Raised(_, since)) if !calm => {
                *since = None;
                None
            }
            Some(RunDiagnosis::Raised(alert, since)) => {
                let since = *since.get_or_insert(now);
                if now - since < rule.clear_after_ms() {
                    return None;
                }
                let alert = Alert { cleared_at: Some(now), ..(**alert).clone() };
                self.standing.remove(&subject);
                Some(Change::Cleared(alert))
            }
        }
    }

    /// What has no signal any more (a run that is over) is forgotten or cleared at once. While the database
    /// is silent nothing is known of the runs, and their alerts stand.
    fn let_go(&mut self, signals: &[Signal], now: Time) -> Vec<Change> {
        let knows_runs = signals.iter().any(|signal| signal.rule == Rule::DatabaseSlow);
        let gone = self.standing.keys().filter(|(rule, run)| {
            (run.is_none() || knows_runs)
                && !signals
                    .iter()
                    .any(|signal| signal.rule == *rule && signal.about.as_ref().map(|about| about.run) == *run)
        });
        let gone: Vec<Subject> = gone.copied().collect();
        let cleared = gone.into_iter().filter_map(|subject| match self.standing.remove(&subject)? {
            RunDiagnosis::Raised(alert, _) => Some(Change::Cleared(Alert { cleared_at: Some(now), ..*alert })),
            RunDiagnosis::Suspected(_) => None,
        });
        cleared.collect()
    }
}

fn raised(signal: &Signal, node: &str, threshold: f64, id: AlertId, now: Time) -> Alert {
    let rule = signal.rule;
    let about = signal.about.as_ref();
    let run = about.map(|about| about.run);
    Alert {
        id,
        rule: rule.to_string(),
        severity: rule.severity(),
        subject: match run {
            Some(run) => run.to_string(),
            None if rule.is_of_node() => node.to_owned(),
            None => String::new(),
        },
        workspace: about.map(|about| about.workspace.clone()),
        job: about.map(|about| about.job),
        run,
        value: signal.value,
        threshold,
        message: signal.message.clone(),
        raised_at: now,
        cleared_at: None,
        acknowledged: None,
    }
}

#[cfg(test)]
mod tests {
    use windrow_model::JobId;

    use super::*;
    use crate::node::observe::alert::signal::About;

    fn signal(rule: Rule, value: f64) -> Signal {
        let about = About { workspace: "w".into(), job: JobId(1), run: RunId(2) };
        let about = (rule == Rule::RunFailureRate).then_some(about);
        Signal { rule, about, value, message: "because".into() }
    }

    /// The machine of one rule, told a value per second.
    fn play(machine: &mut Machine, rule: Rule, from_s: i64, values: &[f64]) -> Vec<(i64, &'static str)> {
        let thresholds = Thresholds::new(&[]);
        let mut seen = Vec::new();
        for (second, value) in (from_s..).zip(values) {
            // A signal of the database shows that it answers.
            let signals = [signal(rule, *value), signal(Rule::DatabaseSlow, 0.0)];
            for change in machine.see(&signals, &thresholds, Time(second * 1000), || 7) {
                let what = match change {
                    Change::Raised(_) => "raised",
                    Change::Cleared(_) => "cleared",
                };
                seen.push((second, what));
            }
        }
        seen
    }

    #[test]
    fn it_is_raised_when_it_lasts_and_cleared_when_it_is_over_for_good() {
        let mut machine = Machine::default();
        let rule = Rule::RunFailureRate;
        assert_eq!(play(&mut machine, rule, 0, &[0.3; 10]), [], "not yet");
        assert_eq!(play(&mut machine, rule, 10, &[0.1; 5]), [], "the condition has ended");
        assert_eq!(play(&mut machine, rule, 15, &[0.3; 20]), [(25, "raised")], "once, however long it lasts");
        assert_eq!(play(&mut machine, rule, 35, &[0.15; 60]), [], "below the threshold is not calm yet");
        assert_eq!(play(&mut machine, rule, 95, &[0.05; 40]), [(125, "cleared")]);
        assert_eq!(machine.active().count(), 0);
    }

    #[test]
    fn a_flutter_around_calm_restarts_the_wait() {
        let mut machine = Machine::default();
        play(&mut machine, Rule::RunFailureRate, 0, &[0.5; 11]);
        let flutter: Vec<f64> = (0..100).map(|n| if n % 20 == 0 { 0.15 } else { 0.0 }).collect();
        assert_eq!(play(&mut machine, Rule::RunFailureRate, 11, &flutter), []);
    }

    #[test]
    fn after_a_restart_an_alert_is_neither_raised_again_nor_forgotten() {
        let mut machine = Machine::default();
        play(&mut machine, Rule::RunFailureRate, 0, &[0.5; 11]);
        let active: Vec<Alert> = machine.active().cloned().collect();
        let mut again = Machine::resume(String::new(), active.clone());
        assert_eq!(play(&mut again, Rule::RunFailureRate, 100, &[0.5; 50]), []);
        assert_eq!(again.active().next().unwrap().id, active[0].id);
        assert_eq!(play(&mut again, Rule::RunFailureRate, 150, &[0.0; 40]), [(180, "cleared")]);
    }

    #[test]
    fn a_second_node_neither_adopts_nor_clears_an_alert_about_the_first() {
        let mut first = Machine::resume("one".into(), Vec::new());
        play(&mut first, Rule::DiskSpace, 0, &[0.99; 40]);
        let active: Vec<Alert> = first.active().cloned().collect();
        assert_eq!(active[0].subject, "one");
        let mut second = Machine::resume("two".into(), active.clone());
        assert_eq!(play(&mut second, Rule::DiskSpace, 100, &[0.1; 100]), []);
        let mut restarted = Machine::resume("one".into(), active);
        assert_eq!(play(&mut restarted, Rule::DiskSpace, 100, &[0.1; 100]), [(160, "cleared")]);
    }

    #[test]
    fn the_alert_of_a_run_that_is_over_is_cleared_but_not_while_the_database_is_silent() {
        let mut machine = Machine::default();
        play(&mut machine, Rule::RunFailureRate, 0, &[0.5; 11]);
        let thresholds = Thresholds::new(&[]);
        let silent = [signal(Rule::DatabaseDown, 30.0)];
        let changes = machine.see(&silent, &thresholds, Time(20_000), || 1);
        assert!(matches!(&changes[..], [Change::Raised(alert)] if alert.rule == "database_down"), "{changes:?}");
        let answers = [signal(Rule::DatabaseDown, 0.0), signal(Rule::DatabaseSlow, 0.0)];
        let mut cleared: Vec<String> = Vec::new();
        for change in machine.see(&answers, &thresholds, Time(30_000), || 1) {
            let Change::Cleared(alert) = change else { panic!("{change:?}") };
            assert_eq!(alert.cleared_at, Some(Time(30_000)));
            cleared.push(alert.rule);
        }
        assert_eq!(cleared, ["database_down", "run_failure_rate"]);
    }
}
