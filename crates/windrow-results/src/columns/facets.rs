//! Values counted, and rows grouped by them, as `summary` does it of the same rows.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io;

use crate::columns::arrays::Ints;
use crate::columns::at::{At, Readers};
use crate::columns::sheet::FieldColumn;
use crate::columns::{Grid, Pairs, SEGMENT};
use crate::query::{Grouping, Kind, Name, Value, of_json};
use crate::summary::{self, Bucket, Buckets, EXACT_NUMBERS, Facet, Group};

impl Grid {
    pub fn facet(&self, slots: &[u32], name: &Name, pairs: Option<&Pairs>) -> io::Result<Facet> {
        let mut readers = Readers::of(self);
        if matches!(name.kind(), Kind::Number | Kind::Time) {
            let (mut numbers, mut null) = (Vec::with_capacity(slots.len()), 0);
            for slot in slots {
                match self.value(*slot, name, pairs, &mut readers)? {
                    Value::Number(number) => numbers.push(number),
                    value => null += i64::from(value.is_null()),
                }
            }
            return Ok(summary::range(name.to_string(), &numbers, null));
        }
        let mut counts: HashMap<String, i64> = HashMap::new();
        let (mut null, mut by_code) = (0, Vec::<i64>::new());
        for slot in slots {
            if let Some(code) = self.code_of(*slot, name) {
                by_code.resize(by_code.len().max(code + 1), 0);
                by_code[code] += 1;
                continue;
            }
            let value = self.value(*slot, name, pairs, &mut readers)?;
            if value.is_null() {
                null += 1;
                continue;
            }
            let text = value.text();
            match counts.get_mut(text.as_ref()) {
                Some(count) => *count += 1,
                None => drop(counts.insert(text.into_owned(), 1)),
            }
        }
        for (code, count) in by_code.into_iter().enumerate().filter(|(_, count)| *count > 0) {
            match self.word(name, code) {
                Value::Null => null += count,
                value => *counts.entry(value.text().into_owned()).or_default() += count,
            }
        }
        Ok(summary::values(name.to_string(), counts.into_iter().collect(), null))
    }

    /// As [`summary::groups`].
    pub fn groups(&self, slots: &[u32], grouping: &Grouping, pairs: Option<&Pairs>) -> io::Result<Vec<Group>> {
        let (mut readers, name) = (Readers::of(self), &grouping.name);
        let buckets = match grouping.width {
            Some(width) => Buckets::Width(width),
            None if matches!(name.kind(), Kind::Number | Kind::Time) => {
                let (mut distinct, mut low, mut high) = (BTreeSet::new(), f64::INFINITY, f64::NEG_INFINITY);
                for slot in slots {
                    if let Value::Number(number) = self.value(*slot, name, pairs, &mut readers)? {
                        (low, high) = (low.min(number), high.max(number));
                        if distinct.len() <= EXACT_NUMBERS {
                            distinct.insert(number.to_bits());
                        }
                    }
                }
                if distinct.len() > EXACT_NUMBERS { Buckets::Parts(low, high) } else { Buckets::Values }
            }
            None => Buckets::Values,
        };
        let label = summary::label(buckets);
        let mut by_value: BTreeMap<Option<Bucket>, Vec<u32>> = BTreeMap::new();
        let mut by_code: Vec<Vec<u32>> = Vec::new();
        for slot in slots {
            if let Some(code) = self.code_of(*slot, name) {
                by_code.resize(by_code.len().max(code + 1), Vec::new());
                by_code[code].push(*slot);
                continue;
            }
            let value = self.value(*slot, name, pairs, &mut readers)?;
            by_value.entry(label(&value)).or_default().push(*slot);
        }
        for (code, slots) in by_code.into_iter().enumerate().filter(|(_, slots)| !slots.is_empty()) {
            by_value.entry(label(&self.word(name, code))).or_default().extend(slots);
        }
        let group = |(bucket, slots): (Option<Bucket>, Vec<u32>)| Group {
            value: bucket.map(|bucket| bucket.1),
            n: slots.len() as i64,
            outcomes: self.header(&slots).outcomes,
            metrics: self.metrics(&slots, pairs),
        };
        Ok(summary::in_order(by_value.into_iter().map(group).collect(), grouping))
    }

    /// The code of the word of a row, where a name has codes.
    fn code_of(&self, slot: u32, name: &Name) -> Option<usize> {
        let At::Sheet(sheet, at) = self.at(slot) else { return None };
        let codes: &Ints = match name {
            Name::Field(field, kind) if *kind != Kind::Number => match sheet.fields.get(field)? {
                FieldColumn::Words(codes) => codes,
                _ => return None,
            },
            Name::Variant => sheet.variant.as_ref()?,
            _ => return None,
        };
        debug_assert!(at < SEGMENT);
        codes.get(at).map(|code| code as usize)
    }

    fn word(&self, name: &Name, code: usize) -> Value<'_> {
        match name {
            Name::Field(field, kind) => match self.lexicon.field(field) {
                Some(words) => of_json(words.get(code as u32), *kind),
                None => Value::Null,
            },
            _ => self.lexicon.variant(code as i64).map_or(Value::Null, |word| Value::Text(word.into())),
        }
    }
}
