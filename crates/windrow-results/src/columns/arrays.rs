//! Typed arrays of one column of one segment: as narrow as their values allow.

use crate::columns::bytes::{Put, Take};

/// One bit per row.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Bits(Vec<u64>);

impl Bits {
    pub fn new(len: usize) -> Self {
        Self(vec![0; len.div_ceil(64)])
    }

    /// All of the first `len`.
    pub fn full(len: usize) -> Self {
        let mut bits = Self(vec![u64::MAX; len.div_ceil(64)]);
        if let (Some(last), 1..) = (bits.0.last_mut(), len % 64) {
            *last = (1 << (len % 64)) - 1;
        }
        bits
    }

    pub fn put(&self, out: &mut Put) {
        out.ints(self.0.iter().map(|word| *word as i64));
    }

    pub fn take(from: &mut Take) -> Option<Self> {
        Some(Self(from.ints()?.into_iter().map(|word| word as u64).collect()))
    }

    pub fn get(&self, at: usize) -> bool {
        self.0.get(at / 64).is_some_and(|word| word >> (at % 64) & 1 == 1)
    }

    pub fn set(&mut self, at: usize, on: bool) {
        match on {
            true => self.0[at / 64] |= 1 << (at % 64),
            false => self.0[at / 64] &= !(1 << (at % 64)),
        }
    }

    pub fn and(&mut self, other: &Bits) {
        self.0.iter_mut().zip(&other.0).for_each(|(a, b)| *a &= b);
    }

    pub fn or(&mut self, other: &Bits) {
        self.0.iter_mut().zip(&other.0).for_each(|(a, b)| *a |= b);
    }

    /// The complement among the first `len`.
    pub fn not(&mut self, len: usize) {
        let all = Self::full(len);
        self.0.iter_mut().zip(&all.0).for_each(|(a, all)| *a = !*a & all);
    }

    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|word| *word == 0)
    }

    pub fn ones(&self) -> impl Iterator<Item = usize> + '_ {
        self.0.iter().enumerate().flat_map(|(no, word)| {
            let mut rest = *word;
            std::iter::from_fn(move || {
                let bit = (rest != 0).then(|| rest.trailing_zeros() as usize)?;
                rest &= rest - 1;
                Some(no * 64 + bit)
            })
        })
    }
}

/// Whole numbers, relative to the lowest. The highest code stands for what is not there.
#[derive(Debug, Clone, PartialEq)]
pub enum Ints {
    Same(Option<i64>),
    Bytes { base: i64, codes: Box<[u8]> },
    Shorts { base: i64, codes: Box<[u16]> },
    Words { base: i64, codes: Box<[u32]> },
    Wide(Box<[Option<i64>]>),
}

impl Ints {
    pub fn of(values: &[Option<i64>]) -> Self {
        let first = values.first().copied().flatten();
        if values.iter().all(|value| *value == first) {
            return Ints::Same(first);
        }
        let (low, high) = values.iter().flatten().fold((i64::MAX, i64::MIN), |(l, h), v| (l.min(*v), h.max(*v)));
        let span = high.checked_sub(low).map_or(u64::MAX, |span| span as u64);
        let base = low;
        let code = |value: &Option<i64>| value.map(|value| value.wrapping_sub(base) as u64);
        match span {
            0..0xff => {
                Ints::Bytes { base, codes: values.iter().map(|v| code(v).map_or(u8::MAX, |c| c as u8)).collect() }
            }
            0xff..0xffff => {
                Ints::Shorts { base, codes: values.iter().map(|v| code(v).map_or(u16::MAX, |c| c as u16)).collect() }
            }
            0xffff..0xffff_ffff => {
                Ints::Words { base, codes: values.iter().map(|v| code(v).map_or(u32::MAX, |c| c as u32)).collect() }
            }
            _ => Ints::Wide(values.into()),
        }
    }

