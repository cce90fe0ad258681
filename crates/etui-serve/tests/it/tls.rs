//! TLS with rustls as the client: own certificates, files that change, plain HTTP on the port.

use std::io::Read;
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;

use etui_serve::{OwnCertificate, ServeError, ServeOptions, Server, StoreSource, TlsFiles};
use etui_testkit::wait::{LIMIT, wait_until};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use crate::client::{Client, TestServer, card};

type TlsClient = Client<StreamOwned<ClientConnection, TcpStream>>;

/// Makes a certificate in a directory.
fn make(directory: &Path) -> TlsFiles {
    let names = ["localhost".to_owned(), "127.0.0.1".to_owned()];
    let made = OwnCertificate::ensure(directory, &names).unwrap();
    assert!(made.is_new);
    made.files
}

/// Connects, trusting only this certificate.
fn connect(server: &TestServer, trusted: &Path, name: &str) -> TlsClient {
    let mut roots = RootCertStore::empty();
    roots
        .add(CertificateDer::from_pem_file(trusted).unwrap())
        .unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = ServerName::try_from(name.to_owned()).unwrap();
    let connection = ClientConnection::new(Arc::new(config), name).unwrap();
    let stream = TcpStream::connect(server.address).unwrap();
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    let stream = StreamOwned::new(connection, stream);
    Client::new(stream, Some(("ada", &server.password)))
}

#[test]
fn a_certificate_of_its_own() {
    let dir = tempfile::tempdir().unwrap();
    let files = make(dir.path());
    let mode = std::fs::metadata(&files.key).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let server = TestServer::start_with(|options| options.tls = Some(files.clone()));
    for name in ["localhost", "127.0.0.1"] {
        let mut client = connect(&server, &files.certificate, name);
        let path = "/dav/addressbooks/1/a.vcf";
        assert!(matches!(
            client.ask("PUT", path, &card("a", "A")).status,
            201 | 204
        ));
        assert_eq!(client.get(path).text(), card("a", "A"));
    }
    // The fingerprint is that which a client sees.
    let der = CertificateDer::from_pem_file(&files.certificate).unwrap();
    let digest = ring::digest::digest(&ring::digest::SHA256, &der);
    let digest: Vec<_> = digest.as_ref().iter().map(|b| format!("{b:02X}")).collect();
    assert_eq!(server.fingerprint, Some(digest.join(":")));
    // It is used again.
    let again = OwnCertificate::ensure(dir.path(), &[]).unwrap();
    assert!(!again.is_new);
    assert_eq!(
        CertificateDer::from_pem_file(&again.files.certificate).unwrap(),
        der
    );
}

#[test]
fn plain_http_gets_nothing_and_hurts_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let files = make(dir.path());
    let server = TestServer::start_with(|options| {
        options.tls = Some(files.clone());
        options.limits.handshake = std::time::Duration::from_millis(300);
    });
    let mut plain = server.client();
    plain.send_head("GET", "/", "").unwrap();
    let mut answer = Vec::new();
    match plain.stream.read_to_end(&mut answer) {
        // At most an alert of TLS.
        Ok(_) => assert!(
            answer.len() < 20 && !answer.starts_with(b"HTTP"),
            "{answer:?}"
        ),
        Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset),
    }
    // Nor is silence answered.
    assert!(server.client().is_closed());
    // The handshake has to be in time, too.
    wait_until("an answer over TLS", || {
        let mut client = connect(&server, &files.certificate, "localhost");
        let answer = client.try_ask("GET", "/", "");
        answer.is_ok_and(|answer| answer.status == 200)
    });
}

#[test]
fn changed_files_are_read_again() {
    let (old, new) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (files, other) = (make(old.path()), make(new.path()));
    let first = old.path().join("first.pem");
    std::fs::copy(&files.certificate, &first).unwrap();
    let server = TestServer::start_with(|options| options.tls = Some(files.clone()));
    let mut open = connect(&server, &first, "localhost");
    assert_eq!(open.get("/").status, 200);
    // The certificate first: it does not fit the key, so the former one stays.
    std::fs::copy(&other.certificate, &files.certificate).unwrap();
    assert_eq!(connect(&server, &first, "localhost").get("/").status, 200);
    server.wait_for_log("the former one stays");
    std::fs::copy(&other.key, &files.key).unwrap();
    assert_eq!(
        connect(&server, &other.certificate, "localhost")
            .get("/")
            .status,
        200
    );
    server.wait_for_log("the certificate was read again");
    assert!(
        connect(&server, &first, "localhost")
            .try_ask("GET", "/", "")
            .is_err()
    );
    // Broken, then gone: the last good one stays. Open connections go on.
    std::fs::write(&files.certificate, "-----BEGIN CERTIFICATE-----\n").unwrap();
    assert_eq!(
        connect(&server, &other.certificate, "localhost")
            .get("/")
            .status,
        200
    );
    std::fs::remove_file(&files.certificate).unwrap();
    assert_eq!(
        connect(&server, &other.certificate, "localhost")
            .get("/")
            .status,
        200
    );
    assert_eq!(open.get("/").status, 200);
}

