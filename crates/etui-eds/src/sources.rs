//! The registry of sources: which address books and calendars there are.
//!
//! `evolution-source-registry` keeps the list, online accounts and their passwords. It is read
//! as any client reads it, and only `ConnectionStatus` is written. A source is a key file:
//!
//! ```text
//! [Data Source]              DisplayName=Personal, Enabled=true, Parent=local-stub
//! [Address Book]             BackendName=local        also [Calendar], [Task List], [Memo List]
//! [Local Backend]            CustomFile=, EmailAddress=
//! [Revision Guards]          Enabled=true
//! ```

use std::collections::HashMap;

use zbus::fdo::ObjectManagerProxy;
use zbus::{Connection, OwnedObjectPath, proxy};

use crate::error::{EdsError, EdsResult, NO_SOURCE, OTHER};

/// The registry's bus name.
pub const REGISTRY: &str = "org.gnome.evolution.dataserver.Sources5";
/// The registry's object manager.
pub const MANAGER: &str = "/org/gnome/evolution/dataserver/SourceManager";
/// The interface that every source has.
pub const SOURCE: &str = "org.gnome.evolution.dataserver.Source";

/// The kinds of collections that a source can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SourceKind {
    /// An address book.
    AddressBook,
    /// A calendar of events.
    Calendar,
    /// A calendar of tasks.
    TaskList,
    /// A calendar of memos.
    MemoList,
}

impl SourceKind {
    /// All kinds.
    pub const ALL: [Self; 4] = [
        Self::AddressBook,
        Self::Calendar,
        Self::TaskList,
        Self::MemoList,
    ];

    /// The group of the key file that makes a source one of this kind.
    pub fn group(self) -> &'static str {
        match self {
            Self::AddressBook => "Address Book",
            Self::Calendar => "Calendar",
            Self::TaskList => "Task List",
            Self::MemoList => "Memo List",
        }
    }
}

impl SourceKind {
    /// The noun for it.
    pub fn noun(self) -> &'static str {
        match self {
            Self::AddressBook => "address book",
            Self::Calendar => "calendar",
            Self::TaskList => "task list",
            Self::MemoList => "memo list",
        }
    }

    /// The external id of a source's collection in the store: its UID. A source can be of several
    /// kinds that are calendars in the store; task lists and memo lists have a suffix.
    pub fn external_id(self, source_uid: &str) -> String {
        match self {
            Self::AddressBook | Self::Calendar => source_uid.to_owned(),
            Self::TaskList => format!("{source_uid}/tasks"),
            Self::MemoList => format!("{source_uid}/memos"),
        }
    }
}

/// One source, as the registry describes it.
#[derive(Debug, Clone)]
pub struct Source {
    /// Its UID, for example `system-address-book`.
    pub uid: String,
    /// Its object in the registry.
    pub path: OwnedObjectPath,
    groups: HashMap<String, HashMap<String, String>>,
}

impl Source {
    /// Reads a source's key file.
    pub fn parse(uid: &str, path: OwnedObjectPath, data: &str) -> Self {
        Self {
            uid: uid.to_owned(),
            path,
            groups: parse_key_file(data),
        }
    }

    /// A value of the key file, unescaped; `None` if it is missing or empty.
    pub fn value(&self, group: &str, key: &str) -> Option<&str> {
        let value = self.groups.get(group)?.get(key)?;
        (!value.is_empty()).then_some(value.as_str())
    }

    /// The name that a person sees.
    pub fn display_name(&self) -> &str {
        self.value("Data Source", "DisplayName")
            .unwrap_or(&self.uid)
    }

    /// The backend that serves a kind; `None` if the source is not of this kind.
    pub fn backend(&self, kind: SourceKind) -> Option<&str> {
        self.value(kind.group(), "BackendName")
    }

    /// Whether this service holds the data: a `local` backend without a file of its own.
    pub fn is_ours(&self, kind: SourceKind) -> bool {
        self.backend(kind) == Some("local") && self.value("Local Backend", "CustomFile").is_none()
    }

    /// Whether the person has the source switched on.
    pub fn is_enabled(&self) -> bool {
        self.value("Data Source", "Enabled") != Some("false")
    }

    /// Whether a modified contact must have the stored revision.
    pub fn guards_revisions(&self) -> bool {
        self.value("Revision Guards", "Enabled") == Some("true")
    }
}

