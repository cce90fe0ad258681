//! Switching the desktop from the stock server to the store and back.
//!
//! ```text
//! on    hold the names · look at both sides · take over · write the files · let the service start
//! off   hold the names · look at both sides · give back · remove the files · let the stock server start
//! ```
//!
//! Both sides are read and written by their own interfaces: the stock server's files are never
//! touched. A state beside the store says how far switching has come and what both sides had when
//! they were last equal, so that a command that was killed can be repeated and only changes are
//! copied.

mod activation;
mod look;
mod merge;
mod names;
mod off;
mod on;
mod other_store;
mod plan;
mod programs;
mod service_lock;
mod state;
mod status;
mod stock_side;
mod store_side;

use std::fmt;
use std::path::{Path, PathBuf};

use serde::Serialize;
use zbus::fdo::DBusProxy;
use zbus::names::BusName;
use zbus::{Connection, DynamicType};

pub use activation::{Lasting, UserDirs};
pub use merge::Side;
pub use off::switch_off;
pub use on::switch_on;
pub use plan::{PlannedSource, ServedBy, read_plan};
pub use programs::HoldingProgram;
pub(crate) use service_lock::ServiceLock;
pub use state::Phase;
pub use status::{CollectionChanges, NameOwner, Status, read_status};

use crate::error::EdsError;
use crate::sources::SourceKind;

/// How to switch.
#[derive(Debug, Clone)]
pub struct SwitchOptions {
    /// The store; switching on creates it if it does not exist.
    pub store: PathBuf,
    /// Options of the store.
    pub options: etui::Options,
    /// The program and the arguments by which the bus starts the service.
    pub command: Vec<String>,
    /// How long the service takes the stock server's place.
    pub lasting: Lasting,
    /// Which side counts where both changed a record; without, such a record is an error.
    pub prefer: Option<Side>,
    /// The user's directories.
    pub dirs: UserDirs,
}

/// A step of switching. A command that is killed after any of them can be repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Step {
    /// The names are held.
    NamesHeld,
    /// Both sides were read and compared.
    Compared,
    /// The state says that records move.
    StateWritten,
    /// All records were copied, read back and compared.
    Copied,
    /// The state says that the other side is to serve.
    StateUpdated,
    /// The activation files are written or removed.
    FilesChanged,
    /// The other side serves.
    Served,
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NamesHeld => "programs wait",
            Self::Compared => "compared both sides",
            Self::StateWritten => "wrote the journal",
            Self::Copied => "copied and read back",
            Self::StateUpdated => "noted the state of both sides",
            Self::FilesChanged => "changed the service files",
            Self::Served => "checked the service",
        })
    }
}

/// What happens while switching.
#[derive(Debug, Clone, Copy)]
pub enum Progress<'a> {
    /// A step is done.
    Done(Step),
    /// Records of a source are read or written.
    Records {
        /// The source's name.
        source: &'a str,
        /// Records so far.
        done: usize,
        /// All records.
        total: usize,
    },
}

/// Told of progress.
pub type OnProgress<'a> = &'a mut dyn FnMut(Progress<'_>);

/// What switching did.
#[derive(Debug, Clone, Default, Serialize)]
pub struct SwitchReport {
    /// Whether there was nothing to do.
    pub already: bool,
    /// What was done for each source.
    pub collections: Vec<CollectionReport>,
    /// The programs that had an address book or a calendar open, and are to be started again.
    pub programs: Vec<HoldingProgram>,
}

/// What switching did for one source.
#[derive(Debug, Clone, Serialize)]
pub struct CollectionReport {
    /// The source's UID.
    pub source: String,
    /// The name that a person sees; with account or number if several have it.
    pub name: String,
    /// The name of its collection in the store, if it has one.
    pub collection: Option<String>,
    /// Its kind.
    pub kind: SourceKind,
    /// Records on the side that serves now.
    pub records: u64,
    /// Records that were copied because they were new.
    pub created: usize,
    /// Records that were copied because they were changed.
    pub changed: usize,
    /// Records that were removed.
    pub removed: usize,
    /// UIDs of records that the stock server keeps in other words than it was given.
    pub rewritten: Vec<String>,
}

/// The reason why switching failed.
#[derive(Debug, thiserror::Error)]
pub enum SwitchError {
    /// The session bus failed.
    #[error("the session bus: {0}")]
    Bus(#[from] zbus::Error),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] etui::Error),
    /// The stock server, or this service, returned an error.
    #[error(transparent)]
    Eds(#[from] EdsError),
    /// A file cannot be read or written.
    #[error("{}: {source}", .path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: std::io::Error,
    },
    /// Both sides changed the same records.
    #[error(
        "{} changed on both sides since they were last equal, for example {}",
        plural(.records.len()), .records.first().map_or("", String::as_str)
    )]
    Conflicts {
        /// The records: source and UID.
        records: Vec<String>,
    },
    /// Something is not as it has to be; nothing was changed.
    #[error("{0}")]
    Refused(String),
}

