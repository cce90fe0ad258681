//! [`Head`]: what a component says of itself by its own lines.

use crate::import::clean::as_utf8;
use crate::import::edit::own_lines;
use crate::import::lines::{ContentLine, Edge};
use crate::import::values::{unescape, value_of};

/// What a component is, and whose.
#[derive(Debug, Default)]
pub(in crate::calendar) struct Head {
    /// The component's name.
    pub(in crate::calendar) name: Vec<u8>,
    /// Its `UID`, if it is not blank.
    pub(in crate::calendar) uid: Option<String>,
    /// Its `TZID`.
    pub(in crate::calendar) tzid: String,
    /// Parameters and value of its `RECURRENCE-ID`.
    pub(in crate::calendar) replaces: Option<String>,
    /// Whether it has any property.
    pub(in crate::calendar) has_property: bool,
}

impl Head {
    /// Of a component's bytes.
    pub(super) fn of(bytes: &[u8]) -> Self {
        let mut head = Self::default();
        for line in own_lines(&as_utf8(bytes), None) {
            head.take(&line);
        }
        head
    }

    /// Takes in one of its own lines. Of several properties of a name the first counts.
    pub(in crate::calendar) fn take(&mut self, line: &ContentLine<'_>) {
        if let Some((edge, name)) = line.delimiter() {
            if edge == Edge::Begin && self.name.is_empty() {
                self.name = name.to_vec();
            }
            return;
        }
        self.has_property |= !line.name.is_empty();
        if line.name_is("UID") && self.uid.is_none() {
            self.uid = Some(unescape(&value_of(line))).filter(|uid| !uid.is_empty());
        } else if line.name_is("RECURRENCE-ID") && self.replaces.is_none() {
            let params = line.unfolded_params();
            let params = String::from_utf8_lossy(&params);
            self.replaces = Some(format!("{params}:{}", value_of(line)));
        } else if line.name_is("TZID") && self.tzid.is_empty() {
            self.tzid = value_of(line);
        }
    }
}
