//! Errors as gRPC statuses, by the table of [`Code`](crate::error::Code).

use tonic::Status;
use windrow_engine::ReportError;
use windrow_model::store::StoreError;

use crate::error::Error;

pub fn of_store(error: StoreError) -> Status {
    let text = error.to_string();
    match error {
        // A worker registers again on this code.
        StoreError::NotFound { what: "session", .. } => Status::not_found(format!("{text}; register again")),
        error => Status::new(Error::from(error).code().grpc(), text),
    }
}

pub fn of_refusal(error: ReportError) -> Status {
    match error {
        ReportError::Store(error) => of_store(error),
        ReportError::Invalid(why) => Status::invalid_argument(why),
    }
}

pub fn of_error(error: Error) -> Status {
    Status::new(error.code().grpc(), error.one_line())
}
