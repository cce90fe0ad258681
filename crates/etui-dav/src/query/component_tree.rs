//! [`Component`]: the components and properties of an iCalendar text as a tree.
//!
//! The tree borrows the text. Nothing is an error: a component without END lasts to the end of the
//! text, an END without BEGIN is passed over.

use std::borrow::Cow;
use std::ops::Range;

use etui::calendar::time::{CalendarTime, DateTimeValue};
use etui::calendar::zones::TimeZoneResolver;
use etui_contentline::lines::{ContentLine, ContentLines, Delimiter};
use etui_contentline::values::{param_value, property_value};

/// Depth from which on components are lines of the component around them. It bounds recursion.
const MAX_DEPTH: usize = 20;

/// A component of an iCalendar text.
#[derive(Debug)]
pub(super) struct Component<'t> {
    /// The name as written.
    pub(super) name: &'t [u8],
    /// Its own lines, without BEGIN and END.
    pub(super) lines: Vec<ContentLine<'t>>,
    /// The components in it.
    pub(super) children: Vec<Component<'t>>,
    /// Its place in the text, from BEGIN through the line end after END.
    pub(super) span: Range<usize>,
}

impl<'t> Component<'t> {
    /// Reads the outermost components of a text.
    pub(super) fn read_all(text: &'t str) -> Vec<Self> {
        let mut roots: Vec<Self> = Vec::new();
        let mut open: Vec<Self> = Vec::new();
        // Number of open components that are lines of the innermost one in `open`.
        let mut too_deep = 0usize;
        for line in ContentLines::of_text(text) {
            match line.delimiter() {
                Some((Delimiter::Begin, name)) if open.len() < MAX_DEPTH && too_deep == 0 => {
                    open.push(Self {
                        name,
                        lines: Vec::new(),
                        children: Vec::new(),
                        span: line.span.start..text.len(),
                    });
                }
                Some((Delimiter::End, _)) if too_deep == 0 => {
                    if let Some(mut component) = open.pop() {
                        component.span.end = line.span.end;
                        attach(component, &mut open, &mut roots);
                    }
                }
                delimiter => {
                    match delimiter {
                        Some((Delimiter::Begin, _)) => too_deep += 1,
                        Some((Delimiter::End, _)) => too_deep -= 1,
                        None => {}
                    }
                    if let Some(component) = open.last_mut()
                        && !line.name.is_empty()
                    {
                        component.lines.push(line);
                    }
                }
            }
        }
        while let Some(component) = open.pop() {
            attach(component, &mut open, &mut roots);
        }
        roots
    }

    /// Returns true if it has this name, in any case.
    pub(super) fn is_named(&self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name.as_bytes())
    }

    /// Returns its properties of this name.
    pub(super) fn properties<'c>(
        &'c self,
        name: &'c str,
    ) -> impl Iterator<Item = &'c ContentLine<'t>> {
        // Group names are of vCard, not of iCalendar.
        let is_wanted = move |line: &&ContentLine<'t>| line.group.is_none() && line.name_is(name);
        self.lines.iter().filter(is_wanted)
    }

    /// Returns the value of its first property of this name, as written.
    pub(super) fn value(&self, name: &str) -> Option<Cow<'t, str>> {
        self.properties(name).next().map(property_value)
    }

    /// Returns true if it has a property of this name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.properties(name).next().is_some()
    }

    /// Returns the time of its first property of this name that has one.
    pub(super) fn time(&self, name: &str, zones: &TimeZoneResolver) -> Option<CalendarTime> {
        self.properties(name).find_map(|line| time_of(line, zones))
    }
}

fn attach<'t>(
    component: Component<'t>,
    open: &mut [Component<'t>],
    roots: &mut Vec<Component<'t>>,
) {
    match open.last_mut() {
        Some(parent) => parent.children.push(component),
        None => roots.push(component),
    }
}

/// Returns the time that a property's value is.
pub(super) fn time_of(line: &ContentLine<'_>, zones: &TimeZoneResolver) -> Option<CalendarTime> {
    let value = property_value(line).parse::<DateTimeValue>().ok()?;
    let zone = param_value(line, "TZID").and_then(|tzid| zones.resolve(&tzid));
    Some(value.in_zone(zone.as_ref()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn components_nest() {
        let text = "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nBEGIN:VEVENT\r\nUID:1\r\nBEGIN:VALARM\r\n\
                    ACTION:AUDIO\r\nEND:VALARM\r\nSUMMARY:a\r\n b\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n";
        let roots = Component::read_all(text);
        let [calendar] = &roots[..] else {
            panic!("{roots:?}")
        };
        assert!(calendar.is_named("vcalendar") && calendar.span == (0..text.len()));
        let event = &calendar.children[0];
        assert_eq!(event.value("summary").unwrap(), "ab");
        assert!(event.children[0].has("ACTION") && !event.has("ACTION"));
        assert!(text[event.span.clone()].starts_with("BEGIN:VEVENT"));
    }

    #[test]
    fn any_nesting_is_read() {
        let deep = "BEGIN:X\n".repeat(100_000);
        let mut component = &Component::read_all(&deep)[0];
        for _ in 1..MAX_DEPTH {
            component = &component.children[0];
        }
        assert!(component.children.is_empty() && component.lines.len() > 90_000);
        assert_eq!(Component::read_all("END:X\nA:1\n").len(), 0);
        let closed = "BEGIN:X\n".repeat(30) + &"END:X\n".repeat(30) + "BEGIN:Y\nEND:Y\n";
        assert_eq!(Component::read_all(&closed).len(), 2);
    }
}
