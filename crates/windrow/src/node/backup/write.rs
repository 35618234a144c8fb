//! Writing a backup: a copy of the database first, then everything into one archive next to the target,
//! read again whole, and only then given its name.

use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use tar::{Builder, Header};
use windrow_store::sqlite;
use zstd::stream::write::Encoder;

use crate::error::{Code, Error, Result};
use crate::node::backup::manifest::{Listed, Manifest};
use crate::node::backup::unpack::{Hashing, verify};
use crate::node::backup::{DATABASE, FOLDERS, MANIFEST, MASTER_KEY};
use crate::node::data_dir::DataDir;

/// Fast, and most of what there is to gain.
const LEVEL: i32 = 3;

pub struct Made {
    pub manifest: Manifest,
    /// Of the archive.
    pub bytes: u64,
}

/// Blocks. `database` is the URL of a shared one; `key` is the master key's file, where it is to be in the backup.
pub fn write(
    data: &DataDir,
    database: Option<&str>,
    target: &Path,
    key: Option<&Path>,
    made_at: String,
) -> Result<Made> {
    if target.exists() {
        let what = format!("{} already exists", target.display());
        return Err(Error::new(what, "choose another name, or delete it").coded(Code::Conflict));
    }
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let failed = |error: io::Error| {
        let what = format!("cannot write the backup {}: {error}", target.display());
        Error::new(what, "check the permissions and free space of the directory; nothing was left behind")
    };
    // In the same folder, so that giving it its name is one step; gone again however this ends.
    let draft = tempfile::Builder::new().prefix(".windrow-backup-").tempdir_in(folder).map_err(failed)?;
    let (copy, archive) = (draft.path().join(DATABASE), draft.path().join("archive"));
    match database {
        Some(url) => drop(windrow_store::dump(url, &copy, &mut |_, _| {})?),
        None => sqlite::copy(&data.database(), &copy)?,
    }
    let manifest = pack(data, &copy, key, &archive, Manifest::new(made_at)).map_err(failed)?;
    verify(&archive)?;
    // Unlike a rename, a link never takes the place of a file that came meanwhile.
    fs::hard_link(&archive, target).or_else(|_| rename_new(&archive, target)).map_err(failed)?;
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(failed)?;
    let bytes = fs::metadata(target).map_err(failed)?.len();
    Ok(Made { manifest, bytes })
}

/// Where the file system knows no links.
fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    if to.exists() {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    fs::rename(from, to)
}

fn pack(
    data: &DataDir,
    copy: &Path,
    key: Option<&Path>,
    archive: &Path,
    mut manifest: Manifest,
) -> io::Result<Manifest> {
    let mut zipped = Encoder::new(BufWriter::new(File::create_new(archive)?), LEVEL)?;
    zipped.include_checksum(true)?;
    let mut tar = Builder::new(zipped);
    manifest.files.push(add(&mut tar, copy, DATABASE)?);
    for folder in FOLDERS {
        for (path, name) in files_of(&data.path().join(folder), folder)? {
            manifest.files.push(add(&mut tar, &path, &name)?);
        }
    }
    if let Some(key) = key {
        manifest.files.push(add(&mut tar, key, MASTER_KEY)?);
    }
    let text = serde_json::to_vec_pretty(&manifest)?;
    tar.append_data(&mut header(text.len() as u64), MANIFEST, text.as_slice())?;
    let mut file = tar.into_inner()?.finish()?;
    file.flush()?;
    file.get_ref().sync_all()?;
    Ok(manifest)
}

fn add(tar: &mut Builder<impl Write>, path: &Path, name: &str) -> io::Result<Listed> {
    let file = File::open(path)?;
    let bytes = file.metadata()?.len();
    // What is added to a file meanwhile is not part of it; one that shrank cannot be told as it was.
    let mut reader = Hashing::new(file.take(bytes));
    tar.append_data(&mut header(bytes), name, &mut reader)?;
    if reader.read_so_far() != bytes {
        return Err(io::Error::other(format!("{} became shorter while it was read; retry", path.display())));
    }
    Ok(reader.listed(name))
}

fn header(bytes: u64) -> Header {
    let mut header = Header::new_gnu();
    header.set_size(bytes);
    header.set_mode(0o600);
    header
}

/// Every file below the folder, with its name in the archive, in an order that does not depend on chance.
fn files_of(folder: &Path, name: &str) -> io::Result<Vec<(PathBuf, String)>> {
    let mut found = Vec::new();
    let mut open = vec![(folder.to_owned(), name.to_owned())];
    while let Some((folder, name)) = open.pop() {
        let entries = match fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        };
        for entry in entries {
            let entry = entry?;
            let own = entry.file_name();
            let Some(own) = own.to_str() else {
                return Err(io::Error::other(format!("{} has a name that is not UTF-8", entry.path().display())));
            };
            let (kind, name) = (entry.file_type()?, format!("{name}/{own}"));
            match () {
                () if kind.is_dir() => open.push((entry.path(), name)),
                () if kind.is_file() => found.push((entry.path(), name)),
                // Links lead to what is not ours.
                () => {}
            }
        }
    }
    found.sort_unstable_by(|one, other| one.1.cmp(&other.1));
    Ok(found)
}
