//! `--server URL` without a reachable server, without access, and with local-only commands.

use crate::client::Served;
use crate::place::Place;

#[test]
fn an_unreachable_server_is_reported_with_address_cause_and_remedy() {
    let place = Place::empty();
    // The port of a stopped server has no listener.
    let server = Served::start(&place, &[]);
    let url = format!("http://{}", server.address);
    server.kill();
    let said = place.windrow(&["--server", &url, "jobs", "list"]).ended_with(1);
    for part in [url.as_str(), "refused", "windrow serve", "--server"] {
        assert!(said.stderr.contains(part), "no {part:?} in {}", said.stderr);
    }
}

#[test]
fn a_server_other_than_windrow_is_detected() {
    let place = Place::empty();
    let endpoint = crate::endpoint::Endpoint::open();
    let said = place.windrow(&["--server", endpoint.url.as_str(), "jobs", "list"]).ended_with(1);
    assert!(said.stderr.contains("not a Windrow server"), "{}", said.stderr);
}

#[test]
fn local_only_commands_are_rejected() {
    let place = Place::empty();
    for command in [&["serve"][..], &["mock", "model"], &["secrets", "rekey"]] {
        let said = place.windrow(&[&["--server", "http://127.0.0.1:1"][..], command].concat()).ended_with(2);
        let parts = [format!("`windrow {}`", command.join(" ")), "leave out `--server`".to_owned()];
        assert!(parts.iter().all(|part| said.stderr.contains(part)), "{}", said.stderr);
    }
}

#[test]
fn an_api_key_is_read_from_a_file_and_never_from_the_command_line() {
    let place = Place::empty();
    let url = "http://127.0.0.1:1";
    place.windrow(&["--server", url, "--api-key", "secret", "jobs", "list"]).ended_with(2);
    let said = place.windrow(&["--server", url, "--api-key-file", "none", "jobs", "list"]).ended_with(2);
    assert!(said.stderr.contains("cannot read the file with the API key none"), "{}", said.stderr);
    let said = place.windrow(&["--server", url, "--ca", "none.pem", "jobs", "list"]).ended_with(2);
    assert!(said.stderr.contains("none.pem"), "{}", said.stderr);
    place.windrow(&["--server", "127.0.0.1:7373", "jobs", "list"]).ended_with(2);
}

#[test]
fn hints_name_the_server_unless_the_environment_does() {
    let place = Place::empty();
    let server = Served::start(&place, &[]);
    let url = format!("http://{}", server.address);
    let said = place.windrow(&["--server", &url, "jobs", "show", "none"]).ended_with(1);
    assert!(said.stderr.contains(&format!("`windrow --server {url} jobs list`")), "{}", said.stderr);
    let said = place.windrow_at(&server, &["jobs", "show", "none"]).ended_with(1);
    assert!(said.stderr.contains("`windrow jobs list`"), "{}", said.stderr);
}

#[test]
fn a_server_with_keys_accepts_callers_with_a_key() {
    let (place, elsewhere) = (Place::empty(), Place::empty());
    let create = ["keys", "create", "me", "--role", "admin"];
    let key = elsewhere.windrow(&create).ended_with(0).stdout.trim().to_owned();
    let server = Served::start(&elsewhere, &[]);
    for said in
        [place.windrow_at(&server, &["jobs", "list"]), place.windrow_with_key(&server, "wrong", &["jobs", "list"])]
    {
        let said = said.ended_with(1);
        assert!(said.stderr.contains("WINDROW_API_KEY") && said.stdout.is_empty(), "{}", said.stderr);
    }
    let with_key = |arguments: &[&str]| place.windrow_with_key(&server, &key, arguments);
    assert_eq!(with_key(&["jobs", "list"]).ended_with(0).stdout, "No jobs yet. Start one with: windrow run FILE\n");
    place.write("key", &format!("{key}\n"));
    place.windrow_at(&server, &["--api-key-file", "key", "jobs", "list"]).ended_with(0);

    let viewer = with_key(&["keys", "create", "reader", "--role", "viewer", "--expires", "2w"]).ended_with(0);
    let viewer = viewer.stdout.trim().to_owned();
    place.windrow_with_key(&server, &viewer, &["jobs", "list"]).ended_with(0);
    let said = place.windrow_with_key(&server, &viewer, &["jobs", "clean-up", "--yes"]).ended_with(1);
    assert!(said.stderr.contains("admin"), "{}", said.stderr);
    assert!(with_key(&["keys", "list"]).ended_with(0).stdout.contains("reader"));
    assert!(with_key(&["keys", "revoke", "reader"]).ended_with(0).stdout.contains("is revoked"));
    let audit = with_key(&["audit"]).ended_with(0).stdout;
    assert!(audit.contains("create_key") || audit.contains("/keys"), "{audit}");
    place.windrow_with_key(&server, &viewer, &["jobs", "list"]).ended_with(1);
}
