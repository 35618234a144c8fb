//! `--server URL`: read commands return the same from a server as from its data directory.

use crate::client::Served;
use crate::endpoint::Endpoint;
use crate::place::{Place, Said};

/// Two runs of a job with gates and failures, and two versions of a dataset.
fn furnished(endpoint: &Endpoint) -> Place {
    let place = Place::with_rows(endpoint, 30, 4);
    place.edit("job.yaml", "answer {{ n }}", "{% if n % 7 == 0 %}no{% else %}answer {{ n }}{% endif %}");
    place.append("job.yaml", "gates: [exact.mean >= 0.9, exact.mean >= baseline - 0.5]");
    endpoint.fail_on([3, 11]);
    place.windrow(&["run", "job.yaml", "-q"]).ended_with(3);
    place.edit("job.yaml", "n % 7", "n % 5");
    endpoint.fail_on([3]);
    place.windrow(&["run", "job.yaml", "-q"]).ended_with(3);
    place.write_job("other.yaml", "other", endpoint, 3, 1);
    place.windrow(&["run", "other.yaml", "-q"]).ended_with(0);
    place.write("rows.jsonl", "{\"id\": 1, \"n\": 0.1}\n{\"id\": 2, \"n\": 2}\n");
    place.windrow(&["datasets", "import", "rows.jsonl", "--name", "numbers"]).ended_with(0);
    place.write("rows.jsonl", "{\"id\": 1, \"n\": 0.30000000000000004}\n{\"id\": 3, \"z\": null, \"a\": [1]}\n");
    place.windrow(&["datasets", "import", "rows.jsonl", "--name", "numbers"]).ended_with(0);
    place
}

#[track_caller]
fn alike(place: &Place, server: &Served, command: &str) -> Said {
    let arguments: Vec<&str> = command.split(' ').collect();
    let (here, there) = (place.windrow(&arguments), place.windrow_at(server, &arguments));
    assert_eq!(there.stdout, here.stdout, "stdout of {command}; there: {}", there.stderr);
    assert_eq!(there.stderr, here.stderr, "stderr of {command}");
    assert_eq!(there.code, here.code, "code of {command}");
    here
}

#[test]
fn a_server_returns_the_same_as_its_data_directory() {
    let endpoint = Endpoint::open();
    let place = furnished(&endpoint);
    let server = Served::start(&place, &[]);
    for command in [
        "jobs list",
        "jobs list --json",
        "jobs list --state completed --name oun --limit 1 --json",
        "jobs list --kind ingest",
        "jobs show counted",
        "jobs show counted --json",
        "jobs items counted",
        "jobs items counted --json",
        "jobs items counted --state failed",
        "jobs items counted --limit 4 --after 2 --json",
        "jobs items counted --where score.exact<0.5 --sort=-latency_ms --json",
        "jobs item counted 1",
        "jobs item counted 4 --json",
        "jobs logs counted",
        "jobs logs counted --json --after 2",
        "jobs logs counted --follow",
        "jobs stats",
        "jobs stats --json",
        "jobs stats counted",
        "jobs why counted",
        "jobs why counted --json",
        "compare counted#1 counted#2",
        "compare counted#1 counted#2 --json",
        "compare counted other --rows 1",
        "gates counted",
        "gates counted#1 --json",
        "gates other",
        "report counted",
        "report counted#1 --format junit",
        "report counted --format json --baseline other --worst 2",
        "datasets list",
        "datasets list --json",
        "datasets show numbers",
        "datasets show numbers@1 --json --rows 1",
        "datasets diff numbers@1",
        "datasets diff numbers@1 numbers@2 --json --limit 1",
        "datasets export numbers -q",
        "datasets export numbers@1 --format csv -q",
        "jobs unschedule counted",
        "jobs schedule counted @yearly",
        "jobs clean-up --yes --json",
    ] {
        let said = alike(&place, &server, command);
        assert!(!said.stdout.is_empty(), "{command} says nothing: {}", said.stderr);
    }
    let said = place.windrow_at(&server, &["jobs", "unschedule", "counted"]).ended_with(0);
    assert!(said.stdout.contains("Removed the schedule of counted (@yearly)"), "{}", said.stdout);
}

#[test]
fn a_server_rejects_the_same_as_its_data_directory() {
    let endpoint = Endpoint::open();
    let place = furnished(&endpoint);
    let server = Served::start(&place, &[]);
    for command in [
        "jobs show cuonted",
        "jobs show nothing-like-it",
        "jobs show job_0000000000000",
        "jobs item counted 99999",
        "jobs item other 1",
        "jobs items nothing-like-it",
        "jobs logs nothing-like-it",
        "jobs stats nothing-like-it",
        "jobs pause counted",
        "jobs resume counted",
        "jobs cancel counted",
        "jobs cancel counted --now",
        "jobs clone counted other",
        "jobs retry nothing-like-it",
        "jobs delete nothing-like-it --yes",
        "jobs schedule nothing-like-it @daily",
        "compare counted#9 counted",
        "compare counted nothing-like-it",
        "gates nothing-like-it",
        "report counted#9",
        "datasets show numbres",
        "datasets show numbers@9",
        "datasets diff numbers@9",
        "datasets export nothing-like-it",
        "datasets delete nothing-like-it --yes",
    ] {
        let said = alike(&place, &server, command);
        assert!(said.code == 1 && said.stderr.contains("help: "), "{command}: {} {}", said.code, said.stderr);
    }
    assert_eq!(alike(&place, &server, "jobs items counted --where scoer.exact<1").code, 2);
}

#[test]
fn reports_datasets_and_deletions_match_too() {
    let endpoint = Endpoint::open();
    let place = furnished(&endpoint);
    let server = Served::start(&place, &[]);
    for (file, command) in [
        ("report.xml", "report counted --format junit -o report.xml"),
        ("rows.parquet", "datasets export numbers -o rows.parquet"),
        ("rows.csv", "datasets export numbers -o rows.csv"),
    ] {
        let arguments: Vec<&str> = command.split(' ').collect();
        let here = place.windrow(&arguments).ended_with(0);
        let written = std::fs::read(place.path(file)).unwrap();
        std::fs::remove_file(place.path(file)).unwrap();
        let there = place.windrow_at(&server, &arguments).ended_with(0);
        assert_eq!((there.stderr, std::fs::read(place.path(file)).unwrap()), (here.stderr, written), "{command}");
    }
    place.write("more.csv", "n\n1\n2\n");
    let import = ["datasets", "import", "more.csv", "--name", "more"];
    assert_eq!(place.windrow_at(&server, &import).ended_with(0).stdout, "Imported more@1: 2 rows\n");
    assert_eq!(place.windrow(&import).ended_with(0).stdout, "more@1 is unchanged: 2 rows\n");
    place.write("bad.jsonl", "{\"n\": 1}\noops\n");
    let import = ["datasets", "import", "bad.jsonl"];
    let (here, there) = (place.windrow(&import).ended_with(2), place.windrow_at(&server, &import).ended_with(2));
    assert_eq!(there.stderr, here.stderr);
    assert_eq!(
        place.windrow_at(&server, &["datasets", "delete", "more", "--yes"]).ended_with(0).stdout,
        "Deleted more@1.\n"
    );
    place.windrow(&["datasets", "show", "more"]).ended_with(1);
    assert_eq!(
        place.windrow_at(&server, &["jobs", "delete", "other", "--yes"]).ended_with(0).stdout,
        "Deleted other.\n"
    );
    place.windrow(&["jobs", "show", "other"]).ended_with(1);
}