impl SwitchError {
    fn file(path: &Path, source: std::io::Error) -> Self {
        Self::File {
            path: path.to_owned(),
            source,
        }
    }
}

/// Whether the store is to serve, as the state beside it says. A state that cannot be read counts as
/// switched on: the service keeps what programs save.
pub(crate) fn is_switched_on(store: &Path) -> bool {
    match state::SwitchState::read(store) {
        Ok(Some(state)) => matches!(state.phase, Phase::On | Phase::GivingBack),
        Ok(None) => false,
        Err(_) => true,
    }
}

/// Removes the service files of a store that was switched off where they could not be removed, as in
/// another session's `XDG_RUNTIME_DIR`. The bus starts the stock server from then on.
pub(crate) async fn leave_bus(store: &Path) {
    let left = async {
        let dirs = UserDirs::from_environment()?;
        let files = dirs.service_files()?;
        let mut stores = files.iter().filter_map(|file| file.store.as_deref());
        if stores.any(|other| service_lock::is_same_store(other, store)) {
            dirs.remove_files()?;
        }
        reload_bus(&Connection::session().await?).await
    };
    if let Err(error) = left.await {
        tracing::warn!("the service files are not removed: {error}");
    }
}

fn plural(records: usize) -> String {
    match records {
        1 => "1 record was".to_owned(),
        n => format!("{n} records were"),
    }
}

/// Calls a method of an object and decodes its error.
async fn call_object<B, T>(
    connection: &Connection,
    bus_name: &str,
    path: &str,
    interface: &str,
    method: &str,
    body: &B,
) -> Result<T, SwitchError>
where
    B: serde::Serialize + DynamicType,
    T: for<'d> serde::Deserialize<'d> + zbus::Type,
{
    let called = connection
        .call_method(Some(bus_name), path, Some(interface), method, body)
        .await;
    match called {
        Ok(reply) => Ok(reply.body().deserialize()?),
        Err(error) => Err(match EdsError::from_reply(error) {
            Ok(refused) => refused.attempting(method).into(),
            Err(error) => error.into(),
        }),
    }
}

/// Tells the bus, and the user's systemd if there is one, to read their files again.
async fn reload_bus(connection: &Connection) -> Result<(), SwitchError> {
    if has_systemd(connection).await? {
        call_object::<_, ()>(
            connection,
            SYSTEMD,
            "/org/freedesktop/systemd1",
            "org.freedesktop.systemd1.Manager",
            "Reload",
            &(),
        )
        .await?;
    }
    let bus = DBusProxy::new(connection).await?;
    bus.reload_config().await.map_err(zbus::Error::from)?;
    Ok(())
}

const SYSTEMD: &str = "org.freedesktop.systemd1";

/// Whether a systemd of the user runs.
async fn has_systemd(connection: &Connection) -> Result<bool, SwitchError> {
    let bus = DBusProxy::new(connection).await?;
    let name = BusName::try_from(SYSTEMD)?;
    Ok(bus.name_has_owner(name).await.map_err(zbus::Error::from)?)
}

/// The file name of the program that a process runs.
fn program_of(process: u32) -> Option<String> {
    let path = std::fs::read_link(format!("/proc/{process}/exe")).ok()?;
    let name = path.file_name()?.to_string_lossy().into_owned();
    // An updated program is another file now.
    Some(name.trim_end_matches(" (deleted)").to_owned())
}
