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
