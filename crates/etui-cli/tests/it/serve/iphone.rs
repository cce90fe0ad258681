//! `add-device --iphone`: the profile, read by Python's plistlib and checked against Apple's published schema, and
//! used against a running server.

use std::collections::HashSet;
use std::os::unix::fs::PermissionsExt;

use rustix::process::Signal;
use serde_json::Value;

use super::home_of_devices;
use super::process::ServerProcess;
use crate::harness::{TestHome, session};
use crate::terminal::TerminalSession;

/// Prints a property list as JSON, each value with its type.
const READER: &str = r#"
import json, plistlib, sys
def typed(value):
    if isinstance(value, bool): return ["boolean", value]
    if isinstance(value, int): return ["integer", value]
    if isinstance(value, str): return ["string", value]
    if isinstance(value, bytes): return ["data", value.hex()]
    if isinstance(value, list): return ["array", [typed(v) for v in value]]
    if isinstance(value, dict): return ["dictionary", {k: typed(v) for k, v in value.items()}]
    sys.exit(f"unexpected {type(value)}")
print(json.dumps(typed(plistlib.load(sys.stdin.buffer, fmt=plistlib.FMT_XML))))
"#;

/// Keys with their type and whether they are required, of each payload:
/// <https://developer.apple.com/documentation/devicemanagement>, and its source
/// <https://github.com/apple/device-management>, `mdm/profiles/{TopLevel,CommonPayloadKeys,PAYLOAD}.yaml`.
type Keys = &'static [(&'static str, &'static str, bool)];

const TOP_LEVEL: Keys = &[
    ("PayloadIdentifier", "string", true),
    ("PayloadUUID", "string", true),
    ("PayloadType", "string", true),
    ("PayloadVersion", "integer", true),
    ("PayloadContent", "array", true),
    ("IsEncrypted", "boolean", false),
    ("PayloadDescription", "string", false),
    ("PayloadDisplayName", "string", false),
    ("HasRemovalPasscode", "boolean", false),
    ("PayloadOrganization", "string", false),
    ("PayloadRemovalDisallowed", "boolean", false),
    ("PayloadScope", "string", false),
    ("TargetDeviceType", "integer", false),
    ("ConsentText", "dictionary", false),
];

const COMMON: Keys = &[
    ("PayloadIdentifier", "string", true),
    ("PayloadUUID", "string", true),
    ("PayloadType", "string", true),
    ("PayloadVersion", "integer", true),
    ("PayloadDescription", "string", false),
    ("PayloadDisplayName", "string", false),
    ("PayloadOrganization", "string", false),
];

const ROOT: Keys = &[
    ("PayloadCertificateFileName", "string", false),
    ("PayloadContent", "data", true),
];

const CARDDAV: Keys = &[
    ("CardDAVAccountDescription", "string", false),
    ("CardDAVHostName", "string", true),
    ("CardDAVUsername", "string", false),
    ("CardDAVPassword", "string", false),
    ("CardDAVPrincipalURL", "string", false),
    ("CardDAVUseSSL", "boolean", false),
    ("CardDAVPort", "integer", false),
    ("CommunicationServiceRules", "dictionary", false),
    ("VPNUUID", "string", false),
];

const CALDAV: Keys = &[
    ("CalDAVAccountDescription", "string", false),
    ("CalDAVHostName", "string", true),
    ("CalDAVUsername", "string", false),
    ("CalDAVPassword", "string", false),
    ("CalDAVPrincipalURL", "string", false),
    ("CalDAVUseSSL", "boolean", false),
    ("CalDAVPort", "integer", false),
    ("VPNUUID", "string", false),
];

/// A dictionary of a profile.
struct Dict(serde_json::Map<String, Value>);

impl Dict {
    fn new(typed: &Value) -> Self {
        assert_eq!(typed[0], "dictionary");
        Self(typed[1].as_object().unwrap().clone())
    }

    /// Returns the value of a key.
    fn get(&self, key: &str) -> &Value {
        &self.0[key][1]
    }

    fn text(&self, key: &str) -> &str {
        self.get(key).as_str().unwrap()
    }

    /// Asserts that it has the required keys, no others than these, and values of their types.
    fn assert_keys(&self, kinds: &[Keys]) {
        let known: Vec<_> = kinds.iter().copied().flatten().collect();
        for (key, value) in &self.0 {
            let kind = known.iter().find(|(known, ..)| known == key);
            let kind = kind.map_or("none: the schema has no such key", |(_, kind, _)| kind);
            assert_eq!(value[0], kind, "{key}");
        }
        for (key, _, is_required) in known {
            assert!(!is_required || self.0.contains_key(*key), "no {key}");
        }
    }
}

