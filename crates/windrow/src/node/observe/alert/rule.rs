//! Alert rules: what each one measures, when it raises an alert, and when it clears it.

use windrow_model::alert::Severity;

windrow_model::vocabulary! {
    pub enum Rule {
        #[doc = "Share of the items of one run that failed, once 20 are done."]
        RunFailureRate = "run_failure_rate",
        #[doc = "Share of the items of all runs that failed in the last five minutes, once 20 are done."]
        FailureRate = "failure_rate",
        #[doc = "Time since the last progress of a run with open items."]
        SlowRun = "slow_run",
        #[doc = "How many times slower a run was in the last five minutes than before."]
        SlowPace = "slow_pace",
        #[doc = "Share of the disk that is used."]
        DiskSpace = "disk_space",
        #[doc = "Share of the memory of the machine or container that this process uses."]
        Memory = "memory",
        #[doc = "Share of the CPUs of the machine or container that this process uses."]
        Cpu = "cpu",
        #[doc = "Share of the queue for claimed items that is in use."]
        QueueFull = "queue_full",
        #[doc = "Time since the last response of the database."]
        DatabaseDown = "database_down",
        #[doc = "The slowest commit since the last check."]
        DatabaseSlow = "database_slow",
    }
}

/// What the number of a rule is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measure {
    Share,
    Seconds,
    Times,
}

struct Terms {
    measure: Measure,
    severity: Severity,
    threshold: f64,
    /// The alert is cleared below this share of the threshold.
    calm: f64,
    /// How long the condition must last before the alert is raised or cleared.
    raise_after_ms: i64,
    clear_after_ms: i64,
}

impl Rule {
    const fn terms(self) -> Terms {
        use Measure::*;
        use Severity::*;
        let (measure, severity, threshold, calm, raise_after_ms, clear_after_ms) = match self {
            Rule::RunFailureRate => (Share, Warning, 0.2, 0.5, 10_000, 30_000),
            Rule::FailureRate => (Share, Warning, 0.2, 0.5, 60_000, 60_000),
            Rule::SlowRun => (Seconds, Warning, 900.0, 1.0, 0, 0),
            Rule::SlowPace => (Times, Warning, 4.0, 0.5, 120_000, 60_000),
            Rule::DiskSpace => (Share, Critical, 0.9, 0.95, 30_000, 60_000),
            Rule::Memory => (Share, Critical, 0.9, 0.9, 60_000, 60_000),
            Rule::Cpu => (Share, Warning, 0.95, 0.9, 300_000, 60_000),
            Rule::QueueFull => (Share, Warning, 0.9, 0.8, 60_000, 60_000),
            Rule::DatabaseDown => (Seconds, Critical, 10.0, 1.0, 0, 0),
            Rule::DatabaseSlow => (Seconds, Warning, 2.0, 0.5, 20_000, 60_000),
        };
        Terms { measure, severity, threshold, calm, raise_after_ms, clear_after_ms }
    }

    /// Whether it measures one node, not the runs that all nodes share.
    pub fn is_of_node(self) -> bool {
        !matches!(self, Rule::RunFailureRate | Rule::FailureRate | Rule::SlowRun | Rule::SlowPace)
    }

    pub fn measure(self) -> Measure {
        self.terms().measure
    }

    pub fn severity(self) -> Severity {
        self.terms().severity
    }

    /// Unless told otherwise.
    pub fn threshold(self) -> f64 {
        self.terms().threshold
    }

    /// The value below which an alert with this threshold is cleared.
    pub fn calm_below(self, threshold: f64) -> f64 {
        threshold * self.terms().calm
    }

    pub fn raise_after_ms(self) -> i64 {
        self.terms().raise_after_ms
    }

    pub fn clear_after_ms(self) -> i64 {
        self.terms().clear_after_ms
    }

    /// A value as a person reads it.
    pub fn show(self, value: f64) -> String {
        match self.measure() {
            Measure::Share => format!("{:.0} %", value * 100.0),
            Measure::Seconds if value >= 120.0 => format!("{:.0} min", value / 60.0),
            Measure::Seconds => format!("{value:.1} s"),
            Measure::Times => format!("{value:.1} times"),
        }
    }
}
