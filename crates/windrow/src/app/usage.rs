//! Numbers over all jobs: cost and tokens per day, and the slowest and flakiest rows over all runs. ClickHouse answers
//! when it is up to date; otherwise the database, with a notice.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use jiff::tz::TimeZone;
use windrow_analytics::row;
use windrow_analytics::trends::{self, Order, RowHistory, Usage};
use windrow_model::Time;
use windrow_model::record::Job;
use windrow_model::step::ContentKey;
use windrow_model::store::JobFilter;
use windrow_model::time::DAY_MS;
use windrow_results::{ResultRow, RowOutcome};
use windrow_wire::{DayUsage, RankedRow, RowRanking, UsageView};

use crate::app::actor::Actor;
use crate::app::views::scan::Scan;
use crate::app::{App, analytics, lookup};
use crate::error::{Code, Error, Result};

const PAGE: usize = 500;
/// Results that the database is asked for: they are grouped in memory.
const MAX_RESULTS: i64 = 200_000;
const CLICKHOUSE: &str = "clickhouse";
const DATABASE: &str = "database";

windrow_model::vocabulary! {
    /// Which rows come first.
    pub enum Ranking {
        #[doc = "Rows with the highest mean latency."]
        Slowest = "slowest",
        #[doc = "Rows whose results disagree most."]
        Flakiest = "flakiest",
    }
}

pub async fn by_day(app: &App, actor: &Actor, days: u32) -> Result<UsageView> {
    let since = Time((app.now().0 / DAY_MS - i64::from(days) + 1) * DAY_MS);
    let workspace = actor.workspace.as_deref();
    let answer = match analytics::current(app).await {
        Ok(client) => analytics::answered(trends::usage(&client, workspace, since).await),
        Err(why) => Err(why),
    };
    match answer {
        Ok(found) => {
            let days = found.into_iter().map(day).collect();
            Ok(UsageView { source: CLICKHOUSE.to_owned(), notice: None, days })
        }
        Err(why) => {
            let source = DATABASE.to_owned();
            if let Some(found) = from_steps(app, workspace, since).await? {
                let days = found.into_iter().map(day).collect();
                return Ok(UsageView { source, notice: Some(why), days });
            }
            let notice = format!("{why}; usage counts for the day on which its run was submitted, without models");
            let days = from_runs(app, workspace, since).await?;
            Ok(UsageView { source, notice: Some(notice), days })
        }
    }
}

fn day(usage: Usage) -> DayUsage {
    let Usage { day, workspace, model, calls, tokens_in, tokens_out, cost_nanos } = usage;
    let (model, cost) = (Some(model).filter(|model| !model.is_empty()), cost_nanos as f64 / 1e9);
    DayUsage { day, workspace, model, calls: Some(calls), tokens_in, tokens_out, cost }
}

/// Of recorded calls, as ClickHouse has them; `None` if there are too many items.
async fn from_steps(app: &App, workspace: Option<&str>, since: Time) -> Result<Option<Vec<Usage>>> {
    let (mut days, mut read) = (BTreeMap::<(Reverse<String>, String, String), Usage>::new(), 0);
    for job in jobs(app, workspace).await?.into_iter().filter(|job| job.kind != windrow_ingest::KIND) {
        let runs = app.store.runs(job.id).await?;
        if runs.iter().all(|run| run.ended_at.is_some_and(|ended| ended < since)) {
            continue;
        }
        let mut scan = Scan::new(app, &job, &runs, None, PAGE)?;
        while let Some(page) = scan.next(app).await? {
            read += page.len() as i64;
            if read > MAX_RESULTS {
                return Ok(None);
            }
            for step in page.iter().flat_map(|(detail, _)| &detail.steps) {
                if step.started_at < since || step.reused_from.is_some() || step.usage == Default::default() {
                    continue;
                }
                let (day, model) = (utc_day(step.started_at), row::model(step).unwrap_or_default());
                let place = (Reverse(day.clone()), job.workspace.clone(), model.clone());
                let new = || Usage {
                    day,
                    workspace: job.workspace.clone(),
                    model,
                    calls: 0,
                    tokens_in: 0,
                    tokens_out: 0,
                    cost_nanos: 0,
                };
                let usage = days.entry(place).or_insert_with(new);
                usage.calls += 1;
                usage.tokens_in += step.usage.tokens_in;
                usage.tokens_out += step.usage.tokens_out;
                usage.cost_nanos += step.usage.cost_nanos;
            }
        }
    }
    Ok(Some(days.into_values().collect()))
}

