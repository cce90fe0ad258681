//! TLS with rustls as the client: own certificates, files that change, plain HTTP on the port.

use std::io::Read;
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use etui_serve::{OwnCertificate, ServeError, ServeOptions, Server, StoreSource, TlsFiles};
use etui_testkit::wait::{LIMIT, wait_until};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use crate::client::{Client, TestServer, card};

pub type TlsClient = Client<StreamOwned<ClientConnection, TcpStream>>;

/// Makes a certificate in a directory.
pub fn make(directory: &Path) -> TlsFiles {
    let names = ["localhost".to_owned(), "127.0.0.1".to_owned()];
    let made = OwnCertificate::ensure(directory, "pc", &names).unwrap();
    assert!(made.is_new);
    made.files
}

/// Returns the authority of a certificate.
pub fn authority(files: &TlsFiles) -> PathBuf {
    files.certificate.with_file_name("serve-ca.pem")
}

/// Connects, trusting only this authority.
pub fn connect(server: &TestServer, trusted: &Path, name: &str) -> TlsClient {
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
    for (name, mode) in [
        ("serve-key.pem", 0o600),
        ("serve-ca-key.pem", 0o600),
        ("serve-cert.pem", 0o644),
        ("serve-ca.pem", 0o644),
    ] {
        let found = std::fs::metadata(dir.path().join(name)).unwrap();
        assert_eq!(found.permissions().mode() & 0o777, mode, "{name}");
    }
    let server = TestServer::start_with(|options| options.tls = Some(files.clone()));
    for name in ["localhost", "127.0.0.1"] {
        let mut client = connect(&server, &authority(&files), name);
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
    let again = OwnCertificate::ensure(dir.path(), "pc", &[]).unwrap();
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
        let mut client = connect(&server, &authority(&files), "localhost");
        let answer = client.try_ask("GET", "/", "");
        answer.is_ok_and(|answer| answer.status == 200)
    });
}

#[test]
fn changed_files_are_read_again() {
    let (old, new) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (files, other) = (make(old.path()), make(new.path()));
    let (first, second) = (authority(&files), authority(&other));
    let server = TestServer::start_with(|options| options.tls = Some(files.clone()));
    let mut open = connect(&server, &first, "localhost");
    assert_eq!(open.get("/").status, 200);
    // The certificate first: it does not fit the key, so the former one stays.
    std::fs::copy(&other.certificate, &files.certificate).unwrap();
    assert_eq!(connect(&server, &first, "localhost").get("/").status, 200);
    server.wait_for_log("the former one stays");
    std::fs::copy(&other.key, &files.key).unwrap();
    assert_eq!(connect(&server, &second, "localhost").get("/").status, 200);
    server.wait_for_log("the certificate was read again");
    assert!(
        connect(&server, &first, "localhost")
            .try_ask("GET", "/", "")
            .is_err()
    );
    // Broken, then gone: the last good one stays. Open connections go on.
    std::fs::write(&files.certificate, "-----BEGIN CERTIFICATE-----\n").unwrap();
    assert_eq!(connect(&server, &second, "localhost").get("/").status, 200);
    std::fs::remove_file(&files.certificate).unwrap();
    assert_eq!(connect(&server, &second, "localhost").get("/").status, 200);
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
    let own = OwnCertificate::ensure(dir.path(), "pc", &names).unwrap();
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
    let mut client = connect(&server, &authority(&files), "localhost");
    assert_eq!(client.get("/").status, 200);
    server.wait_for_log("read again");
}

#[test]
fn a_certificate_has_the_names_that_are_served_and_keeps_those_of_before() {
    let dir = tempfile::tempdir().unwrap();
    let ensure = |names: &[&str]| {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        OwnCertificate::ensure(dir.path(), "pc", &names).unwrap()
    };
    assert!(ensure(&["localhost", "127.0.0.1"]).is_new);
    assert!(!ensure(&["127.0.0.1"]).is_new);
    let wider = ensure(&["127.0.0.1", "192.168.3.7", "fd00::7"]);
    assert!(wider.is_new);
    // Back in the first network.
    assert!(!ensure(&["localhost", "127.0.0.1"]).is_new);
    assert!(!ensure(&["192.168.3.7"]).is_new);
    let server = TestServer::start_with(|options| options.tls = Some(wider.files.clone()));
    for name in [
        "localhost",
        "127.0.0.1",
        "192.168.3.7",
        "pc",
        "pc.local",
        "pc.home.arpa",
    ] {
        let mut client = connect(&server, &authority(&wider.files), name);
        assert_eq!(client.get("/style.css").status, 200, "{name}");
    }
    // One that is not of a home is left out, and asked for again without another certificate.
    let public = ensure(&["192.168.3.7", "192.0.2.7", "dav.example.org"]);
    assert!(!public.is_new);
    assert_eq!(public.left_out(), ["192.0.2.7", "dav.example.org"]);
    assert!(wider.left_out().is_empty());
    // One that was not made here is never replaced.
    let text = std::fs::read_to_string(&wider.files.certificate).unwrap();
    let foreign: String = text
        .split_inclusive('\n')
        .filter(|line| !line.starts_with('#'))
        .collect();
    std::fs::write(&wider.files.certificate, foreign).unwrap();
    assert!(!ensure(&["other.example"]).is_new);
    assert_eq!(ensure(&[]).authority(), None);
}

