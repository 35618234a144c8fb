//! The master key: 32 bytes from `WINDROW_MASTER_KEY`, from a given file, or from `master.key` in the data directory,
//! which is created with the first secret.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::rand::{SecureRandom, SystemRandom};

use crate::error::{Error, Result};

pub const VARIABLE: &str = "WINDROW_MASTER_KEY";
const BYTES: usize = 32;
const ID_CONTEXT: &str = "windrow 2026 id of a master key";

#[derive(Clone)]
pub struct MasterKey {
    bytes: [u8; BYTES],
}

/// Where the key comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeySource {
    Variable,
    /// A file that must exist.
    Named(PathBuf),
    /// A file that may be created.
    DataFolder(PathBuf),
}

impl MasterKey {
    pub fn generate() -> Result<Self> {
        let mut bytes = [0; BYTES];
        let filled = SystemRandom::new().fill(&mut bytes);
        filled.map_err(|_| Error::new("no random numbers from the operating system", "retry"))?;
        Ok(Self { bytes })
    }

    /// 64 hexadecimal digits, or base64 of 32 bytes.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let bytes = if text.len() == 2 * BYTES { from_hex(text)? } else { STANDARD.decode(text).ok()? };
        Some(Self { bytes: bytes.try_into().ok()? })
    }

    pub fn bytes(&self) -> &[u8; BYTES] {
        &self.bytes
    }

    /// Identifies the key without revealing it.
    pub fn id(&self) -> String {
        blake3::Hash::from(blake3::derive_key(ID_CONTEXT, &self.bytes)).to_hex()[..16].to_owned()
    }

    /// Atomically, readable by its owner only. An existing file is kept.
    pub fn write(&self, path: &Path) -> io::Result<()> {
        let draft = path.with_extension(format!("{}.draft", std::process::id()));
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&draft)?;
        let written = writeln!(file, "{}", to_hex(&self.bytes)).and_then(|()| file.sync_all());
        let linked = written.and_then(|()| fs::hard_link(&draft, path));
        fs::remove_file(&draft)?;
        linked
    }
}

impl KeySource {
    /// Variable, then flag, then the data directory.
    pub fn of(named: Option<&Path>, data: &Path) -> Self {
        match named {
            _ if std::env::var_os(VARIABLE).is_some() => KeySource::Variable,
            Some(path) => KeySource::Named(path.to_owned()),
            None => KeySource::DataFolder(data.join("master.key")),
        }
    }

    /// `None` if it can still be created.
    pub fn read(&self) -> Result<Option<MasterKey>> {
        let remedy = "write 32 bytes as 64 hexadecimal digits or as base64, for example from: openssl rand -hex 32";
        match self {
            KeySource::Variable => {
                let found = std::env::var(VARIABLE).ok().and_then(|text| MasterKey::parse(&text));
                found.map(Some).ok_or_else(|| Error::new(format!("invalid master key in {VARIABLE}"), remedy))
            }
            KeySource::Named(path) | KeySource::DataFolder(path) => match fs::read_to_string(path) {
                Ok(text) => {
                    let broken = || Error::new(format!("invalid master key in {}", path.display()), remedy);
                    MasterKey::parse(&text).map(Some).ok_or_else(broken)
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound && self.may_be_made() => Ok(None),
                Err(error) => {
                    let what = format!("cannot read the master key {}: {error}", path.display());
                    Err(Error::new(what, "check the path and the permissions"))
                }
            },
        }
    }

    pub fn may_be_made(&self) -> bool {
        matches!(self, KeySource::DataFolder(_))
    }

    pub fn path(&self) -> Option<&Path> {
        match self {
            KeySource::Variable => None,
            KeySource::Named(path) | KeySource::DataFolder(path) => Some(path),
        }
    }

    pub fn describe(&self) -> String {
        self.path().map_or_else(|| VARIABLE.to_owned(), |path| path.display().to_string())
    }
}

fn from_hex(text: &str) -> Option<Vec<u8>> {
    text.is_ascii().then_some(())?;
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).ok()).collect()
}

fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_key_is_read_as_hex_and_as_base64() {
        let hex = "00".repeat(31) + "ff";
        let base64 = STANDARD.encode([[0; 31].as_slice(), &[0xff]].concat());
        let (one, other) = (MasterKey::parse(&format!(" {hex}\n")).unwrap(), MasterKey::parse(&base64).unwrap());
        assert_eq!((one.id(), one.bytes[31]), (other.id(), 0xff));
        for wrong in ["", "abc", &"zz".repeat(32), &STANDARD.encode([0; 31])] {
            assert!(MasterKey::parse(wrong).is_none(), "{wrong}");
        }
    }

    #[test]
    fn a_key_file_is_for_its_owner_and_never_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("master.key");
        let source = KeySource::DataFolder(path.clone());
        assert!(source.read().unwrap().is_none());
        let key = MasterKey::generate().unwrap();
        key.write(&path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(MasterKey::generate().unwrap().write(&path).is_err());
        assert_eq!(source.read().unwrap().unwrap().id(), key.id());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "no draft is left");
        assert!(KeySource::Named(folder.path().join("none")).read().is_err());
    }
}
