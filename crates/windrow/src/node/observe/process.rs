//! Memory, open files and disk of this process, as the system reports them; `None` where it does not.

use std::path::Path;

/// Linux counts in hundredths of a second.
const TICK_MS: i64 = 10;

/// Bytes in use, and in total.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Memory {
    pub used: u64,
    pub limit: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Disk {
    pub free: u64,
    pub size: u64,
}

/// Resident memory, against what the container or the machine has.
pub fn memory() -> Option<Memory> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let used = kilobytes(&status, "VmRSS:")?;
    let machine = kilobytes(&std::fs::read_to_string("/proc/meminfo").ok()?, "MemTotal:")?;
    let container = std::fs::read_to_string("/sys/fs/cgroup/memory.max").ok();
    let container = container.and_then(|text| text.trim().parse().ok()).unwrap_or(machine);
    Some(Memory { used, limit: machine.min(container) })
}

fn kilobytes(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    Some(line.split_whitespace().next()?.parse::<u64>().ok()? * 1024)
}

/// CPU time used so far, and CPUs that this process may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cpu {
    pub used_ms: i64,
    pub count: u64,
}

pub fn cpu() -> Option<Cpu> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The name of the program, in brackets, may contain blanks.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = fields.get(11)?.parse::<i64>().ok()? + fields.get(12)?.parse::<i64>().ok()?;
    let count = std::thread::available_parallelism().ok()?.get() as u64;
    Some(Cpu { used_ms: ticks * TICK_MS, count })
}

pub fn open_files() -> Option<u64> {
    Some(std::fs::read_dir("/proc/self/fd").ok()?.count() as u64)
}

/// What an ordinary user may still write.
pub fn disk(path: &Path) -> Option<Disk> {
    let stat = rustix::fs::statvfs(path).ok()?;
    Some(Disk { free: stat.f_bavail * stat.f_frsize, size: stat.f_blocks * stat.f_frsize })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_uses_memory_files_and_a_disk() {
        let memory = memory().unwrap();
        assert!(memory.used > 0 && memory.used < memory.limit, "{memory:?}");
        assert!(open_files().unwrap() >= 3);
        let (before, begun) = (cpu().unwrap(), std::time::Instant::now());
        while cpu().unwrap().used_ms == before.used_ms {
            assert!(begun.elapsed().as_secs() < 30, "{before:?}");
        }
        assert!(before.count >= 1);
        let disk = disk(Path::new("/")).unwrap();
        assert!(disk.free <= disk.size && disk.size > 0, "{disk:?}");
    }
}
