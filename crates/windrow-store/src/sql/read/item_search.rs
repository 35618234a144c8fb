//! Items by a condition, in an order. First the ids, from the items alone; then what the page shows.
//!
//! In the order of the items an index is walked until the page is full, or as many items were read as
//! the query allows. In another order every item of the job is read once (only failed, cancelled and skipped ones, where
//! the condition asks for nothing else), and the first of them are kept.

use windrow_model::ItemId;
use windrow_model::gate::Comparison;
use windrow_model::item_query::{Condition, Cursor, Field, FoundItem, ItemPage, ItemQuery, Sort};

use crate::backend::failure::Result;
use crate::backend::{self, Connection, Dialect, Value, params_from_iter};
use crate::sql::codes::code;
use crate::sql::table::items::{self, not_good};
use crate::sql::table::scores;

/// SQL and what is bound in it, in order.
pub(crate) struct Statement {
    dialect: Dialect,
    pub sql: String,
    bound: Vec<Value>,
}

impl Statement {
    fn add(&mut self, sql: &str) -> &mut Self {
        self.sql.push_str(sql);
        self
    }

    fn bind(&mut self, value: impl Into<Value>) -> &mut Self {
        self.sql.push('?');
        self.bound.push(value.into());
        self
    }
}

pub(crate) fn search_items(conn: &Connection, query: &ItemQuery) -> Result<ItemPage> {
    let bound = match (&query.sort, &query.condition) {
        (None, Some(_)) => scan_end(conn, query)?,
        _ => None,
    };
    let statement = page(conn.dialect(), query, bound);
    let mut prepared = conn.prepare_cached(&statement.sql)?;
    let found = prepared.query_map(params_from_iter(&statement.bound), |row| {
        Ok((ItemId(row.get(0)?), row.get::<i64>(1)?, row.get::<Option<f64>>(2)?))
    })?;
    let found: Vec<(ItemId, i64, Option<f64>)> = found.collect::<backend::Result<_>>()?;
    let last = found.last().filter(|_| found.len() == query.limit);
    let next = match (last, &query.sort) {
        (Some((item, ..)), None) => Some(Cursor::Item(*item)),
        (Some((item, ordinal, value)), Some(_)) => {
            Some(Cursor::Sorted { value: *value, ordinal: *ordinal, item: *item })
        }
        (None, _) => bound.map(Cursor::Item),
    };
    let ids: Vec<ItemId> = found.iter().map(|(id, ..)| *id).collect();
    let items = items::rows(conn, &ids)?.into_iter().zip(scores::of_items(conn, &ids)?);
    Ok(ItemPage { items: items.map(|(item, scores)| FoundItem { item, scores }).collect(), next })
}

/// The last item that may be read; `None`: the job has fewer.
fn scan_end(conn: &Connection, query: &ItemQuery) -> Result<Option<ItemId>> {
    let spared = if query.spares_good() { format!(" AND {}", not_good(conn.dialect(), "i")) } else { String::new() };
    let sql =
        format!("SELECT i.id FROM items i WHERE i.job_id = ?1 AND i.id > ?2{spared} ORDER BY i.id LIMIT 1 OFFSET ?3");
    let last = query.scan.saturating_sub(1) as i64;
    let found: Vec<i64> = conn
        .prepare_cached(&sql)?
        .query_map([query.job.0, query.behind().0, last], |row| row.get(0))?
        .collect::<backend::Result<_>>()?;
    Ok(found.first().copied().map(ItemId))
}

pub(crate) fn page(dialect: Dialect, query: &ItemQuery, scan_end: Option<ItemId>) -> Statement {
    let mut statement = Statement { dialect, sql: String::new(), bound: Vec::new() };
    match &query.sort {
        // What is sorted by is compared with the place behind which to go on, hence the select around it.
        Some(sort) => {
            statement.add("SELECT id, ordinal, k FROM (SELECT i.id, i.ordinal, CAST(");
            value(&mut statement, &sort.field);
            statement.add(&format!(" AS {})", dialect.real()))
        }
        None => statement.add("SELECT i.id, i.ordinal, NULL"),
    };
    statement.add(" AS k FROM items i WHERE i.job_id = ").bind(query.job.0);
    if query.sort.is_none() {
        statement.add(" AND i.id > ").bind(query.behind().0);
    }
    if let Some(end) = scan_end {
        statement.add(" AND i.id <= ").bind(end.0);
    }
    if query.spares_good() {
        statement.add(&format!(" AND {}", not_good(dialect, "i")));
    }
    if let Some(run) = query.run {
        statement.add(" AND i.run_id = ").bind(run.0);
    }
    if let Some(condition) = &query.condition {
        statement.add(" AND ");
        compile(&mut statement, condition);
    }
    match &query.sort {
        None => statement.add(" ORDER BY i.id"),
        Some(sort) => {
            statement.add(") AS found");
            behind(&mut statement, sort, query.after);
            let direction = if sort.descending { " DESC" } else { "" };
            statement.add(&format!(" ORDER BY k IS NULL, k{direction}, ordinal, id"))
        }
    };
    statement.add(" LIMIT ").bind(query.limit as i64);
    statement
}

