use rusqlite::Connection;
use windrow_model::JobId;
use windrow_model::item_query::{Condition, ItemQuery, Sort};
use windrow_model::state::{ItemState, RUN, RunState};
use windrow_model::store::{ItemFilter, Selection};

use crate::backend::sqlite::connection;
use crate::backend::{Dialect, Text};
use crate::sql::admin::{
    alerts, audit, clean_up, dataset_drop, dataset_import, dataset_read, delete_job, deliveries, fan_out,
};
use crate::sql::read::{aggregates, diagnose, health, item_search, recount, results};
use crate::sql::table::{items, jobs, journal, scores, shared, steps};
use crate::sql::verb::{admit, archive, cancel, claim, gathered, reap, requeue, schedules, sessions, submit, unblock};

fn plan_of(conn: &Connection, sql: &str) -> String {
    let mut stmt = conn.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
    let lines = stmt.raw_query().mapped(|row| row.get::<_, String>(3)).collect::<Result<Vec<_>, _>>().unwrap();
    lines.join("\n")
}

fn sql(text: &(impl Text + ?Sized)) -> String {
    text.on(Dialect::Sqlite).into_owned()
}

fn open() -> (tempfile::TempDir, Connection) {
    let folder = tempfile::tempdir().unwrap();
    let conn = connection::open_writer(&folder.path().join("store.db")).unwrap_or_else(|_| panic!("it opens"));
    (folder, conn)
}

fn selection(states: &[ItemState], reverse: bool) -> String {
    requeue::page_sql(Dialect::Sqlite, &Selection { states: states.to_vec(), reverse, ..Selection::default() })
}

fn page(state: Option<ItemState>) -> String {
    items::page_sql(Dialect::Sqlite, &ItemFilter { job: JobId(1), run: None, state, after: None, limit: 1 })
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
    item_search::page(Dialect::Sqlite, &query, None).sql
}

