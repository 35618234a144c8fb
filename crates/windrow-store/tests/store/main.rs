//! One suite for every adapter. The cases of `conformance`, `steering` and `searching` state the rules one by one; `differential`
//! drives the same random history through the specification and an adapter and compares everything.

/// Stamps every case of a list once per adapter.
macro_rules! cases {
    ($($case:ident),+ $(,)?) => {
        mod memory {
            $( #[tokio::test] async fn $case() { super::$case(&*crate::fixture::memory().await.store).await } )+
        }
        mod sqlite {
            $( #[tokio::test] async fn $case() { super::$case(&*crate::fixture::sqlite().await.store).await } )+
        }
    };
}

/// The same for a port that only the databases have, because no simulation needs it.
macro_rules! cases_of_sqlite {
    ($($case:ident),+ $(,)?) => {
        mod sqlite {
            $( #[tokio::test] async fn $case() {
                let home = tempfile::tempdir().unwrap();
                super::$case(&windrow_store::SqliteStore::open(&home.path().join("windrow.db")).unwrap()).await
            } )+
        }
    };
}

mod access;
mod alerts;
mod conformance;
mod datasets;
mod differential;
mod fixture;
mod hooks;
mod rollout;
mod searching;
mod secrets;
mod steering;
mod vitals;