    pub fn put(&self, out: &mut Put) {
        match self {
            Ints::Same(value) => {
                out.byte(0);
                out.ints(value.iter().copied().collect::<Vec<_>>().into_iter());
            }
            Ints::Bytes { base, codes } => {
                out.byte(1);
                out.int(*base);
                out.bytes(codes);
            }
            Ints::Shorts { base, codes } => {
                out.byte(2);
                out.int(*base);
                out.bytes(&codes.iter().flat_map(|code| code.to_le_bytes()).collect::<Vec<_>>());
            }
            Ints::Words { base, codes } => {
                out.byte(3);
                out.int(*base);
                out.bytes(&codes.iter().flat_map(|code| code.to_le_bytes()).collect::<Vec<_>>());
            }
            Ints::Wide(values) => {
                let mut there = Bits::new(values.len());
                values.iter().enumerate().for_each(|(at, value)| there.set(at, value.is_some()));
                out.byte(4);
                there.put(out);
                out.ints(values.iter().map(|value| value.unwrap_or_default()));
            }
        }
    }

    /// Of so many rows.
    pub fn take(from: &mut Take, rows: usize) -> Option<Self> {
        let found = match from.byte()? {
            0 => return Some(Ints::Same(from.ints()?.first().copied())),
            1 => Ints::Bytes { base: from.int()?, codes: from.bytes()?.into() },
            2 => {
                let (base, bytes) = (from.int()?, from.bytes()?);
                let code = |two: &[u8]| u16::from_le_bytes([two[0], two[1]]);
                Ints::Shorts { base, codes: bytes.chunks_exact(2).map(code).collect() }
            }
            3 => {
                let (base, bytes) = (from.int()?, from.bytes()?);
                let code = |four: &[u8]| u32::from_le_bytes([four[0], four[1], four[2], four[3]]);
                Ints::Words { base, codes: bytes.chunks_exact(4).map(code).collect() }
            }
            4 => {
                let there = Bits::take(from)?;
                let value = |(at, value): (usize, i64)| there.get(at).then_some(value);
                Ints::Wide(from.ints()?.into_iter().enumerate().map(value).collect())
            }
            _ => return None,
        };
        let len = match &found {
            Ints::Same(_) => rows,
            Ints::Bytes { codes, .. } => codes.len(),
            Ints::Shorts { codes, .. } => codes.len(),
            Ints::Words { codes, .. } => codes.len(),
            Ints::Wide(values) => values.len(),
        };
        (len == rows).then_some(found)
    }

    pub fn get(&self, at: usize) -> Option<i64> {
        match self {
            Ints::Same(value) => *value,
            Ints::Bytes { base, codes } => (codes[at] != u8::MAX).then(|| base + i64::from(codes[at])),
            Ints::Shorts { base, codes } => (codes[at] != u16::MAX).then(|| base + i64::from(codes[at])),
            Ints::Words { base, codes } => (codes[at] != u32::MAX).then(|| base + i64::from(codes[at])),
            Ints::Wide(values) => values[at],
        }
    }

    /// Of a column without gaps.
    pub fn number(&self, at: usize) -> i64 {
        self.get(at).unwrap_or_default()
    }
}

/// Numbers with fractions; one code each where few are different.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum Floats {
    #[default]
    Nothing,
    Codes {
        values: Box<[f64]>,
        codes: Box<[u8]>,
    },
    Plain {
        values: Box<[f64]>,
        there: Option<Bits>,
    },
}

const NO_CODE: u8 = u8::MAX;

impl Floats {
    pub fn of(numbers: &[Option<f64>]) -> Self {
        if numbers.iter().all(Option::is_none) {
            return Floats::Nothing;
        }
        let mut distinct: Vec<u64> = Vec::new();
        let mut codes = Vec::with_capacity(numbers.len());
        for number in numbers {
            let Some(bits) = number.map(f64::to_bits) else {
                codes.push(NO_CODE);
                continue;
            };
            match distinct.iter().position(|known| *known == bits) {
                Some(code) => codes.push(code as u8),
                None if distinct.len() < 64 => {
                    codes.push(distinct.len() as u8);
                    distinct.push(bits);
                }
                None => return Self::plain(numbers),
            }
        }
        Floats::Codes { values: distinct.into_iter().map(f64::from_bits).collect(), codes: codes.into() }
    }

