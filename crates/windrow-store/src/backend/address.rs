//! Where a server is and of which kind, from its URL.

use std::sync::Arc;

use windrow_model::bell::Bell;
use windrow_model::store::{Result, StoreError};

use crate::backend::{self, Connection, mysql, postgres};

#[derive(Clone)]
pub(crate) enum Address {
    Postgres(postgres::Address),
    MySql(mysql::Address),
}

impl Address {
    pub fn parse(url: &str) -> Result<Self> {
        match url.split_once("://").map(|(scheme, _)| scheme) {
            Some("postgres" | "postgresql") => postgres::Address::parse(url).map(Address::Postgres),
            Some("mysql" | "mariadb") => mysql::Address::parse(url).map(Address::MySql),
            _ => Err(StoreError::Unavailable(
                "the database URL is not understood: it begins with postgres://, mysql:// or mariadb://".into(),
            )),
        }
    }

    /// Brings the tables up to date.
    pub fn migrate(&self) -> Result<()> {
        match self {
            Address::Postgres(address) => address.migrate(),
            Address::MySql(address) => address.migrate(),
        }
    }

    pub fn connect_writer(&self) -> backend::Result<Connection> {
        match self {
            Address::Postgres(address) => address.connect_writer(),
            Address::MySql(address) => address.connect_writer(),
        }
    }

    pub fn connect_reader(&self) -> backend::Result<Connection> {
        match self {
            Address::Postgres(address) => address.connect_reader(),
            Address::MySql(address) => address.connect_reader(),
        }
    }

    /// Without time limits, for one who moves everything.
    pub fn connect_unlimited(&self) -> backend::Result<Connection> {
        match self {
            Address::Postgres(address) => address.connect(),
            Address::MySql(address) => address.connect_unlimited(),
        }
    }

    /// How nodes that share it wake each other up, where it can do that.
    pub fn bell(&self) -> Result<Option<Arc<dyn Bell>>> {
        match self {
            Address::Postgres(address) => Ok(Some(Arc::new(postgres::Listening::start(address)?))),
            Address::MySql(_) => Ok(None),
        }
    }

    /// How a transaction begins that sees one moment.
    pub fn begin_reading(&self) -> &'static str {
        match self {
            Address::Postgres(_) => "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
            Address::MySql(_) => "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY",
        }
    }
}
