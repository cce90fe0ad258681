//! The difference of two texts of a record, by property.
//!
//! ```text
//! VEVENT, VALARM          the component of the lines below, if it is not the record itself
//! -TRIGGER:-PT10M
//! +TRIGGER:-PT15M
//! ```

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use etui_contentline::charset::repair_charset;
use etui_contentline::lines::{ContentLines, Delimiter};
use etui_program::Result;
use etui_program::output::{OutputWriter, Style, escape_text, format_size};
use similar::{Algorithm, DiffOp, capture_diff_slices_deadline};

use super::RecordCommands;

/// Time after which a difference is no longer the shortest one.
const MAX_TIME: Duration = Duration::from_millis(500);
/// Longest inline data that is shown.
const MAX_DATA: usize = 100;

/// A line of a record.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RecordLine {
    /// The components that it is in: `VEVENT, VALARM`; empty in a card.
    component: String,
    /// Its property, in capitals.
    pub name: String,
    /// The line without folds.
    text: String,
}

/// A line that only one of two texts has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiffLine {
    /// True if the newer text has it.
    pub is_added: bool,
    pub line: RecordLine,
}

impl DiffLine {
    /// Returns its sign: `+` or `-`.
    pub fn sign(&self) -> char {
        if self.is_added { '+' } else { '-' }
    }

    /// Returns the line as it is shown: inline data is replaced by its size.
    pub fn shown(&self) -> String {
        let text = &self.line.text;
        let (head, value) = text.split_once(':').unwrap_or((text, ""));
        let data = value.rsplit_once("base64,").map_or(value, |(_, data)| data);
        let is_data = data.len() > MAX_DATA
            && data
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'='));
        match is_data {
            true => format!("{head}: ({})", format_size(data.len() as u64 * 3 / 4)),
            false => text.clone(),
        }
    }
}

/// Returns the lines that only one of the texts has, in the order of the texts. Lines of one property
/// that replace each other are together.
pub fn diff_texts(old: &[u8], new: &[u8]) -> Vec<DiffLine> {
    let (old, new) = (record_lines(old), record_lines(new));
    let deadline = Instant::now().checked_add(MAX_TIME);
    let ops = capture_diff_slices_deadline(Algorithm::Myers, &old, &new, deadline);
    let mut lines = Vec::new();
    for op in ops {
        if matches!(op, DiffOp::Equal { .. }) {
            continue;
        }
        let removed = old.get(op.old_range()).unwrap_or_default();
        let mut added: Vec<&RecordLine> =
            new.get(op.new_range()).unwrap_or_default().iter().collect();
        for (at, line) in removed.iter().enumerate() {
            lines.push(diff_line(false, line));
            let key = (&line.component, &line.name);
            let is_same = |other: &RecordLine| (&other.component, &other.name) == key;
            // After the last removed line of a property come those that replace it.
            if !removed.iter().skip(at + 1).any(is_same) {
                added.retain(|other| {
                    let replaces = is_same(other);
                    if replaces {
                        lines.push(diff_line(true, other));
                    }
                    !replaces
                });
            }
        }
        lines.extend(added.into_iter().map(|line| diff_line(true, line)));
    }
    lines
}

fn diff_line(is_added: bool, line: &RecordLine) -> DiffLine {
    DiffLine {
        is_added,
        line: line.clone(),
    }
}

/// A component of a text.
struct Component {
    name: String,
    parent: Option<usize>,
    /// Its RECURRENCE-ID.
    instance: Option<String>,
}

/// Returns the lines of a record with their components, without the delimiters.
fn record_lines(text: &[u8]) -> Vec<RecordLine> {
    let text = repair_charset(text);
    let mut components: Vec<Component> = Vec::new();
    let mut open: Vec<usize> = Vec::new();
    let mut lines = Vec::new();
    for line in ContentLines::of_text(&text) {
        match line.delimiter() {
            Some((Delimiter::Begin, name)) => {
                let parent = open.last().copied();
                open.push(components.len());
                components.push(Component {
                    name: String::from_utf8_lossy(name).to_ascii_uppercase(),
                    parent,
                    instance: None,
                });
                continue;
            }
            Some((Delimiter::End, _)) => {
                open.pop();
                continue;
            }
            None => {}
        }
        let text = String::from_utf8_lossy(&line.unfolded())
            .trim_end()
            .to_owned();
        if text.is_empty() {
            continue;
        }
        let name = String::from_utf8_lossy(&line.unfolded_name()).to_ascii_uppercase();
        let component = open.last().copied();
        if name == "RECURRENCE-ID"
            && let Some(component) = component.and_then(|at| components.get_mut(at))
        {
            component.instance = Some(String::from_utf8_lossy(&line.unfolded_value()).into_owned());
        }
        lines.push((component, name, text));
    }
    let lines = lines.into_iter().map(|(component, name, text)| RecordLine {
        component: component_path(&components, component),
        name,
        text,
    });
    lines.collect()
}

