//! A table as bytes, to be kept where the process that read it has ended. Whoever keeps them checks that they are the
//! same when they come back.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::sync::{Arc, OnceLock};

use crate::columns::bytes::{Put, Take};
use crate::columns::sheet::Sheet;
use crate::columns::texts::Shelf;
use crate::columns::words::Lexicon;
use crate::columns::{Grid, SEGMENT, Segment};
use crate::table::survey::Found;

const LEVEL: i32 = 1;

impl Grid {
    /// The table as bytes. `keep` takes the larger pieces one after the other and says where they lie, so that no more
    /// than one segment is in memory twice.
    pub fn save(&self, keep: &mut dyn FnMut(Vec<u8>) -> io::Result<u64>) -> io::Result<Vec<u8>> {
        let (mut lexicon, mut places) = (self.lexicon.clone(), Vec::new());
        for (no, segment) in self.segments.iter().enumerate() {
            let sheet = match &segment.sheet {
                Some(sheet) if segment.changed.is_empty() => sheet.clone(),
                _ => Arc::new(Sheet::of(&self.rows_of(no)?, &mut lexicon, &self.shelf)?),
            };
            let mut bytes = Put::default();
            sheet.put(&mut bytes, keep)?;
            places.push(keep(zstd::bulk::compress(&bytes.0, LEVEL)?)? as i64);
        }
        let mut head = Put::default();
        head.ints(places.into_iter());
        lexicon.put(&mut head)?;
        Ok(head.0)
    }

    /// The table that was saved, before any run over the whole dataset is known: its pieces lie on `kept`, and newer texts go to `shelf`.
    pub fn open(head: &[u8], kept: &Arc<dyn Shelf>, shelf: Arc<dyn Shelf>) -> io::Result<Self> {
        let mut head = Take(head);
        let places = head.ints().ok_or_else(unknown)?;
        let lexicon = Lexicon::take(&mut head).ok_or_else(unknown)?;
        let (mut segments, mut found, mut len) = (Vec::with_capacity(places.len()), Found::default(), 0);
        for place in places {
            let bytes = zstd::stream::decode_all(kept.get(place as u64)?.as_slice())?;
            let sheet = Sheet::take(&mut Take(&bytes), kept).ok_or_else(unknown)?;
            let of_rows = sheet.found(&lexicon, &BTreeMap::new())?;
            if len % SEGMENT != 0 || sheet.len == 0 || sheet.len > SEGMENT {
                return Err(unknown());
            }
            len += sheet.len;
            found.merge(&of_rows);
            let (len, changed) = (sheet.len, BTreeMap::new());
            segments.push(Arc::new(Segment { sheet: Some(Arc::new(sheet)), changed, len, found: of_rows }));
        }
        let names = found.names();
        let (by_key, flaky) = (Arc::default(), OnceLock::new());
        let mut grid = Self { shelf, segments, lexicon, names, places: None, len, whole: 0, by_key, flaky };
        let slots = 0..grid.len as u32;
        if slots.clone().skip(1).any(|slot| grid.item(slot - 1) >= grid.item(slot)) {
            let places: HashMap<i64, u32> = slots.map(|slot| (grid.item(slot).0, slot)).collect();
            grid.places = Some(Arc::new(places));
        }
        Ok(grid)
    }
}

fn unknown() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "these are not the bytes of a table")
}
