//! The home's authority, checked by other programs: OpenSSL, and curl over a connection.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use etui::calendar::time::Date;
use etui_serve::OwnCertificate;
use rcgen::{CertificateParams, DnType, ExtendedKeyUsagePurpose, Issuer, KeyPair};

use crate::client::TestServer;
use crate::tls::{authority, connect, make};

fn run(program: &str, args: &[&str]) -> Output {
    let output = Command::new(program).args(args).output();
    output.unwrap_or_else(|error| panic!("{program}: {error}; run: scripts/need {program}"))
}

/// Runs OpenSSL; returns its output.
fn openssl(args: &[&str]) -> String {
    let output = run("openssl", args);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{args:?}: {text} {errors}");
    text
}

/// Verifies a certificate as that of a server with a name, strictly by RFC 5280; returns OpenSSL's reason against it.
fn refusal(authority: &Path, certificate: &Path, name: &str) -> Option<String> {
    let kind = match name.parse::<std::net::IpAddr>() {
        Ok(_) => "-verify_ip",
        Err(_) => "-verify_hostname",
    };
    let (authority, certificate) = (authority.to_str().unwrap(), certificate.to_str().unwrap());
    let args = [
        "verify",
        "-x509_strict",
        "-no-CApath",
        "-no-CAstore",
        "-purpose",
        "sslserver",
        kind,
        name,
        "-CAfile",
        authority,
        certificate,
    ];
    let output = run("openssl", &args);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    (!output.status.success()).then_some(text)
}

/// Returns the text of a certificate.
fn text_of(certificate: &Path) -> String {
    let path = certificate.to_str().unwrap();
    let text = openssl(&["x509", "-in", path, "-noout", "-text"]);
    let lines = text.lines().map(str::trim);
    lines.collect::<Vec<_>>().join("\n")
}

/// Returns the days from the beginning to the end of a certificate.
fn days_of(certificate: &Path) -> i64 {
    let path = certificate.to_str().unwrap();
    let args = [
        "x509", "-in", path, "-noout", "-dates", "-dateopt", "iso_8601",
    ];
    let text = openssl(&args);
    let seconds = |label: &str| {
        let value = text
            .lines()
            .find_map(|line| line.strip_prefix(label))
            .unwrap();
        let mut parts = value.trim_end_matches('Z').split(['-', ' ', ':']);
        let mut next = || parts.next().unwrap().parse::<u32>().unwrap();
        let day = Date::new(i32::try_from(next()).unwrap(), next(), next()).unwrap();
        let time = next() * 3600 + next() * 60 + next();
        i64::from(day.days()) * 86400 + i64::from(time)
    };
    // Both ends count (RFC 5280 section 4.1.2.5).
    let length = seconds("notAfter=") - seconds("notBefore=") + 1;
    (length + 86399) / 86400
}

/// Issues a certificate by the authority's real key, as whoever stole that might.
fn issue(dir: &Path, names: &[&str]) -> PathBuf {
    let key = std::fs::read_to_string(dir.join("serve-ca-key.pem")).unwrap();
    let mut issuer = CertificateParams::default();
    issuer.distinguished_name.remove(DnType::CommonName);
    issuer
        .distinguished_name
        .push(DnType::CommonName, "etui on pc");
    let issuer = Issuer::new(issuer, KeyPair::from_pem(&key).unwrap());
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let mut parameters = CertificateParams::new(names).unwrap();
    parameters.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    parameters.use_authority_key_identifier_extension = true;
    let made = parameters.signed_by(&KeyPair::generate().unwrap(), &issuer);
    let path = dir.join("stolen.pem");
    std::fs::write(&path, made.unwrap().pem()).unwrap();
    path
}