fn behind(statement: &mut Statement, sort: &Sort, after: Option<Cursor>) {
    let Some(Cursor::Sorted { value: last, ordinal, item }) = after else { return };
    let Some(last) = last else {
        statement.add(" WHERE k IS NULL AND (ordinal, id) > (").bind(ordinal).add(", ").bind(item.0).add(")");
        return;
    };
    let beyond = if sort.descending { "<" } else { ">" };
    statement.add(&format!(" WHERE (k IS NULL OR k {beyond} ")).bind(last);
    statement.add(" OR (k = ").bind(last);
    statement.add(" AND (ordinal, id) > (").bind(ordinal).add(", ").bind(item.0).add(")))");
}

/// The snapshot's scores of an item called `i`.
const SCORES: &str = "FROM scores s WHERE s.attempt_id = i.archived AND s.part = i.archived_part AND s.name = ";

fn value(statement: &mut Statement, field: &Field) {
    let column = match field {
        Field::Id => "i.id",
        Field::Row => "(i.ordinal + 1)",
        Field::State => "i.state",
        Field::Tries => "i.tries",
        Field::LatencyMs => "i.latency_ms",
        Field::TokensIn => "i.tokens_in",
        Field::TokensOut => "i.tokens_out",
        Field::Tokens => "(i.tokens_in + i.tokens_out)",
        Field::Cost => {
            statement.add(&format!("(i.cost_nanos / CAST(1e9 AS {}))", statement.dialect.real()));
            return;
        }
        Field::FinishedAt => "i.finished_at",
        Field::Error => "i.error_class",
        Field::Score(name) => {
            statement.add(&format!("(SELECT min(s.value) {SCORES}")).bind(name.clone()).add(")");
            return;
        }
    };
    statement.add(column);
}

const fn sign(comparison: Comparison) -> &'static str {
    match comparison {
        Comparison::Less => "<",
        Comparison::AtMost => "<=",
        Comparison::More => ">",
        Comparison::AtLeast => ">=",
        Comparison::Equal => "=",
        Comparison::Unequal => "<>",
    }
}

/// `IS TRUE`, because what is null fits no comparison, and does so under NOT as well.
fn compile(statement: &mut Statement, condition: &Condition) {
    match condition {
        Condition::And(a, b) => both(statement, a, " AND ", b),
        Condition::Or(a, b) => both(statement, a, " OR ", b),
        Condition::Not(inner) => {
            statement.add("NOT ");
            compile(statement, inner);
        }
        Condition::Compare { field, comparison, value: bound } => {
            statement.add("((CAST(");
            value(statement, field);
            statement
                .add(&format!(" AS {}) {} ", statement.dialect.real(), sign(*comparison)))
                .bind(*bound)
                .add(") IS TRUE)");
        }
        Condition::In { field, values } => {
            statement.add("((CAST(");
            value(statement, field);
            statement.add(&format!(" AS {}) IN (", statement.dialect.real()));
            for (i, one) in values.iter().enumerate() {
                statement.add(if i > 0 { ", " } else { "" }).bind(*one);
            }
            statement.add(")) IS TRUE)");
        }
        Condition::IsNull(field) => {
            statement.add("(");
            value(statement, field);
            statement.add(" IS NULL)");
        }
        Condition::Verdict { evaluator, any_of } => {
            let codes: Vec<String> = any_of.iter().map(|verdict| code(*verdict).to_string()).collect();
            statement.add(&format!("EXISTS (SELECT 1 {SCORES}")).bind(evaluator.clone());
            statement.add(&format!(" AND s.verdict IN ({}))", codes.join(",")));
        }
        Condition::Message(part) => {
            let found = statement.dialect.position("i.error_message", "?");
            statement.add(&format!("((i.error_class IS NOT NULL AND {found} > 0) IS TRUE)"));
            statement.bound.push(part.clone().into());
        }
    }
}

fn both(statement: &mut Statement, a: &Condition, joined: &str, b: &Condition) {
    statement.add("(");
    compile(statement, a);
    statement.add(joined);
    compile(statement, b);
    statement.add(")");
}
