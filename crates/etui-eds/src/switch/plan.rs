//! Which sources there are, and who will serve them.

use std::collections::{HashMap, HashSet};

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
    /// The name that a person sees in programs.
    pub name: String,
    /// The name of the account that it belongs to, as `On This Computer`; empty if it has none.
    pub account: String,
    /// The name with the account, or a number, if others of its kind have that name too.
    pub label: String,
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
    let sources = read_sources(connection).await?;
    let names: HashMap<String, String> = sources
        .iter()
        .map(|source| (source.uid.clone(), source.display_name().to_owned()))
        .collect();
    for source in sources {
        let parent = source.value("Data Source", "Parent");
        let account = parent.and_then(|uid| names.get(uid)).cloned();
        let account = account.unwrap_or_default();
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
                account: account.clone(),
                label: String::new(),
                kind,
                backend: backend.to_owned(),
                enabled: source.is_enabled(),
                served_by,
                source: source.clone(),
            });
        }
    }
    plan.sort_by(|a, b| (a.kind.group(), &a.name, &a.uid).cmp(&(b.kind.group(), &b.name, &b.uid)));
    label_sources(&mut plan);
    Ok(plan)
}

/// Gives sources labels, of which no two of a kind are equal: with the account where sources of several
/// accounts have one name, with a number in the order of their collections where that is not enough.
fn label_sources(plan: &mut [PlannedSource]) {
    let mut accounts: HashMap<(&str, String), HashSet<String>> = HashMap::new();
    for one in plan.iter() {
        let same = accounts.entry((one.kind.group(), one.name.clone()));
        same.or_default().insert(one.account.clone());
    }
    let mut given: HashSet<(&str, String)> = HashSet::new();
    for one in plan.iter_mut() {
        let kind = one.kind.group();
        let several = accounts.get(&(kind, one.name.clone()));
        let label = match several.is_some_and(|accounts| accounts.len() > 1) {
            true if !one.account.is_empty() => format!("{} ({})", one.name, one.account),
            _ => one.name.clone(),
        };
        let numbered = (2_u64..).map(|number| format!("{label} ({number})"));
        let mut labels = std::iter::once(label.clone()).chain(numbered);
        let free = labels.find(|label| given.insert((kind, label.clone())));
        one.label = free.unwrap_or(label);
    }
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
                planned.label, planned.uid
            )));
        }
    }
    plan.retain(|planned| planned.served_by == ServedBy::Store);
    Ok(plan)
}

#[cfg(test)]
mod tests {
    use super::*;
    use zbus::OwnedObjectPath;

    fn planned(uid: &str, name: &str, account: &str, kind: SourceKind) -> PlannedSource {
        let path = OwnedObjectPath::try_from("/s/1").unwrap();
        PlannedSource {
            uid: uid.to_owned(),
            name: name.to_owned(),
            account: account.to_owned(),
            label: String::new(),
            kind,
            backend: "local".to_owned(),
            enabled: true,
            served_by: ServedBy::Store,
            source: Source::parse(uid, path, ""),
        }
    }

    #[test]
    fn sources_of_one_name_have_several_labels() {
        const BOOK: SourceKind = SourceKind::AddressBook;
        let mut plan = [
            planned("a", "Alone", "Here", BOOK),
            planned("b", "Friends", "Here", BOOK),
            planned("c", "Friends", "Here", BOOK),
            planned("d", "Friends", "Here", SourceKind::Calendar),
            planned("e", "Friends (2)", "Here", BOOK),
            planned("f", "Mine", "Here", BOOK),
            planned("g", "Mine", "There", BOOK),
            planned("h", "Mine", "There", BOOK),
            planned("i", "Mine", "", BOOK),
        ];
        label_sources(&mut plan);
        let labels: Vec<&str> = plan.iter().map(|one| one.label.as_str()).collect();
        assert_eq!(
            labels,
            [
                "Alone",
                "Friends",
                "Friends (2)",
                "Friends",
                "Friends (2) (2)",
                "Mine (Here)",
                "Mine (There)",
                "Mine (There) (2)",
                "Mine",
            ]
        );
    }
}
