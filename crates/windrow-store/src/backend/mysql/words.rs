//! The verbs' words as MySQL and MariaDB read them.

use std::borrow::Cow;

use crate::backend::cross_joins;

/// Names of ours that are words of theirs.
const RESERVED: [&str; 5] = ["cursor", "key", "rank", "rows", "schema"];

/// What becomes of a row whose key is there already. An ignored row counts as not changed, as it does elsewhere.
pub(crate) fn when_there_already(sql: &str) -> Cow<'_, str> {
    let Some((insert, conflict)) = sql.split_once("ON CONFLICT (") else { return sql.into() };
    match conflict.split_once(") DO UPDATE SET ") {
        Some((_, changes)) => format!("{insert}ON DUPLICATE KEY UPDATE {changes}").into(),
        None => insert.replacen("INSERT INTO", "INSERT IGNORE INTO", 1).into(),
    }
}

/// One row that is named by its key is reached by it, whatever else is said of it: a row that is found by another index is
/// locked there as well, and in another order than others lock it.
pub(crate) fn by_key(sql: Cow<'_, str>) -> Cow<'_, str> {
    match sql.strip_prefix("UPDATE ").and_then(|rest| rest.split_once(" SET ")) {
        Some((table, changes)) if changes.contains(" WHERE id = ") => {
            format!("UPDATE {table} FORCE INDEX (PRIMARY) SET {changes}").into()
        }
        _ => sql,
    }
}

/// A joined row that is named by its key is reached by it too. A range of keys is no equality, and any index with one
/// would seem better.
pub(crate) fn joined_by_key(sql: Cow<'_, str>) -> Cow<'_, str> {
    cross_joins(sql, |join| {
        let by_key = join.rest.strip_prefix(join.alias()).is_some_and(|rest| rest.starts_with(".id "));
        let index = if by_key && !join.names_index() { " FORCE INDEX (PRIMARY)" } else { "" };
        format!("CROSS JOIN {}{index} ON {}", join.table, join.rest)
    })
}

/// Of a piece of a statement without places and quoted text.
pub(crate) fn words(text: &str) -> String {
    let text = text
        // Both keep to the order of a cross join, if it is called so.
        .replace("CROSS JOIN", "STRAIGHT_JOIN")
        .replace("IS NOT DISTINCT FROM", "<=>")
        .replace("AS BIGINT)", "AS SIGNED)")
        .replace("DOUBLE PRECISION", "DOUBLE");
    let mut out = String::with_capacity(text.len() + 8);
    let mut rest = text.as_str();
    while let Some(at) = rest.find(is_of_name) {
        out.push_str(&rest[..at]);
        let (name, tail) = split_name(&rest[at..]);
        rest = tail;
        match tail.strip_prefix('.').map(split_name) {
            Some((column, tail)) if name == "excluded" => {
                out.push_str(&format!("VALUES({})", quoted(column)));
                rest = tail;
            }
            _ if out.ends_with('`') => out.push_str(name),
            _ => out.push_str(&quoted(name)),
        }
    }
    out.push_str(rest);
    out
}

fn is_of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

fn split_name(text: &str) -> (&str, &str) {
    text.split_at(text.find(|c| !is_of_name(c)).unwrap_or(text.len()))
}

fn quoted(name: &str) -> Cow<'_, str> {
    match RESERVED.contains(&name) {
        true => format!("`{name}`").into(),
        false => name.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_words_are_quoted_and_only_those() {
        assert_eq!(words("SELECT i.key, key_id FROM a CROSS JOIN b"), "SELECT i.`key`, key_id FROM a STRAIGHT_JOIN b");
        assert_eq!(words("CAST(x AS BIGINT), ORDER BY rank"), "CAST(x AS SIGNED), ORDER BY `rank`");
    }

    #[test]
    fn a_row_is_updated_by_its_key() {
        let by_key = |sql: &'static str| by_key(sql.into());
        assert_eq!(
            by_key("UPDATE t SET a = 1 WHERE id = ?1"),
            "UPDATE t FORCE INDEX (PRIMARY) SET a = 1 WHERE id = ?1"
        );
        assert_eq!(by_key("UPDATE t SET a = 1 WHERE b = ?1"), "UPDATE t SET a = 1 WHERE b = ?1");
    }

    #[test]
    fn a_joined_row_is_reached_by_its_key() {
        let sql = "SELECT 1 FROM i CROSS JOIN t a ON a.id > i.id WHERE i.x = 1";
        assert_eq!(
            joined_by_key(sql.into()),
            "SELECT 1 FROM i CROSS JOIN t a FORCE INDEX (PRIMARY) ON a.id > i.id WHERE i.x = 1"
        );
        for left in ["FROM i CROSS JOIN t a ON a.item = i.id", "FROM i CROSS JOIN t a INDEXED BY hot ON a.id = i.x"] {
            assert_eq!(joined_by_key(left.into()), left);
        }
    }

    #[test]
    fn a_row_that_is_there_already_is_left_or_changed() {
        let ignored = when_there_already("INSERT INTO t (a) VALUES (?1) ON CONFLICT (a) DO NOTHING");
        assert_eq!(ignored, "INSERT IGNORE INTO t (a) VALUES (?1) ");
        let changed =
            when_there_already("INSERT INTO t (a) VALUES (?1) ON CONFLICT (a) DO UPDATE SET key = excluded.key");
        assert_eq!(words(&changed), "INSERT INTO t (a) VALUES (?1) ON DUPLICATE KEY UPDATE `key` = VALUES(`key`)");
    }
}
