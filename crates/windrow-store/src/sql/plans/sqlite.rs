use rusqlite::Connection;
use windrow_model::JobId;
use windrow_model::item_query::{Condition, ItemQuery, Sort};
use windrow_model::state::{ItemState, RUN, RunState};
use windrow_model::store::{ItemFilter, Selection};

use crate::backend::sqlite::connection;
use crate::sql::admin::alerts;
use crate::sql::admin::audit;
use crate::sql::admin::clean_up;
use crate::sql::admin::dataset_drop;
use crate::sql::admin::dataset_import;
use crate::sql::admin::dataset_read;
use crate::sql::admin::delete_job;
use crate::sql::admin::deliveries;
use crate::sql::admin::fan_out;
use crate::sql::read::aggregates;
use crate::sql::read::diagnose;
use crate::sql::read::health;
use crate::sql::read::item_search;
use crate::sql::read::recount;
use crate::sql::read::results;
use crate::sql::table::items;
use crate::sql::table::jobs;
use crate::sql::table::journal;
use crate::sql::table::scores;
use crate::sql::table::shared;
use crate::sql::table::steps;
use crate::sql::verb::admit;
use crate::sql::verb::archive;
use crate::sql::verb::cancel;
use crate::sql::verb::claim;
use crate::sql::verb::plan;
use crate::sql::verb::reap;
use crate::sql::verb::requeue;
use crate::sql::verb::schedules;
use crate::sql::verb::sessions;
use crate::sql::verb::submit;
use crate::sql::verb::unblock;

fn plan_of(conn: &Connection, sql: &str) -> String {
    let mut stmt = conn.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
    let lines = stmt.raw_query().mapped(|row| row.get::<_, String>(3)).collect::<Result<Vec<_>, _>>().unwrap();
    lines.join("\n")
}

fn open() -> (tempfile::TempDir, Connection) {
    let folder = tempfile::tempdir().unwrap();
    let conn = connection::open_writer(&folder.path().join("store.db")).unwrap_or_else(|_| panic!("it opens"));
    (folder, conn)
}

fn selection(states: &[ItemState], reverse: bool) -> String {
    requeue::page_sql(&Selection { states: states.to_vec(), reverse, ..Selection::default() })
}

fn page(state: Option<ItemState>) -> String {
    items::page_sql(&ItemFilter { job: JobId(1), run: None, state, after: None, limit: 1 })
}

fn search(condition: &str, sort: &str) -> String {
    let query = ItemQuery {
        job: JobId(1),
        run: None,
        condition: (!condition.is_empty()).then(|| Condition::parse(condition).unwrap()),
        sort: (!sort.is_empty()).then(|| Sort::parse(sort).unwrap()),
        after: None,
        limit: 1,
        scan: 1,
    };
    item_search::page(&query, None).sql
}

