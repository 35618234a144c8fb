//! PostgreSQL.

use std::ops::{Deref, DerefMut};

use postgres::Client;
use windrow_jobfile::spec::invalid_request;
use windrow_model::{ErrorClass, Failure};
use windrow_sql::postgres::Address;

/// A connection. Saying goodbye to the server blocks, so it is done on a thread of its own, wherever this is dropped.
pub struct Session(Option<Client>);

impl Deref for Session {
    type Target = Client;

    fn deref(&self) -> &Client {
        self.0.as_ref().expect("it is there until it is dropped")
    }
}

impl DerefMut for Session {
    fn deref_mut(&mut self) -> &mut Client {
        self.0.as_mut().expect("it is there until it is dropped")
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let client = self.0.take();
        std::thread::spawn(move || drop(client));
    }
}

pub fn is_url(url: &str) -> bool {
    url.starts_with("postgres://") || url.starts_with("postgresql://")
}

pub fn connect(url: &str) -> Result<Session, Failure> {
    let address = Address::parse(url, "windrow ingest")
        .map_err(|error| invalid_request(format!("the URL of the database: {error}")))?;
    address.connect().map(|client| Session(Some(client))).map_err(|error| failure(&error))
}

/// What an error means to whoever may try again.
pub fn failure(error: &postgres::Error) -> Failure {
    let Some(said) = error.as_db_error() else {
        let cause = std::error::Error::source(error).map(|cause| format!(": {cause}")).unwrap_or_default();
        return Failure::new(ErrorClass::Network, format!("PostgreSQL: {error}{cause}"));
    };
    let code = said.code().code();
    let class = match &code[..2] {
        // Wrong names, wrong types, and whatever else the same statement would meet again.
        "42" | "3D" | "3F" => ErrorClass::InvalidRequest,
        "28" => ErrorClass::Auth,
        // Conflicts between transactions, resources that are used up, an operator who stops it.
        "40" | "53" | "55" | "57" | "58" | "08" => ErrorClass::Server,
        _ => ErrorClass::Handler,
    };
    Failure::new(class, format!("PostgreSQL: {} ({code})", said.message()))
}
