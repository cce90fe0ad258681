//! [`read_status`]: who serves, which files are there, and what has changed.

use std::collections::HashSet;
use std::path::PathBuf;

use etui::{Error, Store};
use serde::Serialize;
use zbus::Connection;
use zbus::fdo::DBusProxy;
use zbus::names::BusName;

use super::activation::{Lasting, UserDirs};
use super::other_store::other_store_of_files;
use super::plan::{PlannedSource, read_plan};
use super::programs::{HoldingProgram, holding_programs};
use super::state::{Phase, SwitchState};
use super::store_side::StoreSide;
use super::{SwitchError, program_of};
use crate::server::bus_names::{BOOK_NAME, CALENDAR_NAME};

/// Who serves, and what is in the store only.
#[derive(Debug, Clone, Serialize)]
pub struct Status {
    /// How far switching has come.
    pub phase: Phase,
    /// Until when the store serves.
    pub lasting: Option<Lasting>,
    /// The files by which the bus starts this service.
    pub files: Vec<PathBuf>,
    /// The store that these files serve, if it is another one.
    pub other_store: Option<PathBuf>,
    /// The programs that have an address book or a calendar open.
    pub programs: Vec<HoldingProgram>,
    /// Who owns the bus names; those without an owner are missing.
    pub owners: Vec<NameOwner>,
    /// The sources, and who serves them or would.
    pub sources: Vec<PlannedSource>,
    /// What changed in the store since it was last equal to the stock server.
    pub changes: Vec<CollectionChanges>,
}

/// The owner of a bus name.
#[derive(Debug, Clone, Serialize)]
pub struct NameOwner {
    /// The name.
    pub name: String,
    /// The process.
    pub process: u32,
    /// The program that it runs.
    pub program: String,
}

/// What changed in a collection of the store.
#[derive(Debug, Clone, Default, Serialize)]
pub struct CollectionChanges {
    /// The source's UID.
    pub source: String,
    /// The name that a person sees.
    pub name: String,
    /// Records in the store.
    pub records: u64,
    /// New ones among them.
    pub created: usize,
    /// Changed ones among them.
    pub changed: usize,
    /// Records that are gone.
    pub removed: usize,
}

/// Reads the status. Nothing is started but the registry of sources.
///
/// # Errors
/// Any error of the bus, the store and the state.
pub fn read_status(
    store: &std::path::Path,
    options: &etui::Options,
    dirs: &UserDirs,
) -> Result<Status, SwitchError> {
    zbus::block_on(async {
        let state = SwitchState::read(store)?;
        let connection = Connection::session().await?;
        let sources = read_plan(&connection).await?;
        let bus = DBusProxy::new(&connection).await?;
        let mut owners = Vec::new();
        for name in [BOOK_NAME, CALENDAR_NAME] {
            let bus_name = BusName::try_from(name)?;
            if let Ok(process) = bus.get_connection_unix_process_id(bus_name).await {
                owners.push(NameOwner {
                    name: name.to_owned(),
                    process,
                    program: program_of(process).unwrap_or_default(),
                });
            }
        }
        let changes = match &state {
            Some(state) => read_changes(store, options, state, &sources)?,
            None => Vec::new(),
        };
        let files = dirs.service_files()?.into_iter();
        let programs = holding_programs(&connection).await?;
        Ok(Status {
            phase: state.as_ref().map_or(Phase::Off, |state| state.phase),
            lasting: state.map(|state| state.lasting),
            files: files.map(|file| file.path).collect(),
            other_store: other_store_of_files(dirs, store)?,
            programs,
            owners,
            sources,
            changes,
        })
    })
}

fn read_changes(
    store: &std::path::Path,
    options: &etui::Options,
    state: &SwitchState,
    sources: &[PlannedSource],
) -> Result<Vec<CollectionChanges>, SwitchError> {
    let store = match Store::open_with(store, options) {
        Ok(store) => store,
        Err(Error::NoStore(_)) => return Ok(Vec::new()),
        Err(error) => return Err(error.into()),
    };
    let mut all = Vec::new();
    for source in sources {
        let Some(side) = StoreSide::find(&store, source.kind, &source.uid)? else {
            continue;
        };
        let base = state.base(source.kind, &source.uid);
        let mut changes = CollectionChanges {
            source: source.uid.clone(),
            name: source.label.clone(),
            ..CollectionChanges::default()
        };
        let mut seen = HashSet::new();
        side.for_each(|uid, etag, _| {
            changes.records += 1;
            match base.get(uid) {
                None => changes.created += 1,
                Some(both) if both.store != etag.to_string() => changes.changed += 1,
                Some(_) => {}
            }
            seen.insert(uid.to_owned());
        })?;
        changes.removed = base.keys().filter(|uid| !seen.contains(*uid)).count();
        all.push(changes);
    }
    Ok(all)
}
