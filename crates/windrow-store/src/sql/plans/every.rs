//! Every statement is prepared on every database, as one row and as a set of rows. Statements that differ between
//! databases are statics and listed here; the others are literals, and are read from the source.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use windrow_model::JobId;
use windrow_model::item_query::{Condition, ItemQuery, Sort};
use windrow_model::state::ItemState;
use windrow_model::store::{Extent, ItemFilter, Selection};

use crate::backend::mysql::set::Kind;
use crate::backend::{BindParam, Connection, Dialect, Text, fill, mysql, postgres, sqlite};
use crate::services::{unique, url};
use crate::sql::read::{item_search, stats};
use crate::sql::table::items;
use crate::sql::verb::{archive, requeue};
use crate::sql::{admin, read, table, verb};

macro_rules! statements {
    ($($room:ident :: $module:ident { $($name:ident),+ })+) => {
        vec![$($((
            concat!(stringify!($room), "::", stringify!($module), "::", stringify!($name)),
            &$room::$module::$name as &'static dyn Text,
        )),+),+]
    };
}

fn statics() -> Vec<(&'static str, &'static dyn Text)> {
    statements! {
        admin::access { ALL, BY_ID, ADD }
        admin::alerts { ACTIVE, ONE, RECENT, RAISE }
        admin::analytics { BEGIN, UNMARK, MOVE, RUNNING }
        admin::clean_up { DOOMED, DOOM, PINS, LABELS, SPECS, SHARED_STEPS, STEPS, SCORES, ATTEMPTS, INPUTS, ITEM_ROWS, RUNS, JOBS, UNUSED_SPECS }
        admin::costs { OF_RUNS, BEGIN, OF_WORKSPACE }
        admin::dataset_drop { DELETE_UNUSED }
        admin::dataset_import { ROW_BY_KEY, ENTRIES, ROWS }
        admin::dataset_read { BY_NAME, BY_ID, VERSIONS, DATASETS, ROWS, BODIES, NEWEST }
        admin::deliveries { BY_ID, FIRST_DUE, OF_HOOK, OF_ALL, REST, TAKE }
        admin::fan_out { EVENTS, NEW }
        admin::hooks { BY_ID, ALL }
        admin::limit_accounts { BEGIN, ACCOUNT, KEEP }
        admin::limit_authority { BEGIN }
        admin::secrets { BY_NAME, ALL, PUT, NONCE, RESEAL }
        read::aggregates { SINGLE, GROUPED, OWN_SINGLE, OWN_GROUPED, FAILED }
        read::compare { RUNS, RUN_AND_JOB, JOB_AND_RUN, JOBS }
        read::diagnose { QUEUED, GATED, LEASED, LOGGED, BLOCKED, AHEAD }
        read::health { LIVE, ZOMBIES, STALLED, EXECUTED, NEWEST_STEP, PENDING, LOGGED }
        read::recount { RECOUNT, RECOUNT_JOB, RECOUNT_RANGE, RETRIES }
        read::results { PAGE, WORST }
        table::analytics_marks { MARK }
        table::attempts { QUEUE, READ, OF_ITEM }
        table::items { BY_ID, INPUT }
        table::jobs { BY_ID, BY_NAME, PAGE }
        table::journal { OUTBOX, EVENTS, ENTRIES }
        table::labels { NEW, OF_ITEM, JOB_OF }
        table::result_changes { NOTE, NUMBER, FORGET }
        table::runs { BY_ID, BY_JOB, COORDINATOR, MODE, STATE }
        table::scores { KEEP, NOTES, CARRY_OVER, OF_ATTEMPT, OF_ITEM, SHOWN }
        table::shared { FIND, SHARE, KEY_OF }
        table::steps { INSERT, EXISTS, FINISH, FAIL, MARK_UNKNOWN, UNSETTLED, HISTORY, NEWEST, FAILED }
        table::waits { NEW }
        table::event_numbers { NUMBER, STAGE, TURN, UNSTAGE }
        verb::admit { WAITING, AT_WORK }
        verb::archive { LOGGED, RESULT, ORDINAL, ANSWERS }
        verb::cancel { QUEUED, SKIP_TO_QUEUED, BLOCKED, CANCEL, CANCEL_ITEM }
        verb::claim { COUNT_RUNNING, NEXT_LEVEL, READY, SKIP_TO_READY, HOLDER, TAKE, BLOCK, ITEM_AND_INPUT }
        verb::close { FREE_JOB }
        verb::ended_attempts { HAND_IN, ABANDON, RETRY, LOSE, RELEASE, TRIED }
        verb::ending { PARTIAL, SHOW_PART }
        verb::gathered { CREATE, KEEP_INPUT, BY_KEY }
        verb::item_ids { NEWEST }
        verb::reap { EXPIRED }
        verb::renew { EXTEND }
        verb::requeue { REQUEUE, REGROUP, CHANGE_INPUT, RENUMBER }
        verb::schedules { DUE }
        verb::sessions { LEASED, EXPIRE, OPEN, BEGIN, ELSEWHERE }
        verb::submit { KEEP_SPEC }
        verb::unblock { FIRST_BLOCKED, UNBLOCK, AWAITED }
    }
}

