//! What a command says when it cannot do what it was asked: one line what, one line what to do.

use windrow_model::store::StoreError;
use windrow_workloads::Report;

use crate::exit::Exit;

#[derive(Debug)]
pub enum Error {
    /// The job file or its dataset is broken.
    File(Report),
    Plain {
        what: String,
        remedy: String,
        exit: Exit,
    },
}

pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    pub fn new(what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Error::Plain { what: what.into(), remedy: remedy.into(), exit: Exit::Error }
    }

    pub fn exit(&self) -> Exit {
        match self {
            Error::File(_) => Exit::Usage,
            Error::Plain { exit, .. } => *exit,
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
        let remedy = match &error {
            // These messages say what to do themselves.
            StoreError::RunningExisted { .. } | StoreError::KindChanged { .. } | StoreError::IntakeClosed => "",
            StoreError::Stale { .. } => "look who works on it with `windrow jobs why JOB`, then try again",
            StoreError::NotFound { what: "session", .. } => {
                let what = "another process took this one for dead (was its lock file in the data folder removed?)";
                return Error::new(what, "nothing is lost: run the same file again to go on");
            }
            StoreError::NotFound { .. } => "list what there is with `windrow jobs list`",
            StoreError::Forbidden(_) => "look where it stands with `windrow jobs show JOB`",
            StoreError::Unsettled { .. } => "wait until its items are settled",
            StoreError::StaleImport => "import again when the other one has ended",
            StoreError::TriesExhausted { .. } => "start afresh under another job name",
            StoreError::Unavailable(_) => {
                "check that the disk has room and the data folder may be written, then try again"
            }
            StoreError::Corrupt(_) => "use the newest windrow, or another folder with `--data DIR`",
        };
        Error::new(error.to_string(), remedy)
    }
}

impl From<Report> for Error {
    fn from(report: Report) -> Self {
        Error::File(report)
    }
}
