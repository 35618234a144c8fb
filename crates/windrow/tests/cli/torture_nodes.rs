//! Three nodes on one database while nodes, network, database and Redis fail (E2, E5, E12, I2). A smaller version of
//! `make torture`, which injects 100 faults with 20,000 items per database.

use std::path::Path;
use std::process::Command;

const FAULTS: [&str; 4] = ["--items", "1200", "--faults", "10"];
/// The limit is generous, because other tests run at the same time. `make torture` allows 3 s.
const FREEZES: [&str; 8] = ["--items", "4000", "--faults", "3", "--only", "freeze", "--silent", "10"];
const CANCELS: [&str; 6] = ["--items", "600", "--faults", "5", "--only", "cancel_query"];

fn torture(store: &str, dose: &[&str]) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let program = env!("CARGO_BIN_EXE_windrow");
    let mut script = Command::new(root.join("scripts/torture_nodes.py"));
    script.args(["--store", store, "--windrow", program]).args(dose);
    let output = script.output().expect("Python runs the script");
    let said = String::from_utf8_lossy(&output.stdout);
    println!("{said}");
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
    assert!(said.contains("passed: no item lost"));
}

#[test]
fn torture_of_nodes_on_postgres_loses_nothing_and_does_nothing_twice() {
    torture("postgres", &FAULTS);
}

#[test]
fn torture_of_nodes_on_mariadb_loses_nothing_and_does_nothing_twice() {
    torture("mariadb", &FAULTS);
}

/// A node that stops inside a transaction holds rows that the others need.
#[test]
fn nodes_that_freeze_inside_transactions_do_not_silence_the_others_on_postgres() {
    torture("postgres", &FREEZES);
}

#[test]
fn nodes_that_freeze_inside_transactions_do_not_silence_the_others_on_mariadb() {
    torture("mariadb", &FREEZES);
}

/// An error of the database is no damage: no node exits.
#[test]
fn cancelled_queries_on_postgres_stop_no_node_and_repeat_no_call() {
    torture("postgres", &CANCELS);
}

#[test]
fn cancelled_queries_on_mariadb_stop_no_node_and_repeat_no_call() {
    torture("mariadb", &CANCELS);
}
