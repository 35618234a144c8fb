//! Amounts of memory as a person writes them in a job file: `512MB`, `64 KiB`, `2GB`.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Bytes; text in files and frozen definitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Size {
    pub bytes: u64,
}

impl Size {
    pub const fn mebibytes(number: u64) -> Self {
        Self { bytes: number << 20 }
    }
}

impl std::str::FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text:?} is not a size; write it like 64KB, 512MB or 2GB");
        let text = text.trim();
        let end = text.find(|c: char| !c.is_ascii_digit()).ok_or_else(wrong)?;
        let number: u64 = text[..end].parse().map_err(|_| wrong())?;
        // For a memory limit, 1000 and 1024 are the same.
        let shift = match text[end..].trim().to_ascii_lowercase().as_str() {
            "b" => 0,
            "k" | "kb" | "kib" => 10,
            "m" | "mb" | "mib" => 20,
            "g" | "gb" | "gib" => 30,
            _ => return Err(wrong()),
        };
        number.checked_mul(1 << shift).map(|bytes| Self { bytes }).ok_or_else(wrong)
    }
}

impl Serialize for Size {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(&format_args!("{}B", self.bytes))
    }
}

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        String::deserialize(d)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_with_their_unit_and_survive_freezing() {
        for (text, bytes) in [("1B", 1), ("64KB", 65_536), ("512 MB", 512 << 20), ("2gib", 2 << 30)] {
            let size: Size = text.parse().unwrap();
            assert_eq!(size.bytes, bytes, "{text}");
            let frozen = serde_json::to_string(&size).unwrap();
            assert_eq!(serde_json::from_str::<Size>(&frozen).unwrap(), size);
        }
        for wrong in ["", "512", "MB", "-1MB", "1.5GB", "99999999999999GB"] {
            assert!(wrong.parse::<Size>().is_err(), "{wrong:?}");
        }
    }
}
