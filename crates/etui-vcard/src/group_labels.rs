//! The lines that label the others of their group, as Apple's programs write them.
//!
//! ```text
//! item1.TEL:+49 30 2312501
//! item1.X-ABLabel:Boat
//! ```

use std::ops::Range;

use etui_contentline::edit::{own_lines, remove_spans};
use etui_contentline::lines::ContentLine;

/// Properties that say something about the other lines of their group.
pub(crate) const GROUP_LABELS: &[&str] = &["X-ABLABEL", "X-ABADR"];

/// Returns true for a line that describes the others of its group.
pub(crate) fn is_label_of_group(line: &ContentLine<'_>) -> bool {
    GROUP_LABELS.iter().any(|name| line.name_is(name))
}

/// Removes the labels of those groups that have no other line.
pub(crate) fn without_labels(text: Vec<u8>, mut groups: Vec<Vec<u8>>) -> Vec<u8> {
    let group_of = |line: &ContentLine<'_>| line.group.map(<[u8]>::to_ascii_lowercase);
    if !groups.is_empty() {
        for line in own_lines(&text, Some("VCARD")).filter(|line| !is_label_of_group(line)) {
            if let Some(group) = group_of(&line) {
                groups.retain(|left| *left != group);
            }
        }
    }
    if groups.is_empty() {
        return text;
    }
    let labels = own_lines(&text, Some("VCARD")).filter(is_label_of_group);
    let labels = labels.filter(|line| group_of(line).is_some_and(|group| groups.contains(&group)));
    let spans: Vec<Range<usize>> = labels.map(|line| line.span).collect();
    remove_spans(&text, &spans)
}
