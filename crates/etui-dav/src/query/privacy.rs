//! [`view_for_others`]: the part of a resource that other people may read, by its CLASS (RFC 5545 section 3.8.1.3, RFC
//! 2426 section 3.7.1).
//!
//! ```text
//! PUBLIC, none      all of it
//! CONFIDENTIAL      the times of a calendar entry; nothing of a contact
//! PRIVATE, others   nothing
//! ```
//!
//! A class that is not known counts as PRIVATE, as the RFC asks. Each time of a series may have a class of its own, which
//! is never less strict than that of the series.

use etui_contentline::charset::to_utf8;
use etui_contentline::edit::{fold_line, head_without, line_ending};
use etui_contentline::lines::{ContentLine, ContentLines};
use etui_contentline::values::{param_value, property_value};

use super::calendar_match::RECORD_COMPONENTS;
use super::component_tree::Component;

/// The part of a resource that others may read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum View {
    /// All of it.
    Whole,
    /// This instead of it.
    Part(Vec<u8>),
    /// Nothing: it is not there for them.
    Hidden,
}

/// How strict a class is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Class {
    Public,
    Confidential,
    Private,
}

/// Properties of a confidential entry that others may read: when it is, and what a client needs to keep a copy.
const TIMES: [&str; 16] = [
    "UID",
    "DTSTAMP",
    "CREATED",
    "LAST-MODIFIED",
    "SEQUENCE",
    "CLASS",
    "DTSTART",
    "DTEND",
    "DUE",
    "DURATION",
    "RECURRENCE-ID",
    "RRULE",
    "RDATE",
    "EXDATE",
    "EXRULE",
    "TRANSP",
];

/// The title of a confidential entry.
const BUSY: &str = "SUMMARY:Busy";

/// Returns the part of a vCard or a calendar object that people other than its owner may read.
///
/// ```
/// use etui_dav::query::{View, view_for_others};
///
/// let object = "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nBEGIN:VEVENT\r\nUID:1\r\nDTSTART:20261201T090000Z\r\n\
///     SUMMARY:Doctor\r\nCLASS:CONFIDENTIAL\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n";
/// let View::Part(part) = view_for_others(object.as_bytes()) else { panic!() };
/// let part = String::from_utf8(part)?;
/// assert!(part.contains("DTSTART:20261201T090000Z") && !part.contains("Doctor"));
/// assert_eq!(view_for_others(part.replace("CONFIDENTIAL", "PRIVATE").as_bytes()), View::Hidden);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn view_for_others(bytes: &[u8]) -> View {
    let text = to_utf8(bytes);
    // Most have no class, and are not read further.
    if !ContentLines::of_text(&text).any(|line| line.name_is("CLASS")) {
        return View::Whole;
    }
    let roots = Component::read_all(&text);
    let [root] = &roots[..] else {
        // Several objects, or none, are never stored as one resource.
        return View::Hidden;
    };
    if !root.is_named("VCALENDAR") {
        return match class_of(root) {
            Class::Public => View::Whole,
            Class::Confidential | Class::Private => View::Hidden,
        };
    }
    view_of_object(&text, root)
}

