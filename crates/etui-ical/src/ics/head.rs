//! [`ComponentHead`]: what a component says of itself by its own lines.

use crate::property_name::PropertyName;
use etui_contentline::charset::to_utf8_bytes;
use etui_contentline::edit::own_lines;
use etui_contentline::lines::{ContentLine, Delimiter};
use etui_contentline::values::{property_params, property_value, unescape_text};

/// What a component is, and whose.
#[derive(Debug, Default)]
pub(crate) struct ComponentHead {
    /// The component's name.
    pub(crate) name: Vec<u8>,
    /// Its `UID`, if it is not blank.
    pub(crate) uid: Option<String>,
    /// Its `TZID`.
    pub(crate) tzid: String,
    /// Parameters and value of its `RECURRENCE-ID`.
    pub(crate) replaces: Option<String>,
    /// Whether it has any property.
    pub(crate) has_property: bool,
}

impl ComponentHead {
    /// Of a component's bytes.
    pub(super) fn of(bytes: &[u8]) -> Self {
        let mut head = Self::default();
        for line in own_lines(&to_utf8_bytes(bytes), None) {
            head.take(&line);
        }
        head
    }

    /// Takes in one of its own lines.
    fn take(&mut self, line: &ContentLine<'_>) {
        match line.delimiter() {
            Some((Delimiter::Begin, name)) if self.name.is_empty() => self.name = name.to_vec(),
            Some(_) => {}
            None => self.take_property(line, PropertyName::of(line)),
        }
    }

    /// Takes in one of its own properties. Of several of a name the first counts.
    pub(crate) fn take_property(&mut self, line: &ContentLine<'_>, name: Option<PropertyName>) {
        self.has_property |= !line.name.is_empty();
        match name {
            Some(PropertyName::Uid) if self.uid.is_none() => {
                self.uid = Some(unescape_text(&property_value(line))).filter(|uid| !uid.is_empty());
            }
            Some(PropertyName::RecurrenceId) if self.replaces.is_none() => {
                self.replaces = Some(format!(
                    "{}:{}",
                    property_params(line),
                    property_value(line)
                ));
            }
            Some(PropertyName::Tzid) if self.tzid.is_empty() => {
                self.tzid = property_value(line).into_owned();
            }
            _ => {}
        }
    }
}
