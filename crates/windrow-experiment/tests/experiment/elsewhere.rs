//! `worker:` in a job file: who may do the items, and what fits together (B9).

use windrow_experiment::CAPABILITY;
use windrow_model::workload::{Column, RunsOn};

use crate::fixture::{Folder, job, prepare, program};

const ROWS: &str = "{\"country\": \"Peru\", \"capital\": \"Lima\"}\n";
const OWN: &str = "kind: experiment\nname: own\ndataset: capitals.jsonl\nworker: gpu-box\n\
    target: { worker: { model: mine, nested: { deep: [1, two] } } }\n\
    evaluators:\n  - worker: { name: similarity, threshold: 0.8 }\n";

fn report(yaml: &str) -> String {
    Folder::new(&[("job.yaml", yaml), ("capitals.jsonl", ROWS)]).report()
}

#[tokio::test]
async fn a_job_says_who_may_do_its_items() {
    let plain = job("http://127.0.0.1:1/v1", "");
    let needs = vec![CAPABILITY.to_owned()];
    assert_eq!(program(&plain, ROWS).await.1.runs_on(), RunsOn::Anywhere { needs: needs.clone() });
    let named = job("http://127.0.0.1:1/v1", "worker: gpu-box\n");
    let both = [needs, vec!["gpu-box".to_owned()]].concat();
    assert_eq!(program(&named, ROWS).await.1.runs_on(), RunsOn::Elsewhere { needs: both });
    assert_eq!(program(OWN, ROWS).await.1.runs_on(), RunsOn::Elsewhere { needs: vec!["gpu-box".to_owned()] });
    let bound = plain.replace("- exact: {", "- not: { command: { run: ['true'] } }\n  - exact: {");
    assert_eq!(program(&bound, ROWS).await.1.runs_on(), RunsOn::Here, "its files are on this machine");
}

#[tokio::test]
async fn the_configuration_of_a_worker_is_frozen_as_it_stands_and_makes_the_column() {
    let folder = Folder::new(&[("job.yaml", OWN), ("capitals.jsonl", ROWS)]);
    let loaded = folder.load().unwrap();
    assert_eq!(loaded.worker.as_deref(), Some("gpu-box"));
    let spec = loaded.spec.value();
    assert_eq!(spec["target"]["config"]["nested"]["deep"], serde_json::json!([1, "two"]));
    assert_eq!(spec["evaluators"][0]["config"], serde_json::json!({ "threshold": 0.8 }));
    let [Column { name, version }] = &prepare(&loaded).await.columns()[..] else { panic!("one evaluator") };
    let (_folder, changed) = program(&OWN.replace("0.8", "0.9"), ROWS).await;
    assert!(name == "similarity" && version.len() == 8);
    assert_ne!(changed.columns()[0].version, *version, "another configuration is another column");
}

#[test]
fn what_does_not_fit_a_worker_of_ones_own_is_refused_with_a_remedy() {
    let cases = [
        (OWN.replace("worker: gpu-box\n", ""), "does not say by whom"),
        (OWN.to_owned() + "  - exact: { expect: x }\n", "has no evaluator `exact`"),
        (OWN.replace("threshold: 0.8", "when: \"true\""), "has no `when`"),
        (OWN.replace("deep: [1, two] } } }", "deep: [1, two] } }, prompt: hello }"), "no prompt"),
        (
            job("http://127.0.0.1:1/v1", "").replace("- exact: {", "- worker: { name: x }\n  - exact: {"),
            "target `worker`",
        ),
        (job("http://127.0.0.1:1/v1", "worker: gpu/box\n"), "cannot be a capability"),
    ];
    for (yaml, expected) in cases {
        let said = report(&yaml);
        assert!(said.contains(expected), "{expected:?} is not in:\n{said}\nfor:\n{yaml}");
    }
}
