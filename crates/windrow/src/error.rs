//! What a command or a request answers when it cannot do what it was asked: what failed, what to do about it,
//! and a code for programs. One table maps each code to its HTTP status, gRPC code and exit code.

use serde::{Serialize, Serializer};
use serde_json::json;
use windrow_jobfile::Report;
use windrow_model::Failure;
use windrow_model::store::StoreError;
use windrow_wire::{Place, PlacedProblem};

#[derive(Debug)]
pub enum Error {
    /// The job file or its dataset is invalid.
    File(Report),
    Plain {
        what: String,
        remedy: String,
        code: Code,
        /// The part of the request that is wrong.
        field: Option<String>,
        /// Where in that part.
        at: Option<Place>,
        exit: Option<Exit>,
    },
}

pub type Result<T, E = Error> = std::result::Result<T, E>;

windrow_model::vocabulary! {
    /// The kind of error, for programs. Codes never change from version to version.
    pub enum Code {
        #[doc = "The resource does not exist."]
        NotFound = "not_found",
        #[doc = "The job already has an active run (ExperimentRunningExisted)."]
        RunningExisted = "running_existed",
        #[doc = "The state of the run does not allow the operation."]
        ForbiddenTransition = "forbidden_transition",
        #[doc = "A job with this name has another kind."]
        KindChanged = "kind_changed",
        #[doc = "The run accepts no more items."]
        IntakeClosed = "intake_closed",
        #[doc = "The run has reached its budget."]
        BudgetSpent = "budget_spent",
        #[doc = "The request conflicts with the current state."]
        Conflict = "conflict",
        #[doc = "The job file or its dataset is invalid."]
        BrokenJobFile = "broken_job_file",
        #[doc = "Some of the rows are invalid; none was stored."]
        BrokenRows = "broken_rows",
        #[doc = "The resource has changed since it was read (If-Match)."]
        Changed = "changed",
        #[doc = "Jobs of this kind make no changes that can be rolled back."]
        NothingToUndo = "nothing_to_undo",
        #[doc = "The request is invalid."]
        BadRequest = "bad_request",
        #[doc = "A filter, an order or a name of the result table is invalid."]
        InvalidQuery = "invalid_query",
        #[doc = "The view has expired; ask again."]
        Gone = "gone",
        #[doc = "The API key is missing, invalid, expired or revoked."]
        Unauthenticated = "unauthenticated",
        #[doc = "The role or the workspace of the caller does not allow the request."]
        Forbidden = "forbidden",
        #[doc = "The request comes from a page of another origin, or names another host."]
        ForeignOrigin = "foreign_origin",
        #[doc = "No route exists at this path."]
        NoSuchRoute = "no_such_route",
        #[doc = "The route does not support this method."]
        MethodNotAllowed = "method_not_allowed",
        #[doc = "The body is too large."]
        TooLarge = "too_large",
        #[doc = "The media type of the body is not supported."]
        UnsupportedType = "unsupported_type",
        #[doc = "The route supports WebSocket connections only."]
        UpgradeRequired = "upgrade_required",
        #[doc = "The queue is full; retry later."]
        QueueFull = "queue_full",
        #[doc = "The caller exceeded its rate limit."]
        RateLimited = "rate_limited",
        #[doc = "The request timed out; it may or may not have taken effect."]
        TimedOut = "timed_out",
        #[doc = "The database is unreachable or did not respond."]
        Unavailable = "unavailable",
        #[doc = "Internal error."]
        Failed = "failed",
    }
}

/// Code, HTTP status, gRPC code, exit code.
const TABLE: &[(Code, u16, tonic::Code, Exit)] = &[
    (Code::NotFound, 404, tonic::Code::NotFound, Exit::Error),
    (Code::RunningExisted, 409, tonic::Code::AlreadyExists, Exit::Error),
    (Code::ForbiddenTransition, 409, tonic::Code::FailedPrecondition, Exit::Error),
    (Code::KindChanged, 409, tonic::Code::FailedPrecondition, Exit::Error),
    (Code::IntakeClosed, 409, tonic::Code::FailedPrecondition, Exit::Error),
    (Code::BudgetSpent, 409, tonic::Code::FailedPrecondition, Exit::BudgetSpent),
    (Code::Conflict, 409, tonic::Code::FailedPrecondition, Exit::Error),
    (Code::BrokenJobFile, 422, tonic::Code::FailedPrecondition, Exit::Usage),
    (Code::BrokenRows, 422, tonic::Code::FailedPrecondition, Exit::Usage),
    (Code::Changed, 412, tonic::Code::FailedPrecondition, Exit::Error),
    (Code::NothingToUndo, 409, tonic::Code::FailedPrecondition, Exit::Error),
    (Code::BadRequest, 400, tonic::Code::InvalidArgument, Exit::Usage),
    (Code::InvalidQuery, 422, tonic::Code::InvalidArgument, Exit::Usage),
    (Code::Gone, 410, tonic::Code::NotFound, Exit::Error),
    (Code::Unauthenticated, 401, tonic::Code::Unauthenticated, Exit::Error),
    (Code::Forbidden, 403, tonic::Code::PermissionDenied, Exit::Error),
    (Code::ForeignOrigin, 403, tonic::Code::PermissionDenied, Exit::Error),
    (Code::NoSuchRoute, 404, tonic::Code::Unimplemented, Exit::Error),
    (Code::MethodNotAllowed, 405, tonic::Code::Unimplemented, Exit::Error),
    (Code::TooLarge, 413, tonic::Code::ResourceExhausted, Exit::Error),
    (Code::UnsupportedType, 415, tonic::Code::InvalidArgument, Exit::Error),
    (Code::UpgradeRequired, 426, tonic::Code::InvalidArgument, Exit::Error),
    (Code::QueueFull, 429, tonic::Code::ResourceExhausted, Exit::Error),
    (Code::RateLimited, 429, tonic::Code::ResourceExhausted, Exit::Error),
    (Code::TimedOut, 503, tonic::Code::Unavailable, Exit::Error),
    (Code::Unavailable, 503, tonic::Code::Unavailable, Exit::Error),
    (Code::Failed, 500, tonic::Code::Internal, Exit::Error),
];