/// Returns the names of a component and those around it: `VEVENT 20270315T093000, VALARM`.
fn component_path(components: &[Component], mut at: Option<usize>) -> String {
    let mut names = Vec::new();
    while let Some(component) = at.and_then(|at| components.get(at)) {
        match &component.instance {
            Some(instance) => names.push(format!("{} {instance}", component.name)),
            None if component.name != "VCARD" => names.push(component.name.clone()),
            None => {}
        }
        at = component.parent;
    }
    names.reverse();
    names.join(", ")
}

/// The changes of a property.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PropertyChange {
    Added,
    Removed,
    Changed,
}

/// Returns the changed properties in the order of their first lines.
pub fn changed_properties(lines: &[DiffLine]) -> Vec<(String, PropertyChange)> {
    let mut order = Vec::new();
    let mut signs: BTreeMap<&str, [bool; 2]> = BTreeMap::new();
    for DiffLine { is_added, line } in lines {
        let signs = signs.entry(&line.name).or_insert_with(|| {
            order.push(line.name.as_str());
            [false; 2]
        });
        signs[usize::from(*is_added)] = true;
    }
    let changes = order.into_iter().map(|name| {
        let change = match signs.get(name) {
            Some([true, false]) => PropertyChange::Removed,
            Some([false, true]) => PropertyChange::Added,
            _ => PropertyChange::Changed,
        };
        (name.to_owned(), change)
    });
    changes.collect()
}

/// Describes changed properties in the words of the command line: `phone, +email, -note`.
pub fn describe_changes<R: RecordCommands>(changes: &[(String, PropertyChange)]) -> String {
    let words = changes.iter().map(|(name, change)| {
        let mut known = R::PROPERTY_WORDS.iter();
        let word = known.find(|(_, property)| property == name);
        let word = word.map_or_else(|| name.to_ascii_lowercase(), |(word, _)| (*word).to_owned());
        match change {
            PropertyChange::Added => format!("+{word}"),
            PropertyChange::Removed => format!("-{word}"),
            PropertyChange::Changed => word,
        }
    });
    words.collect::<Vec<_>>().join(", ")
}

/// Writes the lines with their signs, and the component of those that are not in the record itself.
pub fn write_diff(out: &mut OutputWriter, lines: &[DiffLine]) -> Result<()> {
    let mut component = "";
    for line in lines {
        if line.line.component != component {
            component = &line.line.component;
            let heading = out.with_style(Style::Dim, component).into_owned();
            out.write_line(heading)?;
        }
        let style = match line.is_added {
            true => Style::Green,
            false => Style::Red,
        };
        let text = format!("{}{}", line.sign(), escape_text(&line.shown()));
        let text = out.with_style(style, &text).into_owned();
        out.write_line(text)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(old: &str, new: &str) -> Vec<String> {
        let lines = diff_texts(old.as_bytes(), new.as_bytes());
        let lines = lines.iter();
        lines
            .map(|l| format!("{}{}{}", l.line.component, l.sign(), l.shown()))
            .collect()
    }

    #[test]
    fn lines_of_a_property_are_together() {
        let old = "BEGIN:VCARD\nFN:A\nTEL:1\nTEL:2\nNOTE:x\nEND:VCARD\n";
        let new = "BEGIN:VCARD\nFN:B\nTEL:3\nNOTE:x\nEMAIL:y\nEND:VCARD\n";
        assert_eq!(
            shown(old, new),
            ["-FN:A", "+FN:B", "-TEL:1", "-TEL:2", "+TEL:3", "+EMAIL:y"]
        );
    }

    #[test]
    fn folds_and_line_ends_are_no_difference() {
        let old = "BEGIN:VCARD\r\nFN:Ada\r\n  Lovelace\r\nEND:VCARD\r\n";
        let new = "BEGIN:VCARD\nFN:Ada Lovelace\nEND:VCARD\n";
        assert!(shown(old, new).is_empty());
    }

    #[test]
    fn components_are_named() {
        let event = |alarm: &str, place: &str| {
            format!(
                "BEGIN:VEVENT\nUID:1\nBEGIN:VALARM\nTRIGGER:{alarm}\nEND:VALARM\nEND:VEVENT\n\
                 BEGIN:VEVENT\nUID:1\nRECURRENCE-ID:20270315\nLOCATION:{place}\nEND:VEVENT\n"
            )
        };
        assert_eq!(
            shown(&event("-PT5M", "a"), &event("-PT9M", "b")),
            [
                "VEVENT, VALARM-TRIGGER:-PT5M",
                "VEVENT, VALARM+TRIGGER:-PT9M",
                "VEVENT 20270315-LOCATION:a",
                "VEVENT 20270315+LOCATION:b"
            ]
        );
    }

    #[test]
    fn inline_data_is_shown_by_its_size() {
        let photo = format!(
            "BEGIN:VCARD\nPHOTO;ENCODING=b:{}\nEND:VCARD\n",
            "AAAA".repeat(500)
        );
        let none = "BEGIN:VCARD\nFN:A\nEND:VCARD\n";
        assert_eq!(
            shown(&photo, none),
            ["-PHOTO;ENCODING=b: (1.5 kB)", "+FN:A"]
        );
    }
}
