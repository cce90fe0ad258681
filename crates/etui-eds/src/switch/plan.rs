//! Which sources there are, and who will serve them.

use serde::Serialize;
use zbus::Connection;

use super::SwitchError;
use crate::sources::{Source, SourceKind, read_sources};
use crate::stock::find_backend;

/// Who serves a source once the store is switched on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ServedBy {
    /// The store.
    Store,
    /// The stock server's backend.
    Stock,
    /// Nobody, for this reason.
    Nobody(String),
}

/// A source and who will serve it.
#[derive(Debug, Clone, Serialize)]
pub struct PlannedSource {
    /// Its UID.
    pub uid: String,
    /// The name that a person sees.
    pub name: String,
    /// Its kind; a source of several kinds is there once for each.
    pub kind: SourceKind,
    /// Its backend.
    pub backend: String,
    /// Whether the person has it switched on.
    pub enabled: bool,
    /// Who will serve it.
    pub served_by: ServedBy,
    #[serde(skip)]
    pub(super) source: Source,
}

/// Reads all sources from the registry.
///
/// # Errors
/// If the registry cannot be reached.
pub async fn read_plan(connection: &Connection) -> Result<Vec<PlannedSource>, SwitchError> {
    let mut plan = Vec::new();
    for source in read_sources(connection).await? {
        for kind in SourceKind::ALL {
            let Some(backend) = source.backend(kind) else {
                continue;
            };
            let served_by = match source.is_ours(kind) {
                true => ServedBy::Store,
                false => match find_backend(kind, backend) {
                    Ok(_) => ServedBy::Stock,
                    Err(error) => ServedBy::Nobody(error.message().to_owned()),
                },
            };
            plan.push(PlannedSource {
                uid: source.uid.clone(),
                name: source.display_name().to_owned(),
                kind,
                backend: backend.to_owned(),
                enabled: source.is_enabled(),
                served_by,
                source: source.clone(),
            });
        }
    }
    plan.sort_by(|a, b| (a.kind.group(), &a.name, &a.uid).cmp(&(b.kind.group(), &b.name, &b.uid)));
    Ok(plan)
}

/// Returns the sources of the store.
///
/// # Errors
/// If a source that is switched on would be served by nobody.
pub(super) async fn sources_of_store(
    connection: &Connection,
) -> Result<Vec<PlannedSource>, SwitchError> {
    let mut plan = read_plan(connection).await?;
    for planned in &plan {
        if let (true, ServedBy::Nobody(why)) = (planned.enabled, &planned.served_by) {
            return Err(SwitchError::Refused(format!(
                "\"{}\" ({}) could not be served: {why}",
                planned.name, planned.uid
            )));
        }
    }
    plan.retain(|planned| planned.served_by == ServedBy::Store);
    Ok(plan)
}