/// Parses a key file of the Desktop Entry Specification as GLib reads it.
fn parse_key_file(data: &str) -> HashMap<String, HashMap<String, String>> {
    let mut groups: HashMap<String, HashMap<String, String>> = HashMap::new();
    let mut group = String::new();
    for line in data.lines().map(str::trim) {
        if let Some(name) = line
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'))
        {
            group = name.to_owned();
        } else if let Some((key, value)) = line.split_once('=').filter(|_| !line.starts_with('#')) {
            let entries = groups.entry(group.clone()).or_default();
            entries.insert(key.trim_end().to_owned(), unescape(value.trim_start()));
        }
    }
    groups
}

fn unescape(value: &str) -> String {
    let mut text = String::with_capacity(value.len());
    let mut chars = value.chars();
    while let Some(c) = chars.next() {
        let next = if c == '\\' { chars.next() } else { Some(c) };
        match (c, next) {
            ('\\', Some('s')) => text.push(' '),
            ('\\', Some('n')) => text.push('\n'),
            ('\\', Some('t')) => text.push('\t'),
            ('\\', Some('r')) => text.push('\r'),
            (_, Some(other)) => text.push(other),
            (_, None) => {}
        }
    }
    text
}

#[proxy(
    interface = "org.gnome.evolution.dataserver.Source",
    default_service = "org.gnome.evolution.dataserver.Sources5"
)]
trait SourceObject {
    #[zbus(property, name = "UID")]
    fn uid(&self) -> zbus::Result<String>;
    #[zbus(property)]
    fn data(&self) -> zbus::Result<String>;
    #[zbus(property)]
    fn set_connection_status(&self, status: &str) -> zbus::Result<()>;
}

/// Reads all sources from the registry, which the bus starts if it does not run.
///
/// # Errors
/// If the registry cannot be reached.
pub async fn read_sources(connection: &Connection) -> EdsResult<Vec<Source>> {
    let manager = ObjectManagerProxy::builder(connection)
        .destination(REGISTRY)
        .path(MANAGER)
        .build()
        .await?;
    let objects = manager.get_managed_objects().await.map_err(|e| {
        EdsError::new(
            OTHER,
            format!("the registry of sources does not answer: {e}"),
        )
    })?;
    let mut sources = Vec::new();
    for (path, interfaces) in objects {
        let properties = interfaces.iter().find(|(name, _)| name.as_str() == SOURCE);
        let Some((_, properties)) = properties else {
            continue;
        };
        let text = |name: &str| {
            let value = properties.get(name)?;
            value.downcast_ref::<&str>().ok().map(str::to_owned)
        };
        if let (Some(uid), Some(data)) = (text("UID"), text("Data")) {
            sources.push(Source::parse(&uid, path, &data));
        }
    }
    Ok(sources)
}

/// Finds one source by its UID.
///
/// # Errors
/// [`NO_SOURCE`] if there is none: clients ask again, since a new source may reach them first.
pub async fn find_source(connection: &Connection, uid: &str) -> EdsResult<Source> {
    let sources = read_sources(connection).await?;
    sources
        .into_iter()
        .find(|source| source.uid == uid)
        .ok_or_else(|| EdsError::new(NO_SOURCE, format!("there is no source with UID \"{uid}\"")))
}

/// Reports a source as connected, beside the caller. Clients wait for it, up to 30 seconds.
pub fn report_connected(connection: &Connection, source: &Source) {
    let (connection, path) = (connection.clone(), source.path.clone());
    let uid = source.uid.clone();
    let report = async move {
        let object = SourceObjectProxy::builder(&connection).path(path);
        let object = object.build().await?;
        object.set_connection_status("connected").await
    };
    zruntime::spawn(async move {
        if let Err(error) = report.await {
            tracing::warn!("{uid}: not reported as connected: {error}");
        }
    })
    .detach();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_file_tells_kind_and_owner() {
        let path = OwnedObjectPath::try_from("/s/1").unwrap();
        let data = "[Data Source]\nDisplayName=My\\sbook\nEnabled=true\n\n\
                    [Address Book]\nBackendName=local\n[Revision Guards]\nEnabled=true\n";
        let source = Source::parse("u", path.clone(), data);
        assert_eq!(source.display_name(), "My book");
        assert!(source.is_ours(SourceKind::AddressBook));
        assert!(!source.is_ours(SourceKind::Calendar));
        assert!(source.guards_revisions());
        let custom = format!("{data}[Local Backend]\nCustomFile=/x\n");
        assert!(!Source::parse("u", path, &custom).is_ours(SourceKind::AddressBook));
    }
}