impl Code {
    fn row(self) -> &'static (Code, u16, tonic::Code, Exit) {
        TABLE.iter().find(|(code, ..)| *code == self).expect("every code is in the table")
    }

    pub fn http(self) -> u16 {
        self.row().1
    }

    pub fn grpc(self) -> tonic::Code {
        self.row().2
    }

    pub fn exit(self) -> Exit {
        self.row().3
    }
}

impl Error {
    pub fn new(what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Error::Plain { what: what.into(), remedy: remedy.into(), code: Code::Failed, field: None, at: None, exit: None }
    }

    /// A value of the request is invalid.
    pub fn invalid(field: &str, what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Error::new(what, remedy).coded(Code::BadRequest).about(field)
    }

    /// Overrides the exit code of the error's code.
    pub fn ending_with(mut self, ending: Exit) -> Self {
        if let Error::Plain { exit, .. } = &mut self {
            *exit = Some(ending);
        }
        self
    }

    pub fn coded(mut self, given: Code) -> Self {
        if let Error::Plain { code, .. } = &mut self {
            *code = given;
        }
        self
    }

    pub fn about(mut self, part: &str) -> Self {
        if let Error::Plain { field, .. } = &mut self {
            *field = Some(part.to_owned());
        }
        self
    }

    pub fn placed(mut self, place: Place) -> Self {
        if let Error::Plain { at, .. } = &mut self {
            *at = Some(place);
        }
        self
    }

    /// The message without the remedy.
    pub fn what(&self) -> String {
        match self {
            Error::File(report) => report.to_string(),
            Error::Plain { what, .. } => what.clone(),
        }
    }

    pub fn code(&self) -> Code {
        match self {
            Error::File(_) => Code::BrokenJobFile,
            Error::Plain { code, .. } => *code,
        }
    }

    pub fn is(&self, code: Code) -> bool {
        self.code() == code
    }

    pub fn exit(&self) -> Exit {
        match self {
            Error::Plain { exit: Some(exit), .. } => *exit,
            error => error.code().exit(),
        }
    }

    /// For use inside a longer sentence.
    pub fn one_line(&self) -> String {
        match self {
            Error::File(report) => report.to_string(),
            Error::Plain { what, remedy, .. } if remedy.is_empty() => what.clone(),
            Error::Plain { what, remedy, .. } => format!("{what}; {remedy}"),
        }
    }

    /// For stderr.
    pub fn render(&self) -> String {
        match self {
            Error::File(report) => report.render(),
            Error::Plain { what, remedy, .. } if remedy.is_empty() => format!("error: {what}\n"),
            Error::Plain { what, remedy, .. } => format!("error: {what}\nhelp: {remedy}\n"),
        }
    }
}

/// For stderr with `--json`.
impl Serialize for Error {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let (help, problems) = match self {
            Error::File(report) => ("correct what is listed under `problems`", placed(report)),
            Error::Plain { remedy, .. } => (remedy.as_str(), Vec::new()),
        };
        let mut error = json!({ "code": self.code().as_str(), "message": self.what(), "help": help });
        if let Error::Plain { at: Some(at), .. } = self {
            error["at"] = json!(at);
        }
        if !problems.is_empty() {
            error["problems"] = json!(problems);
        }
        json!({ "error": error }).serialize(serializer)
    }
}