/// Certificates of the first versions signed themselves.
#[test]
fn one_that_signed_itself_stays_until_an_authority_is_needed() {
    let dir = tempfile::tempdir().unwrap();
    let names = ["localhost".to_owned(), "pc.local".to_owned()];
    let key = rcgen::KeyPair::generate().unwrap();
    let old = rcgen::CertificateParams::new(names.clone()).unwrap();
    let old = old.self_signed(&key).unwrap();
    let write = |rest_days: u64| {
        let ends = std::time::UNIX_EPOCH.elapsed().unwrap().as_secs() + rest_days * 86400;
        let text = format!(
            "# etui serve, valid until {ends}\n# names: localhost pc.local\n{}",
            old.pem()
        );
        std::fs::write(dir.path().join("serve-cert.pem"), text).unwrap();
        std::fs::write(dir.path().join("serve-key.pem"), key.serialize_pem()).unwrap();
    };
    write(100);
    let kept = OwnCertificate::ensure(dir.path(), "pc", &names).unwrap();
    assert!(!kept.is_new && kept.is_self_signed());
    assert_eq!((kept.authority(), kept.left_out().len()), (None, 0));
    assert!(!dir.path().join("serve-ca.pem").exists());
    // A server that runs reads the new one.
    let server = TestServer::start_with(|options| {
        (options.tls, options.own_certificate) = (Some(kept.files.clone()), Some(kept.clone()));
    });
    let mut old = connect(&server, &kept.files.certificate, "localhost");
    assert_eq!(old.get("/ca.crt").status, 404);
    let issued = OwnCertificate::ensure_issued(dir.path(), "pc", &names).unwrap();
    assert!(issued.is_new && !issued.is_self_signed());
    let mut client = connect(&server, &authority(&issued.files), "pc.local");
    assert_eq!(client.get("/ca.crt").body, issued.authority().unwrap());
    // Shortly before its end.
    write(20);
    let renewed = OwnCertificate::ensure(dir.path(), "pc", &names).unwrap();
    assert!(renewed.is_new && !renewed.is_self_signed());
    assert_eq!(renewed.authority(), issued.authority());
}

#[test]
fn an_authority_without_its_key_or_near_its_end_is_made_again() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    let names = ["pc.local".to_owned()];
    let ensure = || OwnCertificate::ensure(dir.path(), "pc", &names).unwrap();
    let first = ensure().authority().unwrap();
    // The certificate goes on: its authority was trusted, and it needs no other one yet.
    std::fs::remove_file(path("serve-cert.pem")).unwrap();
    assert_eq!(ensure().authority().unwrap(), first);
    // Another key, then none.
    let other = rcgen::KeyPair::generate().unwrap();
    std::fs::write(path("serve-ca-key.pem"), other.serialize_pem()).unwrap();
    let own = ensure();
    let second = own.authority().unwrap();
    assert!(own.is_new && second != first);
    std::fs::remove_file(path("serve-ca-key.pem")).unwrap();
    let third = ensure().authority().unwrap();
    assert_ne!(third, second);
    // It ends in 20 days.
    let text = std::fs::read_to_string(path("serve-ca.pem")).unwrap();
    let ends = std::time::UNIX_EPOCH.elapsed().unwrap().as_secs() + 20 * 86400;
    let (first_line, rest) = text.split_once('\n').unwrap();
    let (label, _) = first_line.rsplit_once(' ').unwrap();
    std::fs::write(path("serve-ca.pem"), format!("{label} {ends}\n{rest}")).unwrap();
    let fourth = ensure().authority().unwrap();
    assert_ne!(fourth, third);
    // One that people put there is not replaced, and lines that promise more than it has are of no use.
    let text = std::fs::read_to_string(path("serve-ca.pem")).unwrap();
    std::fs::remove_file(path("serve-cert.pem")).unwrap();
    let broken = |text: String| {
        std::fs::write(path("serve-ca.pem"), text).unwrap();
        let names = ["pc.local".to_owned(), "pc.example.org".to_owned()];
        let error = OwnCertificate::ensure(dir.path(), "pc", &names)
            .err()
            .unwrap();
        assert!(matches!(error, ServeError::Certificate { .. }));
        assert!(!path("serve-cert.pem").exists());
        error.to_string()
    };
    let wider = text.replace("# permits: ", "# permits: example.org ");
    let reason = broken(wider);
    assert!(reason.contains("the authority cannot sign it"), "{reason}");
    let lines = text
        .split_inclusive('\n')
        .filter(|line| !line.starts_with('#'));
    let reason = broken(lines.collect());
    assert!(reason.contains("was not made by etui"), "{reason}");
}
