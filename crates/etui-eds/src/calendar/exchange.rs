//! Components from the stock server, when the store takes its place.

use std::collections::BTreeMap;

use etui_contentline::edit::own_lines;
use etui_contentline::lines::{ContentLines, Delimiter, parse_params};
use etui_contentline::values::{property_params, property_value, unescape_text};

use super::incoming::{END_DATE, without_end_dates};
use super::lines::property_values;

/// The prefix of the stock server's names of time zones.
const ZONE_PREFIX: &str = "/freeassociation.sourceforge.net/";

/// What the server sets by itself, or what says nothing.
const UNSTABLE: &[&str] = &["CREATED", "DTSTAMP", "LAST-MODIFIED", "SEQUENCE"];

/// A component: its RECURRENCE-ID, which a master component lacks, and its text.
type Part = (Option<String>, Vec<u8>);

/// Groups components by UID: the texts of records, each with the master component first.
pub(crate) fn series_from_stock(components: &[String]) -> BTreeMap<String, Vec<u8>> {
    let mut series: BTreeMap<String, Vec<Part>> = BTreeMap::new();
    for component in components {
        let text = component.trim();
        let mut text = without_end_dates(text);
        text.extend_from_slice(b"\r\n");
        let Some(uid) = property_values(&text, "UID").into_iter().next() else {
            continue;
        };
        let instance = property_values(&text, "RECURRENCE-ID").into_iter().next();
        series.entry(uid).or_default().push((instance, text));
    }
    let join = |mut parts: Vec<Part>| {
        parts.sort();
        parts.into_iter().flat_map(|(_, text)| text).collect()
    };
    series
        .into_iter()
        .map(|(uid, parts)| (uid, join(parts)))
        .collect()
}

/// Returns the `RECURRENCE-ID`s of a record's changed instances, as written.
pub(crate) fn changed_instances(record: &[u8]) -> Vec<String> {
    property_values(record, "RECURRENCE-ID")
}

/// Returns a calendar object without the time zones that `is_known` is true for. The stock server
/// would give a zone that it knows a second name.
pub(crate) fn without_zones(object: &str, is_known: impl Fn(&str) -> bool) -> String {
    let mut out = String::with_capacity(object.len());
    let mut zone: Option<(String, bool)> = None;
    for line in ContentLines::of_text(object) {
        let raw = object.get(line.span.clone()).unwrap_or_default();
        let is_zone = |name: &[u8]| name.eq_ignore_ascii_case(b"VTIMEZONE");
        match (line.delimiter(), &mut zone) {
            (Some((Delimiter::Begin, name)), None) if is_zone(name) => {
                zone = Some((raw.to_owned(), false));
            }
            (Some((Delimiter::End, name)), Some((text, known))) if is_zone(name) => {
                if !*known {
                    out.push_str(text);
                    out.push_str(raw);
                }
                zone = None;
            }
            (_, Some((text, known))) => {
                *known |= line.name_is("TZID") && is_known(&property_value(&line));
                text.push_str(raw);
            }
            (_, None) => out.push_str(raw),
        }
    }
    out
}

/// Returns the lines of a record in a form in which two records with the same content are equal.
pub(crate) fn canonical_series(text: &[u8]) -> Vec<String> {
    let mut canonical = Vec::new();
    for component in etui::calendar::CalendarObject::split_components(text) {
        let instance = own_lines(&component, None)
            .find(|line| line.name_is("RECURRENCE-ID"))
            .map(|line| property_value(&line).into_owned());
        let mut nested = vec![instance.unwrap_or_default()];
        for line in ContentLines::new(&component) {
            match line.delimiter() {
                Some((Delimiter::Begin, name)) => {
                    nested.push(String::from_utf8_lossy(name).to_ascii_uppercase());
                }
                Some((Delimiter::End, _)) => {
                    nested.pop();
                }
                None => {
                    let name = String::from_utf8_lossy(line.name).to_ascii_uppercase();
                    let is_unstable = UNSTABLE.contains(&name.as_str())
                        || name.starts_with("X-EVOLUTION-")
                        || name.is_empty();
                    if !is_unstable {
                        let params = canonical_params(&property_params(&line));
                        let value = canonical_value(&name, &property_value(&line));
                        canonical.push(format!("{}:{name};{params}:{value}", nested.join("/")));
                    }
                }
            }
        }
    }
    canonical.sort();
    canonical
}

