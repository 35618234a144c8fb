//! PostgreSQL is asked how it would run the statements of the hot path.

use super::Address;
use crate::server::hot::{self, Hot};
use crate::services::{unique, url};
use crate::sql::db::{Connection, Dialect, translate};

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
    let mut faults = Vec::new();
    let mut check = |good: bool, what: &str| {
        if !good {
            faults.push(format!("{} {what}:\n{plan}\n{}", hot.name, hot.sql));
        }
    };
    check(plan.contains(index), &format!("should use {index}"));
    check(!plan.contains("Seq Scan"), "scans");
    check(hot.may_sort || !plan.contains("Sort"), "sorts");
    faults
}

#[test]
fn every_hot_statement_is_served_by_an_index() {
    let schema = unique("plans");
    let address = Address::parse(&format!("{}?sslmode=disable&schema={schema}", url("WINDROW_TEST_POSTGRES"))).unwrap();
    address.migrate().unwrap();
    let conn = address.connect_writer().unwrap_or_else(|error| panic!("{error}"));
    hot::fill(&conn).unwrap();
    conn.perform("ANALYZE").unwrap();
    let all = hot::statements().into_iter().chain(hot::changes()).chain(hot::questions());
    let faults: Vec<String> = all.enumerate().flat_map(|(n, hot)| faults(&conn, &hot, &format!("hot{n}"))).collect();
    conn.perform(&format!("DROP SCHEMA {schema} CASCADE")).unwrap();
    assert!(faults.is_empty(), "{}", faults.join("\n\n"));
}
