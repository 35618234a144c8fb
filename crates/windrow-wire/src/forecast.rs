//! What a run would cost and take, as `POST /dry-run` answers. The same numbers as `windrow run --dry-run --json`.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A forecast of a run, made without calling or storing anything.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DryRunView {
    pub job: String,
    pub rows: u64,
    pub trials: u32,
    /// Of each row; 1 where the job has none.
    pub variants: u64,
    /// Rows times trials times variants.
    pub items: u64,
    /// Items of which the calls were counted.
    pub sample: u64,
    pub calls: Vec<ForecastCalls>,
    pub tokens_in: Forecasted,
    pub tokens_out: Forecasted,
    pub tokens: Forecasted,
    /// Billionths of a dollar.
    pub cost_nanos: Forecasted,
    pub duration: ForecastLength,
    /// Models and services whose cost is not known and counts as nothing.
    pub unpriced: Vec<String>,
    /// What the forecast rests on.
    pub notes: Vec<String>,
    pub concurrency: i64,
    /// Null without a budget.
    pub budget: Option<ForecastBudget>,
    /// Of `windrow run --dry-run`: 5 if the forecast exceeds the budget.
    pub exit_code: u8,
}

/// A total with its 95% margin.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Forecasted {
    pub expected: i64,
    pub margin: i64,
}

/// Calls by who makes them and which model answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ForecastCalls {
    /// `target`, the evaluator's name, or the simulated user.
    pub caller: String,
    pub model: String,
    pub calls: i64,
    pub tokens_in: i64,
    pub tokens_out: i64,
    pub cost_nanos: i64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ForecastLength {
    pub ms: i64,
    /// What the run waits for most.
    pub bound_by: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ForecastBudget {
    pub cost_nanos: Option<i64>,
    pub tokens: Option<i64>,
    /// `fits`, `may_exceed` or `exceeds`.
    pub verdict: String,
}
