//! The database that connectors read, as Debezium reads a binlog: transactions of two rows each. An offset says which
//! transactions were read, and how many rows of the next one: those are skipped, whichever transaction it is.

use std::collections::BTreeMap;

use serde_json::{Value, json};

const ROWS: u64 = 2;
const SERVER: &str = "3e11fa47-71ca-11e1-9e33-c80aa9429562";
/// Transactions that all connectors have read at the start.
const READ: u64 = 77;

#[derive(Debug, Default)]
pub struct Source {
    /// Nothing moves before the first insert.
    committed: Option<u64>,
    /// `TRANSACTION.ROW` in the order in which connectors of this name sent them.
    pub sent: BTreeMap<String, Vec<String>>,
}

impl Source {
    /// The offset of a connector at the start: in the middle of a transaction.
    pub fn offset() -> Value {
        json!({ "file": "binlog.000007", "pos": 4711, "gtids": format!("{SERVER}:1-{READ}"), "event": 3, "row": 1 })
    }

    pub fn insert(&mut self, transactions: u64) {
        self.committed = Some(self.committed.unwrap_or(READ) + transactions);
    }

    /// A running connector reads what it has not read. Without an offset it starts at the beginning.
    pub fn read(&mut self, name: &str, offsets: &mut Vec<Value>) {
        let Some(committed) = self.committed else { return };
        if offsets.is_empty() {
            offsets.push(json!({ "partition": { "server": name }, "offset": { "gtids": format!("{SERVER}:1-0") } }));
        }
        let sent = self.sent.entry(name.to_owned()).or_default();
        for offset in offsets.iter_mut().map(|entry| &mut entry["offset"]).filter(|offset| offset.is_object()) {
            let read = offset["gtids"].as_str().and_then(|set| set.rsplit('-').next()?.parse().ok()).unwrap_or(0);
            if read >= committed {
                continue;
            }
            let skipped = offset["row"].as_u64().unwrap_or(0).min(ROWS);
            let rows = (read + 1..=committed).flat_map(|transaction| (0..ROWS).map(move |row| (transaction, row)));
            sent.extend(rows.skip(skipped as usize).map(|(transaction, row)| format!("{transaction}.{row}")));
            offset["gtids"] = json!(format!("{SERVER}:1-{committed}"));
            if let Some(fields) = offset.as_object_mut() {
                fields.retain(|field, _| field != "event" && field != "row");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_the_next_transaction_that_were_read_are_skipped() {
        let mut source = Source::default();
        let mut offsets = vec![json!({ "partition": {}, "offset": Source::offset() })];
        source.read("a", &mut offsets);
        assert!(source.sent.is_empty(), "nothing moves before the first insert");
        source.insert(2);
        source.read("a", &mut offsets);
        source.read("a", &mut offsets);
        assert_eq!(source.sent["a"], ["78.1", "79.0", "79.1"]);
    }
}
