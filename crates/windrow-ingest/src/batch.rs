//! From pages to one batch: rules are applied, records without their key put aside, and of records with
//! the same key the last one is kept.

use std::collections::HashMap;

use minijinja::value::Serde;
use serde_json::Value;
use windrow_jobfile::spec::invalid_request;
use windrow_model::Failure;
use windrow_model::ingest::Stats;

use super::destination::TableBatch;
use super::record::{Record, Rejected, Table};
use super::source::Page;
use super::spec::Rules;

/// What is left of the pages, ready to be committed.
#[derive(Debug, Default)]
pub struct Gathered {
    pub tables: Vec<TableBatch>,
    pub rejected: Vec<Rejected>,
    pub stats: Stats,
    pub after: Option<Value>,
    pub high: Option<Value>,
    pub done: bool,
}

pub struct Sieve {
    rules: Rules,
    skip: Option<minijinja::Environment<'static>>,
}

impl Sieve {
    pub fn new(rules: Rules) -> Result<Self, Failure> {
        let skip = rules.skip.as_deref().map(compile).transpose().map_err(invalid_request)?;
        Ok(Self { rules, skip })
    }

    pub fn add(&self, page: Page, gathered: &mut Gathered) {
        let stats = &mut gathered.stats;
        stats.fetched += page.len() as i64;
        stats.pages += 1;
        stats.tokens_used += i64::from(page.by_token && !page.done);
        stats.latency_ms += page.latency_ms;
        stats.parse_ms += page.parse_ms;
        stats.transient_errors += page.transient_errors;
        stats.bytes_in += page.bytes_in;
        (gathered.after, gathered.done) = (page.after, page.done);
        gathered.high = page.high;
        for table in page.tables {
            self.add_table(table, gathered);
        }
    }

    fn add_table(&self, table: Table, gathered: &mut Gathered) {
        let name = table.name.unwrap_or_else(|| self.rules.table.clone());
        let key = table.key.unwrap_or_else(|| self.rules.key.clone());
        let mut kept = Vec::with_capacity(table.records.len());
        for record in table.records {
            match self.judge(record, &key) {
                Judged::Kept(record) => kept.push(record),
                Judged::Skipped => gathered.stats.skipped += 1,
                Judged::Rejected(record, reason) => {
                    gathered.stats.failed += 1;
                    gathered.stats.business_errors += 1;
                    gathered.rejected.push(Rejected { table: name.clone(), record, reason });
                }
            }
        }
        match gathered.tables.iter_mut().find(|known| known.name == name) {
            Some(known) => known.records.append(&mut kept),
            None => gathered.tables.push(TableBatch { name, key, records: kept }),
        }
    }

    fn judge(&self, record: Value, key: &[String]) -> Judged {
        let Value::Object(fields) = record else {
            let reason = "a record must be an object with fields".to_owned();
            return Judged::Rejected(record, reason);
        };
        if let Some(missing) = key.iter().find(|name| fields.get(*name).is_none_or(Value::is_null)) {
            let reason = format!("its key field {missing:?} is missing");
            return Judged::Rejected(Value::Object(fields), reason);
        }
        match self.skip.as_ref().map(|rule| holds(rule, &fields)) {
            Some(Ok(true)) => Judged::Skipped,
            Some(Err(why)) => Judged::Rejected(Value::Object(fields), format!("the rule `skip`: {why}")),
            Some(Ok(false)) | None => Judged::Kept(fields),
        }
    }

    /// Of several records with one key the last is the newest.
    pub fn finish(&self, gathered: &mut Gathered) {
        for table in gathered.tables.iter_mut().filter(|table| !table.key.is_empty()) {
            let mut last: HashMap<String, usize> = HashMap::with_capacity(table.records.len());
            for (no, record) in table.records.iter().enumerate() {
                last.insert(key_of(record, &table.key), no);
            }
            let doubled = table.records.len() - last.len();
            if doubled > 0 {
                let mut keep: Vec<bool> = vec![false; table.records.len()];
                last.into_values().for_each(|no| keep[no] = true);
                let mut keep = keep.into_iter();
                table.records.retain(|_| keep.next().unwrap_or(true));
                gathered.stats.skipped += doubled as i64;
            }
        }
    }
}

enum Judged {
    Kept(Record),
    Skipped,
    Rejected(Value, String),
}

fn key_of(record: &Record, key: &[String]) -> String {
    match key {
        [one] => record[one].to_string(),
        several => several.iter().map(|name| record[name].to_string()).collect::<Vec<_>>().join("\u{1f}"),
    }
}

const RULE: &str = "rule";

/// The expression stands in a template of its own, so that it is compiled once.
fn compile(expression: &str) -> Result<minijinja::Environment<'static>, String> {
    let mut environment = minijinja::Environment::new();
    let template = format!("{{% if {expression} %}}1{{% endif %}}");
    environment.add_template_owned(RULE, template).map_err(|error| error.to_string())?;
    Ok(environment)
}

/// Whether an expression can be a rule.
pub fn check_rule(expression: &str) -> Result<(), String> {
    compile(expression).map(|_| ())
}

fn holds(rule: &minijinja::Environment<'static>, fields: &Record) -> Result<bool, String> {
    let template = rule.get_template(RULE).map_err(|error| error.to_string())?;
    let variables = minijinja::Value::from(Serde(fields));
    Ok(!template.render(variables).map_err(|error| error.to_string())?.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::column::Types;
    use serde_json::json;

    fn sieve(skip: Option<&str>) -> Sieve {
        let rules = Rules {
            table: "t".into(),
            key: vec!["id".into()],
            skip: skip.map(str::to_owned),
            max_rejected: None,
            types: Types::default(),
        };
        Sieve::new(rules).unwrap()
    }

    #[test]
    fn each_record_is_kept_skipped_or_put_aside() {
        let sieve = sieve(Some("status == 'test'"));
        let records = json!([
            { "id": 1, "v": "old" }, { "id": 2, "status": "test" }, { "v": 3 }, { "id": null }, 7, { "id": 1, "v": "new" }
        ]);
        let Value::Array(records) = records else { unreachable!() };
        let mut gathered = Gathered::default();
        sieve.add(Page { tables: vec![Table { records, ..Table::default() }], ..Page::default() }, &mut gathered);
        sieve.finish(&mut gathered);
        let Stats { fetched, skipped, failed, business_errors, .. } = gathered.stats;
        assert_eq!((fetched, skipped, failed, business_errors), (6, 2, 3, 3));
        assert_eq!(gathered.tables[0].records.len(), 1);
        assert_eq!(gathered.tables[0].records[0]["v"], "new");
        assert!(gathered.rejected.iter().all(|letter| !letter.reason.is_empty()));
    }
}
