//! Another store, or another server, in the place that a command switches.

use std::path::{Path, PathBuf};

use zbus::Connection;
use zbus::fdo::DBusProxy;
use zbus::names::BusName;

use super::activation::UserDirs;
use super::service_lock::{is_same_store, store_of_service};
use super::{SwitchError, SwitchOptions, program_of};
use crate::server::bus_names::{BOOK_NAME, CALENDAR_NAME};

/// Returns the store that the service files serve, if it is not `store`. One that is no more does not count.
pub(super) fn other_store_of_files(
    dirs: &UserDirs,
    store: &Path,
) -> Result<Option<PathBuf>, SwitchError> {
    let files = dirs.service_files()?.into_iter();
    let mut stores = files.filter_map(|file| file.store);
    Ok(stores.find(|other| other.exists() && !is_same_store(other, store)))
}

/// Refuses to switch a store while the service files serve another one.
pub(super) fn refuse_other_file(options: &SwitchOptions) -> Result<(), SwitchError> {
    match other_store_of_files(&options.dirs, &options.store)? {
        Some(other) => Err(other_store(&other)),
        None => Ok(()),
    }
}

/// Refuses to switch a store while a service serves another one.
pub(super) async fn refuse_other_service(
    options: &SwitchOptions,
    connection: &Connection,
) -> Result<(), SwitchError> {
    for name in [BOOK_NAME, CALENDAR_NAME] {
        if let Some(process) = owner_of(connection, name).await?
            && let Some(other) = store_of_service(process)
            && !is_same_store(&other, &options.store)
        {
            return Err(SwitchError::Refused(format!(
                "{} is served by process {process}; end it first, or {}",
                other.display(),
                how_to_switch_off(&other)
            )));
        }
    }
    Ok(())
}

/// Refuses a bus that starts another server than this one, after the service files were written.
pub(super) async fn refuse_other_owner(
    options: &SwitchOptions,
    connection: &Connection,
    name: &'static str,
) -> Result<(), SwitchError> {
    let Some(process) = owner_of(connection, name).await? else {
        return Ok(());
    };
    let program = program_of(process).unwrap_or_default();
    let serves_other = match store_of_service(process) {
        Some(other) => !is_same_store(&other, &options.store),
        // A store in a directory that cannot be written to has no lock.
        None => program.starts_with("evolution-"),
    };
    if !serves_other {
        return Ok(());
    }
    let folder = options.dirs.service_folder(options.lasting)?;
    Err(SwitchError::Refused(format!(
        "the bus started {program} (process {process}) for {name}: it does not read {}. A bus reads \
         the home directory of the user database, or XDG_DATA_HOME where the bus itself was started; \
         set XDG_DATA_HOME to that directory, or use `etui eds try`",
        folder.display()
    )))
}

/// Returns the process that owns a bus name.
async fn owner_of(connection: &Connection, name: &'static str) -> Result<Option<u32>, SwitchError> {
    let bus = DBusProxy::new(connection).await?;
    let process = bus.get_connection_unix_process_id(BusName::try_from(name)?);
    Ok(process.await.ok())
}

fn other_store(other: &Path) -> SwitchError {
    SwitchError::Refused(format!(
        "the store {} serves desktop programs now; {} first",
        other.display(),
        how_to_switch_off(other)
    ))
}

fn how_to_switch_off(store: &Path) -> String {
    format!(
        "switch it off with `etui --store {} eds off`",
        quoted(store)
    )
}

/// A path as a word of a shell.
fn quoted(path: &Path) -> String {
    let text = path.to_string_lossy();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+".contains(c);
    match text.chars().all(is_plain) {
        true => text.into_owned(),
        false => format!("'{}'", text.replace('\'', "'\\''")),
    }
}