#[test]
fn bad_files_are_named() {
    let dir = tempfile::tempdir().unwrap();
    let files = make(dir.path());
    let bind = |tls: TlsFiles| {
        let store = dir.path().join("ada.etui");
        let mut options = ServeOptions::new(StoreSource::One(store));
        options.tls = Some(tls);
        Server::bind(options).err().unwrap()
    };
    let text = dir.path().join("text.pem");
    std::fs::write(&text, "no certificate").unwrap();
    let cases = [
        (&text, &files.key, "has no certificate in PEM"),
        (&files.certificate, &text, "has no private key in PEM"),
        (
            &files.certificate,
            &dir.path().join("missing.pem"),
            "No such file",
        ),
    ];
    for (certificate, key, reason) in cases {
        let error = bind(TlsFiles {
            certificate: certificate.clone(),
            key: key.clone(),
        });
        assert!(matches!(error, ServeError::Certificate { .. }));
        assert!(error.to_string().contains(reason), "{error}");
    }
}

#[test]
fn the_servers_own_certificate_is_renewed_while_it_runs() {
    let dir = tempfile::tempdir().unwrap();
    let names = ["localhost".to_owned()];
    let own = OwnCertificate::ensure(dir.path(), &names).unwrap();
    assert!(!own.renew().unwrap());
    // One that ends tomorrow.
    let text = std::fs::read_to_string(&own.files.certificate).unwrap();
    let (first, rest) = text.split_once('\n').unwrap();
    let (label, _) = first.rsplit_once(' ').unwrap();
    let now = std::time::UNIX_EPOCH.elapsed().unwrap().as_secs();
    let ending = format!("{label} {}\n{rest}", now + 24 * 60 * 60);
    std::fs::write(&own.files.certificate, ending).unwrap();
    let files = own.files.clone();
    let server = TestServer::start_with(|options| {
        (options.tls, options.own_certificate) = (Some(files.clone()), Some(own));
    });
    server.wait_for_log("made again");
    let renewed = std::fs::read_to_string(&files.certificate).unwrap();
    assert_ne!(renewed.split_once('\n').unwrap().1, rest);
    let mut client = connect(&server, &files.certificate, "localhost");
    assert_eq!(client.get("/").status, 200);
    server.wait_for_log("read again");
}

#[test]
fn a_certificate_has_the_names_that_are_served_and_keeps_those_of_before() {
    let dir = tempfile::tempdir().unwrap();
    let ensure = |names: &[&str]| {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        OwnCertificate::ensure(dir.path(), &names).unwrap()
    };
    assert!(ensure(&["localhost", "127.0.0.1"]).is_new);
    assert!(!ensure(&["127.0.0.1"]).is_new);
    let wider = ensure(&["127.0.0.1", "192.0.2.7", "fd00::7"]);
    assert!(wider.is_new);
    // Back in the first network.
    assert!(!ensure(&["localhost", "127.0.0.1"]).is_new);
    assert!(!ensure(&["192.0.2.7"]).is_new);
    let server = TestServer::start_with(|options| options.tls = Some(wider.files.clone()));
    for name in ["localhost", "127.0.0.1", "192.0.2.7"] {
        let mut client = connect(&server, &wider.files.certificate, name);
        assert_eq!(client.get("/style.css").status, 200, "{name}");
    }
    // One that was not made here is never replaced.
    let text = std::fs::read_to_string(&wider.files.certificate).unwrap();
    let foreign: String = text
        .split_inclusive('\n')
        .filter(|line| !line.starts_with('#'))
        .collect();
    std::fs::write(&wider.files.certificate, foreign).unwrap();
    assert!(!ensure(&["other.example"]).is_new);
}