#[test]
fn every_hot_statement_is_served_by_an_index() {
    use ItemState::*;
    let (_folder, conn) = open();
    let cases: Vec<(&str, String, &str)> = vec![
        ("running of a run", claim::COUNT_RUNNING.clone(), "attempts_running (run_id=? AND due_at>?)"),
        ("next priority", claim::NEXT_LEVEL.clone(), "attempts_queued (run_id=? AND wave=? AND priority>?)"),
        ("claim", claim::READY.clone(), "attempts_queued (run_id=? AND wave=? AND priority=? AND"),
        ("holder", claim::HOLDER.clone(), "attempts_holding (resource=?)"),
        ("input", claim::ITEM_AND_INPUT.into(), "INTEGER PRIMARY KEY (rowid=?)"),
        ("unblock", unblock::FIRST_BLOCKED.clone(), "attempts_blocked (resource=? AND run_id>?)"),
        ("open steps", steps::OPEN.clone(), "INTEGER PRIMARY KEY (rowid>? AND rowid<?)"),
        ("newest steps", steps::NEWEST.clone(), "INTEGER PRIMARY KEY (rowid>? AND rowid<?)"),
        ("archive", archive::LOGGED.clone(), "attempts_logged (run_id=? AND id>?)"),
        ("result", archive::RESULT.clone(), "attempts_logged (run_id=? AND id<?)"),
        ("cancel scan", cancel::QUEUED.clone(), "attempts_queued (run_id=?)"),
        ("find by key", plan::BY_KEY.into(), "items_by_key (job_id=? AND key=?)"),
        ("replan failed", selection(&[Failed, Cancelled], false), "items_not_good (job_id=? AND id>?)"),
        ("replan in reverse", selection(&[Failed], true), "items_not_good (job_id=? AND id<?)"),
        ("replan good", selection(&[Succeeded], true), "items_by_job (job_id=? AND id<?)"),
        ("items", page(None), "items_by_job (job_id=? AND id>?)"),
        ("items failed", page(Some(Failed)), "items_not_good (job_id=? AND id>?)"),
        ("items good", page(Some(Succeeded)), "items_by_job (job_id=? AND id>?)"),
        ("search", search("latency_ms > 5", ""), "items_by_job (job_id=? AND id>?)"),
        ("search failed", search("state = failed and tries > 1", ""), "items_not_good (job_id=? AND id>?)"),
        ("search by score", search("score.exact < 0.5", ""), "SEARCH s USING PRIMARY KEY (attempt_id=? AND part=?)"),
        ("log to sweep", delete_job::LOG.into(), "log_by_job (job_id=?)"),
        ("events to sweep", delete_job::OUTBOX.into(), "outbox_by_job (job_id=?)"),
        ("items to delete", clean_up::ITEMS.into(), "items_by_job (job_id=?)"),
        ("submitted before", submit::SUBMITTED_BEFORE.into(), "runs_idempotency (workspace=? AND idempotency_key=?)"),
        ("job by name", jobs::BY_NAME.clone(), "(workspace=? AND name=?)"),
        ("jobs", jobs::PAGE.clone(), "SEARCH j USING INTEGER PRIMARY KEY (rowid<?)"),
        ("outbox", journal::OUTBOX.into(), "INTEGER PRIMARY KEY (rowid>?)"),
        ("audit", audit::page_sql(false), "INTEGER PRIMARY KEY (rowid<?)"),
        ("audit of a workspace", audit::page_sql(true), "audit_by_workspace (workspace=? AND id<?)"),
        ("logs", journal::LOGS.into(), "log_by_job (job_id=? AND id>?)"),
        ("recount", recount::RECOUNT.clone(), "items_by_job (job_id=?)"),
        ("recount of a range", recount::RECOUNT_RANGE.clone(), "INTEGER PRIMARY KEY (rowid>? AND rowid<?)"),
        ("due jobs", schedules::DUE.clone(), "jobs_due (next_at<?)"),
        ("shared step", shared::FIND.clone(), "PRIMARY KEY (workspace=? AND key=?)"),
        ("draft", dataset_import::DRAFT_OF.into(), "dataset_versions_draft (dataset_id=?)"),
        ("row by key", dataset_import::ROW_BY_KEY.into(), "dataset_rows_by_key (dataset_id=? AND key=?)"),
        ("versions", dataset_read::VERSIONS.clone(), "dataset_versions_ready (dataset_id=?)"),
        ("dataset rows", dataset_read::ROWS.into(), "PRIMARY KEY (version_id=? AND ordinal>?)"),
        ("differences", dataset_read::BOTH.into(), "dataset_entries_by_row (version_id=? AND row_id>?)"),
        ("entries to sweep", dataset_drop::ENTRIES.into(), "PRIMARY KEY (version_id=?)"),
        ("unused rows", dataset_drop::DELETE_UNUSED.into(), "dataset_entries_by_row (version_id=? AND row_id=?)"),
        ("aggregates", aggregates::SINGLE.clone(), "items_by_job (job_id=?)"),
        ("scores", aggregates::SINGLE.clone(), "PRIMARY KEY (attempt_id=? AND part=?)"),
        ("aggregates of trials", aggregates::GROUPED.clone(), "items_by_group (job_id=?"),
        ("results", results::PAGE.clone(), "items_by_job (job_id=? AND id>?)"),
        ("active alerts", alerts::ACTIVE.clone(), "alerts_active (id>?)"),
        ("recent alerts", alerts::RECENT.clone(), "INTEGER PRIMARY KEY (rowid<?)"),
        ("zombies", health::ZOMBIES.clone(), "attempts_running (run_id=? AND due_at<?)"),
        ("stalled", health::STALLED.clone(), "attempts_running (run_id=? AND due_at>?)"),
        ("steps of the stalled", health::STALLED.clone(), "INTEGER PRIMARY KEY (rowid>? AND rowid<?)"),
        ("pending", health::PENDING.clone(), "attempts_queued (run_id=? AND wave=? AND priority=? AND due_at<?)"),
        ("logged", health::LOGGED.clone(), "attempts_logged (run_id=?)"),
        ("events of a webhook", fan_out::EVENTS.into(), "SEARCH o USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)"),
        ("pending deliveries", fan_out::PENDING.into(), "deliveries_pending (webhook_id=?)"),
        ("first due", deliveries::FIRST_DUE.clone(), "deliveries_pending (webhook_id=? AND due_at<?)"),
        ("deliveries", deliveries::OF_HOOK.clone(), "deliveries_by_webhook (webhook_id=? AND id<?)"),
        ("old deliveries", deliveries::OLD.into(), "deliveries_over (webhook_id=?)"),
        ("scores of an attempt", scores::NOTES.into(), "PRIMARY KEY (attempt_id=? AND part=?)"),
        ("ahead", diagnose::AHEAD.clone(), "runs_live (rank<?)"),
    ];
    for (name, sql, index) in cases {
        let plan = plan_of(&conn, &sql);
        assert!(plan.contains(index), "{name} should use {index}:\n{plan}\n{sql}");
        assert!(!plan.contains("SCAN"), "{name} scans:\n{plan}\n{sql}");
        assert!(!plan.contains("TEMP B-TREE"), "{name} sorts:\n{plan}\n{sql}");
    }
}

