//! From a `TZID` to a time zone.
//!
//! The first of these that knows the name applies:
//!
//! 1. **IANA name**: `Europe/Berlin`, in any case, also after a prefix as old programs write it
//!    (`/mozilla.org/20070129_1/Europe/Berlin`).
//! 2. **Windows name** (Outlook, Exchange): `W. Europe Standard Time`, by the table of CLDR.
//! 3. **The `VTIMEZONE` of the file** with that `TZID`: first the IANA name that it gives
//!    (`X-LIC-LOCATION`), else its own transitions.
//! 4. **An offset or a display name**: `GMT+05:30`, `(UTC+01:00) Amsterdam, Berlin, ...`.
//! 5. None: the times are **floating**, with a warning.
//!
//! Where both exist and differ, the IANA database thus takes precedence over the file. A file holds
//! the rules that were known when it was written; when a country changes its clocks, a meeting at
//! ten stays at ten there, and the database knows when that is (RFC 7809 sends only the name for
//! this reason). The file decides only for names without a meaning outside of it, such as Outlook's
//! `Customized Time Zone`.

mod definition;
mod offsets;
mod windows;
mod write;

use std::collections::HashMap;

use crate::time::TimeZone;

pub use definition::{Observance, TimeZoneDefinition};

use definition::trim_quotes;

/// The time zones that a file's `TZID`s denote.
#[derive(Debug, Clone, Default)]
pub struct TimeZoneResolver {
    /// By `TZID`.
    known: HashMap<String, TimeZone>,
}

impl TimeZoneResolver {
    /// Returns a resolver of IANA and Windows names only.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a definition of the file, for a `TZID` without another meaning. Of two with one name
    /// the first one counts.
    pub fn define(&mut self, definition: &TimeZoneDefinition) {
        let name = trim_quotes(&definition.name);
        if name.is_empty() || self.known.contains_key(name) || find_by_name(name).is_some() {
            return;
        }
        let located = definition.location.as_deref().and_then(find_by_name);
        if let Some(zone) = located.or_else(|| definition.to_time_zone()) {
            self.known.insert(name.to_owned(), zone);
        }
    }

    /// Adds the definitions of another resolver. Of two with one name the first one counts.
    pub fn extend(&mut self, other: &Self) {
        for (name, zone) in &other.known {
            if !self.known.contains_key(name) {
                self.known.insert(name.clone(), zone.clone());
            }
        }
    }

    /// Returns the zone that only a definition gives `tzid`.
    pub fn defined(&self, tzid: &str) -> Option<&TimeZone> {
        self.known.get(trim_quotes(tzid))
    }

    /// Returns the time zone of `tzid`; `None` if it is unknown: its times are floating.
    pub fn resolve(&self, tzid: &str) -> Option<TimeZone> {
        let name = trim_quotes(tzid);
        find_by_name(name)
            .or_else(|| self.known.get(name).cloned())
            .or_else(|| offsets::find_offset_or_display_name(name))
    }
}

/// Returns the time zone of a name that is valid everywhere.
fn find_by_name(name: &str) -> Option<TimeZone> {
    if let Some(zone) = TimeZone::named(name) {
        return Some(zone);
    }
    if let Some(iana) = windows::iana_name(name) {
        return TimeZone::named(iana);
    }
    if name.contains(' ')
        && let Some(zone) = TimeZone::named(&name.replace(' ', "_"))
    {
        return Some(zone);
    }
    // The name after a prefix has up to three parts: America/Argentina/Salta. A single part is
    // accepted only after an explicit prefix, so that "Etc/X" does not become "X".
    let parts: Vec<&str> = name.split('/').collect();
    let prefixed = name.starts_with('/') || name.contains("://");
    let min_parts = if prefixed { 1 } else { 2 };
    // The longest names of the database have three parts, such as America/Argentina/Salta.
    (min_parts..=3.min(parts.len().saturating_sub(1)))
        .rev()
        .find_map(|n| {
            let tail = parts.get(parts.len() - n..)?.join("/").replace(' ', "_");
            TimeZone::named(&tail)
        })
}
