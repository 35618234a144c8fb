//! `id:` in a job file: the field, or the fields, that identify a row. Its place and its other fields may then change.

use std::collections::HashMap;

use windrow_jobfile::dataset::{BadRow, Row};
use windrow_jobfile::diagnostics::Problems;
use windrow_jobfile::job_file::Section;
use windrow_model::step::ContentKey;

use crate::definition::trials::key_of_id;

pub fn read(section: Option<Section>, problems: &mut Problems) -> Vec<String> {
    let Some(section) = section else { return Vec::new() };
    let fields = match section.text() {
        Some(field) => vec![field.to_owned()],
        None => section.read::<Vec<String>>(&[], problems).unwrap_or_default(),
    };
    if fields.is_empty() || fields.iter().any(|field| field.trim().is_empty()) {
        problems.add(
            section.node.span.clone(),
            "`id` must name a field",
            "write it like: id: ticket, or id: [user, day]",
        );
    }
    fields
}

/// Ids of the rows read so far, as far as memory allows. Repeated ids behind them are found when they are planned.
pub struct Ids<'a> {
    fields: &'a [String],
    seen: HashMap<ContentKey, u64>,
}

/// Rows whose ids are held (about 50 MB).
const MAX_HELD: usize = 1_000_000;

impl<'a> Ids<'a> {
    pub fn of(fields: &'a [String]) -> Self {
        Self { fields, seen: HashMap::new() }
    }

    /// What is wrong with the row's id.
    pub fn check(&mut self, row: &Row) -> Option<BadRow> {
        let bad = |message: String, help: &str| Some(BadRow::new(row.line, &row.text, message, help));
        let missing = |field: &&String| row.fields.get(*field).is_none_or(serde_json::Value::is_null);
        if let Some(field) = self.fields.iter().find(missing) {
            let message = format!("this row has no field `{field}`, which `id` names");
            return bad(message, "add the field, or name another one in `id`");
        }
        if self.fields.is_empty() || self.seen.len() >= MAX_HELD {
            return None;
        }
        let first = self.seen.insert(key_of_id(self.fields, &row.fields), row.line)?;
        let help = "give each row its own id, or add a field to `id`";
        bad(format!("this row has the same id as the one on line {first}"), help)
    }
}