pub fn placed(report: &Report) -> Vec<PlacedProblem> {
    let problems = report.problems.iter().map(|problem| {
        let place = problem.location.as_ref();
        let columns = place.map(|place| place.excerpt.columns_of(place.span.clone()));
        PlacedProblem {
            column: columns.map(|(column, _)| column),
            length: columns.map(|(_, length)| length),
            file: place.map(|place| place.excerpt.name.clone()),
            line: place.map(|place| place.excerpt.line_of(place.span.start)),
            text: place.map(|place| place.excerpt.line_text(place.span.start).to_owned()),
            message: problem.message.clone(),
            remedy: problem.help.clone(),
        }
    });
    problems.collect()
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        let (code, remedy) = match &error {
            // These messages contain their own remedy.
            StoreError::RunningExisted { .. } => (Code::RunningExisted, ""),
            StoreError::KindChanged { .. } => (Code::KindChanged, ""),
            StoreError::NameTaken { .. } => (Code::Conflict, ""),
            StoreError::IntakeClosed => (Code::IntakeClosed, ""),
            StoreError::Stale { .. } => {
                (Code::Conflict, "see who executes the run with `windrow jobs why JOB`, then retry")
            }
            StoreError::NotFound { what: "session", .. } => {
                let what = "another process expired the session of this one (was its lock file in the data directory removed?)";
                return Error::new(what, "run the same command again; finished work is kept");
            }
            StoreError::NotFound { what: "webhook" | "delivery", .. } => {
                (Code::NotFound, "list webhooks with `windrow webhooks list`")
            }
            StoreError::NotFound { what: "node", .. } => (Code::NotFound, "list nodes with `windrow nodes list`"),
            StoreError::NotFound { .. } => (Code::NotFound, "list jobs with `windrow jobs list`"),
            StoreError::Forbidden(_) => (Code::ForbiddenTransition, "see its state with `windrow jobs show JOB`"),
            StoreError::Unsettled { .. } => (Code::Conflict, "wait until its items have finished"),
            StoreError::StaleImport => (Code::Conflict, "import again when the other import has ended"),
            StoreError::DuplicateId { .. } => (Code::Conflict, "give each row its own id, or add a field to `id`"),
            StoreError::TriesExhausted { .. } => (Code::Conflict, "run the file under another job name"),
            StoreError::Unavailable(why) => {
                let usual = "check the database and the disk with `windrow doctor`, then retry";
                (Code::Unavailable, windrow_store::certificate_remedy(why).unwrap_or(usual))
            }
            StoreError::Corrupt(_) => {
                (Code::Failed, "use the newest windrow, or another data directory with `--data DIR`")
            }
        };
        Error::new(error.to_string(), remedy).coded(code)
    }
}

/// Of work that is done while the caller waits.
impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        Error::new(failure.message, "correct it and retry").coded(Code::BadRequest).ending_with(Exit::Error)
    }
}

impl From<Report> for Error {
    fn from(report: Report) -> Self {
        Error::File(report)
    }
}

/// How the program ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    Passed,
    Error,
    Usage,
    GateFailed,
    ItemsFailed,
    BudgetSpent,
    EvidenceWeak,
    PartialFail,
    Interrupted,
}

const EXITS: &[(Exit, u8, &str)] = &[
    (Exit::Passed, 0, "passed"),
    (Exit::Error, 1, "error, or the run was cancelled"),
    (Exit::Usage, 2, "usage error or invalid job file; nothing was stored"),
    (Exit::GateFailed, 3, "quality gate failed"),
    (Exit::ItemsFailed, 4, "too many items failed"),
    (Exit::BudgetSpent, 5, "budget reached, or a dry run exceeds it"),
    (Exit::EvidenceWeak, 6, "inconclusive: too few results for a quality gate"),
    (Exit::PartialFail, 7, "some targets of an operation failed, others did not"),
    (Exit::Interrupted, 130, "interrupted; run the same command again to resume"),
];

impl Exit {
    /// An unknown code is an error.
    pub fn of_code(code: u8) -> Self {
        EXITS.iter().find(|(_, known, _)| *known == code).map_or(Exit::Error, |(exit, _, _)| *exit)
    }

    pub fn code(self) -> u8 {
        EXITS.iter().find(|(exit, _, _)| *exit == self).map_or(1, |(_, code, _)| *code)
    }

    /// The table, for `windrow help exit-codes`.
    pub fn help() -> String {
        let lines = EXITS.iter().map(|(_, code, meaning)| format!("  {code:>3}  {meaning}\n"));
        format!("Exit codes:\n{}", lines.collect::<String>())
    }
}

impl From<Exit> for std::process::ExitCode {
    fn from(exit: Exit) -> Self {
        exit.code().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_is_in_the_table_once() {
        for code in Code::ALL {
            assert_eq!(TABLE.iter().filter(|(known, ..)| known == code).count(), 1, "{code}");
        }
    }

    #[test]
    fn every_exit_has_its_own_code() {
        let mut codes: Vec<u8> = EXITS.iter().map(|(_, code, _)| *code).collect();
        codes.sort_unstable();
        codes.dedup();
        assert_eq!(codes, [0, 1, 2, 3, 4, 5, 6, 7, 130]);
        assert_eq!((Exit::Interrupted.code(), Exit::ItemsFailed.code()), (130, 4));
    }
}
