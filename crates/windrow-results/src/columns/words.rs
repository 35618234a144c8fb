//! Words of all rows that repeat: a column has their codes. Words are only added.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use serde_json::Value;

use crate::columns::bytes::{Put, Take};
use crate::row::ResultRow;

/// More different words than this stay with the texts.
const MOST: usize = if cfg!(test) { 12 } else { 20_000 };
const MOST_BYTES: usize = 2 << 20;

#[derive(Debug, Clone, Default)]
pub struct Words {
    words: Vec<Value>,
    codes: HashMap<String, u32>,
    bytes: usize,
}

impl Words {
    pub fn get(&self, code: u32) -> &Value {
        &self.words[code as usize]
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.words.len()
    }

    fn of(words: Vec<Value>) -> Option<Self> {
        let mut all = Self::default();
        words.iter().try_for_each(|word| all.add(word).map(drop))?;
        Some(all)
    }

    fn code(&self, word: &Value) -> Option<u32> {
        self.codes.get(&word.to_string()).copied()
    }

    /// `None` if there are too many.
    fn add(&mut self, word: &Value) -> Option<u32> {
        let text = word.to_string();
        if let Some(code) = self.codes.get(&text) {
            return Some(*code);
        }
        if self.words.len() >= MOST || self.bytes + text.len() > MOST_BYTES {
            return None;
        }
        let code = self.words.len() as u32;
        self.bytes += text.len();
        self.words.push(word.clone());
        self.codes.insert(text, code);
        Some(code)
    }
}

/// The words of every field, and the variants.
#[derive(Debug, Clone, Default)]
pub struct Lexicon {
    fields: BTreeMap<String, Arc<Words>>,
    pub variants: Arc<Words>,
}

impl Lexicon {
    pub fn put(&self, out: &mut Put) -> std::io::Result<()> {
        let fields: BTreeMap<&String, &Vec<Value>> =
            self.fields.iter().map(|(name, words)| (name, &words.words)).collect();
        out.json(&(fields, &self.variants.words))
    }

    pub fn take(from: &mut Take) -> Option<Self> {
        let (fields, variants): (BTreeMap<String, Vec<Value>>, Vec<Value>) = from.json()?;
        let words = |(name, words)| Some((name, Arc::new(Words::of(words)?)));
        Some(Self {
            fields: fields.into_iter().map(words).collect::<Option<_>>()?,
            variants: Arc::new(Words::of(variants)?),
        })
    }

    pub fn field(&self, name: &str) -> Option<&Arc<Words>> {
        self.fields.get(name)
    }

    /// The codes of a field in these rows; `None` if its words do not repeat enough.
    pub fn codes_of(&mut self, name: &str, rows: &[Arc<ResultRow>]) -> Option<Vec<Option<i64>>> {
        let words = self.fields.entry(name.to_owned()).or_default();
        codes(words, rows.iter().map(|row| row.fields.get(name)))
    }

    pub fn variants_of(&mut self, rows: &[Arc<ResultRow>]) -> Option<Vec<Option<i64>>> {
        let variants: Vec<Option<Value>> = rows.iter().map(|row| row.variant.clone().map(Value::String)).collect();
        codes(&mut self.variants, variants.iter().map(Option::as_ref))
    }

    pub fn variant(&self, code: i64) -> Option<&str> {
        self.variants.get(code as u32).as_str()
    }
}

/// The words stay as they were if these are too many.
fn codes<'a>(
    words: &mut Arc<Words>,
    values: impl Iterator<Item = Option<&'a Value>> + Clone,
) -> Option<Vec<Option<i64>>> {
    let known = values.clone().map(|value| match value {
        None => Some(None),
        Some(value) => words.code(value).map(|code| Some(i64::from(code))),
    });
    if let Some(all) = known.collect::<Option<Vec<_>>>() {
        return Some(all);
    }
    let mut more = Words::clone(words);
    let code = |value: Option<&Value>| match value {
        None => Some(None),
        Some(value) => more.add(value).map(|code| Some(i64::from(code))),
    };
    let all = values.map(code).collect::<Option<Vec<_>>>()?;
    *words = Arc::new(more);
    Some(all)
}