fn canonical_params(params: &str) -> String {
    let mut canonical = Vec::new();
    for param in parse_params(params.as_bytes()) {
        let name = String::from_utf8_lossy(param.name).to_ascii_uppercase();
        let value = String::from_utf8_lossy(param.value.unwrap_or_default());
        // VALUE=DATE-TIME is the default, which one side may write and the other leave out.
        let is_default = name == "VALUE" && value.eq_ignore_ascii_case("DATE-TIME");
        if name != END_DATE && !is_default {
            let value = value.strip_prefix(ZONE_PREFIX).unwrap_or(&value);
            canonical.push(format!("{name}={value}"));
        }
    }
    canonical.sort();
    canonical.join(";")
}

fn canonical_value(name: &str, value: &str) -> String {
    if name != "RRULE" {
        return unescape_text(value);
    }
    // The parts of a value, such as those of a rule, may be in any order.
    let mut parts: Vec<&str> = value.split(';').filter(|part| !part.is_empty()).collect();
    parts.sort_unstable();
    parts.join(";")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn components_become_series() {
        let master = "BEGIN:VEVENT\r\nUID:1\r\nRRULE;X-EVOLUTION-ENDDATE=20261210T080000Z:\
                      FREQ=DAILY;COUNT=3\r\nEND:VEVENT\r\n";
        let changed = "BEGIN:VEVENT\r\nUID:1\r\nRECURRENCE-ID:20261202T080000Z\r\nEND:VEVENT";
        let components = [changed, master].map(str::to_owned);
        let series = series_from_stock(&components);
        let text = std::str::from_utf8(&series["1"]).unwrap();
        assert!(
            text.starts_with("BEGIN:VEVENT\r\nUID:1\r\nRRULE:FREQ=DAILY"),
            "{text}"
        );
        assert!(text.ends_with("END:VEVENT\r\n"));
        assert_eq!(changed_instances(text.as_bytes()), ["20261202T080000Z"]);
    }

    #[test]
    fn known_zones_are_left_out() {
        let zone = |name: &str| format!("BEGIN:VTIMEZONE\r\nTZID:{name}\r\nEND:VTIMEZONE\r\n");
        let object = format!(
            "BEGIN:VCALENDAR\r\n{}{}BEGIN:VEVENT\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n",
            zone("A"),
            zone("B")
        );
        let expected = object.replace(&zone("A"), "");
        assert_eq!(without_zones(&object, |name| name == "A"), expected);
    }

    #[test]
    fn ways_of_writing_do_not_count() {
        let one = b"BEGIN:VEVENT\nUID:1\nRRULE:COUNT=3;FREQ=DAILY\nSUMMARY:a\\, b\n\
            DTSTART;TZID=/freeassociation.sourceforge.net/Europe/Berlin:20261201T080000\n\
            BEGIN:VALARM\nACTION:AUDIO\nX-EVOLUTION-ALARM-UID:7\nEND:VALARM\nEND:VEVENT\n";
        let other = b"BEGIN:VEVENT\r\nDTSTAMP:20200101T000000Z\r\nSUMMARY:a, b\r\nUID:1\r\n\
            DTSTART;TZID=Europe/Berlin;VALUE=DATE-TIME:20261201T080000\r\n\
            RRULE:FREQ=DAILY;COUNT=3\r\nBEGIN:VALARM\r\nACTION:AUDIO\r\nEND:VALARM\r\n\
            END:VEVENT\r\n";
        assert_eq!(canonical_series(one), canonical_series(other));
        let moved = String::from_utf8_lossy(one).replace("080000", "090000");
        assert_ne!(canonical_series(one), canonical_series(moved.as_bytes()));
    }
}
