//! A transaction is whole or not at all, whatever the server does: all cases run once more, while a proxy ends the
//! transaction after rows and at the end of the answer of every statement, and at every commit.

use std::sync::Arc;
use std::time::Duration;

use windrow_store::SqlStore;

use crate::databases::{self, Database};
use crate::fault_proxy::{self, Faults};
use crate::{
    access, alerts, analytics, conformance, datasets, hooks, rollout, searching, secrets, shared_limits, steering,
    vitals,
};

/// The store of this database, behind a proxy.
async fn behind_proxy(database: &Database, mysql: bool, faults: &Arc<Faults>) -> SqlStore {
    let url = database.url();
    let port = url.split_once("127.0.0.1:").and_then(|(_, rest)| rest.split_once('/')).expect("a port").0;
    let proxy = fault_proxy::start(port.parse().expect("a number"), mysql, faults);
    let store = SqlStore::connect(&url.replace(port, &proxy.to_string())).await.expect("connected");
    // A bookmark of a slow scan would hide the rows of the next case, whose ids begin anew.
    store.with_patience(Duration::MAX)
}

async fn every_case_holds(database: Database, mysql: bool) {
    let faults = Arc::new(Faults::default());
    let before_each = || {
        faults.arm(false);
        database.empty();
        faults.arm(true);
    };
    // What a first pass leaves is left because one call takes only so many faults.
    for pass in 0.. {
        println!("pass {pass}: {} faults, {} left", faults.struck(), faults.left().len());
        if pass > 0 && (faults.left().is_empty() || pass == 3) {
            break;
        }
        // A new node, because a node that has taken item ids takes none for a while.
        faults.arm(false);
        let store = Arc::new(behind_proxy(&database, mysql, &faults).await);
        conformance::all(&store, &before_each).await;
        steering::all(&store, &before_each).await;
        rollout::all(&store, &before_each).await;
        searching::all(&store, &before_each).await;
        vitals::all(&store, &before_each).await;
        hooks::all(&store, &before_each).await;
        datasets::all(&store, &before_each).await;
        access::all(&store, &before_each).await;
        alerts::all(&store, &before_each).await;
        analytics::all(&store, &before_each).await;
        secrets::all(&store, &before_each).await;
        before_each();
        shared_limits::nodes_take_turns(store.clone()).await;
    }
    assert!(faults.struck() > 500, "{} faults", faults.struck());
    assert_eq!(faults.left(), []);
}

#[tokio::test]
async fn a_transaction_is_whole_or_not_at_all_on_postgres() {
    every_case_holds(databases::postgres().await, false).await;
}

#[tokio::test]
async fn a_transaction_is_whole_or_not_at_all_on_mariadb() {
    every_case_holds(databases::mariadb().await, true).await;
}