/// The sources of the statements, with the module of each.
fn sources() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/sql");
    let room = |room: &str| std::fs::read_dir(root.join(room)).unwrap().map(|entry| entry.unwrap().path());
    let files: Vec<PathBuf> = ["admin", "read", "table", "verb"].into_iter().flat_map(room).collect();
    let source = |path: &PathBuf| {
        let module = path.strip_prefix(&root).unwrap().with_extension("");
        let module: Vec<_> = module.iter().map(|part| part.to_string_lossy().into_owned()).collect();
        (module.join("::"), std::fs::read_to_string(path).unwrap())
    };
    files.iter().map(source).collect()
}

#[test]
fn every_static_is_listed() {
    let listed: BTreeSet<String> = statics().into_iter().map(|(name, _)| name.to_owned()).collect();
    let mut found = BTreeSet::new();
    for (module, source) in sources() {
        for line in source.lines().filter_map(|line| line.strip_prefix("pub(crate) static ")) {
            let (name, ty) = line.split_once(": ").unwrap();
            if ["Sql", "Change", "NewRows", "Lookup"].iter().any(|known| ty.split(' ').next() == Some(known)) {
                found.insert(format!("{module}::{name}"));
            }
        }
        assert!(!source.contains("\nstatic "), "{module} has a static that this test cannot list");
    }
    assert_eq!(listed, found);
}

/// Whole statements that are written as literals. Of a format string only a piece is known; search builds its own.
fn literals() -> Vec<(String, String)> {
    let mut found = Vec::new();
    for (module, source) in sources() {
        if ["read::item_search", "read::old_transaction", "admin::examine"].contains(&module.as_str()) {
            continue;
        }
        let code = source.split("#[cfg(test)]").next().unwrap_or_default();
        for text in code.split('"').skip(1).step_by(2) {
            let text: String = text.split("\\\n").map(|line| line.trim_start().to_owned()).collect();
            let whole = ["SELECT ", "INSERT ", "UPDATE ", "DELETE "].iter().any(|verb| text.starts_with(verb));
            if whole && !text.contains('{') {
                found.push((module.clone(), text));
            }
        }
    }
    assert!(found.len() > 80, "only {} literals were found", found.len());
    found
}

