//! Placeholders and quoting. Statements write placeholders as SQLite does (`?1`, `?`, `:name`); names that are reserved
//! words of MySQL are quoted for it. Keywords are written in capitals and names in small letters.

use super::Dialect;

/// Names of ours that are reserved words of MySQL.
const RESERVED: [&str; 5] = ["cursor", "key", "rank", "rows", "schema"];

/// A placeholder: the value of this number, or of this name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Place {
    Number(usize),
    Name(String),
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Translated {
    pub sql: String,
    /// What to bind, in order.
    pub places: Vec<Place>,
}

/// With the placeholders of a server. PostgreSQL binds a value once, MySQL wherever it occurs.
pub(crate) fn translate(sql: &str, dialect: Dialect) -> Translated {
    let places = std::cell::RefCell::new(Vec::new());
    let sql = fill(sql, dialect, &|place| {
        let mut places = places.borrow_mut();
        if dialect == Dialect::MySql {
            places.push(place.clone());
            return "?".to_owned();
        }
        let known = places.iter().position(|known| known == place).unwrap_or_else(|| {
            places.push(place.clone());
            places.len() - 1
        });
        format!("${}", known + 1)
    });
    Translated { sql, places: places.into_inner() }
}

/// The text with every placeholder replaced.
pub(crate) fn fill(sql: &str, dialect: Dialect, written: &dyn Fn(&Place) -> String) -> String {
    let mut out = String::with_capacity(sql.len() + 16);
    let (mut rest, mut bare) = (sql, 0);
    while let Some(at) = rest.find(['?', ':', '\'']) {
        out.push_str(&quoted(&rest[..at], dialect));
        let (mark, tail) = rest[at..].split_at(1);
        rest = match mark {
            "'" => {
                let end = tail.find('\'').map_or(tail.len(), |end| end + 1);
                out.push('\'');
                out.push_str(&tail[..end]);
                &tail[end..]
            }
            "?" => {
                let (digits, tail) = split_while(tail, |c| c.is_ascii_digit());
                bare += 1;
                out.push_str(&written(&Place::Number(digits.parse().unwrap_or(bare))));
                tail
            }
            _ => {
                let (name, tail) = split_while(tail, is_of_name);
                out.push_str(&written(&Place::Name(format!(":{name}"))));
                tail
            }
        };
    }
    out.push_str(&quoted(rest, dialect));
    out
}

fn split_while(text: &str, belongs: impl Fn(char) -> bool) -> (&str, &str) {
    text.split_at(text.find(|c| !belongs(c)).unwrap_or(text.len()))
}

fn is_of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// A piece of a statement without placeholders and quoted text.
fn quoted(text: &str, dialect: Dialect) -> String {
    if dialect != Dialect::MySql {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len() + 8);
    let mut rest = text;
    while let Some(at) = rest.find(is_of_name) {
        out.push_str(&rest[..at]);
        let (name, tail) = split_while(&rest[at..], is_of_name);
        rest = tail;
        if RESERVED.contains(&name) && !out.ends_with('`') {
            out.push_str(&format!("`{name}`"));
        } else {
            out.push_str(name);
        }
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_used_twice_is_bound_once() {
        let found = translate("UPDATE t SET a = ?2 WHERE id = ?1 AND a <> ?2 AND b = 'why?'", Dialect::Postgres);
        assert_eq!(found.sql, "UPDATE t SET a = $1 WHERE id = $2 AND a <> $1 AND b = 'why?'");
        assert_eq!(found.places, [Place::Number(2), Place::Number(1)]);
    }

    #[test]
    fn mysql_binds_a_value_wherever_it_stands() {
        let found = translate("UPDATE t SET rank = ?2 WHERE at = :id AND b = 'a key?' AND rank <> ?2", Dialect::MySql);
        assert_eq!(found.sql, "UPDATE t SET `rank` = ? WHERE at = ? AND b = 'a key?' AND `rank` <> ?");
        assert_eq!(found.places, [Place::Number(2), Place::Name(":id".into()), Place::Number(2)]);
    }

    #[test]
    fn only_reserved_names_are_quoted() {
        assert_eq!(
            translate("SELECT i.key, key_id FROM `rows`", Dialect::MySql).sql,
            "SELECT i.`key`, key_id FROM `rows`"
        );
    }
}