/// Apple's requirements (<https://support.apple.com/en-us/103769>): SHA-2, the name in subjectAltName, the purpose,
/// at most 825 days.
#[test]
fn openssl_verifies_what_is_served() {
    let dir = tempfile::tempdir().unwrap();
    let names = ["localhost", "pc.local", "192.168.1.20", "fd00::20"];
    let served = names.map(str::to_owned);
    let own = OwnCertificate::ensure(dir.path(), "pc", &served).unwrap();
    let (authority, certificate) = (authority(&own.files), own.files.certificate.as_path());
    for name in names
        .into_iter()
        .chain(["pc", "pc.home.arpa", "pc.internal", "pc.lan", "pc.home"])
    {
        assert_eq!(refusal(&authority, certificate, name), None, "{name}");
    }
    for name in ["laptop.local", "192.168.1.21", "etui serve"] {
        assert!(refusal(&authority, certificate, name).is_some(), "{name}");
    }
    let text = text_of(certificate);
    for part in [
        "Signature Algorithm: ecdsa-with-SHA256",
        "Issuer: CN = etui on pc",
        "Public-Key: (256 bit)",
        "X509v3 Basic Constraints: critical\nCA:FALSE",
        "X509v3 Key Usage: critical\nDigital Signature\n",
        "X509v3 Extended Key Usage:\nTLS Web Server Authentication\n",
        "X509v3 Subject Alternative Name:\nDNS:localhost, DNS:pc.local, IP Address:192.168.1.20, IP Address:FD00:0:0:0:0:0:0:20, ",
        "X509v3 Authority Key Identifier:",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let text = text_of(&authority);
    for part in [
        "Signature Algorithm: ecdsa-with-SHA256",
        "Subject: CN = etui on pc",
        "X509v3 Basic Constraints: critical\nCA:TRUE, pathlen:0",
        "X509v3 Key Usage: critical\nCertificate Sign, CRL Sign\n",
        "X509v3 Name Constraints: critical\nPermitted:\nDNS:localhost\nDNS:local\nDNS:home.arpa\nDNS:internal\n\
         DNS:lan\nDNS:home\nDNS:pc\nIP:10.0.0.0/255.0.0.0\nIP:172.16.0.0/255.240.0.0\nIP:192.168.0.0/255.255.0.0\n\
         IP:169.254.0.0/255.255.0.0\nIP:100.64.0.0/255.192.0.0\nIP:127.0.0.0/255.0.0.0\n\
         IP:FC00:0:0:0:0:0:0:0/FE00:0:0:0:0:0:0:0\nIP:FE80:0:0:0:0:0:0:0/FFC0:0:0:0:0:0:0:0\n\
         IP:0:0:0:0:0:0:0:1/FFFF:FFFF:FFFF:FFFF:FFFF:FFFF:FFFF:FFFF\nX509v3",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert_eq!(days_of(certificate), 397);
    let years = days_of(&authority);
    assert!((3650..3653).contains(&years), "{years} days");
    // The fingerprints are those that people compare.
    let path = authority.to_str().unwrap();
    let line = openssl(&["x509", "-in", path, "-noout", "-fingerprint", "-sha256"]);
    assert!(
        line.trim_end()
            .ends_with(&own.authority_fingerprint().unwrap())
    );
    // The chain that is sent is the certificate, then the authority.
    let sent = std::fs::read_to_string(certificate).unwrap();
    assert_eq!(sent.matches("BEGIN CERTIFICATE").count(), 2);
}

#[test]
fn a_stolen_key_is_of_no_use_outside_the_home() {
    let dir = tempfile::tempdir().unwrap();
    let authority = authority(&make(dir.path()));
    let refused = |names: &[&str]| refusal(&authority, &issue(dir.path(), names), names[0]);
    assert_eq!(refused(&["other.local", "192.168.9.9"]), None);
    for names in [
        ["bank.example.org", "pc.local"],
        ["192.0.2.7", "pc.local"],
        ["2001:db8::7", "pc.local"],
        ["pc.local", "bank.example.org"],
    ] {
        let reason = refused(&names).unwrap_or_default();
        assert!(
            reason.contains("permitted subtree violation"),
            "{names:?}: {reason}"
        );
    }
    // Nor does it make further authorities.
    let (path, key) = (dir.path().join("sub.pem"), KeyPair::generate().unwrap());
    let mut sub = CertificateParams::default();
    sub.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    sub.key_usages = vec![rcgen::KeyUsagePurpose::KeyCertSign];
    sub.use_authority_key_identifier_extension = true;
    sub.distinguished_name.push(DnType::CommonName, "sub");
    let mut root = CertificateParams::default();
    root.distinguished_name.remove(DnType::CommonName);
    root.distinguished_name
        .push(DnType::CommonName, "etui on pc");
    let root_key = std::fs::read_to_string(dir.path().join("serve-ca-key.pem")).unwrap();
    let root = Issuer::new(root, KeyPair::from_pem(&root_key).unwrap());
    std::fs::write(&path, sub.signed_by(&key, &root).unwrap().pem()).unwrap();
    let mut leaf = CertificateParams::new(["x.local".to_owned()]).unwrap();
    leaf.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    leaf.use_authority_key_identifier_extension = true;
    let leaf = leaf.signed_by(&KeyPair::generate().unwrap(), &Issuer::new(sub, key));
    let leaf_path = dir.path().join("leaf.pem");
    std::fs::write(&leaf_path, leaf.unwrap().pem()).unwrap();
    let args = [
        "verify",
        "-CAfile",
        authority.to_str().unwrap(),
        "-untrusted",
        path.to_str().unwrap(),
        leaf_path.to_str().unwrap(),
    ];
    let output = run("openssl", &args);
    let reason = String::from_utf8_lossy(&output.stderr);
    assert!(
        !output.status.success() && reason.contains("path length"),
        "{reason}"
    );
}

#[test]
fn curl_trusts_a_server_by_its_authority() {
    let dir = tempfile::tempdir().unwrap();
    let files = make(dir.path());
    let own = OwnCertificate::find(dir.path()).unwrap();
    let server = TestServer::start_with(|options| {
        (options.tls, options.own_certificate) = (Some(files.clone()), Some(own.clone()));
    });
    let port = server.address.port();
    let (authority, login) = (authority(&files), format!("ada:{}", server.password));
    for host in ["localhost", "127.0.0.1", "pc.local"] {
        let url = format!("https://{host}:{port}/dav/");
        let resolve = format!("{host}:{port}:127.0.0.1");
        let args = [
            "-sS",
            "--cacert",
            authority.to_str().unwrap(),
            "--resolve",
            &resolve,
            "-u",
            &login,
            "-X",
            "PROPFIND",
            "-H",
            "Depth: 0",
            "-w",
            "%{http_code}",
            "-o",
            "/dev/null",
            &url,
        ];
        let output = run("curl", &args);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(
            String::from_utf8_lossy(&output.stdout),
            "207",
            "{host}: {errors}"
        );
    }
    // Without it, curl refuses; by any other name too.
    let url = format!("https://localhost:{port}/ca.crt");
    assert_eq!(run("curl", &["-sS", &url]).status.code(), Some(60));
    let (resolve, url) = (
        format!("other.local:{port}:127.0.0.1"),
        format!("https://other.local:{port}/ca.crt"),
    );
    let args = [
        "-sS",
        "--cacert",
        authority.to_str().unwrap(),
        "--resolve",
        &resolve,
        &url,
    ];
    assert_eq!(run("curl", &args).status.code(), Some(60));
    // The authority is public.
    let mut stranger = connect(&server, &authority, "localhost");
    stranger.authorization = None;
    let answer = stranger.get("/ca.crt");
    assert_eq!(
        (answer.status, answer.header("content-type")),
        (200, Some("application/x-x509-ca-cert"))
    );
    assert_eq!(answer.body, own.authority().unwrap());
    assert_eq!(stranger.ask("HEAD", "/ca.crt", "").status, 200);
    assert_eq!(stranger.ask("PUT", "/ca.crt", "x").status, 405);
    // A server without TLS, or with a certificate of somebody else, has none.
    assert_eq!(TestServer::start().stranger().get("/ca.crt").status, 404);
}
