//! Cyrus: its HTTP and IMAP services under its master process, filled by PUT. The mailbox of the user is
//! created at the first login over IMAP.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use super::super::requests;
use super::{
    DavServer, PASSWORD, ResourceKind, USER, Workload, check_tools, free_address, make_dirs,
    run_command, send_wanted, tool_command, write_file,
};
use etui_lab::Error;

/// Where its programs are on Debian.
const PROGRAMS: &str = "/usr/lib/cyrus/bin";
const REMEDY: &str = "`apt-get install cyrus-caldav cyrus-imapd sasl2-bin`";
const SET_PASSWORD: &str = "saslpasswd2";
const NAMESPACE: &str = "unshare";
/// The name of this server, as users' passwords have it.
const REALM: &str = "localhost";
/// The account that it runs as when it is started by root, which it refuses to run as.
const ACCOUNT: &str = "cyrus";

/// Returns the reason if it cannot run here.
pub(super) fn missing() -> Option<String> {
    for program in ["master", "httpd", "imapd"] {
        let program = Path::new(PROGRAMS).join(program);
        if !program.is_file() {
            return Some(format!("there is no `{}`: {REMEDY}", program.display()));
        }
    }
    check_tools(&[SET_PASSWORD, NAMESPACE], REMEDY)
}

/// A directory that it runs in.
struct Files<'d> {
    dir: &'d Path,
    http: SocketAddr,
    imap: SocketAddr,
}

impl Files<'_> {
    fn path(&self, name: &str) -> String {
        self.dir.join(name).display().to_string()
    }

    fn write_configuration(&self, account: &str) -> Result<(), Error> {
        let path = |name| self.path(name);
        let options = [
            ("configdirectory", path("conf")),
            ("defaultpartition", "default".to_owned()),
            ("partition-default", path("spool")),
            ("cyrus_user", account.to_owned()),
            ("servername", REALM.to_owned()),
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
        write_file(&self.dir.join("imapd.conf"), &lines.concat())?;
        let config = path("imapd.conf");
        let services = format!(
            "START {{\n  recover cmd=\"ctl_cyrusdb -C {config} -r\"\n}}\n\
             SERVICES {{\n  http cmd=\"httpd -C {config} -U 1000000\" listen=\"{}\" prefork=0\n  \
             imap cmd=\"imapd -C {config}\" listen=\"{}\" prefork=0\n}}\nEVENTS {{\n}}\n",
            self.http, self.imap
        );
        write_file(&self.dir.join("cyrus.conf"), &services)
    }
}

fn account() -> Result<String, Error> {
    if rustix::process::geteuid().is_root() {
        return Ok(ACCOUNT.to_owned());
    }
    let name = run_command(Command::new("id").arg("-un"))?;
    Ok(name.trim().to_owned())
}

/// Returns the command of its master process. Root runs it in a user namespace in which root has the number of
/// the account, so that it reaches the run's directory, which is private.
fn master_command() -> Result<Command, Error> {
    let master = Path::new(PROGRAMS).join("master");
    if !rustix::process::geteuid().is_root() {
        return Ok(Command::new(master));
    }
    let group = run_command(Command::new("id").args(["-g", ACCOUNT]))?;
    let mut command = tool_command(NAMESPACE)?;
    command
        .arg("--user")
        .arg(format!("--map-user={ACCOUNT}"))
        .arg(format!("--map-group={}", group.trim()))
        .arg("--")
        .arg(master);
    Ok(command)
}

pub(super) fn start(dir: &Path) -> Result<DavServer, Error> {
    start_with_imap(dir).map(|(server, _)| server)
}

fn start_with_imap(dir: &Path) -> Result<(DavServer, SocketAddr), Error> {
    let files = Files {
        dir,
        http: free_address()?,
        imap: free_address()?,
    };
    files.write_configuration(&account()?)?;
    let mut command = master_command()?;
    command
        .env("TZ", "UTC")
        .args(["-C", &files.path("imapd.conf")])
        .args(["-M", &files.path("cyrus.conf")])
        .args(["-p", &files.path("master.pid")]);
    let server = DavServer::start(&mut command, files.http, dir)?;
    let path = |home| format!("/dav/{home}/user/{USER}/Default/");
    let server = server.with_collections(&path("addressbooks"), &path("calendars"));
    Ok((server, files.imap))
}

/// Adds the user to its file of passwords.
fn set_password(dir: &Path) -> Result<(), Error> {
    let mut command = tool_command(SET_PASSWORD)?;
    let command = command.args(["-p", "-c", "-u", REALM, "-f"]);
    let command = command.arg(dir.join("sasldb")).arg(USER);
    let failed = |e| Error::file(SET_PASSWORD, e);
    let mut child = command.stdin(Stdio::piped()).spawn().map_err(failed)?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(PASSWORD.as_bytes()).map_err(failed)?;
    }
    match child.wait().map_err(failed)?.success() {
        true => Ok(()),
        false => Err(Error::other("saslpasswd2 sets no password")),
    }
}

/// Creates the mailbox of the user: a first login does not create one over HTTP.
fn create_mailbox(imap: SocketAddr) -> Result<(), Error> {
    let failed = |e| Error::file("Cyrus's IMAP service", e);
    let stream = TcpStream::connect(imap).map_err(failed)?;
    let mut stream = BufReader::new(stream);
    let mut said = String::new();
    // Its greeting; it breaks off with a client that does not wait for it.
    stream.read_line(&mut said).map_err(failed)?;
    let login = format!("LOGIN {USER} {PASSWORD}");
    for (tag, command) in [
        ("a", login.as_str()),
        ("b", "LIST \"\" \"*\""),
        ("c", "LOGOUT"),
    ] {
        let sent = stream
            .get_mut()
            .write_all(format!("{tag} {command}\r\n").as_bytes());
        sent.map_err(failed)?;
        loop {
            let begin = said.len();
            let read = stream.read_line(&mut said).map_err(failed)?;
            if read == 0 || said[begin..].starts_with(&format!("{tag} ")) {
                break;
            }
        }
    }
    match said.lines().any(|line| line.ends_with(" INBOX")) {
        true => Ok(()),
        false => Err(Error::other(format!("Cyrus makes no mailbox: {said}"))),
    }
}

pub(super) fn fill(dir: &Path, workload: &Workload, until: Instant) -> Result<(), Error> {
    for name in ["conf/proc", "conf/lock", "conf/socket", "spool"] {
        make_dirs(&dir.join(name))?;
    }
    set_password(dir)?;
    let (mut server, imap) = start_with_imap(dir)?;
    create_mailbox(imap)?;
    // The collections are made when their homes are asked for.
    for kind in ResourceKind::BOTH {
        let home = server.collection(kind).trim_end_matches("Default/");
        send_wanted(&mut server.client(), &requests::list(home))?;
    }
    server.put_all(workload, until)?;
    server.stop()
}
