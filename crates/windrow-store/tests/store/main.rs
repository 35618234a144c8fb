//! One suite for every adapter. The cases of `conformance`, `steering` and `searching` state the rules one by one;
//! `differential` replays the same random history on the specification and an adapter, and compares everything.

/// Generates every case of a list once per adapter.
macro_rules! cases {
    ($($case:ident),+ $(,)?) => {
        mod memory {
            $( #[tokio::test] async fn $case() { super::$case(&windrow_store::MemoryStore::new()).await } )+
        }
        crate::cases_of_databases![$($case),+];
    };
}

/// The same for ports that only the databases implement, because no simulation needs them.
macro_rules! cases_of_databases {
    ($($case:ident),+ $(,)?) => {
        mod sqlite {
            $( #[tokio::test] async fn $case() { super::$case(&*crate::databases::sqlite().await.store).await } )+
        }
        mod postgres {
            $( #[tokio::test] async fn $case() { super::$case(&*crate::databases::postgres().await.store).await } )+
        }
        mod mariadb {
            $( #[tokio::test] async fn $case() { super::$case(&*crate::databases::mariadb().await.store).await } )+
        }
        /// One after the other, on one store.
        pub(crate) async fn all(store: &windrow_store::SqlStore, before_each: &dyn Fn()) {
            $( before_each(); $case(store).await; )+
        }
    };
}
use cases_of_databases;

mod access;
mod alerts;
mod analytics;
mod closing;
mod concurrent;
mod conformance;
mod databases;
mod datasets;
mod differential;
mod fault_proxy;
mod faults;
mod fixture;
mod histories;
mod hooks;
mod mariadb;
mod replica;
mod rollout;
mod searching;
mod secrets;
mod services;
mod shared_limits;
mod statements;
mod steering;
mod vitals;
