//! Texts of 1,024 rows, column by column and compressed. They are laid on a shelf, outside of memory, and taken from it
//! when a question needs them.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

/// Rows of a block.
pub const BLOCK: usize = if cfg!(test) { 8 } else { 1_024 };
const LEVEL: i32 = 1;

/// Where compressed texts lie.
pub trait Shelf: Send + Sync + fmt::Debug {
    fn put(&self, bytes: Vec<u8>) -> io::Result<u64>;
    fn get(&self, place: u64) -> io::Result<Vec<u8>>;
    /// Nobody asks for it again.
    fn forget(&self, place: u64);
}

/// A shelf in memory, for small tables and tests.
#[derive(Debug, Default)]
pub struct InMemory {
    kept: Mutex<(u64, BTreeMap<u64, Vec<u8>>)>,
}

impl Shelf for InMemory {
    fn put(&self, bytes: Vec<u8>) -> io::Result<u64> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.0 += 1;
        let place = kept.0;
        kept.1.insert(place, bytes);
        Ok(place)
    }

    fn get(&self, place: u64) -> io::Result<Vec<u8>> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.1.get(&place).cloned().ok_or_else(|| io::Error::other("nothing lies there"))
    }

    fn forget(&self, place: u64) {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).1.remove(&place);
    }
}

/// One text per row of a block, or none.
pub type Texts = Vec<Option<String>>;

/// A column of texts of a block.
#[derive(Debug)]
pub struct Laid {
    shelf: Arc<dyn Shelf>,
    place: u64,
}

impl Laid {
    pub fn lay(shelf: &Arc<dyn Shelf>, texts: &[Option<&str>]) -> io::Result<Self> {
        let place = shelf.put(zstd::bulk::compress(&encode(texts), LEVEL)?)?;
        Ok(Self { shelf: shelf.clone(), place })
    }

    /// What lies at a place already.
    pub fn at(shelf: &Arc<dyn Shelf>, place: u64) -> Self {
        Self { shelf: shelf.clone(), place }
    }

    /// Compressed, as it lies there.
    pub fn bytes(&self) -> io::Result<Vec<u8>> {
        self.shelf.get(self.place)
    }

    pub fn take(&self) -> io::Result<Texts> {
        let bytes = zstd::stream::decode_all(self.shelf.get(self.place)?.as_slice())?;
        decode(&bytes).ok_or_else(|| io::Error::other("a block of texts is damaged"))
    }
}

impl Drop for Laid {
    fn drop(&mut self) {
        self.shelf.forget(self.place);
    }
}

/// Their number, the length of each plus one (0: none), and all of them.
fn encode(texts: &[Option<&str>]) -> Vec<u8> {
    let number = |number: usize| (number as u32).to_le_bytes();
    let mut bytes = number(texts.len()).to_vec();
    texts.iter().for_each(|text| bytes.extend(number(text.map_or(0, |text| text.len() + 1))));
    texts.iter().flatten().for_each(|text| bytes.extend(text.as_bytes()));
    bytes
}

fn decode(bytes: &[u8]) -> Option<Texts> {
    let number = |at: usize| Some(u32::from_le_bytes(bytes.get(at * 4..at * 4 + 4)?.try_into().ok()?) as usize);
    let count = number(0)?;
    let mut from = (count + 1) * 4;
    let mut text = |no: usize| {
        let Some(len) = number(no + 1)?.checked_sub(1) else { return Some(None) };
        let text = std::str::from_utf8(bytes.get(from..from + len)?).ok()?;
        from += len;
        Some(Some(text.to_owned()))
    };
    (0..count).map(&mut text).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_come_back_and_are_forgotten_with_their_block() {
        let kept = Arc::new(InMemory::default());
        let shelf: Arc<dyn Shelf> = kept.clone();
        let texts = [Some("größe"), None, Some(""), Some("x")];
        let laid = Laid::lay(&shelf, &texts).unwrap();
        assert_eq!(laid.take().unwrap(), texts.map(|text| text.map(str::to_owned)));
        drop(laid);
        assert!(kept.kept.lock().unwrap().1.is_empty());
        assert_eq!(decode(&[9, 0, 0, 0, 1]), None);
    }
}
