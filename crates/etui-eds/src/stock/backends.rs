//! The stock server's backends: their types, and where the distribution has installed them.

use std::path::{Path, PathBuf};

use crate::error::{EdsError, EdsResult, SOURCE_NOT_SUPPORTED};
use crate::server::bus_names::{BOOK_NAME, CALENDAR_NAME};
use crate::sources::SourceKind;

/// The types of address books, by the name of the backend. Only the stock factory could tell them,
/// and it loads every module to do so.
const BOOK_TYPES: &[(&str, &str)] = &[
    ("local", "EBookBackendFileFactory"),
    ("carddav", "EBookBackendCardDAVFactory"),
    ("google", "EBookBackendGoogleFactory"),
    ("ldap", "EBookBackendLDAPFactory"),
    ("ews", "EBookBackendEwsFactory"),
    ("microsoft365", "EBookBackendM365Factory"),
];

/// The types of events, tasks and memos, by the name of the backend.
const CALENDAR_TYPES: &[(&str, [&str; 3])] = &[
    (
        "local",
        [
            "ECalBackendFileEventsFactory",
            "ECalBackendFileTodosFactory",
            "ECalBackendFileJournalFactory",
        ],
    ),
    (
        "caldav",
        [
            "ECalBackendCalDAVEventsFactory",
            "ECalBackendCalDAVTodosFactory",
            "ECalBackendCalDAVJournalFactory",
        ],
    ),
    (
        "webcal",
        [
            "ECalBackendHttpEventsFactory",
            "ECalBackendHttpTodosFactory",
            "ECalBackendHttpJournalFactory",
        ],
    ),
    (
        "ews",
        [
            "ECalBackendEwsEventsFactory",
            "ECalBackendEwsTodosFactory",
            "ECalBackendEwsJournalFactory",
        ],
    ),
    (
        "microsoft365",
        [
            "ECalBackendM365EventsFactory",
            "ECalBackendM365TodosFactory",
            "",
        ],
    ),
    ("contacts", ["ECalBackendContactsEventsFactory", "", ""]),
    ("weather", ["ECalBackendWeatherEventsFactory", "", ""]),
    ("gtasks", ["", "ECalBackendGTasksFactory", ""]),
    ("webdav-notes", ["", "", "ECalBackendWebDAVNotesFactory"]),
];

/// One of the stock server's two factories.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Factory {
    Books,
    Calendars,
}

impl Factory {
    /// The factory of a kind of source.
    pub(crate) fn of(kind: SourceKind) -> Self {
        match kind {
            SourceKind::AddressBook => Self::Books,
            _ => Self::Calendars,
        }
    }

    /// Its bus name.
    pub(crate) fn bus_name(self) -> &'static str {
        match self {
            Self::Books => BOOK_NAME,
            Self::Calendars => CALENDAR_NAME,
        }
    }

    /// Its name in the names and paths of helper processes.
    pub(super) fn label(self) -> &'static str {
        match self {
            Self::Books => "AddressBook",
            Self::Calendars => "Calendar",
        }
    }

    fn program(self) -> &'static str {
        match self {
            Self::Books => "evolution-addressbook-factory",
            Self::Calendars => "evolution-calendar-factory",
        }
    }

    fn module_dir(self) -> &'static str {
        match self {
            Self::Books => "evolution-data-server/addressbook-backends",
            Self::Calendars => "evolution-data-server/calendar-backends",
        }
    }
}

/// A backend that can be started: the program, and what `Create` is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Backend {
    pub(super) program: PathBuf,
    pub(super) type_name: &'static str,
    pub(super) module: PathBuf,
}

/// Finds the helper program and the module of a backend.
///
/// # Errors
/// [`SOURCE_NOT_SUPPORTED`] if the backend is not known or not installed.
pub(crate) fn find_backend(kind: SourceKind, name: &str) -> EdsResult<Backend> {
    let unsupported = |why: String| EdsError::new(SOURCE_NOT_SUPPORTED, why);
    let factory = Factory::of(kind);
    let type_name = type_name(kind, name)
        .ok_or_else(|| unsupported(format!("the backend \"{name}\" is not known")))?;
    let program = find_factory(factory)
        .map(|factory| subprocess_of(&factory))
        .filter(|program| program.is_file())
        .ok_or_else(|| unsupported(format!("{}-subprocess is not installed", factory.program())))?;
    let module = find_module(&library_dirs(&program), factory.module_dir(), type_name);
    let module = module.ok_or_else(|| {
        unsupported(format!(
            "the backend \"{name}\" ({type_name}) is not installed"
        ))
    })?;
    Ok(Backend {
        program,
        type_name,
        module,
    })
}

