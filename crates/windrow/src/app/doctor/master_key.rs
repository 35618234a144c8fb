//! The master key: there, for its owner alone, and the one that sealed what is sealed.

use std::os::unix::fs::PermissionsExt;

use crate::app::doctor::Check;
use crate::app::doctor::Patient;

const NAME: &str = "master key";

pub fn check(patient: &Patient<'_>, sealed: &[(String, i64)]) -> Check {
    let source = patient.options.key_source();
    let secrets: i64 = sealed.iter().map(|(_, count)| count).sum();
    let key = match source.read() {
        Ok(Some(key)) => key,
        Ok(None) if sealed.is_empty() => return Check::ok(NAME, "none yet; the first secret makes one"),
        Ok(None) => {
            let finding = format!("{} is not there, and {secrets} secret(s) need it", source.describe());
            return Check::failure(NAME, finding, "bring it back from where you keep it, or set the secrets again");
        }
        Err(error) => return Check::failure(NAME, error.one_line(), "correct it"),
    };
    let foreign: i64 = sealed.iter().filter(|(id, _)| *id != key.id()).map(|(_, count)| count).sum();
    if foreign > 0 {
        let finding =
            format!("{foreign} of {secrets} secret(s) are sealed under another key than {}", source.describe());
        return Check::failure(NAME, finding, "bring that key back, or set those secrets again");
    }
    let mode = source.path().and_then(|path| std::fs::metadata(path).ok()).map(|meta| meta.permissions().mode());
    if let (Some(mode), Some(path)) = (mode.filter(|mode| mode & 0o077 != 0), source.path()) {
        let finding = format!("{} may be read by others (mode {:o})", path.display(), mode & 0o777);
        return Check::warning(NAME, finding, format!("chmod 600 {}", path.display()));
    }
    Check::ok(NAME, format!("{} (id {}), {secrets} secret(s)", source.describe(), key.id()))
}
