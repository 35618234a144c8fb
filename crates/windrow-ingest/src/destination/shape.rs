//! The columns of one table as they stand, whatever database it is in: where a field goes, what has to be
//! added or widened so that records fit, and which of them cannot be rows.

use std::collections::{BTreeMap, HashMap};

use serde_json::Value;
use windrow_model::ingest::{TypeAction, TypeChange};

use crate::column::{Column, OnTypeChange, Types};
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

/// Records that fit, and what has to change for them.
#[derive(Debug, Default)]
pub struct Fitted {
    pub records: Vec<Record>,
    pub growth: Growth,
    /// Columns that become wider, as they were, and how many records did not fit.
    pub widened: Vec<(String, Column, i64)>,
    pub rejected: Vec<Rejected>,
    /// What was refused.
    pub refused: Vec<TypeChange>,
    /// Nothing may be written.
    pub stopped: Option<TypeChange>,
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

    /// Takes out what may not change the type of a column, and makes room for the rest.
    pub fn adapt(&mut self, table: &str, records: Vec<Record>, types: &Types) -> Fitted {
        let mut fitted = Fitted::default();
        if let Some(change) = self.misdeclared(table, types) {
            return Fitted { stopped: Some(change), ..fitted };
        }
        for record in records {
            match self.misfit(table, &record, types) {
                None => fitted.records.push(record),
                Some(change) if types.on_change == OnTypeChange::Stop => {
                    return Fitted { stopped: Some(TypeChange { action: TypeAction::Stopped, ..change }), ..fitted };
                }
                Some(change) => {
                    let TypeChange { column, from, to, .. } = &change;
                    let reason = format!("its field {column:?} is of type {to}, and the column is {from}");
                    let record = Value::Object(record);
                    fitted.rejected.push(Rejected { table: table.to_owned(), record, reason });
                    change.add_to(&mut fitted.refused);
                }
            }
        }
        fitted.growth = self.fit(&fitted.records, types);
        let widened = fitted.growth.widened.iter().map(|(place, was)| {
            let name = &self.columns[*place].0;
            let odd = |record: &&Record| record.get(name).is_some_and(|value| !was.holds(value));
            (name.clone(), *was, fitted.records.iter().filter(odd).count() as i64)
        });
        fitted.widened = widened.collect();
        fitted
    }

    /// A column that is there and is not what the plan declares.
    fn misdeclared(&self, table: &str, types: &Types) -> Option<TypeChange> {
        types.columns.iter().find_map(|(name, declared)| {
            let (column, now) = &self.columns[self.place(name, 0)?];
            let (from, to) = (now.to_string(), declared.to_string());
            let (table, column) = (table.to_owned(), column.clone());
            let change = TypeChange { table, column, from, to, action: TypeAction::Stopped, records: 0 };
            (!now.is_as_declared(*declared)).then_some(change)
        })
    }

    /// The first field that does not fit its column, where the column must stay as it is.
    fn misfit(&self, table: &str, record: &Record, types: &Types) -> Option<TypeChange> {
        let mut expected = 0;
        for (name, value) in record {
            let Some(found) = Column::of(value) else { continue };
            let place = self.place(name, expected);
            expected = place.map_or(expected, |place| place + 1);
            let Some(column) = place.map(|place| self.columns[place].1).or_else(|| types.declared(name)) else {
                continue;
            };
            // Some databases have no type for JSON and show it as text, so the declaration comes first.
            let column = types.declared(name).unwrap_or(column);
            if !column.holds(value) && !types.may_widen(name, column) {
                let (table, column_name) = (table.to_owned(), name.clone());
                let (from, to) = (column.to_string(), found.to_string());
                let action = TypeAction::Rejected;
                return Some(TypeChange { table, column: column_name, from, to, action, records: 1 });
            }
        }
        None
    }

    /// What has become of columns, now that the table has changed.
    pub fn widened(&self, table: &str, before: &[(String, Column, i64)]) -> Vec<TypeChange> {
        let now = |name: &str| self.place(name, 0).map(|place| self.columns[place].1);
        let change = |(name, was, records): &(String, Column, i64)| {
            let (table, column, from) = (table.to_owned(), name.clone(), was.to_string());
            let to = now(name)?.to_string();
            Some(TypeChange { table, column, from, to, action: TypeAction::Widened, records: *records })
        };
        before.iter().filter_map(change).collect()
    }

