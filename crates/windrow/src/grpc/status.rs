//! The one table from our errors to gRPC status codes.

use tonic::Status;
use windrow_engine::ReportError;
use windrow_model::store::StoreError;

use crate::app::error::{Code, Error};

pub fn of_store(error: StoreError) -> Status {
    let text = error.to_string();
    match error {
        StoreError::NotFound { what: "session", .. } => Status::not_found(format!("{text}; register again")),
        StoreError::NotFound { .. } => Status::not_found(text),
        StoreError::Unavailable(_) => Status::unavailable(text),
        StoreError::Corrupt(_) => Status::internal(text),
        StoreError::RunningExisted { .. } | StoreError::NameTaken { .. } => Status::already_exists(text),
        StoreError::Stale { .. }
        | StoreError::Forbidden(_)
        | StoreError::KindChanged { .. }
        | StoreError::IntakeClosed
        | StoreError::Unsettled { .. }
        | StoreError::TriesExhausted { .. }
        | StoreError::StaleImport => Status::failed_precondition(text),
    }
}

pub fn of_refusal(error: ReportError) -> Status {
    match error {
        ReportError::Store(error) => of_store(error),
        ReportError::Invalid(why) => Status::invalid_argument(why),
    }
}

pub fn of_error(error: Error) -> Status {
    let text = error.render().trim_start_matches("error: ").trim_end().to_owned();
    match error {
        Error::Plain { code: Code::NotFound, .. } => Status::not_found(text),
        Error::Plain { code: Code::Unavailable, .. } => Status::unavailable(text),
        Error::Plain { .. } | Error::File(_) => Status::failed_precondition(text),
    }
}
