//! [`ExpectedAnswer`]: the answer that an operation must have, from every server.

use std::collections::{BTreeMap, BTreeSet};

use super::multistatus::{ListedResource, Multistatus};
use super::workload::NamedText;

/// The answer that an operation must have.
#[derive(Debug, Default)]
pub(super) struct ExpectedAnswer {
    pub(super) names: BTreeSet<String>,
    /// UIDs of the texts by name, if the answer has texts.
    pub(super) uids: Option<BTreeMap<String, String>>,
    /// Number of VEVENTs in all texts, if it is known.
    pub(super) components: Option<u64>,
}

impl ExpectedAnswer {
    /// An answer without texts.
    pub(super) fn names(names: impl IntoIterator<Item = String>) -> Self {
        Self {
            names: names.into_iter().collect(),
            ..Self::default()
        }
    }

    pub(super) fn texts<'t>(texts: impl Iterator<Item = &'t NamedText>) -> Self {
        let uids: BTreeMap<String, String> = texts
            .map(|one| (one.name.clone(), one.uid.clone()))
            .collect();
        Self {
            names: uids.keys().cloned().collect(),
            uids: Some(uids),
            components: None,
        }
    }

    /// Returns the number of differences of an answer.
    pub(super) fn differences(&self, answer: &Multistatus) -> u64 {
        let is_there = |one: &&ListedResource| one.name().is_some() && one.status != Some(404);
        let there: Vec<_> = answer.resources.iter().filter(is_there).collect();
        let names: BTreeSet<&str> = there.iter().filter_map(|one| one.name()).collect();
        let expected: BTreeSet<&str> = self.names.iter().map(String::as_str).collect();
        let mut different = names.symmetric_difference(&expected).count() as u64;
        if let Some(uids) = &self.uids {
            let has_uid = |one: &&&ListedResource| {
                let uid = one.text.as_deref().and_then(uid_of);
                uid.is_some() && uid.as_ref() == one.name().and_then(|name| uids.get(name))
            };
            different += (there.len() - there.iter().filter(has_uid).count()) as u64;
        }
        if let Some(expected) = self.components {
            let texts = there.iter().filter_map(|one| one.text.as_deref());
            let found: usize = texts.map(|text| text.matches("BEGIN:VEVENT").count()).sum();
            different += expected.abs_diff(found as u64);
        }
        different
    }
}

/// Returns the UID in a text: that of its first line with one. A card of version 4.0 may have it as a URI.
pub fn uid_of(text: &str) -> Option<String> {
    let unfolded = text.replace('\r', "").replace("\n ", "");
    let uid = unfolded
        .lines()
        .find_map(|line| line.strip_prefix("UID:"))?;
    Some(uid.trim_start_matches("urn:uuid:").to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resource(path: &str, text: Option<&str>, status: Option<u16>) -> ListedResource {
        ListedResource {
            path: path.to_owned(),
            status,
            etag: None,
            text: text.map(str::to_owned),
        }
    }

    #[test]
    fn differences_of_names_texts_and_components_are_counted() {
        let texts = ["a", "b"].map(|name| NamedText {
            name: name.to_owned(),
            uid: format!("uid-of-{name}"),
            text: String::new(),
        });
        let mut expected = ExpectedAnswer::texts(texts.iter());
        expected.components = Some(3);
        let a = "BEGIN:VEVENT\nUID:uid-\r\n of-a\nEND:VEVENT\nBEGIN:VEVENT\nUID:uid-of-a\n";
        let b = "BEGIN:VEVENT\r\nUID:uid-of-b\r\n";
        let mut answer = Multistatus {
            resources: vec![
                resource("/c/", None, None),
                resource("/c/a", Some(a), None),
                resource("/c/b", Some(b), Some(200)),
                resource("/c/gone", None, Some(404)),
            ],
            sync_token: None,
        };
        assert_eq!(expected.differences(&answer), 0);
        // Another text: its UID and its number of events.
        answer.resources[2].text = Some(a.to_owned());
        assert_eq!(expected.differences(&answer), 2);
        // Another name: one is missing, one is too many, which is of no text, and an event is missing.
        answer.resources[2] = resource("/c/x", None, None);
        assert_eq!(expected.differences(&answer), 4);
    }
}
