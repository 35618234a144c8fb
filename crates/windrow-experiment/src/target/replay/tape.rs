//! A file of recorded calls, one line of JSON each. Only where each line stands is kept in memory; of
//! several lines for one call the last counts. One tape per file and process.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError, Weak};

use serde::{Deserialize, Serialize};

use windrow_model::Json;
use windrow_model::step::{ContentKey, Usage};

static OPEN: LazyLock<Mutex<HashMap<PathBuf, Weak<Tape>>>> = LazyLock::new(Mutex::default);

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Line {
    pub key: String,
    pub request: Json,
    pub answer: Json,
    pub used: Usage,
}

pub struct Tape {
    path: PathBuf,
    state: Mutex<State>,
}

struct State {
    /// Opened for reading, and created with the first line.
    file: Option<File>,
    end: u64,
    /// Offset and length of the last line with this key.
    places: HashMap<[u8; 16], (u64, u32)>,
}

#[derive(Deserialize)]
struct OnlyKey {
    key: String,
}

impl Tape {
    pub fn open(path: &Path) -> io::Result<Arc<Self>> {
        let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(tape) = open.get(path).and_then(Weak::upgrade) {
            return Ok(tape);
        }
        let tape = Arc::new(Self { path: path.to_owned(), state: Mutex::new(State::read(path)?) });
        open.retain(|_, tape| tape.strong_count() > 0);
        open.insert(path.to_owned(), Arc::downgrade(&tape));
        Ok(tape)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub async fn find(self: &Arc<Self>, key: ContentKey) -> io::Result<Option<Line>> {
        if !self.lock().places.contains_key(&key.0) {
            return Ok(None);
        }
        let tape = self.clone();
        blocking(move || tape.lock().find(key)).await
    }

    pub async fn append(self: &Arc<Self>, key: ContentKey, line: Line) -> io::Result<()> {
        let tape = self.clone();
        blocking(move || {
            let text = serde_json::to_string(&line)? + "\n";
            let mut state = tape.lock();
            state.append(&tape.path, key, &text)
        })
        .await
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> io::Result<T> + Send + 'static) -> io::Result<T> {
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|panic| Err(io::Error::other(panic)))
}

impl State {
    fn read(path: &Path) -> io::Result<Self> {
        let mut state = Self { file: None, end: 0, places: HashMap::new() };
        let file = match File::options().read(true).append(true).open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(state),
            // Offline it may be read-only.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => File::open(path)?,
            Err(error) => return Err(error),
        };
        let mut lines = BufReader::new(&file);
        let mut line = String::new();
        loop {
            line.clear();
            let read = lines.read_line(&mut line)?;
            if read == 0 {
                break;
            }
            // A crash may have cut off a line; it was never counted on.
            if let Some(key) = key_of(&line) {
                state.places.insert(key, (state.end, length(read)?));
            }
            state.end += read as u64;
        }
        if state.places.is_empty() && state.end > 0 {
            return Err(io::Error::other("the file has no recorded call; is it the right file?"));
        }
        if state.end > 0 && !line_ends(&file, state.end)? {
            (&file).write_all(b"\n")?;
            state.end += 1;
        }
        state.file = Some(file);
        Ok(state)
    }

    fn find(&mut self, key: ContentKey) -> io::Result<Option<Line>> {
        let (Some(file), Some((offset, length))) = (&mut self.file, self.places.get(&key.0)) else { return Ok(None) };
        let mut line = vec![0; *length as usize];
        file.seek(SeekFrom::Start(*offset))?;
        file.read_exact(&mut line)?;
        Ok(Some(serde_json::from_slice(&line)?))
    }

    fn append(&mut self, path: &Path, key: ContentKey, text: &str) -> io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(File::options().create(true).read(true).append(true).open(path)?),
        };
        let length = length(text.len())?;
        file.write_all(text.as_bytes())?;
        // Another process may have written too.
        let end = file.stream_position()?;
        self.places.insert(key.0, (end - u64::from(length), length));
        self.end = end;
        Ok(())
    }
}

fn line_ends(mut file: &File, end: u64) -> io::Result<bool> {
    let mut last = [0];
    file.seek(SeekFrom::Start(end - 1))?;
    file.read_exact(&mut last)?;
    Ok(last == *b"\n")
}

fn length(bytes: usize) -> io::Result<u32> {
    u32::try_from(bytes).map_err(|_| io::Error::other("a recorded call is too long"))
}

fn key_of(line: &str) -> Option<[u8; 16]> {
    let OnlyKey { key } = serde_json::from_str(line).ok()?;
    let mut bytes = [0; 16];
    if key.len() != 32 || !key.is_ascii() {
        return None;
    }
    for (byte, pair) in bytes.iter_mut().zip(key.as_bytes().chunks(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(key: ContentKey, answer: &str) -> Line {
        let json = Json::of(&serde_json::json!({ "content": answer }));
        Line { key: key.to_string(), request: json.clone(), answer: json, used: Usage::default() }
    }

    #[tokio::test]
    async fn the_last_line_counts_and_half_a_line_does_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("calls.jsonl");
        let (one, two) = (ContentKey::of(&[b"1"]), ContentKey::of(&[b"2"]));
        let tape = Tape::open(&path).unwrap();
        assert!(tape.find(one).await.unwrap().is_none());
        tape.append(one, line(one, "old")).await.unwrap();
        tape.append(one, line(one, "new")).await.unwrap();
        drop(tape);
        let mut text = std::fs::read_to_string(&path).unwrap();
        text += "{\"key\": \"cut o";
        std::fs::write(&path, text).unwrap();
        let tape = Tape::open(&path).unwrap();
        tape.append(two, line(two, "next")).await.unwrap();
        drop(tape);
        let tape = Tape::open(&path).unwrap();
        for (key, answer) in [(one, "new"), (two, "next")] {
            assert_eq!(tape.find(key).await.unwrap().unwrap().answer.value()["content"], answer);
        }
        let other = folder.path().join("rows.jsonl");
        std::fs::write(&other, "{\"question\": 1}\n").unwrap();
        assert!(Tape::open(&other).is_err());
    }
}