#[test]
fn every_hot_statement_is_served_by_an_index() {
    use ItemState::*;
    let (_folder, conn) = open();
    let cases: Vec<(&str, String, &str)> = vec![
        ("running of a run", sql(&claim::COUNT_RUNNING), "attempts_running (run_id=? AND due_at>?)"),
        ("next priority", sql(&claim::NEXT_LEVEL), "attempts_queued (run_id=? AND wave=? AND priority>?)"),
        ("claim", sql(&claim::READY), "attempts_queued (run_id=? AND wave=? AND priority=? AND"),
        ("holder", sql(&claim::HOLDER), "attempts_holding (resource=?)"),
        ("input", sql(&claim::ITEM_AND_INPUT), "INTEGER PRIMARY KEY (rowid=?)"),
        ("unblock", sql(&unblock::FIRST_BLOCKED), "attempts_blocked (resource=? AND run_id>?)"),
        ("open steps", sql(&steps::UNSETTLED), "INTEGER PRIMARY KEY (rowid>? AND rowid<?)"),
        ("newest steps", sql(&steps::NEWEST), "INTEGER PRIMARY KEY (rowid>? AND rowid<?)"),
        ("failed steps", sql(&steps::FAILED), "INTEGER PRIMARY KEY (rowid>? AND rowid<?)"),
        ("archive", sql(&archive::LOGGED), "attempts_logged (run_id=? AND id>?)"),
        ("result", sql(&archive::RESULT), "INTEGER PRIMARY KEY (rowid=?)"),
        ("cancel scan", sql(&cancel::QUEUED), "attempts_queued (run_id=?)"),
        ("find by key", sql(&gathered::BY_KEY), "items_by_key (job_id=? AND key=?)"),
        ("replan failed", selection(&[Failed, Cancelled], false), "items_not_good (job_id=? AND id>?)"),
        ("replan in reverse", selection(&[Failed], true), "items_not_good (job_id=? AND id<?)"),
        ("replan good", selection(&[Succeeded], true), "items_by_job (job_id=? AND id<?)"),
        ("items", page(None), "items_by_job (job_id=? AND id>?)"),
        ("items failed", page(Some(Failed)), "items_not_good (job_id=? AND id>?)"),
        ("items good", page(Some(Succeeded)), "items_by_job (job_id=? AND id>?)"),
        ("search", search("latency_ms > 5", ""), "items_by_job (job_id=? AND id>?)"),
        ("search failed", search("state = failed and tries > 1", ""), "items_not_good (job_id=? AND id>?)"),
        ("search by score", search("score.exact < 0.5", ""), "SEARCH s USING PRIMARY KEY (attempt_id=? AND part=?)"),
        ("log to sweep", sql(delete_job::LOG), "log_by_job (job_id=?)"),
        ("events to sweep", sql(delete_job::OUTBOX), "outbox_by_job (job_id=?)"),
        ("items to delete", sql(clean_up::ITEMS), "items_by_job (job_id=?)"),
        ("submitted before", sql(submit::SUBMITTED_BEFORE), "runs_idempotency (workspace=? AND idempotency_key=?)"),
        ("job by name", sql(&jobs::BY_NAME), "(workspace=? AND name=?)"),
        ("jobs", sql(&jobs::PAGE), "SEARCH j USING INTEGER PRIMARY KEY (rowid<?)"),
        ("outbox", sql(&journal::OUTBOX), "INTEGER PRIMARY KEY (rowid>?)"),
        ("audit", audit::page_sql(Dialect::Sqlite, false), "INTEGER PRIMARY KEY (rowid<?)"),
        ("audit of a workspace", audit::page_sql(Dialect::Sqlite, true), "audit_by_workspace (workspace=? AND id<?)"),
        ("logs", sql(journal::LOGS), "log_by_job (job_id=? AND id>?)"),
        ("recount", sql(&recount::RECOUNT), "items_by_job (job_id=?)"),
        ("recount of a range", sql(&recount::RECOUNT_RANGE), "INTEGER PRIMARY KEY (rowid>? AND rowid<?)"),
        ("due jobs", sql(&schedules::DUE), "jobs_due (next_at<?)"),
        ("shared step", sql(&shared::FIND), "PRIMARY KEY (workspace=? AND key=?)"),
        ("draft", sql(dataset_import::DRAFT_OF), "dataset_versions_draft (dataset_id=?)"),
        ("row by key", sql(&dataset_import::ROW_BY_KEY), "dataset_rows_by_key (dataset_id=? AND key=?)"),
        ("versions", sql(&dataset_read::VERSIONS), "dataset_versions_ready (dataset_id=?)"),
        ("dataset rows", sql(&dataset_read::ROWS), "PRIMARY KEY (version_id=? AND ordinal>?)"),
        ("differences", sql(dataset_read::BOTH), "dataset_entries_by_row (version_id=? AND row_id>?)"),
        ("entries to sweep", sql(dataset_drop::ENTRIES), "PRIMARY KEY (version_id=?)"),
        ("unused rows", sql(&dataset_drop::DELETE_UNUSED), "dataset_entries_by_row (version_id=? AND row_id=?)"),
        ("aggregates", sql(&aggregates::SINGLE), "items_by_job (job_id=?)"),
        ("scores", sql(&aggregates::SINGLE), "PRIMARY KEY (attempt_id=? AND part=?)"),
        ("aggregates of a run", sql(&aggregates::OWN_SINGLE), "items_by_job (job_id=?)"),
        ("aggregates of trials", sql(&aggregates::GROUPED), "items_by_group (job_id=?"),
        ("results", sql(&results::PAGE), "items_by_job (job_id=? AND id>?)"),
        ("active alerts", sql(&alerts::ACTIVE), "alerts_active (id>?)"),
        ("recent alerts", sql(&alerts::RECENT), "INTEGER PRIMARY KEY (rowid<?)"),
        ("zombies", sql(&health::ZOMBIES), "attempts_running (run_id=? AND due_at<?)"),
        ("stalled", sql(&health::STALLED), "attempts_running (run_id=? AND due_at>?)"),
        ("steps of the stalled", sql(&health::STALLED), "INTEGER PRIMARY KEY (rowid>? AND rowid<?)"),
        ("executed", sql(&health::EXECUTED), "attempts_running (run_id=? AND due_at>?)"),
        ("newest step", sql(&health::NEWEST_STEP), "INTEGER PRIMARY KEY (rowid>? AND rowid<?)"),
        ("pending", sql(&health::PENDING), "attempts_queued (run_id=? AND wave=? AND priority=? AND due_at<?)"),
        ("logged", sql(&health::LOGGED), "attempts_logged (run_id=?)"),
        ("events of a webhook", sql(&fan_out::EVENTS), "SEARCH o USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)"),
        ("pending deliveries", sql(fan_out::PENDING), "deliveries_pending (webhook_id=?)"),
        ("first due", sql(&deliveries::FIRST_DUE), "deliveries_pending (webhook_id=? AND due_at<?)"),
        ("deliveries", sql(&deliveries::OF_HOOK), "deliveries_by_webhook (webhook_id=? AND id<?)"),
        ("old deliveries", sql(deliveries::OLD), "deliveries_over (webhook_id=?)"),
        ("scores of an attempt", sql(&scores::NOTES), "PRIMARY KEY (attempt_id=? AND part=?)"),
        ("ahead", sql(&diagnose::AHEAD), "runs_live (rank<?)"),
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
    let waiting = plan_of(&conn, &sql(&admit::WAITING));
    assert_eq!(waiting, "SCAN runs USING INDEX runs_live");
    assert!(
        plan_of(&conn, &sql(&health::LIVE))
            .starts_with("SCAN r USING INDEX runs_live\nSEARCH j USING INTEGER PRIMARY KEY")
    );
    for text in [&reap::EXPIRED, &sessions::LEASED, &sessions::OPEN] {
        let plan = plan_of(&conn, &sql(text));
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
    assert!(sql_of("items_not_good").ends_with(items::not_good(Dialect::Sqlite, "i").trim_start_matches("i.")));
    let not_good: Vec<_> = ItemState::ALL.iter().filter(|state| items::is_not_good(**state)).collect();
    assert_eq!(not_good, [&ItemState::Failed, &ItemState::Cancelled, &ItemState::Skipped]);
    assert!(RunState::ALL.iter().all(|state| state.is_final() == RUN.is_final(*state)));
    let page_bytes: i64 = conn.query_row("PRAGMA page_size", [], |row| row.get(0)).unwrap();
    let journal: String = conn.query_row("PRAGMA journal_mode", [], |row| row.get(0)).unwrap();
    let synchronous: i64 = conn.query_row("PRAGMA synchronous", [], |row| row.get(0)).unwrap();
    assert_eq!((page_bytes, journal.as_str(), synchronous), (8192, "wal", 2));
}