fn view_of_object(text: &str, calendar: &Component<'_>) -> View {
    let is_record = |component: &&Component<'_>| {
        RECORD_COMPONENTS
            .iter()
            .any(|name| component.is_named(name))
    };
    let records: Vec<&Component<'_>> = calendar.children.iter().filter(is_record).collect();
    let master = records.iter().find(|one| !one.has("RECURRENCE-ID"));
    let least = master.map_or(Class::Public, |master| class_of(master));
    let classes = || records.iter().map(|one| class_of(one).max(least));
    match classes().max() {
        None | Some(Class::Public) => return View::Whole,
        Some(_) if least == Class::Private => return View::Hidden,
        Some(_) if classes().all(|class| class == Class::Private) => return View::Hidden,
        Some(_) => {}
    }
    let is_private = |one: &&&Component<'_>| class_of(one).max(least) == Class::Private;
    let hidden: Vec<_> = records.iter().filter(is_private).collect();
    // It moves all later times, which cannot be left out one by one.
    let changes_later = |one: &&&Component<'_>| {
        let mut ids = one.properties("RECURRENCE-ID");
        ids.any(|id| param_value(id, "RANGE").is_some())
    };
    if hidden.iter().any(changes_later) {
        return View::Hidden;
    }
    let ending = line_ending(text.as_bytes());
    // The times of private overrides are no times of the series for others.
    let gaps: Vec<String> = hidden
        .iter()
        .filter_map(|one| one.properties("RECURRENCE-ID").next())
        .map(gap)
        .collect();
    let mut out = Vec::with_capacity(text.len());
    let mut push = |line: &str| out.extend(fold_line(line, ending));
    push("BEGIN:VCALENDAR");
    for line in &calendar.lines {
        push(&String::from_utf8_lossy(&line.unfolded()));
    }
    for component in &calendar.children {
        let name = String::from_utf8_lossy(component.name).to_ascii_uppercase();
        if name == "VTIMEZONE" {
            let raw = text.get(component.span.clone()).unwrap_or_default();
            raw.lines()
                .for_each(|line| push_raw(&mut out, line, ending));
            continue;
        }
        if !is_record(&component) {
            continue;
        }
        let class = class_of(component).max(least);
        if class == Class::Private {
            continue;
        }
        push_raw(&mut out, &format!("BEGIN:{name}"), ending);
        let is_shown = |line: &&ContentLine<'_>| {
            class == Class::Public
                || line.group.is_none() && TIMES.iter().any(|name| line.name_is(name))
        };
        for line in component.lines.iter().filter(is_shown) {
            let line = String::from_utf8_lossy(&line.unfolded()).into_owned();
            out.extend(fold_line(&line, ending));
        }
        if class == Class::Confidential {
            push_raw(&mut out, BUSY, ending);
        }
        if !component.has("RECURRENCE-ID") {
            for gap in &gaps {
                out.extend(fold_line(gap, ending));
            }
        }
        if class == Class::Public {
            for child in &component.children {
                let raw = text.get(child.span.clone()).unwrap_or_default();
                raw.lines()
                    .for_each(|line| push_raw(&mut out, line, ending));
            }
        }
        push_raw(&mut out, &format!("END:{name}"), ending);
    }
    push_raw(&mut out, "END:VCALENDAR", ending);
    View::Part(out)
}

/// Appends a physical line.
fn push_raw(out: &mut Vec<u8>, line: &str, ending: &[u8]) {
    out.extend_from_slice(line.as_bytes());
    out.extend_from_slice(ending);
}

/// Returns the EXDATE of the time that an override replaces.
fn gap(id: &ContentLine<'_>) -> String {
    let head = head_without(id, &["RANGE"]);
    let params = head.split_once(';').map_or("", |(_, params)| params);
    let separator = if params.is_empty() { "" } else { ";" };
    format!("EXDATE{separator}{params}:{}", property_value(id))
}

