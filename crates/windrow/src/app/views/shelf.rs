//! Texts of tables on disk: a nameless file, gone with the process. Space that is free is used again.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use windrow_results::columns::Shelf;

#[derive(Debug)]
pub struct OnDisk {
    laid: Mutex<Laid>,
}

#[derive(Debug)]
struct Laid {
    file: File,
    end: u64,
    next: u64,
    /// By place.
    extents: BTreeMap<u64, Extent>,
    /// By room.
    free: BTreeMap<u64, Vec<u64>>,
}

#[derive(Debug, Clone, Copy)]
struct Extent {
    from: u64,
    len: u64,
    room: u64,
}

impl OnDisk {
    pub fn create(folder: &Path) -> io::Result<Self> {
        std::fs::create_dir_all(folder)?;
        let file = tempfile::tempfile_in(folder)?;
        let (extents, free) = (BTreeMap::new(), BTreeMap::new());
        Ok(Self { laid: Mutex::new(Laid { file, end: 0, next: 0, extents, free }) })
    }

    fn laid(&self) -> MutexGuard<'_, Laid> {
        self.laid.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Laid {
    /// The smallest free room that is not much too large, else room at the end.
    fn room(&mut self, len: u64) -> Extent {
        let fits = self.free.range_mut(len..=len + len / 2).next();
        if let Some((room, places)) = fits {
            let (room, from) = (*room, places.pop().unwrap_or_default());
            if places.is_empty() {
                self.free.remove(&room);
            }
            return Extent { from, len, room };
        }
        let from = self.end;
        self.end += len;
        Extent { from, len, room: len }
    }
}

impl Shelf for OnDisk {
    fn put(&self, bytes: Vec<u8>) -> io::Result<u64> {
        let mut laid = self.laid();
        let extent = laid.room(bytes.len() as u64);
        laid.file.seek(SeekFrom::Start(extent.from))?;
        laid.file.write_all(&bytes)?;
        laid.next += 1;
        let place = laid.next;
        laid.extents.insert(place, extent);
        Ok(place)
    }

    fn get(&self, place: u64) -> io::Result<Vec<u8>> {
        let mut laid = self.laid();
        let extent = laid.extents.get(&place).copied();
        let extent = extent.ok_or_else(|| io::Error::other("nothing lies there"))?;
        let mut bytes = vec![0; extent.len as usize];
        laid.file.seek(SeekFrom::Start(extent.from))?;
        laid.file.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    fn forget(&self, place: u64) {
        let mut laid = self.laid();
        if let Some(extent) = laid.extents.remove(&place) {
            laid.free.entry(extent.room).or_default().push(extent.from);
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn room_is_used_again() {
        use super::*;
        let folder = tempfile::tempdir().unwrap();
        let shelf = OnDisk::create(folder.path()).unwrap();
        let places: Vec<u64> = (0..50u8).map(|n| shelf.put(vec![n; 100 + usize::from(n)]).unwrap()).collect();
        let end = shelf.laid().end;
        places.iter().step_by(2).for_each(|place| shelf.forget(*place));
        let again: Vec<u64> = (0..20u8).map(|n| shelf.put(vec![n; 100]).unwrap()).collect();
        assert_eq!(shelf.laid().end, end);
        for (n, place) in places.iter().enumerate().skip(1).step_by(2) {
            assert_eq!(shelf.get(*place).unwrap(), vec![n as u8; 100 + n]);
        }
        assert!((0..20u8).all(|n| shelf.get(again[usize::from(n)]).unwrap() == vec![n; 100]));
        assert!(shelf.get(places[0]).is_err());
    }
}
