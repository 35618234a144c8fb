//! The copy of all results in ClickHouse: its relay, its state, and whether it can be asked.

mod relaying;

use std::time::Duration;

use windrow_analytics::check::{self, JobCheck};
use windrow_analytics::relay::Trouble;
use windrow_analytics::{Client, Failure};
use windrow_model::JobId;
use windrow_model::analytics::RelayStatus;
use windrow_wire::{AnalyticsCheck, AnalyticsRebuild, AnalyticsStatus, CheckedJob, CheckedTable};

use crate::app::actor::Actor;
use crate::app::audit::Change;
use crate::app::{App, lookup};
use crate::error::{Code, Error, Result};
use crate::text;

pub use relaying::{Relaying, catch_up};

/// How long a question waits for rows that are on their way.
const SOON: Duration = Duration::from_secs(2);
const LOOK_EVERY: Duration = Duration::from_millis(50);

pub async fn status(app: &App, actor: &Actor) -> Result<AnalyticsStatus> {
    actor.check_all_workspaces()?;
    let found = app.analytics.relay_status().await?;
    let address = app.clickhouse().map(ToString::to_string);
    let state = match (&address, &found) {
        (None, _) => "off",
        (Some(_), None) => "waiting",
        (Some(_), Some(status)) if status.relay.trouble.is_some() => "unreachable",
        (Some(_), Some(status)) if status.is_caught_up() => "current",
        (Some(_), Some(status)) if status.relay.owned_until <= app.now() => "waiting",
        _ => "sending",
    };
    let (trouble, since) = found.as_ref().and_then(|status| status.relay.trouble.clone()).unzip();
    Ok(AnalyticsStatus {
        state: state.to_owned(),
        address,
        lag_events: found.as_ref().map_or(0, RelayStatus::lag),
        resync_jobs: found.as_ref().map_or(0, |status| status.jobs),
        resync_items: found.as_ref().map_or(0, |status| status.items),
        sent_at: found.as_ref().map(|status| status.relay.event_at.into()),
        trouble,
        trouble_since: since.map(Into::into),
    })
}

/// One line for health pages, and whether it needs attention; `None` without `--clickhouse`.
pub async fn summary(app: &App) -> Option<(String, bool)> {
    app.clickhouse()?;
    let status = match app.analytics.relay_status().await {
        Ok(Some(status)) => status,
        Ok(None) => return Some(("nothing was sent yet".to_owned(), false)),
        Err(error) => return Some((error.to_string(), false)),
    };
    let behind = behind(&status);
    match (&status.relay.trouble, status.is_caught_up()) {
        (Some((why, _)), _) => Some((format!("{behind}: {why}"), true)),
        (None, true) => Some(("ok".to_owned(), false)),
        (None, false) => Some((behind, false)),
    }
}

fn behind(status: &RelayStatus) -> String {
    let events = text::plural(status.lag(), "event");
    match status.jobs {
        0 => format!("{events} behind"),
        jobs => format!("{events} behind, {} to resync", text::plural(jobs, "job")),
    }
}

/// Rows and a checksum per job against the database.
pub async fn check(app: &App, actor: &Actor, job: Option<&str>) -> Result<AnalyticsCheck> {
    actor.check_all_workspaces()?;
    let client = client(app)?;
    let wanted: Vec<JobId> = match job {
        Some(job) => vec![lookup::job(app, actor, job).await?.0.id],
        None => check::jobs(&*app.store, None).await.map_err(unusable)?,
    };
    let mut jobs = Vec::new();
    for id in wanted {
        let found = check::job(&*app.store, &client, id, windrow_experiment::evaluators).await.map_err(unusable)?;
        jobs.extend(found.map(checked));
    }
    let superfluous = match job {
        Some(_) => Vec::new(),
        None => {
            let found = check::superfluous(&*app.store, &client).await.map_err(unusable)?;
            found.into_iter().map(|(id, name)| if name.is_empty() { id.to_string() } else { name }).collect()
        }
    };
    let equal = superfluous.is_empty() && jobs.iter().all(|job| job.equal);
    Ok(AnalyticsCheck { equal, jobs, superfluous })
}

fn checked(job: JobCheck) -> CheckedJob {
    let tables = job.tables.iter().map(|compared| CheckedTable {
        table: compared.table.to_owned(),
        equal: compared.is_equal(),
        rows: compared.database.rows,
        clickhouse_rows: compared.clickhouse.rows,
    });
    let (tables, equal) = (tables.collect(), job.is_equal());
    CheckedJob { id: job.job.to_string(), job: job.name, equal, active: job.active, tables }
}

/// Has one job sent again, or all. With all, jobs that only ClickHouse has are removed.
pub async fn rebuild(app: &App, change: &Change, job: Option<&str>) -> Result<AnalyticsRebuild> {
    change.actor.check_all_workspaces()?;
    let client = client(app)?;
    if let Some(job) = job {
        let job = lookup::job(app, &change.actor, job).await?.0.id;
        return Ok(AnalyticsRebuild { jobs: app.analytics.mark_jobs(Some(job)).await? });
    }
    // A ClickHouse that is away or empty has none that are known of.
    for job in check::superfluous(&*app.store, &client).await.unwrap_or_default().into_keys() {
        app.analytics.mark_jobs(Some(job)).await?;
    }
    Ok(AnalyticsRebuild { jobs: app.analytics.mark_jobs(None).await? })
}

fn client(app: &App) -> Result<Client> {
    let Some(address) = app.clickhouse() else {
        let remedy = "set --clickhouse URL or WINDROW_CLICKHOUSE_URL";
        return Err(Error::new("no ClickHouse is configured", remedy).coded(Code::Conflict));
    };
    Client::new(address.clone()).map_err(|failure| unusable(failure.into()))
}

pub fn unusable(trouble: Trouble) -> Error {
    match trouble {
        Trouble::Store(error) => error.into(),
        Trouble::ClickHouse(failure) => Error::new(failure.to_string(), "check --clickhouse and its server"),
        trouble @ Trouble::Taken(_) => Error::new(trouble.to_string(), "name another database in --clickhouse"),
    }
}

/// ClickHouse with everything that has happened so far, or why the database has to answer.
pub async fn current(app: &App) -> std::result::Result<Client, String> {
    let without = |why: &str| format!("answered from the database: {why}");
    let Some(address) = app.clickhouse() else { return Err(without("no ClickHouse is configured")) };
    let deadline = tokio::time::Instant::now() + SOON;
    let mut asked = None;
    loop {
        let status = app.analytics.relay_status().await.map_err(|error| without(&error.to_string()))?;
        let Some(status) = status else { return Err(without("nothing was sent to ClickHouse yet")) };
        // Events that came after the question are not waited for.
        let newest = *asked.get_or_insert(status.newest);
        if status.relay.event >= newest && status.jobs == 0 && status.items == 0 {
            return Client::new(address.clone()).map_err(|failure| without(&failure.to_string()));
        }
        let has_trouble = status.relay.trouble.is_some() || status.relay.owned_until <= app.now();
        if has_trouble || tokio::time::Instant::now() >= deadline {
            return Err(without(&format!("ClickHouse is {}", behind(&status))));
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

/// What a question to ClickHouse answered, or why the database has to answer instead.
pub fn answered<T>(answer: std::result::Result<T, Failure>) -> std::result::Result<T, String> {
    answer.map_err(|failure| format!("answered from the database: {failure}"))
}
