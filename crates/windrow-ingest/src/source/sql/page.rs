//! The statement for one page, in the words of each database.

use serde_json::Value;

/// What is read, and in which order.
pub struct Question {
    pub table: Option<String>,
    pub query: Option<String>,
    /// The columns that rows are in order of; together they identify one.
    pub order: Vec<String>,
    pub bounds: Vec<Bound>,
    pub size: usize,
}

/// A condition that slices make.
#[derive(Debug, Clone, PartialEq)]
pub struct Bound {
    pub column: String,
    pub is: &'static str,
    pub value: Value,
}

impl Bound {
    pub fn between(column: &str, from: Value, to: Value) -> Vec<Self> {
        let bound = |is, value| Self { column: column.to_owned(), is, value };
        vec![bound(">=", from), bound("<", to)]
    }

    pub fn equal(column: &str, value: Value) -> Self {
        Self { column: column.to_owned(), is: "=", value }
    }
}

/// How a database writes names and parameters.
pub struct Dialect<'a> {
    pub quote: char,
    /// The n-th parameter, from 1, to be compared with this column.
    pub parameter: &'a dyn Fn(usize, &str) -> String,
}

impl Dialect<'_> {
    fn quoted(&self, name: &str) -> String {
        let quote = self.quote;
        format!("{quote}{}{quote}", name.replace(quote, &format!("{quote}{quote}")))
    }

    pub fn column(&self, name: &str) -> String {
        format!("q.{}", self.quoted(name))
    }

    /// What is read, as `q`.
    pub fn from(&self, question: &Question) -> String {
        match (&question.table, &question.query) {
            (Some(table), _) => {
                let parts: Vec<String> = table.split('.').map(|part| self.quoted(part)).collect();
                format!("{} AS q", parts.join("."))
            }
            (None, query) => format!("({}) AS q", query.as_deref().unwrap_or_default().trim().trim_end_matches(';')),
        }
    }

    /// Behind a place, with the values to bind. Rows without a key cannot be told apart and are left out.
    pub fn page(&self, question: &Question, fields: &str, after: Option<&[Value]>) -> (String, Vec<Value>) {
        let (mut conditions, mut values) = (Vec::new(), Vec::new());
        let mut bind = |column: &str, value: &Value| {
            values.push(value.clone());
            (self.parameter)(values.len(), column)
        };
        for name in &question.order {
            conditions.push(format!("{} IS NOT NULL", self.column(name)));
        }
        for Bound { column, is, value } in &question.bounds {
            conditions.push(format!("{} {is} {}", self.column(column), bind(column, value)));
        }
        if let Some(after) = after {
            // Written out: not every database uses its index for a comparison of whole keys.
            let alternatives = (0..question.order.len()).map(|no| {
                let equal = question.order[..no].iter().zip(after);
                let mut terms: Vec<String> =
                    equal.map(|(name, value)| format!("{} = {}", self.column(name), bind(name, value))).collect();
                let (name, value) = (&question.order[no], after.get(no).unwrap_or(&Value::Null));
                terms.push(format!("{} > {}", self.column(name), bind(name, value)));
                format!("({})", terms.join(" AND "))
            });
            let alternatives: Vec<String> = alternatives.collect();
            conditions.push(format!("({})", alternatives.join(" OR ")));
        }
        let order: Vec<String> = question.order.iter().map(|name| self.column(name)).collect();
        let sql = format!(
            "SELECT {fields} FROM {} WHERE {} ORDER BY {} LIMIT {}",
            self.from(question),
            conditions.join(" AND "),
            order.join(", "),
            question.size
        );
        (sql, values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_page_begins_behind_the_last_key() {
        let dialect = Dialect { quote: '"', parameter: &|no, _| format!("?{no}") };
        let question = Question {
            table: Some("shop.orders".to_owned()),
            query: None,
            order: vec!["at".to_owned(), "id".to_owned()],
            bounds: Bound::between("region", json!(1), json!(3)),
            size: 10,
        };
        let (sql, values) = dialect.page(&question, "q.*", Some(&[json!("t1"), json!(7)]));
        assert_eq!(
            sql,
            "SELECT q.* FROM \"shop\".\"orders\" AS q WHERE q.\"at\" IS NOT NULL AND q.\"id\" IS NOT NULL AND \
             q.\"region\" >= ?1 AND q.\"region\" < ?2 AND \
             ((q.\"at\" > ?3) OR (q.\"at\" = ?4 AND q.\"id\" > ?5)) ORDER BY q.\"at\", q.\"id\" LIMIT 10"
        );
        assert_eq!(values, [json!(1), json!(3), json!("t1"), json!("t1"), json!(7)]);
    }
}
