//! A job file as text, for a server that reads it, and what the server says about it put at its place here.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use windrow_jobfile::Report;
use windrow_jobfile::diagnostics::{About, Excerpt, Location, Problem};

use crate::error::{Error, Result};

/// What a server calls a file that it got as text.
pub const SENT_AS: &str = "job";

pub fn read(path: &Path) -> Result<String> {
    std::fs::read_to_string(path).map_err(|error| {
        let message = format!("{}: the job file cannot be read: {error}", path.display());
        let problem = Problem::new(message, "check the path, and that the file is UTF-8 text");
        Error::File(Report { about: About::JobFile, problems: vec![problem] })
    })
}

/// The lines that the server speaks of are those of the file.
pub fn placed(error: Error, path: &Path, text: String) -> Error {
    let Error::File(mut report) = error else { return error };
    let file = Arc::new(Excerpt::whole(path.display().to_string(), text));
    for problem in &mut report.problems {
        if let Some(place) = problem.location.as_mut().filter(|place| place.excerpt.name == SENT_AS) {
            let span = span_in_line(&file.text, place.excerpt.first_line, &place.span);
            *place = Location { excerpt: file.clone(), span };
        }
    }
    Error::File(report)
}

/// From columns of a line to bytes of the file.
fn span_in_line(text: &str, line: usize, columns: &Range<usize>) -> Range<usize> {
    let start: usize = text.split_inclusive('\n').take(line - 1).map(str::len).sum();
    let found = text[start..].lines().next().unwrap_or_default();
    let offset = |column: usize| found.char_indices().nth(column).map_or(found.len(), |(offset, _)| offset);
    start + offset(columns.start)..start + offset(columns.end)
}

/// ` (support.yaml:5)`: the line of the setting that a remedy names first, as far as the file has it.
pub fn place(path: &Path, remedy: &str) -> String {
    let setting = remedy.split('`').nth(1).unwrap_or_default();
    let line = std::fs::read_to_string(path).ok().and_then(|text| line_of(&text, setting));
    line.map(|line| format!(" ({}:{line})", path.display())).unwrap_or_default()
}

/// The line of the last part of `target.openai.base_url` that the file has.
fn line_of(text: &str, setting: &str) -> Option<usize> {
    let mut found = None;
    for part in setting.split('.') {
        let key = format!("{part}:");
        let from = found.map_or(0, |at: usize| at + 1);
        let is_key = |(at, _): &(usize, &str)| !text[..from + at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
        let Some((at, _)) = text[from..].match_indices(&key).find(is_key) else { break };
        found = Some(from + at);
    }
    found.map(|at| text[..at].matches('\n').count() + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_is_found_in_its_line() {
        let text = "name: a\nmy_target: 1\ntarget:\n  openai:\n    model: m\n    base_url: http://x\n";
        assert_eq!(line_of(text, "target.openai.base_url"), Some(6));
        assert_eq!(line_of(text, "target.openai.api_key"), Some(4), "the section, where the key is missing");
        assert_eq!(line_of(text, "python.file"), None);
    }
}
