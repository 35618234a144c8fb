//! MariaDB is asked how it would run the statements of the hot path, those about many rows at once included.

use crate::backend::mysql::Address;
use crate::backend::mysql::set::{self, Kind};
use crate::backend::{BindParam, Connection, Dialect, Source, Value, params_from_iter};
use crate::services::{unique, url};
use crate::sql::plans::hot::{self, Hot};
use crate::sql::read::recount;

const MYSQL: Dialect = Dialect::MySql;

/// What it says of one table: how it is read, by which index, how many rows it expects, and what it does besides.
#[derive(Debug)]
struct Access {
    table: String,
    way: String,
    index: String,
    rows: i64,
    extra: String,
}

fn plan_of(conn: &Connection, sql: &str, values: &[Value]) -> Vec<Access> {
    let mut stmt = conn.prepare_cached(&format!("EXPLAIN {sql}")).unwrap_or_else(|error| panic!("{error}: {sql}"));
    let found = stmt.query_map(params_from_iter(values), |row| {
        let text = |column| row.get::<Option<String>>(column).map(Option::unwrap_or_default);
        Ok(Access {
            table: text(2)?,
            way: text(3)?,
            index: text(5)?,
            rows: text(8)?.parse().unwrap_or_default(),
            extra: text(9)?,
        })
    });
    found.unwrap().collect::<Result<_, _>>().unwrap()
}

/// What is wrong with a plan.
fn faults(hot: &Hot, plan: &[Access]) -> Vec<String> {
    let tables = || plan.iter().filter(|access| access.table != "u");
    let mut faults = Vec::new();
    let mut check = |good: bool, what: &str| {
        if !good {
            faults.push(format!("{} {what}:\n{plan:#?}\n{}", hot.name, hot.sql));
        }
    };
    check(tables().any(|access| access.index.starts_with(hot.index)), &format!("should use {}", hot.index));
    check(tables().all(|access| !["ALL", "index"].contains(&access.way.as_str())), "scans");
    check(tables().all(|access| access.rows <= hot::FEW), "looks at much");
    check(hot.may_sort || tables().all(|access| !access.extra.contains("filesort")), "sorts");
    faults
}

/// `u` is a table of a few rows, and what is made of its order is sorted in no time.
fn faults_of_set(conn: &Connection, hot: Hot) -> Vec<String> {
    let kinds = vec![Kind::Int; hot.values.len()];
    let number = |value: &Value| match value {
        Value::Integer(int) => int.to_string(),
        other => unreachable!("{other:?} is not a number"),
    };
    let row: Vec<String> = hot.values.iter().map(number).collect();
    let document = Value::Text(format!("[[{}]]", row.join(",")));
    let column = |place: &BindParam| set::column(&kinds, place);
    let source = Source { dialect: MYSQL, table: set::source(&kinds), column: &column };
    let sql = hot.set.map(|set| set.for_set(&source)).unwrap_or_default();
    faults(&Hot { may_sort: true, sql: sql.clone(), ..hot }, &plan_of(conn, &sql, &[document]))
}

#[test]
fn every_hot_statement_is_served_by_an_index() {
    let server = url("WINDROW_TEST_MARIADB");
    let (server, name) = (server.rsplit_once('/').unwrap().0, unique("plans"));
    let address = Address::parse(&format!("{server}/{name}?sslmode=disable")).unwrap();
    address.migrate().unwrap();
    let conn = address.connect_writer().unwrap_or_else(|error| panic!("{error}"));
    hot::fill(&conn).unwrap();
    conn.perform("ANALYZE TABLE runs, items, inputs, attempts, scores").unwrap();
    let one = hot::statements(MYSQL).into_iter().flat_map(|hot| faults(&hot, &plan_of(&conn, &hot.sql, &hot.values)));
    let sets = hot::changes(MYSQL).into_iter().chain(hot::questions(MYSQL));
    let mut faults: Vec<String> = one.chain(sets.flat_map(|hot| faults_of_set(&conn, hot))).collect();
    for hot in hot::deletions(MYSQL) {
        faults.extend(self::faults(&hot, &plan_of(&conn, &hot.sql, &hot.values)));
    }
    // A walk over a job's items reaches the tries of each by their key.
    let recount = plan_of(&conn, recount::RECOUNT.text(MYSQL), &[Value::Integer(hot::LIVE), Value::Integer(hot::LIVE)]);
    if !recount.iter().any(|access| access.table == "a" && access.extra.contains("Range checked for each record")) {
        faults.push(format!("recount should go by the key of attempts:\n{recount:#?}"));
    }
    let range = plan_of(&conn, recount::RECOUNT_RANGE.text(MYSQL), &[1, 2_000, hot::LIVE].map(Value::Integer));
    if !range.iter().any(|access| access.table == "a" && access.index == "PRIMARY") {
        faults.push(format!("recount of a range should go by the key of attempts:\n{range:#?}"));
    }
    conn.perform(&format!("DROP DATABASE {name}")).unwrap();
    assert!(faults.is_empty(), "{}", faults.join("\n\n"));
}
