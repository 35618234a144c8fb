//! The columns of one table as they stand, whatever database it is in: where a field goes, what has to be
//! added or widened so that records fit, and which of them cannot be rows.

use std::collections::{BTreeMap, HashMap};

use serde_json::Value;

use super::column::Column;
use crate::record::{Record, Rejected};

/// What a database allows.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    pub columns: usize,
    /// Of a column's name, in bytes.
    pub name: usize,
}

#[derive(Clone)]
pub struct Shape {
    columns: Vec<(String, Column)>,
    /// By name in lower case: most databases do not tell upper case from lower, so none is asked to.
    places: HashMap<String, usize>,
    limits: Limits,
}

/// What has to change before records can be written.
#[derive(Debug, Default, PartialEq)]
pub struct Growth {
    pub added: Vec<usize>,
    /// Columns that were there, as they were.
    pub widened: BTreeMap<usize, Column>,
}

impl Growth {
    pub fn is_none(&self) -> bool {
        self.added.is_empty() && self.widened.is_empty()
    }
}

impl Shape {
    pub fn new(columns: Vec<(String, Column)>, limits: Limits) -> Self {
        let places = columns.iter().enumerate().map(|(no, (name, _))| (name.to_lowercase(), no)).collect();
        Self { columns, places, limits }
    }

    pub fn columns(&self) -> &[(String, Column)] {
        &self.columns
    }

    pub fn is_empty(&self) -> bool {
        self.columns.is_empty()
    }

    /// Says that a column is another than it seemed.
    pub fn set(&mut self, place: usize, column: Column) {
        self.columns[place].1 = column;
    }

    /// Fields mostly come in the same order as the columns.
    pub fn place(&self, name: &str, expected: usize) -> Option<usize> {
        match self.columns.get(expected) {
            Some((column, _)) if column == name => Some(expected),
            _ => self.places.get(&name.to_lowercase()).copied(),
        }
    }

    /// Adds and widens columns until every record fits.
    pub fn fit(&mut self, records: &[Record]) -> Growth {
        let mut growth = Growth::default();
        let before = self.columns.len();
        // What one record widens may no longer hold a value of another before it.
        while self.fit_once(records, before, &mut growth) {}
        growth
    }

    fn fit_once(&mut self, records: &[Record], before: usize, growth: &mut Growth) -> bool {
        let mut has_widened = false;
        for record in records {
            let mut expected = 0;
            for (name, value) in record {
                let Some(column) = Column::of(value) else { continue };
                match self.place(name, expected) {
                    Some(place) => {
                        expected = place + 1;
                        let now = self.columns[place].1;
                        if !now.holds(value) {
                            has_widened = true;
                            self.columns[place].1 = now.widened(value);
                            if place < before {
                                growth.widened.entry(place).or_insert(now);
                            }
                        }
                    }
                    None if self.has_room_for(name).is_ok() => {
                        growth.added.push(self.columns.len());
                        self.places.insert(name.to_lowercase(), self.columns.len());
                        self.columns.push((name.clone(), column));
                    }
                    None => {}
                }
            }
        }
        has_widened
    }

    fn has_room_for(&self, name: &str) -> Result<(), String> {
        let Limits { columns, name: longest } = self.limits;
        match () {
            () if name.is_empty() || name.contains('\0') => Err(format!("{name:?} cannot be the name of a column")),
            () if name.len() > longest => {
                Err(format!("the name of the field {name:?} is too long for a column: at most {longest} bytes"))
            }
            () if self.columns.len() >= columns => {
                Err(format!("there is no place for a column {name:?}: a table has at most {columns}"))
            }
            () => Ok(()),
        }
    }

    /// Why a record cannot be a row.
    pub fn clash(&self, record: &Record) -> Option<String> {
        let mut expected = 0;
        for (name, value) in record {
            match self.place(name, expected) {
                Some(place) if self.columns[place].0 != *name && record.contains_key(&self.columns[place].0) => {
                    return Some(format!("the fields {name:?} and {:?} would be one column", self.columns[place].0));
                }
                Some(place) => expected = place + 1,
                None if value.is_null() => {}
                None => return self.has_room_for(name).err().or(Some(format!("there is no column {name:?}"))),
            }
        }
        None
    }

    /// Takes out the records that cannot be rows.
    pub fn sift(&self, table: &str, records: Vec<Record>, rejected: &mut Vec<Rejected>) -> Vec<Record> {
        let mut kept = Vec::with_capacity(records.len());
        for record in records {
            match self.clash(&record) {
                None => kept.push(record),
                Some(reason) => {
                    let record = Value::Object(record);
                    rejected.push(Rejected { table: table.to_owned(), record, reason });
                }
            }
        }
        kept
    }

    /// The values of a record by column; null where it has none.
    pub fn row<'a>(&self, record: &'a Record) -> Vec<&'a Value> {
        let mut row = vec![&Value::Null; self.columns.len()];
        let mut expected = 0;
        for (name, value) in record {
            if let Some(place) = self.place(name, expected) {
                expected = place + 1;
                row[place] = value;
            }
        }
        row
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn records(value: Value) -> Vec<Record> {
        serde_json::from_value(value).unwrap()
    }

    fn shape(columns: &[(&str, Column)]) -> Shape {
        let columns = columns.iter().map(|(name, column)| ((*name).to_owned(), *column)).collect();
        Shape::new(columns, Limits { columns: 3, name: 10 })
    }

    #[test]
    fn what_is_widened_holds_what_came_before_too() {
        let mut table = shape(&[]);
        let growth = table.fit(&records(json!([{ "n": i64::MAX }, { "n": 1.5 }])));
        assert_eq!(growth, Growth { added: vec![0], ..Growth::default() });
        assert_eq!(table.columns()[0].1, Column::Text);
        let mut table = shape(&[("n", Column::Integer)]);
        let growth = table.fit(&records(json!([{ "n": 1 }, { "n": 1.5 }, { "n": "x" }])));
        assert_eq!(growth.widened, BTreeMap::from([(0, Column::Integer)]), "as it was before all of it");
        assert_eq!(table.columns()[0].1, Column::Text);
    }

    #[test]
    fn a_record_that_cannot_be_a_row_is_put_aside_with_its_reason() {
        let mut table = shape(&[("id", Column::Integer)]);
        let all = records(json!([
            { "id": 1, "ID": 2 }, { "id": 2, "": 1 }, { "id": 3, "very-long-name": 1 },
            { "id": 4, "a": 1, "b": 2 }, { "id": 5, "c": 1 }, { "id": 6, "d": null }, { "ID": 7 },
        ]));
        table.fit(&all);
        let mut rejected = Vec::new();
        let kept = table.sift("t", all, &mut rejected);
        assert_eq!(kept.len(), 3);
        let reasons: Vec<&str> = rejected.iter().map(|letter| letter.reason.as_str()).collect();
        for (reason, said) in reasons.iter().zip(["one column", "cannot be the name", "too long", "at most 3"]) {
            assert!(reason.contains(said), "{reason}");
        }
        assert_eq!(table.row(&kept[2])[0], &json!(7));
    }
}
