//! The data directory: permissions, free space, file system.

use std::path::{Path, PathBuf};

use rustix::fs::{statfs, statvfs};

use crate::app::doctor::Check;
use crate::node::options::GlobalOptions;

const NAME: &str = "data folder";
const MIB: u64 = 1 << 20;
const TOO_LITTLE: u64 = 100 * MIB;
const LITTLE: u64 = 1024 * MIB;
/// Kinds of file systems of other machines, by the number that Linux knows them by. SQLite relies on
/// locks and shared memory, which they have not or have only in part.
const REMOTE: &[(u64, &str)] = &[
    (0x6969, "NFS"),
    (0x517b, "SMB"),
    (0xff53_4d42, "CIFS"),
    (0xfe53_4d42, "SMB2"),
    (0x0102_1997, "9P"),
    (0x00c3_6400, "Ceph"),
    (0x6573_5546, "FUSE"),
];

pub fn check(options: &GlobalOptions) -> Vec<Check> {
    let place = nearest_existing(&options.data);
    let shown = options.data.display();
    if let Err(error) = tempfile::NamedTempFile::new_in(&place) {
        let remedy =
            format!("make {} writable for this user, or choose another directory with --data DIR", place.display());
        return vec![Check::failure(NAME, format!("{shown} is not writable: {error}"), remedy)];
    }
    vec![space(&place, &shown.to_string()), kind(&place)]
}

/// The folder is made when it is needed.
fn nearest_existing(path: &Path) -> PathBuf {
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    whole.ancestors().find(|folder| folder.is_dir()).unwrap_or(Path::new("/")).to_owned()
}

fn space(place: &Path, shown: &str) -> Check {
    let Ok(stat) = statvfs(place) else { return Check::ok(NAME, shown) };
    let free = stat.f_bavail.saturating_mul(stat.f_frsize);
    let finding = format!("{shown} · {:.1} GiB free", free as f64 / (1024 * MIB) as f64);
    let remedy = "free space, e.g. with `windrow jobs clean-up`";
    match free {
        ..TOO_LITTLE => Check::failure(NAME, finding, remedy),
        TOO_LITTLE..LITTLE => Check::warning(NAME, finding, remedy),
        _ => Check::ok(NAME, finding),
    }
}

fn kind(place: &Path) -> Check {
    let number = statfs(place).map(|stat| u64::from(stat.f_type as u32)).unwrap_or_default();
    match REMOTE.iter().find(|(known, _)| *known == number) {
        Some((_, name)) => {
            let finding = format!("the data is on {name}, where SQLite's locks are unreliable");
            Check::warning("file system", finding, "move the data to a local disk")
        }
        None => Check::ok("file system", "local"),
    }
}
