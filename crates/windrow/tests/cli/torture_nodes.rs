//! Three nodes on one database while nodes, network, database and Redis fail (E2, E5, E12, I2). A smaller version of
//! `make torture`, which injects 100 faults with 20,000 items per database.

use std::path::Path;
use std::process::Command;

fn torture(store: &str, dose: &[&str]) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let program = env!("CARGO_BIN_EXE_windrow");
    let mut script = Command::new(root.join("scripts/torture_nodes.py"));
    script.args(["--store", store, "--windrow", program]).args(dose);
    let output = script.output().expect("Python runs the script");
    let said = String::from_utf8_lossy(&output.stdout);
    println!("{said}");
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
    assert!(said.contains("passed: no item lost"));
    said.into_owned()
}

const FAULTS: [&str; 4] = ["--items", "1200", "--faults", "10"];
/// Nodes that are paused inside a transaction do not silence the others.
const PAUSES: [&str; 6] = ["--only", "freeze_in_transaction", "--items", "2000", "--faults", "4"];

#[test]
fn torture_of_nodes_on_postgres_loses_nothing_and_does_nothing_twice() {
    torture("postgres", &FAULTS);
}

#[test]
fn torture_of_nodes_on_mariadb_loses_nothing_and_does_nothing_twice() {
    torture("mariadb", &FAULTS);
}

#[test]
fn torture_by_pauses_inside_transactions_does_not_silence_nodes_on_postgres() {
    assert!(torture("postgres", &PAUSES).contains("pauses inside a transaction: the others were silent for at most"));
}

#[test]
fn torture_by_pauses_inside_transactions_does_not_silence_nodes_on_mariadb() {
    assert!(torture("mariadb", &PAUSES).contains("pauses inside a transaction: the others were silent for at most"));
}