/// What no index keeps sorted is read once and the first of it kept; only of this job, and only what is
/// not good where nothing else is asked for.
#[test]
fn items_in_an_order_of_their_own_are_read_once() {
    let (_folder, conn) = open();
    let cases = [
        (search("", "-latency_ms"), "items_by_job (job_id=?)"),
        (search("tries > 1", "score.exact"), "items_by_job (job_id=?)"),
        (search("state = failed", "row"), "items_not_good (job_id=?)"),
    ];
    for (sql, index) in cases {
        let plan = plan_of(&conn, &sql);
        assert!(plan.contains(index) && plan.contains("USE TEMP B-TREE FOR ORDER BY"), "{plan}\n{sql}");
        assert!(!plan.contains("SCAN"), "{plan}\n{sql}");
    }
}

/// These walk all live runs, a short list, in the order of an index that holds only those.
#[test]
fn statements_over_live_runs_touch_no_run_that_is_over() {
    let (_folder, conn) = open();
    let waiting = plan_of(&conn, &admit::WAITING);
    assert_eq!(waiting, "SCAN runs USING INDEX runs_live");
    assert!(
        plan_of(&conn, health::LIVE).starts_with("SCAN r USING INDEX runs_live\nSEARCH j USING INTEGER PRIMARY KEY")
    );
    for sql in [&*reap::EXPIRED, &*sessions::LEASED, &*sessions::OPEN] {
        let plan = plan_of(&conn, sql);
        assert!(
            plan.contains("SCAN r USING INDEX runs_live") || plan.contains("SCAN r USING COVERING INDEX runs_"),
            "{plan}"
        );
        assert!(plan.contains("SEARCH a USING") && plan.contains("attempts_running (run_id=?"), "{plan}");
    }
    let next = plan_of(&conn, deliveries::FIRST_AT);
    assert!(next.starts_with("SCAN w") && next.contains("deliveries_pending (webhook_id=?)"), "{next}");
    let held = plan_of(&conn, sessions::HELD_RUNS);
    assert!(held.contains("SEARCH runs USING INDEX runs_coordinated (coordinator=?)"), "{held}");
}

/// The migration is frozen text; these are the meanings it relies on.
#[test]
fn the_schema_says_what_the_vocabularies_say() {
    let (_folder, conn) = open();
    let sql_of = |name: &str| -> String {
        conn.query_row("SELECT sql FROM sqlite_schema WHERE name = ?1", [name], |row| row.get(0)).unwrap()
    };
    assert!(sql_of("items_not_good").ends_with(&items::not_good()));
    let not_good: Vec<_> = ItemState::ALL.iter().filter(|state| items::is_not_good(**state)).collect();
    assert_eq!(not_good, [&ItemState::Failed, &ItemState::Cancelled, &ItemState::Skipped]);
    assert!(RunState::ALL.iter().all(|state| state.is_final() == RUN.is_final(*state)));
    let page_bytes: i64 = conn.query_row("PRAGMA page_size", [], |row| row.get(0)).unwrap();
    let journal: String = conn.query_row("PRAGMA journal_mode", [], |row| row.get(0)).unwrap();
    let synchronous: i64 = conn.query_row("PRAGMA synchronous", [], |row| row.get(0)).unwrap();
    assert_eq!((page_bytes, journal.as_str(), synchronous), (8192, "wal", 2));
}
