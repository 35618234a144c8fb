//! Rows in the order asked for: by a number that orders as the value does, what is null last, ties as they were.

use std::collections::{BTreeMap, HashMap};
use std::io;

use crate::columns::at::Readers;
use crate::columns::{Grid, Pairs};
use crate::query::{Sort, Value};

const NULL: u64 = u64::MAX;

/// Key, place before, slot.
type Keyed = (u64, u32, u32);

impl Grid {
    /// In the order of the dataset.
    pub(super) fn by_place(&self, slots: &mut [u32]) {
        let place = |slot: u32| (self.at(slot).ordinal(), self.at(slot).item());
        if !slots.is_sorted_by_key(|slot| place(*slot)) {
            slots.sort_by_cached_key(|slot| place(*slot));
        }
    }

    /// Rows that the key does not tell apart stay in their order.
    pub(super) fn sort(&self, slots: &mut Vec<u32>, sort: &Sort, pairs: Option<&Pairs>) -> io::Result<()> {
        let mut keyed = Vec::with_capacity(slots.len());
        let (mut readers, mut texts) = (Readers::of(self), HashMap::<String, u64>::new());
        let words = sort.name.words();
        let mut any_text = false;
        let mut places: Vec<u32> = (0..slots.len() as u32).collect();
        if self.takes_text(&sort.name) {
            // Texts are taken in blocks of slots.
            places.sort_unstable_by_key(|place| slots[*place as usize]);
        }
        for place in places {
            let slot = slots[place as usize];
            let key = match self.value(slot, &sort.name, pairs, &mut readers)? {
                Value::Null => NULL,
                Value::Number(number) => ordered(number),
                value => match &words {
                    Some(words) => {
                        words.iter().position(|word| *word == value.text()).map_or(0, |place| place as u64 + 1)
                    }
                    None => {
                        any_text = true;
                        let text = value.text();
                        match texts.get(text.as_ref()) {
                            Some(code) => *code,
                            None => {
                                let code = texts.len() as u64;
                                texts.insert(text.into_owned(), code);
                                code
                            }
                        }
                    }
                },
            };
            keyed.push((key, place, slot));
        }
        if any_text {
            rank(&mut keyed, texts);
        }
        if sort.descending {
            keyed.iter_mut().filter(|row| row.0 != NULL).for_each(|row| row.0 = NULL - 1 - row.0);
        }
        keyed.sort_unstable();
        slots.clear();
        slots.extend(keyed.into_iter().map(|row| row.2));
        Ok(())
    }
}

/// Orders as `f64::total_cmp`; the highest is left to null.
fn ordered(number: f64) -> u64 {
    let bits = number.to_bits();
    let key = if bits >> 63 == 1 { !bits } else { bits | 1 << 63 };
    key.min(NULL - 1)
}

/// The place of each text among all takes the place of its code.
fn rank(keyed: &mut [Keyed], texts: HashMap<String, u64>) {
    let mut ranks = vec![0; texts.len()];
    let sorted: BTreeMap<String, u64> = texts.into_iter().collect();
    sorted.into_values().enumerate().for_each(|(rank, code)| ranks[code as usize] = rank as u64);
    keyed.iter_mut().filter(|row| row.0 != NULL).for_each(|row| row.0 = ranks[row.0 as usize]);
}