/// The payloads of a profile, of which the first one may be missing.
struct ReadProfile {
    top: Dict,
    authority: Option<Dict>,
    contacts: Dict,
    calendars: Dict,
}

/// Reads a profile, and checks it against the schema.
fn read_profile(home: &TestHome, file: &str) -> ReadProfile {
    std::fs::write(home.path("reader.py"), READER).unwrap();
    let (json, code) = home.run(&format!("/usr/bin/python3 reader.py <{file}"));
    assert_eq!(code, Some(0), "{json}; scripts/need python3");
    let top = Dict::new(&serde_json::from_str(&json).unwrap());
    top.assert_keys(&[TOP_LEVEL]);
    assert_eq!(top.text("PayloadType"), "Configuration");
    let mut payloads: Vec<Dict> = top
        .get("PayloadContent")
        .as_array()
        .unwrap()
        .iter()
        .map(Dict::new)
        .collect();
    let (mut uuids, mut identifiers) = (HashSet::new(), HashSet::new());
    for payload in payloads.iter().chain([&top]) {
        assert_eq!(payload.get("PayloadVersion"), 1);
        let uuid = payload.text("PayloadUUID");
        let parts: Vec<usize> = uuid.split('-').map(str::len).collect();
        assert_eq!(parts, [8, 4, 4, 4, 12]);
        assert!(
            uuid.bytes()
                .all(|b| b == b'-' || b.is_ascii_digit() || (b'A'..=b'F').contains(&b)),
            "{uuid}"
        );
        assert!(uuids.insert(uuid.to_owned()));
        let identifier = payload.text("PayloadIdentifier");
        assert!(
            identifier.starts_with(top.text("PayloadIdentifier"))
                && identifiers.insert(identifier.to_owned())
        );
    }
    let calendars = payloads.pop().unwrap();
    assert_eq!(calendars.text("PayloadType"), "com.apple.caldav.account");
    calendars.assert_keys(&[COMMON, CALDAV]);
    let contacts = payloads.pop().unwrap();
    assert_eq!(contacts.text("PayloadType"), "com.apple.carddav.account");
    contacts.assert_keys(&[COMMON, CARDDAV]);
    let authority = payloads.pop();
    if let Some(authority) = &authority {
        assert_eq!(authority.text("PayloadType"), "com.apple.security.root");
        authority.assert_keys(&[COMMON, ROOT]);
    }
    assert!(payloads.is_empty());
    ReadProfile {
        top,
        authority,
        contacts,
        calendars,
    }
}

