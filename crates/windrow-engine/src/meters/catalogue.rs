//! The metrics of the engine by name. Counters are of this process; what the database knows is read from
//! there by the exporter.

use windrow_model::metric::{BATCH_SIZE, CALL_SECONDS, Metric, WORK_SECONDS};

pub const LEASES_CLAIMED: Metric =
    Metric::counter("windrow_leases_claimed_total", &[], "Items claimed by this process, each with a lease.");
pub const LEASES_RENEWED: Metric =
    Metric::counter("windrow_leases_renewed_total", &[], "Leases of this process that were renewed.");
pub const LEASES_LOST: Metric = Metric::counter(
    "windrow_leases_lost_total",
    &[],
    "Leases of this process that had passed to another process at renewal.",
);
pub const REPORTS_REFUSED: Metric = Metric::counter(
    "windrow_reports_refused_total",
    &[],
    "Reports of workers that were refused because their lease was stale.",
);
pub const REAPED: Metric = Metric::counter(
    "windrow_leases_reaped_total",
    &["fate"],
    "Expired leases put back into the queue (requeued) or given up as poison (abandoned).",
);
pub const SETTLED: Metric =
    Metric::counter("windrow_items_settled_total", &["outcome"], "Items that came to an end, by outcome.");
pub const PLANNED: Metric = Metric::counter("windrow_items_planned_total", &[], "Items planned into runs.");
pub const ITEM_ERRORS: Metric =
    Metric::counter("windrow_item_errors_total", &["class"], "Items that failed for good, by class of error.");
pub const RETRIES: Metric =
    Metric::counter("windrow_retries_total", &["class"], "Tries that failed and are made again, by class of error.");
pub const STEP_ERRORS: Metric =
    Metric::counter("windrow_step_errors_total", &["class"], "Steps that failed, by class of error.");
pub const STEPS: Metric = Metric::counter(
    "windrow_steps_total",
    &["action", "result"],
    "Steps by kind (target, call, evaluator ...) and result (done, failed, reused).",
);
pub const STEP_SECONDS: Metric = Metric::histogram(
    "windrow_step_seconds",
    &["kind", "action"],
    CALL_SECONDS,
    "Time of a step that calls something, from its recorded intent to its result, by kind of job and action.",
);
pub const ITEM_SECONDS: Metric = Metric::histogram(
    "windrow_item_seconds",
    &["kind", "outcome"],
    CALL_SECONDS,
    "Time of one try at an item, waiting for limits included, by kind of job and how the try ended.",
);
pub const TOKENS: Metric =
    Metric::counter("windrow_tokens_total", &["direction"], "Tokens used by calls that were recorded, in and out.");
pub const COST: Metric = Metric::counter(
    "windrow_cost_nanodollars_total",
    &[],
    "Cost of recorded calls, in billionths of a dollar, where the price of the model is known.",
);
pub const HAND_IN_REPORTS: Metric = Metric::histogram(
    "windrow_hand_in_reports",
    &[],
    BATCH_SIZE,
    "Reports of workers handed to the store in one batch.",
);
pub const HAND_IN_SECONDS: Metric = Metric::histogram(
    "windrow_hand_in_seconds",
    &[],
    WORK_SECONDS,
    "Time until the store has answered a batch of reports, attempts at an unavailable store included.",
);
pub const ARCHIVED: Metric =
    Metric::counter("windrow_items_archived_total", &[], "Handed-in items made the snapshot by this process.");
pub const LIMIT_WAIT_SECONDS: Metric = Metric::histogram(
    "windrow_limiter_wait_seconds",
    &["reason"],
    CALL_SECONDS,
    "Time calls waited for leave, by what they waited for when they asked; calls that went at once are not counted.",
);
pub const RUNS_ENDED: Metric =
    Metric::counter("windrow_runs_ended_total", &["state"], "Runs that this process brought to their end, by state.");
pub const DISPATCHER_RESTARTS: Metric = Metric::counter(
    "windrow_dispatcher_restarts_total",
    &[],
    "Times the watchdog replaced a dispatcher that was stuck or let its queue grow (B11).",
);

/// All that is measured in the engine.
pub const METRICS: &[Metric] = &[
    LEASES_CLAIMED,
    LEASES_RENEWED,
    LEASES_LOST,
    REPORTS_REFUSED,
    REAPED,
    SETTLED,
    PLANNED,
    ITEM_ERRORS,
    RETRIES,
    STEP_ERRORS,
    STEPS,
    STEP_SECONDS,
    ITEM_SECONDS,
    TOKENS,
    COST,
    HAND_IN_REPORTS,
    HAND_IN_SECONDS,
    ARCHIVED,
    LIMIT_WAIT_SECONDS,
    RUNS_ENDED,
    DISPATCHER_RESTARTS,
];