    /// Adds and widens columns until every record fits.
    fn fit(&mut self, records: &[Record], types: &Types) -> Growth {
        let mut growth = Growth::default();
        let before = self.columns.len();
        // What one record widens may no longer hold a value of another before it.
        while self.fit_once(records, before, types, &mut growth) {}
        growth
    }

    fn fit_once(&mut self, records: &[Record], before: usize, types: &Types, growth: &mut Growth) -> bool {
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
                        self.columns.push((name.clone(), types.declared(name).unwrap_or(column)));
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
                Err(format!("cannot add column {name:?}: a table has at most {columns}"))
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
                None => return self.has_room_for(name).err().or(Some(format!("column {name:?} not found"))),
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
        let growth = table.fit(&records(json!([{ "n": i64::MAX }, { "n": 1.5 }])), &Types::default());
        assert_eq!(growth, Growth { added: vec![0], ..Growth::default() });
        assert_eq!(table.columns()[0].1, Column::Text);
        let mut table = shape(&[("n", Column::Integer)]);
        let growth = table.fit(&records(json!([{ "n": 1 }, { "n": 1.5 }, { "n": "x" }])), &Types::default());
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
        table.fit(&all, &Types::default());
        let mut rejected = Vec::new();
        let kept = table.sift("t", all, &mut rejected);
        assert_eq!(kept.len(), 3);
        let reasons: Vec<&str> = rejected.iter().map(|letter| letter.reason.as_str()).collect();
        for (reason, said) in reasons.iter().zip(["one column", "cannot be the name", "too long", "at most 3"]) {
            assert!(reason.contains(said), "{reason}");
        }
        assert_eq!(table.row(&kept[2])[0], &json!(7));
    }

    #[test]
    fn a_value_of_another_type_widens_is_put_aside_or_stops_as_the_plan_says() {
        let all = json!([{ "n": 1 }, { "n": "x" }, { "n": 2 }, { "n": "y" }]);
        let with = |on_change| {
            let types = Types { on_change, ..Types::default() };
            let mut table = shape(&[("n", Column::Integer)]);
            let fitted = table.adapt("t", records(all.clone()), &types);
            (fitted, table)
        };
        let (fitted, table) = with(OnTypeChange::Widen);
        assert_eq!((fitted.records.len(), fitted.rejected.len()), (4, 0));
        let [change] = &table.widened("t", &fitted.widened)[..] else { panic!("one change") };
        assert_eq!((change.from.as_str(), change.to.as_str(), change.records), ("integer", "text", 2));

        let (fitted, table) = with(OnTypeChange::Reject);
        assert_eq!((fitted.records.len(), fitted.rejected.len(), table.columns()[0].1), (2, 2, Column::Integer));
        assert_eq!((fitted.refused.len(), fitted.refused[0].records), (1, 2));
        assert!(fitted.growth.is_none());

        let (fitted, table) = with(OnTypeChange::Stop);
        assert_eq!(fitted.stopped.unwrap().action, TypeAction::Stopped);
        assert_eq!(table.columns()[0].1, Column::Integer);
    }

    #[test]
    fn a_declared_column_is_made_as_declared_and_stays_so() {
        let types = Types { columns: BTreeMap::from([("at".to_owned(), Column::Timestamp)]), ..Types::default() };
        let mut table = shape(&[]);
        let all = json!([{ "at": "2026-01-01T00:00:00Z" }, { "at": "soon" }, { "AT": null }]);
        let fitted = table.adapt("t", records(all), &types);
        assert_eq!((fitted.records.len(), fitted.rejected.len(), table.columns()[0].1), (2, 1, Column::Timestamp));
        let mut other = shape(&[("at", Column::Integer)]);
        let stopped = other.adapt("t", Vec::new(), &types).stopped.unwrap();
        assert_eq!((stopped.from.as_str(), stopped.to.as_str()), ("integer", "timestamp"));
    }
}
