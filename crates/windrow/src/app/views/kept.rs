//! Result tables on disk, so that the next process does not read all records again. A file has the pieces of a table, its
//! head, and a checksum over everything. It is a cache: a file that is damaged, of another version, or not confirmed by
//! a sample of the records is deleted, and the table is read again.

use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};
use windrow_model::record::{Job, Run};
use windrow_model::store::StoreError;
use windrow_model::{JobId, RunId};

use windrow_results::Grid;
use windrow_results::columns::Shelf;

use crate::app::App;
use crate::app::views::computed;
use crate::app::views::held::{self, Held};
use crate::app::views::shelf::OnDisk;
use crate::error::Result;

/// Changes with the layout, and with what a row shows.
const FORMAT: u32 = 1;
const EXTENSION: &str = "table";
/// Smaller tables are read faster than they are kept.
pub const FEWEST_ROWS: usize = 2_000;
/// Files of a data directory, and their bytes; the one that was not opened the longest goes first.
const MOST_FILES: usize = 32;
const MOST_BYTES: u64 = 8 << 30;
/// A file that is not whole after so long was begun by a process that was killed.
const FORSAKEN: Duration = Duration::from_secs(86_400);
/// Rows that are compared with the records before a file is believed.
const SAMPLE: usize = 32;
/// The place and length of the head, and the checksum.
const END: u64 = 16 + CHECKSUM;
const CHECKSUM: u64 = 32;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Head {
    format: u32,
    version: String,
    /// The numbers of changes are those of one database.
    database: String,
    job: JobId,
    run: Option<i64>,
    /// Of the job: a database that was restored does not have those that came later.
    runs: Vec<RunId>,
    newest: i64,
    as_of: i64,
}

impl Head {
    fn is_of(&self, app: &App, job: &Job, run: Option<i64>, runs: &[Run]) -> bool {
        let version = self.format == FORMAT && self.version == env!("CARGO_PKG_VERSION");
        let same = (&self.database, self.job, self.run) == (&app.database_name(), job.id, run);
        version && same && self.runs.iter().all(|known| runs.iter().any(|run| run.id == *known))
    }
}

fn file_of(folder: &Path, job: JobId, run: Option<i64>) -> PathBuf {
    folder.join(match run {
        Some(run) => format!("{job}-{run}.{EXTENSION}"),
        None => format!("{job}.{EXTENSION}"),
    })
}

/// Writes a table; what was kept of it before is replaced at once or not at all.
pub async fn keep(app: &App, job: &Job, run: Option<i64>, held: &Held) -> Result<()> {
    let (folder, path) = (app.tables(), file_of(&app.tables(), job.id, run));
    let head = Head {
        format: FORMAT,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        database: app.database_name(),
        job: job.id,
        run,
        runs: app.store.runs(job.id).await?.iter().map(|run| run.id).collect(),
        newest: held.newest,
        as_of: held.as_of,
    };
    let grid = held.grid.clone();
    computed(move || write(&folder, &path, head, &grid)).await?.map_err(held::unreadable)?;
    clear(app).await
}

fn write(folder: &Path, path: &Path, head: Head, grid: &Grid) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    let mut out = Summed { out: BufWriter::new(file.as_file_mut()), hash: blake3::Hasher::new(), at: 0 };
    let grid = grid.save(&mut |bytes| {
        let place = out.at;
        out.put(&(bytes.len() as u64).to_le_bytes())?;
        out.put(&bytes)?;
        Ok(place)
    })?;
    let (place, head) = (out.at, serde_json::to_vec(&head)?);
    out.put(&(head.len() as u64).to_le_bytes())?;
    out.put(&head)?;
    out.put(&grid)?;
    out.put(&place.to_le_bytes())?;
    let len = out.at - 8 - place;
    out.put(&len.to_le_bytes())?;
    let sum = out.hash.finalize();
    out.out.write_all(sum.as_bytes())?;
    out.out.flush()?;
    drop(out);
    file.persist(path).map_err(|failed| failed.error)?;
    Ok(())
}

/// What is written, with its checksum.
struct Summed<W> {
    out: W,
    hash: blake3::Hasher,
    at: u64,
}

impl<W: Write> Summed<W> {
    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.out.write_all(bytes)?;
        self.hash.update(bytes);
        self.at += bytes.len() as u64;
        Ok(())
    }
}

/// The table of a file that is whole, and that a sample of the records confirms. Any other file is deleted.
pub async fn open(app: &App, job: &Job, run: Option<i64>) -> Option<Held> {
    let path = file_of(&app.tables(), job.id, run);
    if !path.is_file() {
        return None;
    }
    let why = match peek(app, job, run).await {
        Some(held) if held.newest > app.store.newest_result_change(job.id).await.ok()? => "it is of a newer database",
        Some(held) => match held::sample(app, job, run, &held, SAMPLE).await {
            Ok(differing) if differing.is_empty() => return Some(held),
            Ok(_) => "its rows are not those of the records",
            Err(_) => return None,
        },
        None => "it is damaged, or of another version or database",
    };
    tracing::info!(job = %job.name, "deleted a kept result table: {why}");
    fs::remove_file(&path).ok();
    None
}

/// The same, as it is.
pub async fn peek(app: &App, job: &Job, run: Option<i64>) -> Option<Held> {
    let (path, folder) = (file_of(&app.tables(), job.id, run), app.uploads());
    let (head, held) = computed(move || read(&path, &folder)).await.ok()?.ok()?;
    let runs = app.store.runs(job.id).await.ok()?;
    head.is_of(app, job, run, &runs).then_some(held)
}

