//! Windows time zone names, which Outlook and Exchange write as `TZID`, with their IANA names.
//!
//! From the Unicode CLDR, release 41, `common/supplemental/windowsZones.xml`, territory 001 (the
//! default zone of a name without a country): version 7e11800 of Windows, 2021a of IANA.

use std::collections::HashMap;
use std::sync::LazyLock;

/// The IANA names by Windows name, in lower case.
static ZONES: LazyLock<HashMap<String, &str>> = LazyLock::new(|| {
    let rows = include_str!("windows_zones.txt").lines();
    rows.filter_map(|row| row.split_once('='))
        .map(|(windows, iana)| (windows.to_ascii_lowercase(), iana))
        .collect()
});

/// Returns the IANA name of a Windows time zone, in any case.
pub(super) fn iana_name(name: &str) -> Option<&'static str> {
    ZONES.get(&name.to_ascii_lowercase()).copied()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::time::TimeZone;

    #[test]
    fn every_name_is_found() {
        assert_eq!(ZONES.len(), 139);
        for (windows, name) in &*ZONES {
            assert_eq!(iana_name(windows), Some(*name), "{windows}");
            assert_eq!(iana_name(&windows.to_uppercase()), Some(*name), "{windows}");
            assert!(TimeZone::named(name).is_some(), "{name}");
        }
        assert_eq!(iana_name("W. Europe Standard Time"), Some("Europe/Berlin"));
        assert_eq!(iana_name("Customized Time Zone"), None);
    }
}