fn type_name(kind: SourceKind, backend: &str) -> Option<&'static str> {
    let calendar_type = |index: usize| {
        let (_, types) = CALENDAR_TYPES.iter().find(|(name, _)| *name == backend)?;
        types.get(index).copied().filter(|name| !name.is_empty())
    };
    match kind {
        SourceKind::AddressBook => {
            let found = BOOK_TYPES.iter().find(|(name, _)| *name == backend);
            found.map(|(_, type_name)| *type_name)
        }
        SourceKind::Calendar => calendar_type(0),
        SourceKind::TaskList => calendar_type(1),
        SourceKind::MemoList => calendar_type(2),
    }
}

/// The program of a stock factory: as its service file says, else in the usual directories.
fn find_factory(factory: Factory) -> Option<PathBuf> {
    let file = format!("dbus-1/services/{}.service", factory.bus_name());
    let dirs = std::env::var("XDG_DATA_DIRS").unwrap_or_default();
    let dirs = dirs
        .split(':')
        .filter(|dir| !dir.is_empty())
        .chain(["/usr/local/share", "/usr/share"]);
    let from_services = dirs.filter_map(|dir| {
        let text = std::fs::read_to_string(Path::new(dir).join(&file)).ok()?;
        let exec = text.lines().find_map(|line| line.strip_prefix("Exec="))?;
        let program = PathBuf::from(exec.split_whitespace().next()?);
        (program.file_name()? == factory.program()).then_some(program)
    });
    let usual = [
        "/usr/libexec",
        "/usr/libexec/evolution-data-server",
        "/usr/lib/evolution-data-server",
        "/usr/lib/evolution",
    ];
    let usual = usual.map(|dir| Path::new(dir).join(factory.program()));
    from_services.chain(usual).find(|program| program.is_file())
}

fn subprocess_of(factory: &Path) -> PathBuf {
    let mut program = factory.as_os_str().to_owned();
    program.push("-subprocess");
    PathBuf::from(program)
}

/// The directories of libraries that belong to a program's prefix, such as `/usr/lib` and
/// `/usr/lib/x86_64-linux-gnu`.
fn library_dirs(program: &Path) -> Vec<PathBuf> {
    let mut dirs = Vec::new();
    for prefix in program.ancestors().skip(2).take(2) {
        for name in ["lib", "lib64"] {
            let dir = prefix.join(name);
            let Ok(entries) = std::fs::read_dir(&dir) else {
                continue;
            };
            let below = entries.flatten().map(|entry| entry.path());
            let below: Vec<PathBuf> = below
                .filter(|path| path.to_string_lossy().contains("-linux-"))
                .collect();
            dirs.push(dir);
            dirs.extend(below);
        }
    }
    dirs
}

/// Finds the module that has a type: by the type's name in the file.
fn find_module(libraries: &[PathBuf], below: &str, type_name: &str) -> Option<PathBuf> {
    let mut modules = Vec::new();
    for dir in libraries {
        let entries = std::fs::read_dir(dir.join(below)).into_iter().flatten();
        modules.extend(entries.flatten().map(|entry| entry.path()));
    }
    modules.sort();
    modules.into_iter().find(|path| {
        path.extension().is_some_and(|extension| extension == "so")
            && std::fs::read(path).is_ok_and(|bytes| {
                bytes
                    .windows(type_name.len())
                    .any(|window| window == type_name.as_bytes())
            })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn types_depend_on_the_kind() {
        assert_eq!(
            type_name(SourceKind::AddressBook, "ldap"),
            Some("EBookBackendLDAPFactory")
        );
        assert_eq!(
            type_name(SourceKind::TaskList, "webcal"),
            Some("ECalBackendHttpTodosFactory")
        );
        assert_eq!(type_name(SourceKind::TaskList, "contacts"), None);
        assert_eq!(type_name(SourceKind::AddressBook, "unheard-of"), None);
    }

    #[test]
    fn a_module_is_found_by_its_type() {
        let dir = tempfile::tempdir().unwrap();
        let below = dir.path().join("x86_64-linux-gnu/e");
        fs::create_dir_all(&below).unwrap();
        fs::write(below.join("liba.so"), b"\0EBookBackendFileFactory\0").unwrap();
        fs::write(below.join("libb.so"), b"\0EBookBackendLDAPFactory\0").unwrap();
        let libraries = [dir.path().join("x86_64-linux-gnu")];
        let find = |name| find_module(&libraries, "e", name);
        assert_eq!(find("EBookBackendLDAPFactory"), Some(below.join("libb.so")));
        assert_eq!(find("EBookBackendEwsFactory"), None);
    }
}