fn read(path: &Path, folder: &Path) -> io::Result<(Head, Held)> {
    let file = File::open(path)?;
    let len = check(&file)?;
    let mut end = [0; END as usize];
    file.read_exact_at(&mut end, len - END)?;
    let number = |from: usize| u64::from_le_bytes(std::array::from_fn(|at| end[from + at]));
    let (place, rest) = (number(0), number(8));
    let mut bytes = vec![0; usize::try_from(rest.min(len)).map_err(|_| damaged())?];
    file.read_exact_at(&mut bytes, place)?;
    let (size, bytes) = bytes.split_first_chunk::<8>().ok_or_else(damaged)?;
    let (head, grid) = bytes.split_at_checked(u64::from_le_bytes(*size) as usize).ok_or_else(damaged)?;
    let head: Head = serde_json::from_slice(head)?;
    file.set_modified(SystemTime::now()).ok();
    let kept: Arc<dyn Shelf> = Arc::new(Kept(file));
    let grid = Arc::new(Grid::open(grid, &kept, Arc::new(OnDisk::create(folder)?))?);
    let held = Held { grid, newest: head.newest, as_of: head.as_of, unkept: Some(0) };
    Ok((head, held))
}

/// The length of a file whose checksum is right.
fn check(file: &File) -> io::Result<u64> {
    let len = file.metadata()?.len();
    let (mut hash, mut rest) = (blake3::Hasher::new(), len.checked_sub(END).ok_or_else(damaged)? + 16);
    let (mut from, mut piece) = (BufReader::with_capacity(1 << 20, file), vec![0; 1 << 20]);
    while rest > 0 {
        let some = rest.min(piece.len() as u64) as usize;
        from.read_exact(&mut piece[..some])?;
        hash.update(&piece[..some]);
        rest -= some as u64;
    }
    let mut sum = [0; CHECKSUM as usize];
    from.read_exact(&mut sum)?;
    if hash.finalize() == sum { Ok(len) } else { Err(damaged()) }
}

fn damaged() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "a kept table is damaged")
}

/// The pieces of a file, which stays open: a newer one with its name changes nothing about it.
#[derive(Debug)]
struct Kept(File);

impl Shelf for Kept {
    fn put(&self, _: Vec<u8>) -> io::Result<u64> {
        Err(io::Error::other("a kept table is not written to"))
    }

    fn get(&self, place: u64) -> io::Result<Vec<u8>> {
        let mut len = [0; 8];
        self.0.read_exact_at(&mut len, place)?;
        let len = u64::from_le_bytes(len);
        if len > self.0.metadata()?.len() {
            return Err(damaged());
        }
        let mut bytes = vec![0; len as usize];
        self.0.read_exact_at(&mut bytes, place + 8)?;
        Ok(bytes)
    }

    fn forget(&self, _: u64) {}
}

/// The jobs and runs of which a table is kept, with the file of each, the newest first.
pub fn files(folder: &Path) -> Vec<(JobId, Option<i64>, PathBuf)> {
    let mut found: Vec<_> = entries(folder).into_iter().filter_map(|(_, _, path)| named(&path)).collect();
    found.reverse();
    found
}

fn named(path: &Path) -> Option<(JobId, Option<i64>, PathBuf)> {
    let name = path.file_stem()?.to_str()?;
    let (job, run) = match name.split_once('-') {
        Some((job, run)) => (job, Some(run.parse().ok()?)),
        None => (name, None),
    };
    Some((job.parse().ok()?, run, path.to_owned()))
}

/// The oldest first.
fn entries(folder: &Path) -> Vec<(SystemTime, u64, PathBuf)> {
    let entry = |entry: fs::DirEntry| {
        let path = entry.path();
        let is_table = path.extension().is_some_and(|extension| extension == EXTENSION);
        let about = entry.metadata().ok().filter(|_| is_table)?;
        Some((about.modified().ok()?, about.len(), path))
    };
    let Ok(found) = fs::read_dir(folder) else { return Vec::new() };
    let mut found: Vec<_> = found.flatten().filter_map(entry).collect();
    found.sort();
    found
}

/// Forgets the tables of a job.
pub fn forget(folder: &Path, job: JobId) {
    for (_, _, path) in files(folder).into_iter().filter(|(of, ..)| *of == job) {
        fs::remove_file(path).ok();
    }
}

/// Deletes tables of deleted jobs, the oldest of too many, and what killed processes began to write.
async fn clear(app: &App) -> Result<()> {
    for entry in fs::read_dir(app.tables()).into_iter().flatten().flatten() {
        let age = entry.metadata().and_then(|about| about.modified()).ok().and_then(|at| at.elapsed().ok());
        let is_table = entry.path().extension().is_some_and(|extension| extension == EXTENSION);
        if !is_table && age.is_some_and(|age| age > FORSAKEN) {
            fs::remove_file(entry.path()).ok();
        }
    }
    for (job, _, path) in files(&app.tables()) {
        if let Err(StoreError::NotFound { .. }) = app.store.job(job).await {
            fs::remove_file(path).ok();
        }
    }
    let found = entries(&app.tables());
    let (mut files, mut bytes) = (found.len(), found.iter().map(|(_, len, _)| len).sum::<u64>());
    for (_, len, path) in found {
        if files <= MOST_FILES && bytes <= MOST_BYTES {
            break;
        }
        fs::remove_file(path).ok();
        (files, bytes) = (files - 1, bytes - len);
    }
    Ok(())
}
