//! Keeps the planner on the path for which a statement was written. It would choose by its statistics, and those are
//! of yesterday in tables that fill up by the minute: a plan that was made when they were empty is kept.

use std::borrow::Cow;

use crate::backend::cross_joins;

/// What ends the condition of a join.
const ENDS: [&str; 6] = ["WHERE", "CROSS", "LEFT", "JOIN", "ORDER", "GROUP"];

/// A row that is named by its key is reached by it. What else is said of it must not look like the condition of a
/// partial index: one that is empty when the plan is made seems cheaper than any key.
pub(crate) fn by_key(sql: Cow<'_, str>) -> Cow<'_, str> {
    match sql.split_once(" WHERE id = ") {
        Some((change, condition)) if change.starts_with("UPDATE ") => {
            // States that are words have no such indexes.
            let states = (0..10).map(|code| (format!("AND state={code}"), format!("AND 0 + state={code}")));
            let lists = (0..10).map(|code| (format!("AND state IN ({code}"), format!("AND 0 + state IN ({code}")));
            let hidden = states.chain(lists).fold(condition.to_owned(), |text, (from, to)| text.replace(&from, &to));
            format!("{change} WHERE id = {hidden}").into()
        }
        _ => sql,
    }
}

/// A cross join keeps its order: what stands first is read first, and what stands second is looked up for each of its
/// rows. A range of ids gives the planner nothing to estimate by; `OFFSET 0` is a wall that it does not look over.
pub(crate) fn in_order(sql: &str) -> Cow<'_, str> {
    cross_joins(sql.into(), |join| {
        let (condition, rest) = join.rest.split_at(end_of_condition(join.rest));
        let gap = &condition[condition.trim_end().len()..];
        let (table, alias, condition) = (join.table, join.alias(), condition.trim_end());
        format!("CROSS JOIN LATERAL (SELECT * FROM {table} WHERE {condition} OFFSET 0) AS {alias}{gap}{rest}")
    })
}

fn end_of_condition(text: &str) -> usize {
    let (mut depth, mut word) = (0, 0);
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' if depth == 0 => return at,
            ')' => depth -= 1,
            _ => {}
        }
        if c.is_ascii_alphanumeric() || c == '_' {
            continue;
        }
        if depth == 0 && ENDS.contains(&&text[word..at]) {
            return word;
        }
        word = at + c.len_utf8();
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_reached_by_its_key() {
        let planned = |sql: &'static str| by_key(sql.into());
        assert_eq!(
            planned("UPDATE t SET state = 1 WHERE id = ?1 AND fence = ?2 AND state IN (0,2)"),
            "UPDATE t SET state = 1 WHERE id = ?1 AND fence = ?2 AND 0 + state IN (0,2)"
        );
        assert_eq!(
            planned("UPDATE t SET x = 1 WHERE id = ?1 AND state = ?2"),
            "UPDATE t SET x = 1 WHERE id = ?1 AND state = ?2"
        );
        assert_eq!(
            planned("SELECT id FROM t WHERE run_id = ?1 AND state=0"),
            "SELECT id FROM t WHERE run_id = ?1 AND state=0"
        );
    }

    #[test]
    fn what_stands_second_is_looked_up_for_each_row_of_the_first() {
        assert_eq!(
            in_order(
                "SELECT a.x FROM items i CROSS JOIN attempts a INDEXED BY hot ON a.id > i.id AND (a.x OR a.y) WHERE i.job = ?1"
            ),
            "SELECT a.x FROM items i CROSS JOIN LATERAL (SELECT * FROM attempts a INDEXED BY hot WHERE a.id > i.id AND \
             (a.x OR a.y) OFFSET 0) AS a WHERE i.job = ?1"
        );
        assert_eq!(
            in_order("(SELECT 1 FROM v CROSS JOIN e ON e.v = v.id\n CROSS JOIN f ON f.e = e.id)"),
            "(SELECT 1 FROM v CROSS JOIN LATERAL (SELECT * FROM e WHERE e.v = v.id OFFSET 0) AS e\n \
             CROSS JOIN LATERAL (SELECT * FROM f WHERE f.e = e.id OFFSET 0) AS f)"
        );
    }
}