#[test]
fn profiles_are_offered_or_written() {
    let home = home_of_devices();
    session!(home, [
        "etui serve add-device Anna --iphone --url https://192.168.1.20:5233 | sed -Ef hide",
        "etui serve add-device Mac --iphone --profile mac.mobileconfig --url https://192.168.1.20:5233 | sed -Ef hide",
        "stat -c %a mac.mobileconfig .config/etui/serve-ca-key.pem",
        "etui serve add-device Tablet --iphone --url https://dav.example.org --json 2>&1 | sed -Ef hide",
        "etui serve add-device Phone --url https://192.168.1.20:5233 | sed -Ef hide",
        "etui serve add-device Other --iphone --profile mac.mobileconfig --url https://192.168.1.20:5233",
        "etui serve add-device Other --iphone --profile no/such.mobileconfig --url https://192.168.1.20:5233",
        "etui serve add-device Other --iphone",
        "etui serve add-device Other --iphone --url http://192.168.1.20:5233",
        "etui serve add-device Other --profile x --url https://192.168.1.20:5233",
        "etui serve add-device Mac --iphone --profile again.mobileconfig --url https://192.168.1.20:5233; ls -A",
        "etui serve devices --quiet | cut -d' ' -f1",
    ], @r#"
    $ etui serve add-device Anna --iphone --url https://192.168.1.20:5233 | sed -Ef hide
    Added the device Anna

      Address   https://192.168.1.20:5233/
      User      personal
      Password  PASSWORD
      Profile   https://192.168.1.20:5233/profile/SECRET.mobileconfig

    On the iPhone, open the profile's address in Safari.

    The address works once, until YYYY-MM-DD HH:MM, while `etui serve` runs.
    Install the profile in Settings, Profile Downloaded.
    Then turn its authority on in Settings, General, About, Certificate Trust Settings. The details of the
    profile show its fingerprint (SHA-256):
      FINGERPRINT

    The password is shown only now.
    $ etui serve add-device Mac --iphone --profile mac.mobileconfig --url https://192.168.1.20:5233 | sed -Ef hide
    Added the device Mac

      Address   https://192.168.1.20:5233/
      User      personal
      Password  PASSWORD
      Profile   mac.mobileconfig

    The file has the password. Send it by AirDrop, or open it on the Mac; then delete it.
    Install the profile in Settings, Profile Downloaded.
    Then turn its authority on in Settings, General, About, Certificate Trust Settings. The details of the
    profile show its fingerprint (SHA-256):
      FINGERPRINT

    The password is shown only now.
    $ stat -c %a mac.mobileconfig .config/etui/serve-ca-key.pem
    600
    600
    $ etui serve add-device Tablet --iphone --url https://dav.example.org --json 2>&1 | sed -Ef hide
    dav.example.org is not a name or an address of a home network: the profile has no authority, and dav.example.org needs a certificate that iPhones know, such as one by ACME (the book, server.md)
    {"name":"Tablet","read_only":false,"only":null,"read":[],"address":"https://dav.example.org/","user":"personal","password":"PASSWORD","link":"caldavs://personal:PASSWORD@dav.example.org/","profile":"https://dav.example.org/profile/SECRET.mobileconfig","profile_until":"TIME","authority_fingerprint":null}
    $ etui serve add-device Phone --url https://192.168.1.20:5233 | sed -Ef hide
    Added the device Phone

      Address   https://192.168.1.20:5233/
      User      personal
      Password  PASSWORD

    The device asks whether it may trust the server. Compare the certificate (SHA-256):
      FINGERPRINT

    The password is shown only now. On a terminal there is a QR code too; `--json` has its text, `link`.
    $ etui serve add-device Other --iphone --profile mac.mobileconfig --url https://192.168.1.20:5233
    error: mac.mobileconfig: there is such a file already
    [exit 1]
    $ etui serve add-device Other --iphone --profile no/such.mobileconfig --url https://192.168.1.20:5233
    error: no/such.mobileconfig: No such file or directory
    [exit 1]
    $ etui serve add-device Other --iphone
    error: the following required arguments were not provided:
      --url <URL>

    Usage: etui serve add-device --url <URL> --iphone <NAME>

    For more information, try '--help'.
    [exit 2]
    $ etui serve add-device Other --iphone --url http://192.168.1.20:5233
    error: --iphone: an iPhone sends its password over TLS only; write --url https://HOST:5233
    [exit 2]
    $ etui serve add-device Other --profile x --url https://192.168.1.20:5233
    error: the following required arguments were not provided:
      --iphone

    Usage: etui serve add-device --url <URL> --iphone --profile <FILE> <NAME>

    For more information, try '--help'.
    [exit 2]
    $ etui serve add-device Mac --iphone --profile again.mobileconfig --url https://192.168.1.20:5233; ls -A
    error: a device named "Mac" exists already; remove it first, or choose another name
    .config
    .local
    hide
    mac.mobileconfig
    people.vcf
    tmp
    $ etui serve devices --quiet | cut -d' ' -f1
    Device
    Anna
    Mac
    Tablet
    Phone
    "#);
}

#[test]
fn a_profile_is_what_apple_publishes() {
    let home = TestHome::with_people();
    // Whoever chooses the name of a device gets no other payload, and no broken profile.
    let hostile = "</string><key>PayloadRemovalDisallowed</key><true/>&amp;\"'\u{fffe}😀";
    std::fs::write(home.path("name"), hostile).unwrap();
    let add = "etui serve add-device \"$(cat name)\" --json --iphone";
    let (json, code) = home.run(&format!(
        "{add} --profile a.mobileconfig --url https://[fd00::20]:8443/"
    ));
    assert_eq!(code, Some(0), "{json}");
    let added: Value = serde_json::from_str(&json).unwrap();
    let mode = home
        .path("a.mobileconfig")
        .metadata()
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    let profile = read_profile(&home, "a.mobileconfig");
    let shown = hostile.replace('\u{fffe}', "\u{fffd}");
    assert!(profile.top.text("PayloadDescription").contains(&shown));
    assert_eq!(profile.top.get("PayloadRemovalDisallowed"), false);
    for (payload, label) in [
        (&profile.contacts, "CardDAV"),
        (&profile.calendars, "CalDAV"),
    ] {
        let get = |key: &str| payload.get(&format!("{label}{key}")).clone();
        assert_eq!(get("HostName"), "fd00::20");
        assert_eq!(get("Port"), 8443);
        assert_eq!(get("UseSSL"), true);
        assert_eq!(get("Username"), "personal");
        assert_eq!(get("Password"), added["password"]);
        assert_eq!(get("PrincipalURL"), "/dav/me/");
        assert_eq!(get("AccountDescription"), "personal on fd00::20");
    }
    // The authority is the one whose fingerprint is shown, and that of the server's certificate.
    let authority = profile.authority.unwrap();
    let (text, code) = home.run(&format!(
        "echo {} | xxd -r -p | openssl x509 -inform der -noout -fingerprint -sha256; \
         openssl verify -CAfile .config/etui/serve-ca.pem -verify_ip fd00::20 .config/etui/serve-cert.pem",
        authority.text("PayloadContent")
    ));
    assert_eq!(code, Some(0), "{text}");
    assert!(
        text.contains(added["authority_fingerprint"].as_str().unwrap()),
        "{text}"
    );
    // Another profile for the device replaces it on the phone; one of another device does not.
    let ids = |profile: &ReadProfile| {
        let all = [&profile.top, &profile.contacts, &profile.calendars];
        all.map(|payload| {
            (
                payload.text("PayloadIdentifier").to_owned(),
                payload.text("PayloadUUID").to_owned(),
            )
        })
    };
    let again = format!(
        "etui -q serve remove-device \"$(cat name)\" && {add} --profile b.mobileconfig --url https://[fd00::20]:8443 && \
         etui serve add-device Other --json --iphone --profile c.mobileconfig --url https://[fd00::20]:8443"
    );
    assert_eq!(home.run(&again).1, Some(0));
    let (second, other) = (
        read_profile(&home, "b.mobileconfig"),
        read_profile(&home, "c.mobileconfig"),
    );
    let first = ids(&read_profile(&home, "a.mobileconfig"));
    assert_eq!(ids(&second), first);
    assert!(ids(&other).iter().all(|id| !first.contains(id)));
    assert_ne!(second.contacts.text("CardDAVPassword"), added["password"]);
    // For a name of the Internet there is no authority, and the usual port.
    let (json, code) = home.run("etui -q serve add-device Third --iphone --profile d.mobileconfig --url https://dav.example.org");
    assert_eq!(code, Some(0), "{json}");
    let public = read_profile(&home, "d.mobileconfig");
    assert!(public.authority.is_none());
    assert_eq!(public.calendars.get("CalDAVPort"), 443);
}

#[test]
fn a_running_server_hands_a_profile_out_and_takes_its_account() {
    let home = TestHome::with_people();
    let server = ServerProcess::start(&home, &["--tls"]);
    let port = server.port;
    // The server runs with a certificate without this name, and reads the one that gets it.
    let line = format!(
        "etui serve add-device Phone --iphone --json --url https://Kitchen.local:{port} 2>/dev/null"
    );
    let (json, code) = home.run(&line);
    assert_eq!(code, Some(0), "{json}");
    let added: Value = serde_json::from_str(&json).unwrap();
    let address = added["profile"]
        .as_str()
        .unwrap()
        .replace("Kitchen", "kitchen");
    let curl = format!(
        "curl -sS --cacert .config/etui/serve-ca.pem --resolve kitchen.local:{port}:127.0.0.1"
    );
    let (text, _) = home.run(&format!(
        "{curl} -o p.mobileconfig -w '%{{http_code}} %{{content_type}}' {address}"
    ));
    assert_eq!(text, "200 application/x-apple-aspen-config");
    let profile = read_profile(&home, "p.mobileconfig");
    let account = &profile.contacts;
    assert_eq!(account.get("CardDAVPort"), port);
    let propfind = |password: &str| {
        let (host, user, path) = (
            account.text("CardDAVHostName"),
            account.text("CardDAVUsername"),
            account.text("CardDAVPrincipalURL"),
        );
        home.run(&format!(
            "{curl} -o /dev/null -w '%{{http_code}}' -X PROPFIND -H 'Depth: 0' -u {user}:{password} https://{host}:{port}{path}"
        ))
    };
    assert_eq!(propfind(account.text("CardDAVPassword")).0, "207");
    assert_eq!(propfind("wrong").0, "401");
    let (text, _) = home.run(&format!("{curl} -w '%{{http_code}}' -o again {address}"));
    assert_eq!(text, "404");
    server.signal(Signal::TERM);
    let (_, log) = server.wait();
    assert!(
        log.contains(" GET profile 200") || log.contains("profile"),
        "{log}"
    );
    let secret = address
        .rsplit('/')
        .next()
        .unwrap()
        .trim_end_matches(".mobileconfig");
    assert!(!log.contains(secret), "{log}");
}

#[test]
fn a_code_for_the_profile_is_on_the_terminal() {
    let home = TestHome::new();
    let args = [
        "serve",
        "add-device",
        "Phone",
        "--iphone",
        "--url",
        "https://192.168.1.20:5233",
    ];
    let mut session = TerminalSession::start(&home, (120, 60), &args, "true");
    session.sees("The password is shown only now.");
    session.child.wait().unwrap();
    let text = session.raw_output();
    assert!(text.contains("\x1b[38;5;16;48;5;231m"), "{text}");
    assert!(text.contains("scan this with the camera"), "{text}");
}
