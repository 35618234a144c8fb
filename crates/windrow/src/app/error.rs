//! What a command or a request says when it cannot do what it was asked: one line what, one line what
//! to do, and a word for programs.

use windrow_jobfile::Report;
use windrow_model::Failure;
use windrow_model::store::StoreError;

pub use crate::app::code::Code;
use crate::app::exit::Exit;

#[derive(Debug)]
pub enum Error {
    /// The job file or its dataset is broken.
    File(Report),
    Plain {
        what: String,
        remedy: String,
        exit: Exit,
        code: Code,
    },
}

pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    pub fn new(what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Error::Plain { what: what.into(), remedy: remedy.into(), exit: Exit::Error, code: Code::Failed }
    }

    /// The same, ending the program otherwise.
    pub fn ending_with(mut self, ending: Exit) -> Self {
        if let Error::Plain { exit, .. } = &mut self {
            *exit = ending;
        }
        self
    }

    /// The same, under another word.
    pub fn coded(mut self, word: Code) -> Self {
        if let Error::Plain { code, .. } = &mut self {
            *code = word;
        }
        self
    }

    /// The same, with what a person at a command line does about this kind of trouble.
    pub fn advising(mut self, about: Code, advice: &str) -> Self {
        if let Error::Plain { remedy, code, .. } = &mut self
            && *code == about
        {
            *remedy = advice.to_owned();
        }
        self
    }

    /// Without what to do.
    pub fn what(&self) -> String {
        match self {
            Error::File(report) => report.to_string(),
            Error::Plain { what, .. } => what.clone(),
        }
    }

    pub fn is(&self, word: Code) -> bool {
        matches!(self, Error::Plain { code, .. } if *code == word)
    }

    pub fn exit(&self) -> Exit {
        match self {
            Error::File(_) => Exit::Usage,
            Error::Plain { exit, .. } => *exit,
        }
    }

    /// For where it is one part of a longer sentence.
    pub fn one_line(&self) -> String {
        match self {
            Error::File(report) => report.to_string(),
            Error::Plain { what, remedy, .. } if remedy.is_empty() => what.clone(),
            Error::Plain { what, remedy, .. } => format!("{what}; {remedy}"),
        }
    }

    /// As it goes to stderr: with frames and colours for a person, as plain lines otherwise.
    pub fn render(&self) -> String {
        use std::io::IsTerminal;
        match self {
            Error::File(report) if std::io::stderr().is_terminal() => {
                let mut text = String::new();
                match miette::GraphicalReportHandler::new().render_report(&mut text, report) {
                    Ok(()) => text,
                    Err(_) => report.plain(),
                }
            }
            Error::File(report) => format!("error: {}", report.plain()),
            Error::Plain { what, remedy, .. } if remedy.is_empty() => format!("error: {what}\n"),
            Error::Plain { what, remedy, .. } => format!("error: {what}\n   do: {remedy}\n"),
        }
    }
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        let (code, remedy) = match &error {
            // These messages say what to do themselves.
            StoreError::RunningExisted { .. } => (Code::RunningExisted, ""),
            StoreError::KindChanged { .. } => (Code::KindChanged, ""),
            StoreError::NameTaken { .. } => (Code::Conflict, ""),
            StoreError::IntakeClosed => (Code::IntakeClosed, ""),
            StoreError::Stale { .. } => {
                (Code::Conflict, "look who works on it with `windrow jobs why JOB`, then try again")
            }
            StoreError::NotFound { what: "session", .. } => {
                let what = "another process took this one for dead (was its lock file in the data folder removed?)";
                return Error::new(what, "nothing is lost: run the same file again to go on");
            }
            StoreError::NotFound { what: "webhook" | "delivery", .. } => {
                (Code::NotFound, "list what there is with `windrow webhooks list`")
            }
            StoreError::NotFound { .. } => (Code::NotFound, "list what there is with `windrow jobs list`"),
            StoreError::Forbidden(_) => {
                (Code::ForbiddenTransition, "look where it stands with `windrow jobs show JOB`")
            }
            StoreError::Unsettled { .. } => (Code::Conflict, "wait until its items are settled"),
            StoreError::StaleImport => (Code::Conflict, "import again when the other one has ended"),
            StoreError::TriesExhausted { .. } => (Code::Conflict, "start afresh under another job name"),
            StoreError::Unavailable(_) => (
                Code::Unavailable,
                "ask `windrow doctor` why: a server must be there and let us in, a disk must have room; then try again",
            ),
            StoreError::Corrupt(_) => (Code::Failed, "use the newest windrow, or another folder with `--data DIR`"),
        };
        Error::new(error.to_string(), remedy).coded(code)
    }
}

/// Of work that is done on the spot.
impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        Error::new(failure.message, "put it right and try again").coded(Code::BadRequest)
    }
}

impl From<Report> for Error {
    fn from(report: Report) -> Self {
        Error::File(report)
    }
}