fn utc_day(at: Time) -> String {
    let moment = jiff::Timestamp::from_millisecond(at.0).unwrap_or_default();
    moment.to_zoned(TimeZone::UTC).date().to_string()
}

async fn from_runs(app: &App, workspace: Option<&str>, since: Time) -> Result<Vec<DayUsage>> {
    let mut days: BTreeMap<(Reverse<i64>, String), (i64, i64, i64)> = BTreeMap::new();
    for job in jobs(app, workspace).await? {
        for run in app.store.runs(job.id).await?.into_iter().filter(|run| run.created_at >= since) {
            let place = (Reverse(run.created_at.0 / DAY_MS), job.workspace.clone());
            let day = days.entry(place).or_default();
            *day = (day.0 + run.spent.tokens_in, day.1 + run.spent.tokens_out, day.2 + run.spent.cost_nanos);
        }
    }
    let used = days.into_iter().filter(|(_, used)| *used != (0, 0, 0));
    let view = |((day, workspace), (tokens_in, tokens_out, nanos)): ((Reverse<i64>, String), (i64, i64, i64))| {
        let day = utc_day(Time(day.0 * DAY_MS));
        DayUsage { day, workspace, model: None, calls: None, tokens_in, tokens_out, cost: nanos as f64 / 1e9 }
    };
    Ok(used.map(view).collect())
}

async fn jobs(app: &App, workspace: Option<&str>) -> Result<Vec<Job>> {
    let (mut found, mut before) = (Vec::new(), None);
    loop {
        let workspace = workspace.map(str::to_owned);
        let page = app.store.jobs(JobFilter { workspace, before, limit: PAGE, ..JobFilter::default() }).await?;
        before = page.last().map(|(job, _)| job.id);
        let is_last = page.len() < PAGE;
        found.extend(page.into_iter().map(|(job, _)| job));
        if is_last {
            return Ok(found);
        }
    }
}

/// Of one job, or of all.
pub async fn rows(app: &App, actor: &Actor, job: Option<&str>, ranking: Ranking, limit: usize) -> Result<RowRanking> {
    let job = match job {
        Some(job) => Some(lookup::job(app, actor, job).await?.0),
        None => None,
    };
    let order = match ranking {
        Ranking::Slowest => Order::Slowest,
        Ranking::Flakiest => Order::Flakiest,
    };
    let workspace = job.as_ref().map(|job| job.workspace.as_str()).or(actor.workspace.as_deref());
    let id = job.as_ref().map(|job| job.id);
    let answer = match analytics::current(app).await {
        Ok(client) => analytics::answered(trends::rows(&client, workspace, id, order, limit).await),
        Err(why) => Err(why),
    };
    let (source, notice, rows) = match answer {
        Ok(rows) => (CLICKHOUSE, None, rows),
        Err(why) => {
            let jobs = match job {
                Some(job) => vec![job],
                None => jobs(app, workspace).await?,
            };
            (DATABASE, Some(why), from_results(app, jobs, order, limit).await?)
        }
    };
    Ok(RowRanking { source: source.to_owned(), notice, rows: rows.into_iter().map(ranked).collect() })
}

fn ranked(row: RowHistory) -> RankedRow {
    let RowHistory { job, row, variant, n, pass, fail, error, mean_latency_ms, max_latency_ms, input } = row;
    RankedRow { job, row, variant, n, pass, fail, error, mean_latency_ms, max_latency_ms, input }
}

