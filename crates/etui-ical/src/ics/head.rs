//! [`ComponentHead`]: identity of a component, from its own lines.

use crate::property_name::PropertyName;
use etui_contentline::charset::to_utf8_bytes;
use etui_contentline::edit::own_lines;
use etui_contentline::lines::{ContentLine, Delimiter};
use etui_contentline::values::{property_params, property_value, unescape_text};

/// Kind and identity of a component.
#[derive(Debug, Default)]
pub(crate) struct ComponentHead {
    /// Name of the component.
    pub(crate) name: Vec<u8>,
    /// `UID`, if not blank.
    pub(crate) uid: Option<String>,
    pub(crate) tzid: String,
    /// Parameters and value of `RECURRENCE-ID`.
    pub(crate) recurrence_id: Option<String>,
    /// Whether it has a property.
    pub(crate) has_property: bool,
}

impl ComponentHead {
    /// Reads the head of a component's bytes.
    pub(super) fn of_bytes(bytes: &[u8]) -> Self {
        let mut head = Self::default();
        for line in own_lines(&to_utf8_bytes(bytes), None) {
            head.read_line(&line);
        }
        head
    }

    /// Reads one of its own lines.
    fn read_line(&mut self, line: &ContentLine<'_>) {
        match line.delimiter() {
            Some((Delimiter::Begin, name)) if self.name.is_empty() => self.name = name.to_vec(),
            Some(_) => {}
            None => self.read_property(line, PropertyName::of_line(line)),
        }
    }

    /// Reads one of its own properties. Of several with one name the first one counts.
    pub(crate) fn read_property(&mut self, line: &ContentLine<'_>, name: Option<PropertyName>) {
        self.has_property |= !line.name.is_empty();
        match name {
            Some(PropertyName::Uid) if self.uid.is_none() => {
                self.uid = Some(unescape_text(&property_value(line))).filter(|uid| !uid.is_empty());
            }
            Some(PropertyName::RecurrenceId) if self.recurrence_id.is_none() => {
                self.recurrence_id = Some(format!(
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
