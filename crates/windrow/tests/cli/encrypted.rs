//! TLS (rustls): a server with a certificate that can be renewed while it runs.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;

use rustix::process::Signal;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use crate::client::{Reply, Served};
use crate::endpoint::Endpoint;
use crate::place::{Place, wait_until};

/// Writes a new self-signed certificate for this machine.
pub fn certify(place: &Place) -> CertificateDer<'static> {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    place.write("cert.pem", &made.cert.pem());
    place.write("key.pem", &made.signing_key.serialize_pem());
    made.cert.der().clone()
}

pub fn start(place: &Place, more: &[&str]) -> Served {
    let serve = ["serve", "--listen", "127.0.0.1:0", "--tls-cert", "cert.pem", "--tls-key", "key.pem"];
    let process = place.start(&[&serve, more].concat());
    let address = process.first_line().strip_prefix("https://").unwrap().to_owned();
    Served::at(address, process)
}

fn connect(
    server: &Served,
    trusted: &CertificateDer<'static>,
    protocol: &[u8],
) -> StreamOwned<ClientConnection, TcpStream> {
    let mut roots = RootCertStore::empty();
    roots.add(trusted.clone()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let mut config = builder.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = vec![protocol.to_vec()];
    let connection = ClientConnection::new(Arc::new(config), ServerName::try_from("localhost").unwrap()).unwrap();
    StreamOwned::new(connection, TcpStream::connect(&server.address).unwrap())
}

fn get(server: &Served, trusted: &CertificateDer<'static>, path: &str) -> std::io::Result<Reply> {
    let mut connection = connect(server, trusted, b"http/1.1");
    let host = &server.address;
    connection.write_all(format!("GET {path} HTTP/1.0\r\nHost: {host}\r\n\r\n").as_bytes())?;
    let mut answer = String::new();
    // The connection may end without a close_notify.
    let _ = connection.read_to_string(&mut answer);
    Reply::of(&answer).ok_or_else(|| std::io::Error::other(answer))
}

#[test]
fn a_server_with_a_certificate_accepts_only_tls() {
    let place = Place::empty();
    let certificate = certify(&place);
    let server = start(&place, &[]);
    assert_eq!(
        get(&server, &certificate, "/api/v1/jobs").unwrap().with_status(200).json()["jobs"],
        serde_json::json!([])
    );

    let mut connection = connect(&server, &certificate, b"h2");
    connection.flush().unwrap();
    let _ = connection.conn.complete_io(&mut connection.sock).unwrap();
    assert_eq!(connection.conn.alpn_protocol(), Some(b"h2".as_slice()), "gRPC comes this way");

    let mut plain = TcpStream::connect(&server.address).unwrap();
    plain.write_all(b"GET /healthz HTTP/1.0\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    let _ = plain.read_to_end(&mut answer);
    assert!(!answer.starts_with(b"HTTP"), "{}", String::from_utf8_lossy(&answer));

    // An idle client blocks neither other clients nor the shutdown.
    let _silent = TcpStream::connect(&server.address).unwrap();
    get(&server, &certificate, "/healthz").unwrap().with_status(200);
    server.signal(Signal::TERM);
    server.finish().ended_with(0);
}

#[test]
fn a_renewed_certificate_is_loaded_without_a_restart() {
    let place = Place::empty();
    let old = certify(&place);
    let server = start(&place, &[]);
    get(&server, &old, "/healthz").unwrap().with_status(200);
    let new = certify(&place);
    server.signal(Signal::HUP);
    wait_until("the new certificate", || get(&server, &new, "/healthz").is_ok());
    assert!(get(&server, &old, "/healthz").is_err());
    // An invalid certificate changes nothing.
    place.write("cert.pem", "nonsense");
    server.signal(Signal::HUP);
    server.wait_for_stderr("keeping the previous one");
    get(&server, &new, "/healthz").unwrap().with_status(200);
}

#[test]
fn an_invalid_certificate_is_reported_before_the_server_starts() {
    let place = Place::empty();
    certify(&place);
    place.write("cert.pem", "nonsense");
    let said = place.windrow(&["serve", "--tls-cert", "cert.pem", "--tls-key", "key.pem"]).ended_with(2);
    assert!(said.stderr.contains("cannot use cert.pem for TLS"), "{}", said.stderr);
    place.windrow(&["serve", "--tls-cert", "cert.pem"]).ended_with(2);
    assert!(!place.data().exists(), "something was stored");
}

#[test]
fn a_worker_connects_over_tls_with_its_key() {
    let (place, endpoint) = (Place::empty(), Endpoint::open());
    certify(&place);
    let key = place.windrow(&["keys", "create", "barn", "--role", "operator"]).ended_with(0).stdout;
    let server = start(&place, &["--workers", "0"]);
    let url = server.address.replace("127.0.0.1", "https://localhost");
    let there = ["--server", &url, "--ca", "cert.pem"];
    place.write_job("job.yaml", "counted", &endpoint, 20, 4);

    let refused = place.windrow(&[&["worker"], &there[..]].concat()).ended_with(1);
    assert!(refused.stderr.contains("API key"), "{}", refused.stderr);
    let keyed = [("WINDROW_API_KEY", key.trim())];
    let worker = place.start_with(&keyed, &[&["worker"], &there[..]].concat());
    assert!(worker.first_line().contains("works for"));
    place.windrow_with(&keyed, &[&["run", "job.yaml", "-q"], &there[..]].concat()).ended_with(0);
    assert_eq!(endpoint.calls(), 20);
    worker.signal(Signal::TERM);
    worker.finish().ended_with(0);
}
