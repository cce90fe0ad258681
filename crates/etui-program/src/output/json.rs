//! What the objects printed with `--json` are made of; `docs/src/scripts.md` documents them.

use etui::calendar::ics::ComponentKind;
use etui::calendar::time::{CalendarTime, TimeZone};
use etui_when::iso_time;
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

/// Returns an object with these fields, in this order. `#[serde(flatten)]` before a field inserts
/// the fields of its value.
#[macro_export]
macro_rules! object {
    ($($(#[$attribute:meta])* $field:ident: $value:expr),* $(,)?) => {{
        #[allow(non_camel_case_types)]
        let object = {
            #[derive(serde::Serialize)]
            struct Object<$($field),*> {
                $($(#[$attribute])* $field: $field),*
            }
            Object { $($field: $value),* }
        };
        object
    }};
}

/// A field whose name depends on the kind of record.
pub struct NamedField<T>(pub &'static str, pub T);

impl<T: Serialize> Serialize for NamedField<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_map(Some(1))?;
        object.serialize_entry(self.0, &self.1)?;
        object.end()
    }
}

/// Returns the name of a component kind: `event`, `todo` or `journal`.
pub fn kind_name(kind: ComponentKind) -> String {
    kind.name().trim_start_matches('V').to_ascii_lowercase()
}

/// Formats a time that may be absent.
pub fn optional_time(time: &Option<CalendarTime>, zone: &TimeZone) -> Option<String> {
    time.as_ref().map(|time| iso_time(time, zone))
}
