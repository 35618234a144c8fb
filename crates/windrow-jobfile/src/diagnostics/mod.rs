//! Everything found wrong with a job file and its dataset, in one report. Each problem names file
//! and line, shows the text, and says what to do.

mod excerpt;

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

pub use excerpt::Excerpt;
pub use windrow_model::suggest::nearest;

/// Where in a file a problem is.
#[derive(Debug, Clone)]
pub struct Location {
    pub excerpt: Arc<Excerpt>,
    pub span: Range<usize>,
}

#[derive(Debug, Clone)]
pub struct Problem {
    pub message: String,
    /// What to do about it.
    pub help: String,
    pub location: Option<Location>,
}

impl Problem {
    pub fn new(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { message: message.into(), help: help.into(), location: None }
    }

    pub fn at(mut self, excerpt: &Arc<Excerpt>, span: Range<usize>) -> Self {
        self.location = Some(Location { excerpt: excerpt.clone(), span });
        self
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(place) = &self.location {
            write!(f, "{}:{}: ", place.excerpt.name, place.excerpt.line_of(place.span.start))?;
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for Problem {}

/// What was read when the problems were found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum About {
    JobFile,
    /// A file of rows on its own.
    Dataset,
    /// The program's own config file.
    Settings,
}

/// Nothing was stored; all errors are in here.
#[derive(Debug, Clone)]
pub struct Report {
    pub about: About,
    pub problems: Vec<Problem>,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (what, nothing) = match self.about {
            About::JobFile => ("the job file", "called or stored"),
            About::Dataset => ("the dataset", "stored"),
            About::Settings => ("the config file", "started"),
        };
        let first = self.problems.iter().find_map(|problem| problem.location.as_ref());
        let name = first.map_or(what, |location| &location.excerpt.name);
        let errors = match self.problems.len() {
            1 => "1 error".to_owned(),
            n => format!("{n} errors"),
        };
        write!(f, "{name} has {errors}. Nothing was {nothing}.")
    }
}

impl std::error::Error for Report {}

impl Report {
    /// Each error with the line it is in, then their number.
    pub fn render(&self) -> String {
        let mut text = String::new();
        for Problem { message, help, location } in &self.problems {
            text += &format!("error: {message}\n");
            match location {
                Some(location) => text += &location.excerpt.render(location.span.clone(), help),
                None if help.is_empty() => {}
                None => text += &format!("help: {help}\n"),
            }
            text.push('\n');
        }
        format!("{text}{self}\n")
    }
}

/// Collects problems in the job file while it is read.
#[derive(Debug)]
pub struct Problems {
    file: Arc<Excerpt>,
    found: Vec<Problem>,
}

impl Problems {
    pub fn in_file(file: Excerpt) -> Self {
        Self { file: Arc::new(file), found: Vec::new() }
    }

    /// The text of the job file.
    pub fn text(&self) -> &str {
        &self.file.text
    }

    pub fn add(&mut self, span: Range<usize>, message: impl Into<String>, help: impl Into<String>) {
        let problem = Problem::new(message, help).at(&self.file, span);
        self.found.push(problem);
    }

    /// A problem in another file, such as the dataset.
    pub fn push(&mut self, problem: Problem) {
        self.found.push(problem);
    }

    pub fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// In the order of the job file, then those in other files.
    pub fn into_report(mut self) -> Report {
        self.found.sort_by_key(|problem| match &problem.location {
            Some(place) if Arc::ptr_eq(&place.excerpt, &self.file) => place.span.start,
            _ => usize::MAX,
        });
        Report { about: About::JobFile, problems: self.found }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn carets_stand_under_what_is_wrong() {
        let text = "target:\n  openai: { modle: gpt-4o-mini }\n名前: \"{{ mesage }}\"\n";
        let mut problems = Problems::in_file(Excerpt::whole("support.yaml", text));
        let span = |part: &str| text.find(part).map(|start| start..start + part.len()).unwrap();
        problems.add(span("mesage"), "`prompt` uses unknown field `mesage`", "did you mean `message`?");
        problems.add(span("modle"), "unknown field `modle`", "did you mean `model`?");
        problems.push(Problem::new("the dataset is empty", "add at least one row"));
        assert_eq!(
            problems.into_report().render(),
            "error: unknown field `modle`\n  --> support.yaml:2:13\n 2 |   openai: { modle: gpt-4o-mini }\n   \
             |             ^^^^^ help: did you mean `model`?\n\nerror: `prompt` uses unknown field `mesage`\n  --> \
             support.yaml:3:9\n 3 | 名前: \"{{ mesage }}\"\n   |           ^^^^^^ help: did you mean `message`?\n\n\
             error: the dataset is empty\nhelp: add at least one row\n\n\
             support.yaml has 3 errors. Nothing was called or stored.\n"
        );
    }

    #[test]
    fn a_span_may_be_empty_or_end_behind_its_line() {
        let excerpt = Excerpt::whole("a", "one\ntwo\n");
        assert_eq!(excerpt.render(4..8, ""), "  --> a:2:1\n 2 | two\n   | ^^^\n");
        assert_eq!(excerpt.render(8..8, "add it"), "  --> a:3:1\n 3 | \n   | ^ help: add it\n");
    }
}