    fn plain(numbers: &[Option<f64>]) -> Self {
        let mut there = Bits::new(numbers.len());
        numbers.iter().enumerate().for_each(|(at, number)| there.set(at, number.is_some()));
        let gaps = numbers.iter().any(Option::is_none);
        let values = numbers.iter().map(|number| number.unwrap_or_default()).collect();
        Floats::Plain { values, there: gaps.then_some(there) }
    }

    pub fn put(&self, out: &mut Put) {
        match self {
            Floats::Nothing => out.byte(0),
            Floats::Codes { values, codes } => {
                out.byte(1);
                out.ints(values.iter().map(|value| value.to_bits() as i64));
                out.bytes(codes);
            }
            Floats::Plain { values, there } => {
                out.byte(if there.is_some() { 3 } else { 2 });
                out.ints(values.iter().map(|value| value.to_bits() as i64));
                there.iter().for_each(|there| there.put(out));
            }
        }
    }

    /// Of so many rows.
    pub fn take(from: &mut Take, rows: usize) -> Option<Self> {
        let floats = |from: &mut Take| -> Option<Box<[f64]>> {
            Some(from.ints()?.into_iter().map(|bits| f64::from_bits(bits as u64)).collect())
        };
        let found = match from.byte()? {
            0 => return Some(Floats::Nothing),
            1 => Floats::Codes { values: floats(from)?, codes: from.bytes()?.into() },
            2 => Floats::Plain { values: floats(from)?, there: None },
            3 => Floats::Plain { values: floats(from)?, there: Some(Bits::take(from)?) },
            _ => return None,
        };
        let len = match &found {
            Floats::Nothing => rows,
            Floats::Codes { codes, .. } => codes.len(),
            Floats::Plain { values, .. } => values.len(),
        };
        (len == rows).then_some(found)
    }

    pub fn get(&self, at: usize) -> Option<f64> {
        match self {
            Floats::Nothing => None,
            Floats::Codes { values, codes } => values.get(usize::from(codes[at])).copied(),
            Floats::Plain { values, there } => there.as_ref().is_none_or(|there| there.get(at)).then(|| values[at]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn values_come_back(
            ints in prop::collection::vec(prop::option::of(prop_oneof![0i64..9, -9i64..70_000, any::<i64>()]), 0..200),
            floats in prop::collection::vec(prop::option::of(prop_oneof![Just(0.5), -2.0f64..2.0]), 0..200),
        ) {
            let column = Ints::of(&ints);
            prop_assert!(ints.iter().enumerate().all(|(at, value)| column.get(at) == *value));
            let mut kept = Put::default();
            column.put(&mut kept);
            prop_assert_eq!(Ints::take(&mut Take(&kept.0), ints.len()), Some(column));
            prop_assert_eq!(Ints::take(&mut Take(&kept.0[..kept.0.len() - 1]), ints.len()), None);
            let column = Floats::of(&floats);
            prop_assert!(floats.iter().enumerate().all(|(at, value)| column.get(at) == *value));
            let mut kept = Put::default();
            column.put(&mut kept);
            prop_assert_eq!(Floats::take(&mut Take(&kept.0), floats.len()), Some(column));
        }

        #[test]
        fn bits_are_sets(set in prop::collection::vec(any::<bool>(), 0..300)) {
            let mut bits = Bits::new(set.len());
            set.iter().enumerate().for_each(|(at, on)| bits.set(at, *on));
            let ones: Vec<usize> = set.iter().enumerate().filter(|(_, on)| **on).map(|(at, _)| at).collect();
            prop_assert_eq!(bits.ones().collect::<Vec<_>>(), ones);
            prop_assert_eq!(bits.ones().count(), set.iter().filter(|on| **on).count());
            bits.not(set.len());
            prop_assert_eq!(bits.ones().count(), set.iter().filter(|on| !**on).count());
        }
    }
}
