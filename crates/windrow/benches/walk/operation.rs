//! A bulk operation with the real binary against a service that answers at once, on the same machine: every target is
//! read, changed, read again and recorded.

use std::path::Path;

use crate::Figures;
use crate::experiment::{Endpoint, Ran};
use crate::walk::home;

pub fn targets(n: u64, name: &str) -> Figures {
    let home = home();
    let endpoint = Endpoint::start();
    write_job(home.path(), n, &endpoint.url);
    let ran = Ran::to_end(home.path(), &["run", "bench.yaml", "--json"]);
    assert_eq!(ran.result["items"]["succeeded"], n, "every target was changed: {}", ran.result);
    let back = Ran::to_end(home.path(), &["jobs", "rollback", "bench", "--json"]);
    assert_eq!(back.result["items"]["succeeded"], n, "every target was restored: {}", back.result);
    [
        (format!("{name}.items_per_s"), n as f64 / ran.seconds),
        (format!("{name}.rollback_items_per_s"), n as f64 / back.seconds),
        (format!("{name}.peak_mb"), ran.peak_mb.max(back.peak_mb)),
    ]
    .into()
}

fn write_job(home: &Path, n: u64, url: &str) {
    let targets: String = (0..n).map(|no| format!("target-{no}\n")).collect();
    std::fs::write(home.join("targets.csv"), format!("name\n{targets}")).expect("targets");
    let url = format!("{url}/targets/{{{{ target.name }}}}");
    let job = format!(
        "kind: operation\nname: bench\ntargets: targets.csv\naction:\n  http:\n    read: {{ url: \"{url}\" }}\n    \
         apply: {{ method: PUT, url: \"{url}\", body: {{ size: 2 }} }}\n    \
         undo: {{ method: PUT, url: \"{url}\", body: \"{{{{ before }}}}\" }}\n    after: {{ size: 2 }}\n"
    );
    std::fs::write(home.join("bench.yaml"), job).expect("a job file");
}
