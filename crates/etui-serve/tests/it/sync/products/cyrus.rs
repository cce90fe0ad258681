//! Cyrus: its HTTP and IMAP services under its master process. The mailbox of the user is made at the first login
//! over IMAP.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::Command;

use rustix::process::Signal;

use super::{PASSWORD, Process, Product, USER, free_address, run, server};

/// Where its programs are on Debian.
const MASTER: &str = "/usr/lib/cyrus/bin/master";
/// The account that it runs as when root starts it, which it refuses to run as.
const ACCOUNT: &str = "cyrus";

pub fn cyrus() -> Product {
    let dir = tempfile::tempdir().unwrap();
    let (http, imap) = (free_address(), free_address());
    let path = |name: &str| dir.path().join(name).display().to_string();
    for name in ["conf/proc", "conf/lock", "conf/socket", "spool"] {
        fs::create_dir_all(path(name)).unwrap();
    }
    let mut password = Command::new("/usr/sbin/saslpasswd2");
    password.args(["-p", "-c", "-u", "localhost", "-f", &path("sasldb"), USER]);
    run(&mut password, PASSWORD);
    let is_root = rustix::process::geteuid().is_root();
    let account = match is_root {
        true => ACCOUNT.to_owned(),
        false => said(Command::new("id").arg("-un")),
    };
    let options = [
        ("configdirectory", path("conf")),
        ("defaultpartition", "default".to_owned()),
        ("partition-default", path("spool")),
        ("cyrus_user", account),
        ("servername", "localhost".to_owned()),
        ("httpmodules", "caldav carddav".to_owned()),
        ("allowplaintext", "yes".to_owned()),
        ("sasl_pwcheck_method", "auxprop".to_owned()),
        ("sasl_auxprop_plugin", "sasldb".to_owned()),
        ("sasl_sasldb_path", path("sasldb")),
        ("sasl_mech_list", "PLAIN".to_owned()),
        ("unixhierarchysep", "yes".to_owned()),
        ("altnamespace", "no".to_owned()),
        ("virtdomains", "off".to_owned()),
        ("autocreate_quota", "0".to_owned()),
        ("caldav_allowscheduling", "off".to_owned()),
    ];
    let lines = options.map(|(name, value)| format!("{name}: {value}\n"));
    let config = path("imapd.conf");
    fs::write(&config, lines.concat()).unwrap();
    let services = format!(
        "START {{\n  recover cmd=\"ctl_cyrusdb -C {config} -r\"\n}}\n\
         SERVICES {{\n  http cmd=\"httpd -C {config} -U 1000000\" listen=\"{http}\" prefork=0\n  \
         imap cmd=\"imapd -C {config}\" listen=\"{imap}\" prefork=0\n}}\nEVENTS {{\n}}\n"
    );
    fs::write(path("cyrus.conf"), services).unwrap();
    let mut command = Command::new(MASTER);
    if is_root {
        // In a user namespace in which root has the number of the account, so that it reaches the folder.
        command = Command::new("unshare");
        let group = said(Command::new("id").args(["-g", ACCOUNT]));
        command
            .args(["--user", "--map-user", ACCOUNT, "--map-group", &group])
            .args(["--", MASTER]);
    }
    command
        .env("TZ", "UTC")
        .args(["-C", &config, "-M", &path("cyrus.conf")])
        .args(["-p", &path("master.pid")]);
    let process = Process::start(&mut command, &dir, "log", http, Signal::KILL);
    make_mailbox(imap);
    let homes = ["addressbooks", "calendars"].map(|home| format!("/dav/{home}/user/{USER}/"));
    let server = server(http);
    // The homes are made when they are asked for.
    for home in &homes {
        let answer = server.ask("PROPFIND", home, "Depth: 1\r\n", b"");
        assert_eq!(answer.status, 207, "{answer:?}");
    }
    Product {
        server,
        discovery: "/dav/".to_owned(),
        homes,
        has_vdirsyncer: false,
        _processes: vec![process],
        _dir: dir,
    }
}

/// Returns what a program writes.
fn said(command: &mut Command) -> String {
    let output = command.output().unwrap();
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

fn make_mailbox(imap: SocketAddr) {
    let mut stream = BufReader::new(TcpStream::connect(imap).unwrap());
    let mut said = String::new();
    // Its greeting; it breaks off with a client that does not wait for it.
    stream.read_line(&mut said).unwrap();
    let login = format!("LOGIN {USER} {PASSWORD}");
    for (tag, command) in [("a", &*login), ("b", "LIST \"\" \"*\""), ("c", "LOGOUT")] {
        let line = format!("{tag} {command}\r\n");
        stream.get_mut().write_all(line.as_bytes()).unwrap();
        loop {
            let begin = said.len();
            let read = stream.read_line(&mut said).unwrap();
            if read == 0 || said[begin..].starts_with(&format!("{tag} ")) {
                break;
            }
        }
    }
    assert!(said.lines().any(|line| line.ends_with(" INBOX")), "{said}");
}
