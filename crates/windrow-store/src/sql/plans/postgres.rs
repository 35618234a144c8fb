//! PostgreSQL is asked how it would run the statements of the hot path.

use crate::backend::postgres::Address;
use crate::backend::{Connection, Dialect, hold_many, translate};
use crate::services::{unique, url};
use crate::sql::plans::hot::{self, Hot};
use crate::sql::read::recount;
use crate::sql::table::attempts;
use crate::sql::verb::{cancel, claim};

const PG: Dialect = Dialect::Postgres;

/// As a writer runs it: with one plan, whatever the values are.
fn plan_of(conn: &Connection, hot: &Hot, name: &str) -> String {
    let translated = translate(&hot.sql, Dialect::Postgres);
    conn.perform(&format!("PREPARE {name} AS {}", translated.sql)).unwrap();
    let values = vec!["NULL"; translated.places.len()].join(", ");
    let mut stmt = conn.prepare_cached(&format!("EXPLAIN EXECUTE {name}({values})")).unwrap();
    let lines: Vec<String> = stmt.query_map((), |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap();
    lines.join("\n")
}

/// What is wrong with its plan.
fn faults(conn: &Connection, hot: &Hot, name: &str) -> Vec<String> {
    let plan = plan_of(conn, hot, name);
    // A smaller index that holds the key will do as well.
    let index = if hot.index == "PRIMARY" { "Index" } else { hot.index };
    let by_key = hot.sql.starts_with("UPDATE") && hot.index == "PRIMARY";
    let mut faults = Vec::new();
    let mut check = |good: bool, what: &str| {
        if !good {
            faults.push(format!("{} {what}:\n{plan}\n{}", hot.name, hot.sql));
        }
    };
    check(plan.contains(index), &format!("should use {index}"));
    check(!by_key || plan.contains("_pkey"), "should go by the key");
    check(!plan.contains("Seq Scan"), "scans");
    check(hot.may_sort || !plan.contains("Sort"), "sorts");
    faults
}

/// Statements that only PostgreSQL is asked.
fn of_postgres() -> Vec<Hot> {
    let holding = hold_many("attempts", attempts::HEAD);
    let of = |name, sql: &str, index| Hot {
        name,
        sql: sql.to_owned(),
        set: None,
        values: Vec::new(),
        index,
        may_sort: true,
    };
    vec![
        Hot { may_sort: false, ..of("claim, passing over", claim::SKIP_TO_READY.text(PG), "attempts_queued") },
        of("cancel, passing over", cancel::SKIP_TO_QUEUED.text(PG), "attempts_queued"),
        of("hold", &holding, "attempts_pkey"),
        of("recount of a range", recount::RECOUNT_RANGE.text(PG), "attempts_pkey"),
    ]
}

fn faults_of_all(conn: &Connection, when: &str) -> Vec<String> {
    let all = hot::statements(PG).into_iter().chain(hot::changes(PG)).chain(hot::questions(PG)).chain(of_postgres());
    all.enumerate().flat_map(|(n, hot)| faults(conn, &hot, &format!("{when}{n}"))).collect()
}

/// A walk over a job's items reaches the tries of each by their key, on connections that read as well.
fn faults_of_recount(conn: &Connection, when: &str) -> Vec<String> {
    let sql = recount::RECOUNT.text(PG).to_owned();
    let recount = Hot { name: "recount", sql, set: None, values: Vec::new(), index: "items_", may_sort: true };
    let plan = plan_of(conn, &recount, &format!("recount_{when}"));
    let by_key = plan.contains("attempts_pkey") && plan.contains("(id > (i.id *") && plan.contains("Nested Loop");
    if by_key { Vec::new() } else { vec![format!("recount ({when}) should go by the key of attempts:\n{plan}")] }
}

#[test]
fn every_hot_statement_is_served_by_an_index() {
    let schema = unique("plans");
    let address = Address::parse(&format!("{}?sslmode=disable&schema={schema}", url("WINDROW_TEST_POSTGRES"))).unwrap();
    address.migrate().unwrap();
    let conn = address.connect_writer().unwrap_or_else(|error| panic!("{error}"));
    // Connections keep their plans: those made for the empty tables of a first start must do for full ones.
    let mut faults = faults_of_all(&conn, "empty");
    hot::fill(&conn).unwrap();
    faults.extend(faults_of_all(&conn, "filled"));
    let reader = address.connect().unwrap_or_else(|error| panic!("{error}"));
    // Not for no value at all.
    reader.perform("SET plan_cache_mode = force_generic_plan").unwrap();
    faults.extend(faults_of_recount(&reader, "filled"));
    conn.perform("ANALYZE").unwrap();
    faults.extend(faults_of_all(&conn, "analysed"));
    faults.extend(faults_of_recount(&reader, "analysed"));
    conn.perform(&format!("DROP SCHEMA {schema} CASCADE")).unwrap();
    assert!(faults.is_empty(), "{}", faults.join("\n\n"));
}
