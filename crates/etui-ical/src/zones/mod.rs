//! From a `TZID` to a zone.
//!
//! In this order; the first that knows the name wins:
//!
//! 1. **IANA's name**: `Europe/Berlin`; also behind a prefix, as old programs write
//!    (`/mozilla.org/20070129_1/Europe/Berlin`), and in any case.
//! 2. **Windows' name** (Outlook, Exchange): `W. Europe Standard Time`, by CLDR's table.
//! 3. **The file's `VTIMEZONE`** of that `TZID`: first the IANA name it gives for itself
//!    (`X-LIC-LOCATION`), else its own changes of the clocks.
//! 4. None: the times are **floating**, which the importer tells of.
//!
//! So where both exist and differ, the IANA database wins over the file. A file holds the rules
//! as they were known when it was written; when a country changes its clocks, a meeting at ten
//! stays at ten there, and the database says when that is (RFC 7809 gives the name alone for the
//! same reason). The file wins only for names that mean nothing outside it, such as Outlook's
//! `Customized Time Zone`.

mod definition;
mod windows;
mod write;

use std::collections::HashMap;

use crate::time::TimeZone;

pub use definition::{Observance, TimeZoneDefinition};

use definition::unquoted;

/// The zones of a file: what its `TZID`s mean.
#[derive(Debug, Clone, Default)]
pub struct TimeZoneResolver {
    /// By `TZID`.
    known: HashMap<String, TimeZone>,
}

impl TimeZoneResolver {
    /// Zones by IANA's and Windows' names alone.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes in a file's definition, for `TZID`s that have no other meaning. Of two with one
    /// name the first counts.
    pub fn define(&mut self, definition: &TimeZoneDefinition) {
        let name = unquoted(&definition.name);
        if name.is_empty() || self.known.contains_key(name) || by_name(name).is_some() {
            return;
        }
        let located = definition.location.as_deref().and_then(by_name);
        if let Some(zone) = located.or_else(|| definition.zone()) {
            self.known.insert(name.to_owned(), zone);
        }
    }

    /// What `tzid` means by a definition alone, and by nothing else.
    #[must_use]
    pub fn defined(&self, tzid: &str) -> Option<&TimeZone> {
        self.known.get(unquoted(tzid))
    }

    /// What `tzid` means; `None` if nobody knows: its times are floating.
    #[must_use]
    pub fn resolve(&self, tzid: &str) -> Option<TimeZone> {
        let name = unquoted(tzid);
        by_name(name).or_else(|| self.known.get(name).cloned())
    }
}

/// The zone that a name means everywhere.
fn by_name(name: &str) -> Option<TimeZone> {
    if let Some(zone) = TimeZone::named(name) {
        return Some(zone);
    }
    if let Some(iana) = windows::iana(name) {
        return TimeZone::named(iana);
    }
    if name.contains(' ')
        && let Some(zone) = TimeZone::named(&name.replace(' ', "_"))
    {
        return Some(zone);
    }
    // The name behind a prefix has up to three parts: America/Argentina/Salta. Shorter ones only
    // where a prefix is sure to stand, for "Etc/X" must not become "X".
    let parts: Vec<&str> = name.split('/').collect();
    let prefixed = name.starts_with('/') || name.contains("://");
    let least = if prefixed { 1 } else { 2 };
    (least..=3.min(parts.len().saturating_sub(1)))
        .rev()
        .find_map(|n| {
            let tail = parts.get(parts.len() - n..)?.join("/").replace(' ', "_");
            TimeZone::named(&tail)
        })
}
