//! The master key: present, readable by its owner only, and the one that the secrets are encrypted with.

use std::os::unix::fs::PermissionsExt;

use crate::app::doctor::{Check, Patient};

const NAME: &str = "master key";

pub fn check(patient: &Patient<'_>, sealed: &[(String, i64)]) -> Check {
    let source = patient.options.key_source();
    let secrets: i64 = sealed.iter().map(|(_, count)| count).sum();
    let key = match source.read() {
        Ok(Some(key)) => key,
        Ok(None) if sealed.is_empty() => return Check::ok(NAME, "none yet; created with the first secret"),
        Ok(None) => {
            let finding = format!("{} is missing; {secrets} secret(s) cannot be decrypted", source.describe());
            return Check::failure(
                NAME,
                finding,
                "copy the file from your backup, or set the secrets again (windrow secrets set)",
            );
        }
        Err(error) => return Check::failure(NAME, error.one_line(), "correct it"),
    };
    let foreign: i64 = sealed.iter().filter(|(id, _)| *id != key.id()).map(|(_, count)| count).sum();
    if foreign > 0 {
        let finding =
            format!("{foreign} of {secrets} secret(s) are encrypted with another key than {}", source.describe());
        return Check::failure(NAME, finding, "restore that key, or set those secrets again");
    }
    let mode = source.path().and_then(|path| std::fs::metadata(path).ok()).map(|meta| meta.permissions().mode());
    if let (Some(mode), Some(path)) = (mode.filter(|mode| mode & 0o077 != 0), source.path()) {
        let finding = format!("{} is readable by others (mode {:o})", path.display(), mode & 0o777);
        return Check::warning(NAME, finding, format!("chmod 600 {}", path.display()));
    }
    Check::ok(NAME, format!("{} (id {}), {secrets} secret(s)", source.describe(), key.id()))
}