/// What is put together when somebody asks.
fn built(d: Dialect) -> Vec<(String, String)> {
    let page = |state| items::page_sql(d, &ItemFilter { job: JobId(1), run: None, state, after: None, limit: 1 });
    let search = |condition: &str, sort: Option<&str>| {
        let (condition, sort) =
            (Some(Condition::parse(condition).unwrap()), sort.map(|sort| Sort::parse(sort).unwrap()));
        item_search::page(
            d,
            &ItemQuery { job: JobId(1), run: None, condition, sort, after: None, limit: 1, scan: 1 },
            None,
        )
        .sql
    };
    let selection = Selection {
        states: vec![ItemState::Failed],
        errors: vec![windrow_model::ErrorClass::Timeout],
        unjudged: Some(vec!["exact".into()]),
        wave: Some(1),
        ..Selection::default()
    };
    let mut built = vec![
        page(None),
        page(Some(ItemState::Failed)),
        search("score.exact < 0.5 and not (cost > 1 or tries in (1, 2))", Some("-score.exact")),
        search("state = failed and latency_ms is null", Some("cost")),
        search("message ~ \"x\" and verdict.exact = error", None),
        requeue::page_sql(d, &selection),
        admin::audit::page_sql(d, true),
        admin::audit::page_sql(d, false),
    ];
    for extent in [Extent::All, Extent::Workspace("w".into()), Extent::Job(JobId(1))] {
        built.extend(stats::statements(d, &extent));
    }
    built.extend(archive::SETTLE.iter().map(|change| change.on(d).into_owned()));
    built.into_iter().map(|sql| ("built".to_owned(), sql)).collect()
}

fn prepare_all(conn: &Connection) {
    let d = conn.dialect();
    let whole = statics().into_iter().map(|(name, text)| (name.to_owned(), text.on(d).into_owned()));
    let mut failures = Vec::new();
    for (name, sql) in whole.chain(literals()).chain(built(d)) {
        // A file has one writer: no row locks, and none of the tables that several nodes need.
        let of_servers = [" FOR UPDATE", " outbox_staged", " limit_"];
        if d == Dialect::Sqlite && of_servers.iter().any(|part| sql.contains(part)) {
            continue;
        }
        if let Err(error) = conn.prepare_cached(&sql) {
            failures.push(format!("{name}: {error}\n{sql}"));
        }
    }
    for (name, set) in statics().into_iter().filter_map(|(name, text)| Some((name, text.as_set()?))) {
        let prepared = match conn {
            Connection::Sqlite(_) => Ok(()),
            Connection::Postgres(link) => link.prepare_set(set).map(drop),
            Connection::MySql(link) if set.listed(2).is_some() => {
                link.prepare(&set.listed(2).unwrap_or_default(), set.replaces()).map(drop)
            }
            Connection::MySql(link) => {
                let last = std::cell::Cell::new(0);
                fill(&set.on(d), d, &|param| {
                    if let BindParam::Number(n) = param {
                        last.set(last.get().max(*n));
                    }
                    String::new()
                });
                link.prepare_set(set, &vec![Kind::Int; last.get()]).map(drop)
            }
        };
        if let Err(error) = prepared {
            failures.push(format!("{name}, as a set: {error}"));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

#[test]
fn sqlite_prepares_every_statement() {
    let folder = tempfile::tempdir().unwrap();
    let conn = sqlite::open_writer(&folder.path().join("store.db")).unwrap_or_else(|_| panic!("it opens"));
    prepare_all(&Connection::Sqlite(conn));
}

#[test]
fn postgres_prepares_every_statement() {
    let schema = unique("every");
    let server = url("WINDROW_TEST_POSTGRES");
    let address = postgres::Address::parse(&format!("{server}?sslmode=disable&schema={schema}")).unwrap();
    address.migrate().unwrap();
    let conn = address.connect_writer().unwrap_or_else(|error| panic!("{error}"));
    prepare_all(&conn);
    conn.perform(&format!("DROP SCHEMA {schema} CASCADE")).unwrap();
}

#[test]
fn mariadb_prepares_every_statement() {
    let server = url("WINDROW_TEST_MARIADB");
    let (server, name) = (server.rsplit_once('/').unwrap().0, unique("every"));
    let address = mysql::Address::parse(&format!("{server}/{name}?sslmode=disable")).unwrap();
    address.migrate().unwrap();
    let conn = address.connect_writer().unwrap_or_else(|error| panic!("{error}"));
    prepare_all(&conn);
    conn.perform(&format!("DROP DATABASE {name}")).unwrap();
}
