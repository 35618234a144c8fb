//! Numbers and arrays as bytes, little end first, and back. What reads refuses bytes that do not fit; nothing else is
//! checked here.

use serde::Serialize;
use serde::de::DeserializeOwned;

#[derive(Debug, Default)]
pub struct Put(pub Vec<u8>);

impl Put {
    pub fn byte(&mut self, byte: u8) {
        self.0.push(byte);
    }

    pub fn int(&mut self, int: i64) {
        self.0.extend(int.to_le_bytes());
    }

    pub fn len(&mut self, len: usize) {
        self.0.extend((len as u64).to_le_bytes());
    }

    pub fn bytes(&mut self, bytes: &[u8]) {
        self.len(bytes.len());
        self.0.extend(bytes);
    }

    pub fn ints(&mut self, ints: impl ExactSizeIterator<Item = i64>) {
        self.len(ints.len());
        ints.for_each(|int| self.int(int));
    }

    pub fn json(&mut self, value: &impl Serialize) -> std::io::Result<()> {
        self.bytes(&serde_json::to_vec(value)?);
        Ok(())
    }
}

#[derive(Debug)]
pub struct Take<'a>(pub &'a [u8]);

impl<'a> Take<'a> {
    fn some(&mut self, len: usize) -> Option<&'a [u8]> {
        let (found, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(found)
    }

    pub fn byte(&mut self) -> Option<u8> {
        self.some(1).map(|found| found[0])
    }

    pub fn int(&mut self) -> Option<i64> {
        Some(i64::from_le_bytes(self.some(8)?.try_into().ok()?))
    }

    pub fn len(&mut self) -> Option<usize> {
        usize::try_from(u64::from_le_bytes(self.some(8)?.try_into().ok()?)).ok()
    }

    pub fn bytes(&mut self) -> Option<&'a [u8]> {
        let len = self.len()?;
        self.some(len)
    }

    pub fn ints(&mut self) -> Option<Vec<i64>> {
        let len = self.len()?.checked_mul(8)?;
        let int = |bytes: &[u8]| i64::from_le_bytes(std::array::from_fn(|at| bytes[at]));
        Some(self.some(len)?.chunks_exact(8).map(int).collect())
    }

    pub fn json<T: DeserializeOwned>(&mut self) -> Option<T> {
        serde_json::from_slice(self.bytes()?).ok()
    }
}
