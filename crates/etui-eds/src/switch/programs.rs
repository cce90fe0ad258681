//! [`HoldingProgram`]: the programs that have an address book or a calendar open.
//!
//! A program that opened one keeps the object that it was given, and with another owner of the bus names
//! that object is gone: it shows nothing new and saves nothing until it is started again. The
//! client libraries of Evolution Data Server follow the owner with match rules, which the bus lists.
//! Where it does not, a program that has loaded one of these libraries counts.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde::Serialize;
use zbus::Connection;
use zbus::fdo::DBusProxy;
use zbus::names::BusName;
use zruntime::SharedRuntime;

use super::service_lock::ask_to_end;
use super::{SwitchError, program_of};

/// The names of everything that belongs to Evolution Data Server itself.
const SERVER_PREFIX: &str = "org.gnome.evolution.dataserver.";
/// The senders that a program follows while it has an address book or a calendar open.
const FOLLOWED: &[&str] = &[
    "org.gnome.evolution.dataserver.AddressBook",
    "org.gnome.evolution.dataserver.Calendar",
    "org.gnome.evolution.dataserver.Subprocess",
    "/org/gnome/evolution/dataserver/Subprocess",
];
/// The client libraries, as a process has them loaded.
const LIBRARIES: &[&str] = &["/libebook-1.2.so", "/libecal-2.0.so", "/libecal-1.2.so"];
/// Programs without windows, in which no person has unsaved texts.
const RESTARTED: &[&str] = &["evolution-alarm-notify", "gnome-shell-calendar-server"];
/// Programs that always have something open: their file, their bus name, how a person calls them.
const KNOWN: &[(&str, &str, &str)] = &[
    ("gnome-calendar", "org.gnome.Calendar", "GNOME Calendar"),
    ("gnome-contacts", "org.gnome.Contacts", "GNOME Contacts"),
    ("evolution", "org.gnome.Evolution", "Evolution"),
    (
        "evolution-alarm-notify",
        "org.gnome.Evolution-alarm-notify",
        "the reminders of Evolution",
    ),
    (
        "gnome-shell-calendar-server",
        "org.gnome.Shell.CalendarServer",
        "the calendar of GNOME Shell",
    ),
    ("gnome-calls", "org.gnome.Calls", "GNOME Calls"),
    ("gnome-todo", "org.gnome.Todo", "GNOME To Do"),
    ("endeavour", "org.gnome.Todo", "Endeavour"),
    ("geary", "org.gnome.Geary", "Geary"),
    ("chatty", "sm.puri.Chatty", "Chats"),
];
/// The length that the kernel cuts the name of a process to.
const MAX_COMM: usize = 15;
/// How long the reminders may take to end.
const PATIENCE: Duration = Duration::from_secs(5);
const POLL: Duration = Duration::from_millis(20);

/// A program that has an address book or a calendar open.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HoldingProgram {
    /// How a person calls it.
    pub name: String,
    /// Its file name.
    pub program: String,
    /// Its process.
    pub process: u32,
    /// Whether it was started again, and needs nothing of the person.
    pub restarted: bool,
}

/// What is known of a process on the bus.
#[derive(Debug, Default)]
struct BusClient {
    names: Vec<String>,
    follows: bool,
}

/// Returns the programs that have an address book or a calendar open, by name.
pub(super) async fn holding_programs(
    connection: &Connection,
) -> Result<Vec<HoldingProgram>, SwitchError> {
    let bus = DBusProxy::new(connection).await?;
    let names = bus.list_names().await.map_err(zbus::Error::from)?;
    let rules = match_rules(connection).await;
    let (mut clients, mut servers) = (BTreeMap::<u32, BusClient>::new(), HashSet::new());
    servers.insert(std::process::id());
    for name in names {
        let bus_name = name.inner().clone();
        // It may have left the bus meanwhile.
        let Ok(process) = bus.get_connection_unix_process_id(bus_name).await else {
            continue;
        };
        if name.as_str().starts_with(SERVER_PREFIX) {
            servers.insert(process);
        }
        let client = clients.entry(process).or_default();
        let own_rules = rules.as_ref().and_then(|rules| rules.get(name.as_str()));
        client.follows |= own_rules.is_some_and(|rules| rules.iter().any(|rule| is_followed(rule)));
        if !name.as_str().starts_with(':') {
            client.names.push(name.to_string());
        }
    }
    let mut programs = Vec::new();
    for (process, client) in clients {
        let program = own_name(process);
        let known = KNOWN
            .iter()
            .find(|(file, name, _)| program == *file || client.names.iter().any(|n| n == name));
        let holds =
            known.is_some() || client.follows || rules.is_none() && has_client_library(process);
        if servers.contains(&process) || !holds {
            continue;
        }
        programs.push(HoldingProgram {
            name: match (known, client.names.first()) {
                (Some((_, _, label)), _) => (*label).to_owned(),
                // A sandboxed program is on the bus through a proxy.
                (None, Some(name)) if program == "xdg-dbus-proxy" => name.clone(),
                _ => program.clone(),
            },
            program,
            process,
            restarted: false,
        });
    }
    programs.sort_by(|a, b| (&a.name, a.process).cmp(&(&b.name, b.process)));
    Ok(programs)
}

fn is_followed(rule: &str) -> bool {
    FOLLOWED.iter().any(|sender| rule.contains(sender))
}