/// Returns the class of a component: the strictest of its own lines.
fn class_of(component: &Component<'_>) -> Class {
    let lines = component.lines.iter().filter(|line| line.name_is("CLASS"));
    let classes = lines.map(|line| match property_value(line).trim() {
        value if value.eq_ignore_ascii_case("PUBLIC") => Class::Public,
        value if value.eq_ignore_ascii_case("CONFIDENTIAL") => Class::Confidential,
        _ => Class::Private,
    });
    classes.max().unwrap_or(Class::Public)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]
    use super::*;

    fn object(components: &str) -> String {
        format!("BEGIN:VCALENDAR\r\nVERSION:2.0\r\n{components}END:VCALENDAR\r\n")
    }

    fn event(lines: &str) -> String {
        format!("BEGIN:VEVENT\r\nUID:1\r\n{lines}END:VEVENT\r\n")
    }

    fn part(object: &str) -> String {
        match view_for_others(object.as_bytes()) {
            View::Part(part) => String::from_utf8(part).unwrap(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_class_hides_its_entry() {
        let of = |class: &str| {
            view_for_others(
                object(&event(&format!("SUMMARY:x\r\n{class}DTSTART:20261201\r\n"))).as_bytes(),
            )
        };
        for open in [
            "",
            "CLASS:PUBLIC\r\n",
            "class: public\r\n",
            "X-CLASS:PRIVATE\r\n",
        ] {
            assert_eq!(of(open), View::Whole, "{open}");
        }
        for hidden in [
            "CLASS:PRIVATE\r\n",
            "class;X=1:private\r\n",
            "CLASS:X-SECRET\r\n",
            "CLASS:\r\n",
            "CLA\r\n SS:PRI\r\n VATE\r\n",
            "CLASS:PUBLIC\r\nCLASS:PRIVATE\r\n",
        ] {
            assert_eq!(of(hidden), View::Hidden, "{hidden}");
        }
    }

    #[test]
    fn a_confidential_entry_has_its_times_only() {
        let secret = "SUMMARY:secret\r\nDESCRIPTION:sec\r\n ret\r\nLOCATION:secret\r\nATTENDEE:mailto:secret@example.org\r\n\
                      X-SECRET:secret\r\nBEGIN:VALARM\r\nACTION:DISPLAY\r\nDESCRIPTION:secret\r\nEND:VALARM\r\n";
        let seen = part(&object(&event(&format!(
            "DTSTART;TZID=Europe/Berlin:20261201T090000\r\nRRULE:FREQ=DAILY\r\nCLASS:CONFIDENTIAL\r\n{secret}"
        ))));
        assert_eq!(
            seen,
            object(&event(
                "DTSTART;TZID=Europe/Berlin:20261201T090000\r\nRRULE:FREQ=DAILY\r\nCLASS:CONFIDENTIAL\r\nSUMMARY:Busy\r\n"
            ))
        );
    }

    #[test]
    fn a_private_time_of_a_series_is_a_gap() {
        let master =
            "DTSTART;TZID=Europe/Berlin:20261201T090000\r\nRRULE:FREQ=DAILY\r\nSUMMARY:Run\r\n";
        let seen = part(&object(&format!(
            "{}{}",
            event(master),
            event(
                "RECURRENCE-ID;TZID=Europe/Berlin:20261202T090000\r\nDTSTART:20261202T100000Z\r\nSUMMARY:secret\r\nCLASS:PRIVATE\r\n"
            )
        )));
        let gap = "EXDATE;TZID=Europe/Berlin:20261202T090000\r\n";
        assert_eq!(seen, object(&event(&format!("{master}{gap}"))));
    }

    #[test]
    fn an_override_is_no_less_strict_than_its_series() {
        let later = event("RECURRENCE-ID:20261202\r\nDTSTART:20261203\r\nSUMMARY:secret\r\n");
        let of = |class: &str| {
            let master = event(&format!("DTSTART:20261201\r\nRRULE:FREQ=DAILY\r\n{class}"));
            view_for_others(object(&format!("{master}{later}")).as_bytes())
        };
        assert_eq!(of("CLASS:PRIVATE\r\n"), View::Hidden);
        let View::Part(seen) = of("CLASS:CONFIDENTIAL\r\n") else {
            panic!()
        };
        assert!(!String::from_utf8(seen).unwrap().contains("secret"));
        let forever = event("RECURRENCE-ID;RANGE=THISANDFUTURE:20261202\r\nCLASS:PRIVATE\r\n");
        let all = object(&format!(
            "{}{forever}",
            event("DTSTART:20261201\r\nRRULE:FREQ=DAILY\r\n")
        ));
        assert_eq!(view_for_others(all.as_bytes()), View::Hidden);
    }

    #[test]
    fn a_contact_has_no_times() {
        for (class, view) in [
            ("PUBLIC", View::Whole),
            ("CONFIDENTIAL", View::Hidden),
            ("PRIVATE", View::Hidden),
        ] {
            let card =
                format!("BEGIN:VCARD\r\nVERSION:3.0\r\nFN:A\r\nCLASS:{class}\r\nEND:VCARD\r\n");
            assert_eq!(view_for_others(card.as_bytes()), view, "{class}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_secret_is_seen(
            classes in proptest::collection::vec("(PUBLIC|CONFIDENTIAL|PRIVATE|X)", 1..5),
            fold in 1usize..9,
        ) {
            let mut events = String::new();
            for (at, class) in classes.iter().enumerate() {
                let id = match at {
                    0 => "RRULE:FREQ=DAILY\r\n".to_owned(),
                    at => format!("RECURRENCE-ID:2026120{at}T090000Z\r\n"),
                };
                let (head, tail) = class.split_at(fold.min(class.len()));
                events += &event(&format!(
                    "DTSTART:20261201T090000Z\r\n{id}SUMMARY:secret{at}.\r\nCLASS:{head}\r\n {tail}\r\n"
                ));
            }
            let object = object(&events);
            let seen = match view_for_others(object.as_bytes()) {
                View::Whole => object,
                View::Part(part) => String::from_utf8(part).unwrap(),
                View::Hidden => String::new(),
            };
            for (at, class) in classes.iter().enumerate() {
                let is_open = class == "PUBLIC" && classes[0] == "PUBLIC";
                proptest::prop_assert!(is_open || !seen.contains(&format!("secret{at}.")), "{}", seen);
            }
        }
    }
}
