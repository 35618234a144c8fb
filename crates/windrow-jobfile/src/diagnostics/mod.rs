//! Everything found wrong with a job file and its dataset, in one report. Each problem names file
//! and line, shows the text, and says what to do. Rendered by miette or as plain text.

mod excerpt;

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use miette::{Diagnostic, LabeledSpan, SourceCode};

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

impl Diagnostic for Problem {
    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        (!self.help.is_empty()).then(|| Box::new(&self.help) as Box<dyn fmt::Display>)
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        self.location.as_ref().map(|place| &*place.excerpt as &dyn SourceCode)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let place = self.location.as_ref()?;
        let span = place.excerpt.clamp(place.span.clone());
        Some(Box::new(std::iter::once(LabeledSpan::at(span, "here"))))
    }
}

/// What was read when the problems were found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum About {
    JobFile,
    /// A file of rows on its own.
    Dataset,
    /// The program's own config file.
    Settings,
}

/// Nothing was stored; all that is wrong is in here.
#[derive(Debug, Clone)]
pub struct Report {
    pub about: About,
    pub problems: Vec<Problem>,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (what, nothing) = match self.about {
            About::JobFile => ("the job file", "nothing was started"),
            About::Dataset => ("the dataset", "nothing was stored"),
            About::Settings => ("the config file", "nothing was started"),
        };
        match self.problems.len() {
            1 => write!(f, "{what} has a problem; {nothing}"),
            n => write!(f, "{what} has {n} problems; {nothing}"),
        }
    }
}

impl std::error::Error for Report {}

impl Diagnostic for Report {
    fn related<'a>(&'a self) -> Option<Box<dyn Iterator<Item = &'a dyn Diagnostic> + 'a>> {
        Some(Box::new(self.problems.iter().map(|problem| problem as &dyn Diagnostic)))
    }
}

impl Report {
    /// For pipes, logs and JSON: `file:line: message`, the text, the remedy.
    pub fn plain(&self) -> String {
        let mut text = format!("{self}\n");
        for problem in &self.problems {
            text += &format!("{problem}\n");
            if let Some(place) = &problem.location {
                text += &format!("    {}\n", place.excerpt.line_text(place.span.start));
            }
            if !problem.help.is_empty() {
                text += &format!("  help: {}\n", problem.help);
            }
        }
        text
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