/// A row of a job, in one variant, and its latencies so far: their number and sum.
#[derive(Default)]
struct Group {
    row: Option<RowHistory>,
    measured: i64,
    latency_ms: i64,
}

async fn from_results(app: &App, jobs: Vec<Job>, order: Order, limit: usize) -> Result<Vec<RowHistory>> {
    let (mut rows, mut read) = (Vec::new(), 0);
    for job in jobs {
        let mut groups: BTreeMap<(ContentKey, Option<String>), Group> = BTreeMap::new();
        let runs = app.store.runs(job.id).await?;
        for run in &runs {
            let mut scan = Scan::new(app, &job, &runs, Some(run.no), PAGE)?;
            while let Some(page) = scan.next(app).await? {
                read += page.len() as i64;
                if read > MAX_RESULTS {
                    let what = format!("more than {MAX_RESULTS} results");
                    let remedy = "name one job, or configure ClickHouse (--clickhouse)";
                    return Err(Error::new(what, remedy).coded(Code::Conflict));
                }
                for (detail, made) in &page {
                    let row = ResultRow::of(detail, made.as_ref(), |run| scan.number_of(run));
                    groups.entry((row.key, row.variant.clone())).or_default().add(&job.name, &row);
                }
            }
        }
        rows.extend(groups.into_values().filter_map(Group::finish));
    }
    Ok(best(rows, order, limit))
}

impl Group {
    fn add(&mut self, job: &str, result: &ResultRow) {
        let counts = match result.outcome {
            RowOutcome::Pass => (1, 0, 0),
            RowOutcome::Fail => (0, 1, 0),
            RowOutcome::Error => (0, 0, 1),
            _ => return,
        };
        let row = self.row.get_or_insert_with(|| RowHistory {
            job: job.to_owned(),
            row: 0,
            variant: result.variant.clone(),
            n: 0,
            pass: 0,
            fail: 0,
            error: 0,
            mean_latency_ms: None,
            max_latency_ms: None,
            input: String::new(),
        });
        (row.n, row.pass, row.fail, row.error) =
            (row.n + 1, row.pass + counts.0, row.fail + counts.1, row.error + counts.2);
        row.row = row.row.max(result.ordinal + 1);
        row.input.clone_from(&result.input);
        row.max_latency_ms = row.max_latency_ms.max(result.latency_ms);
        if let Some(ms) = result.latency_ms {
            (self.measured, self.latency_ms) = (self.measured + 1, self.latency_ms + ms);
        }
    }

    fn finish(self) -> Option<RowHistory> {
        let mean_latency_ms = (self.measured > 0).then(|| self.latency_ms as f64 / self.measured as f64);
        Some(RowHistory { mean_latency_ms, ..self.row? })
    }
}

fn best(mut rows: Vec<RowHistory>, order: Order, limit: usize) -> Vec<RowHistory> {
    let most = |row: &RowHistory| row.pass.max(row.fail).max(row.error);
    let flakiness = |row: &RowHistory| (row.n - most(row)) as f64 / row.n as f64;
    match order {
        Order::Slowest => rows.retain(|row| row.mean_latency_ms.is_some()),
        Order::Flakiest => rows.retain(|row| row.n > most(row)),
    }
    rows.sort_by(|a, b| {
        let first = match order {
            Order::Slowest => b.mean_latency_ms.unwrap_or(0.0).total_cmp(&a.mean_latency_ms.unwrap_or(0.0)),
            Order::Flakiest => flakiness(b).total_cmp(&flakiness(a)).then(b.n.cmp(&a.n)),
        };
        let place = |row: &RowHistory| (row.job.clone(), row.row, row.variant.clone());
        first.then_with(|| place(a).cmp(&place(b)))
    });
    rows.truncate(limit);
    rows
}