/// Returns the match rules of every connection; `None` where the bus does not tell them.
async fn match_rules(connection: &Connection) -> Option<HashMap<String, Vec<String>>> {
    let name = "org.freedesktop.DBus";
    let called = connection.call_method(
        Some(name),
        "/org/freedesktop/DBus",
        Some("org.freedesktop.DBus.Debug.Stats"),
        "GetAllMatchRules",
        &(),
    );
    called.await.ok()?.body().deserialize().ok()
}

/// Returns the name of a process: of its file, or of the script that an interpreter runs.
fn own_name(process: u32) -> String {
    let file = program_of(process).unwrap_or_default();
    let comm = std::fs::read_to_string(format!("/proc/{process}/comm")).unwrap_or_default();
    let comm = comm.trim_end();
    if comm.is_empty() {
        return file;
    }
    // The kernel may have cut it: the full name is that of the file, or of the interpreter's script.
    let line = read_list(Path::new(&format!("/proc/{process}/cmdline"))).unwrap_or_default();
    let words = line.iter().filter_map(|word| Path::new(word).file_name());
    let words = words.map(|word| word.to_string_lossy().into_owned());
    let mut full = std::iter::once(file).chain(words);
    full.find(|name| comm.len() >= MAX_COMM && name.starts_with(comm))
        .unwrap_or_else(|| comm.to_owned())
}

fn has_client_library(process: u32) -> bool {
    std::fs::read_to_string(format!("/proc/{process}/maps"))
        .is_ok_and(|maps| LIBRARIES.iter().any(|library| maps.contains(library)))
}

/// Starts programs without windows again: the reminders would show none until the next login. Other
/// programs are a person's to close.
pub(super) async fn restart_programs(
    connection: &Connection,
    programs: &mut [HoldingProgram],
) -> Result<(), SwitchError> {
    let is_restarted = |holder: &&mut HoldingProgram| RESTARTED.contains(&holder.program.as_str());
    for program in programs.iter_mut().filter(is_restarted) {
        let Some(mut command) = command_of(program.process) else {
            continue;
        };
        ask_to_end(program.process);
        if !has_ended(connection, program).await? {
            continue;
        }
        match command.spawn() {
            Ok(child) => {
                program.process = child.id();
                program.restarted = true;
            }
            Err(error) => tracing::warn!("{} does not start again: {error}", program.program),
        }
    }
    Ok(())
}

/// Returns the command by which a process was started, with its environment.
fn command_of(process: u32) -> Option<Command> {
    let dir = PathBuf::from(format!("/proc/{process}"));
    let program = std::fs::read_link(dir.join("exe")).ok()?;
    let mut command = Command::new(program);
    command.args(read_list(&dir.join("cmdline"))?.into_iter().skip(1));
    command.env_clear();
    for variable in read_list(&dir.join("environ"))? {
        let bytes = variable.into_vec();
        let at = bytes.iter().position(|byte| *byte == b'=')?;
        let (name, value) = bytes.split_at(at);
        let value = value.get(1..).unwrap_or_default();
        command.env(
            OsString::from_vec(name.to_vec()),
            OsString::from_vec(value.to_vec()),
        );
    }
    // A process group of its own: it outlives the terminal of this command.
    command.process_group(0);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    Some(command)
}

/// Reads texts that end with a zero byte each.
fn read_list(path: &Path) -> Option<Vec<OsString>> {
    let bytes = std::fs::read(path).ok()?;
    let texts = bytes
        .split(|byte| *byte == 0)
        .filter(|text| !text.is_empty());
    Some(
        texts
            .map(|text| OsString::from_vec(text.to_vec()))
            .collect(),
    )
}

/// Waits until a program has ended and its bus name is free; returns false if it is not by then.
async fn has_ended(connection: &Connection, program: &HoldingProgram) -> Result<bool, SwitchError> {
    let bus = DBusProxy::new(connection).await?;
    let runtime = SharedRuntime::current().map_err(zbus::Error::from)?;
    let known = KNOWN.iter().find(|(file, ..)| program.program == *file);
    let mut waited = Duration::ZERO;
    loop {
        // The executable of a process that has ended, but was not waited for, is gone too.
        let runs = std::fs::read_link(format!("/proc/{}/exe", program.process)).is_ok();
        let owns = match known {
            // A second one would leave at once.
            Some((_, name, _)) => bus
                .name_has_owner(BusName::try_from(*name)?)
                .await
                .map_err(zbus::Error::from)?,
            None => false,
        };
        if !runs && !owns {
            return Ok(true);
        }
        if waited >= PATIENCE {
            return Ok(false);
        }
        runtime.sleep(POLL).await;
        waited += POLL;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_of_opened_objects_count() {
        for (rule, counts) in [
            (
                "type='signal',sender='org.gnome.evolution.dataserver.AddressBook10',path='/org/x'",
                true,
            ),
            (
                "type='signal',sender='org.gnome.evolution.dataserver.Calendar8'",
                true,
            ),
            (
                "type='signal',sender='org.gnome.evolution.dataserver.Subprocess.Backend.Calendarx7x1'",
                true,
            ),
            (
                "path='/org/gnome/evolution/dataserver/Subprocess/7/1'",
                true,
            ),
            (
                "type='signal',sender='org.gnome.evolution.dataserver.Sources5'",
                false,
            ),
            (
                "type='signal',sender='org.freedesktop.DBus',member='NameOwnerChanged'",
                false,
            ),
        ] {
            assert_eq!(is_followed(rule), counts, "{rule}");
        }
    }

    #[test]
    fn a_process_has_the_name_of_its_file() {
        let own = own_name(std::process::id());
        assert!(own.starts_with("etui_eds-"), "{own}");
        assert!(!has_client_library(std::process::id()));
    }
}
