//! One pass over the dataset, or its first rows, before anything is stored (E4): is every row readable, and
//! does it have what the target and the evaluators need, and nothing that is forbidden? Memory does not grow
//! with the file.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use windrow_jobfile::dataset::{BadRow, Dataset, Library, Position, ReadError, Reading, Row};
use windrow_jobfile::forbidden::Forbidden;
use windrow_jobfile::job_file::Depth;
use windrow_jobfile::template::Fields;

use crate::conversation::Conversation;
use crate::file::identity::Ids;
use crate::needs::{Need, lack_of, unfit_for_columns};
use crate::rows::RowOptions;

/// Bad rows shown one by one; the rest are counted.
const SHOWN: usize = 20;
/// Names kept for "did you mean"; a dataset with more is a table of something else.
const MAX_NAMES: usize = 500;
/// Rows on which every template is really rendered; after them only when a variable is missing.
const REHEARSED: u64 = 100;
/// Rows and bytes that are read where the first rows are enough: both in less time than an answer may take.
const FIRST_ROWS: u64 = 1_000;
const FIRST_BYTES: usize = 8 << 20;
/// Rows up to which repeated ones are counted (8 MB).
const MAX_COMPARED: usize = 1_000_000;

/// A need that some rows do not meet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unmet {
    pub rows: u64,
    pub first: BadRow,
    /// The missing field, where it is one.
    pub field: Option<String>,
}

/// A forbidden word and the row it is in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hit {
    pub word: String,
    pub place: BadRow,
}

#[derive(Debug, Default)]
pub struct Survey {
    pub rows: u64,
    /// Some rows were not read.
    pub cut: bool,
    /// Rows equal to an earlier one.
    pub repeated: u64,
    pub fields: BTreeSet<String>,
    pub bad: Vec<BadRow>,
    pub bad_rows: u64,
    /// One entry per need, in order.
    pub unmet: Vec<Option<Unmet>>,
    /// The first rows with forbidden words.
    pub forbidden: Vec<Hit>,
    pub forbidden_hits: u64,
}

impl Survey {
    pub fn of(
        (dataset, id): (&Dataset, &[String]),
        library: Option<&Library>,
        (needs, columns): (&[Need], &Fields),
        options: &RowOptions,
        forbidden: &Forbidden,
        depth: Depth,
    ) -> Result<Self, std::io::Error> {
        let mut survey = Survey { unmet: vec![None; needs.len()], ..Survey::default() };
        let mut seen: Vec<u64> = Vec::new();
        let mut ids = Ids::of(id);
        let mut rows = match dataset.source.open(library, Position::START) {
            Ok(rows) => rows,
            Err(ReadError::File(error)) => return Err(error),
            Err(ReadError::Row(bad)) => {
                survey.add_bad(bad);
                return Ok(survey);
            }
        };
        let mut bytes = 0;
        while let Some(row) = rows.next_row() {
            match row {
                Ok(row) => {
                    bytes += row.text.len();
                    if seen.len() < MAX_COMPARED {
                        seen.push(fingerprint(&row.text));
                    }
                    if let Some(bad) = ids.check(&row) {
                        survey.add_bad(bad);
                        continue;
                    }
                    survey.add_forbidden(&row, forbidden);
                    survey.add(row, &dataset.reading, (needs, columns), options);
                }
                Err(ReadError::Row(bad)) => survey.add_bad(bad),
                Err(ReadError::File(error)) => return Err(error),
            }
            let enough = survey.rows + survey.bad_rows >= FIRST_ROWS || bytes >= FIRST_BYTES;
            if depth == Depth::First && enough {
                // What is wrong behind the first rows is found when they are read.
                survey.cut = !rows.at_end().unwrap_or(false);
                break;
            }
        }
        seen.sort_unstable();
        survey.repeated = seen.windows(2).filter(|pair| pair[0] == pair[1]).count() as u64;
        Ok(survey)
    }

    fn add(&mut self, row: Row, reading: &Reading, (needs, columns): (&[Need], &Fields), options: &RowOptions) {
        let Row { line, fields, text } = row;
        let fields = match reading.read(fields) {
            Ok(fields) => fields,
            Err(why) => {
                let message = format!("this row is not of the shape `{}`: {why}", reading.shape);
                let help = "correct the row, or set `dataset.shape` to another one (`plain` takes any row)";
                return self.add_bad(BadRow::new(line, &text, message, help));
            }
        };
        let conversation = match Conversation::of(fields) {
            Ok(conversation) => conversation,
            Err(message) => {
                let help = "correct the row's `turns`, or rename the field if it is something else";
                return self.add_bad(BadRow::new(line, &text, message, help));
            }
        };
        if let Some(message) = unfit_for_columns(&conversation, columns.keys()) {
            let help = "leave `turns` out, or rename the field or the column";
            return self.add_bad(BadRow::new(line, &text, message, help));
        }
        if let Err(message) = options.of_row(&conversation) {
            return self.add_bad(BadRow::new(line, &text, message, "correct the row, or `row` in the job file"));
        }
        self.rows += 1;
        for name in conversation.field_names() {
            if self.fields.len() < MAX_NAMES && !self.fields.contains(name) {
                self.fields.insert(name.clone());
            }
        }
        let conversation = if columns.is_empty() { conversation } else { conversation.with_columns(columns.clone()) };
        let rehearse = self.rows <= REHEARSED;
        for (need, unmet) in needs.iter().zip(&mut self.unmet) {
            let Some(lack) = lack_of(need, &conversation, rehearse) else { continue };
            match unmet {
                Some(unmet) => unmet.rows += 1,
                None => {
                    let first = BadRow::new(line, &text, lack.message, "");
                    *unmet = Some(Unmet { rows: 1, first, field: lack.field });
                }
            }
        }
    }

    fn add_forbidden(&mut self, row: &Row, forbidden: &Forbidden) {
        if forbidden.is_empty() {
            return;
        }
        for word in row.fields.values().flat_map(|value| forbidden.in_value(value)).collect::<BTreeSet<_>>() {
            self.forbidden_hits += 1;
            if self.forbidden.len() < SHOWN {
                let column = row.text.find(&word).unwrap_or(0);
                let place = BadRow::at(row.line, &row.text, column, "", "");
                self.forbidden.push(Hit { word, place });
            }
        }
    }

    fn add_bad(&mut self, bad: BadRow) {
        self.bad_rows += 1;
        if self.bad.len() < SHOWN {
            self.bad.push(bad);
        }
    }
}

fn fingerprint(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}
