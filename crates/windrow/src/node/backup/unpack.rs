//! Reading a backup: every entry is hashed on its way and compared with the manifest, which comes last,
//! so that a backup that was cut off has none. Only names that a backup has are taken.

use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Component, Path};

use tar::{Archive, EntryType};
use zstd::stream::read::Decoder;

use crate::error::{Error, Result};
use crate::node::backup::manifest::{Listed, Manifest, broken};
use crate::node::backup::{DATABASE, FOLDERS, MANIFEST, MASTER_KEY};

/// The manifest lists every file in `files/`, and no more than this of it is read.
const LONGEST_MANIFEST: u64 = 256 << 20;

/// Reads it whole and writes nothing.
pub fn verify(archive: &Path) -> Result<Manifest> {
    walk(archive, |_, entry| io::copy(entry, &mut io::sink()).map(drop))
}

/// Into a folder that is there and empty.
pub fn unpack(archive: &Path, into: &Path) -> Result<Manifest> {
    walk(archive, |name, entry| {
        let path = into.join(name);
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
        io::copy(entry, &mut file)?;
        file.sync_all()
    })
}

fn walk(archive: &Path, mut take: impl FnMut(&str, &mut dyn Read) -> io::Result<()>) -> Result<Manifest> {
    let file = File::open(archive).map_err(|error| {
        Error::new(format!("cannot read the backup {}: {error}", archive.display()), "check the path")
    })?;
    let unzipped = Decoder::new(BufReader::new(file)).map_err(broken)?;
    let mut tar = Archive::new(unzipped);
    let (mut read, mut manifest) = (Vec::new(), None);
    for entry in tar.entries().map_err(broken)? {
        let entry = entry.map_err(broken)?;
        let name = entry.path().map_err(broken)?.to_str().unwrap_or_default().to_owned();
        if entry.header().entry_type() != EntryType::Regular || manifest.is_some() || !is_ours(&name) {
            return Err(broken(format!("unexpected entry {name:?}")));
        }
        let mut hashing = Hashing::new(entry);
        if name == MANIFEST {
            let found = serde_json::from_reader::<_, Manifest>((&mut hashing).take(LONGEST_MANIFEST));
            manifest = Some(found.map_err(broken)?);
            continue;
        }
        take(&name, &mut hashing).map_err(broken)?;
        read.push(hashing.listed(&name));
    }
    // To the very end, so that the checksum of the whole is verified too.
    io::copy(&mut tar.into_inner(), &mut io::sink()).map_err(broken)?;
    let manifest = manifest.ok_or_else(|| broken("it was cut off"))?;
    manifest.fits(&read)?;
    match manifest.has(DATABASE) {
        true => Ok(manifest),
        false => Err(broken("it has no database")),
    }
}

fn is_ours(name: &str) -> bool {
    let mut parts = Path::new(name).components();
    let plain = parts.clone().all(|part| matches!(part, Component::Normal(_)));
    let folder = parts.next().and_then(|part| part.as_os_str().to_str()).unwrap_or_default();
    let below_folder = FOLDERS.contains(&folder) && parts.next().is_some();
    plain && (matches!(name, DATABASE | MASTER_KEY | MANIFEST) || below_folder)
}

/// Hashes and counts what is read through it.
pub struct Hashing<R> {
    inner: R,
    hasher: blake3::Hasher,
    bytes: u64,
}

impl<R> Hashing<R> {
    pub fn new(inner: R) -> Self {
        Self { inner, hasher: blake3::Hasher::new(), bytes: 0 }
    }

    pub fn read_so_far(&self) -> u64 {
        self.bytes
    }

    pub fn listed(&self, path: &str) -> Listed {
        Listed { path: path.to_owned(), bytes: self.bytes, blake3: self.hasher.finalize().to_hex().to_string() }
    }
}

impl<R: Read> Read for Hashing<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.hasher.update(&buffer[..read]);
        self.bytes += read as u64;
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_leads_out_of_the_folder() {
        for good in ["windrow.db", "master.key", "files/a.jsonl", "files/deep/b", "workspaces/w/files/c"] {
            assert!(is_ours(good), "{good}");
        }
        for bad in ["", "/etc/passwd", "files/../../x", "../x", "files", "other", "windrow.db-wal", "sessions/x.lock"] {
            assert!(!is_ours(bad), "{bad}");
        }
    }
}
