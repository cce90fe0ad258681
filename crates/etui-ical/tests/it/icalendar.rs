//! The guarantees of the reader for any input: every valid component comes out byte for byte,
//! whatever surrounds it and however the input arrives; every byte is accounted for; and an object
//! without rejected input is written again unchanged.

use std::collections::{HashMap, HashSet};
use std::io::{self, Read};

use etui_ical::ics::{
    ComponentGrouper, GroupOutcome, ObjectPiece, ObjectReader, ObjectTemplate, ObjectWriter,
    RawComponent, TemplateBuilder, TemplatePart, ZoneKey, merge_templates,
};
use etui_ical::time::{Date, TimeZone};
use etui_ical::zones::{TimeZoneDefinition, TimeZoneResolver};
use etui_ical::{CalendarObject, MergeOutcome, ObjectError};
use etui_testkit::calendars::{self, Calendars, Shape, Span};
use etui_testkit::fixtures::icalendar::ALL;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

/// A reader that gives its bytes in pieces of the sizes asked for, in turn.
struct Chunked<'a> {
    rest: &'a [u8],
    sizes: Vec<usize>,
    turn: usize,
}

impl Read for Chunked<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let size = self.sizes[self.turn % self.sizes.len()];
        self.turn += 1;
        let size = size.min(out.len()).min(self.rest.len());
        let (now, rest) = self.rest.split_at(size);
        out[..size].copy_from_slice(now);
        self.rest = rest;
        Ok(size)
    }
}

fn read(input: &[u8]) -> Vec<ObjectPiece> {
    ObjectReader::new(input).collect::<Result<_, _>>().unwrap()
}

/// A key for a zone: a digest of its bytes.
fn key_of(bytes: &[u8]) -> ZoneKey {
    use std::hash::{DefaultHasher, Hasher};
    let mut hasher = DefaultHasher::new();
    hasher.write(bytes);
    let mut key = [0; 16];
    key[..8].copy_from_slice(&hasher.finish().to_le_bytes());
    ZoneKey(key)
}

/// All that a store would keep of an input.
#[derive(Default)]
struct Kept {
    /// Frames of the objects, in their order.
    frames: Vec<ObjectTemplate>,
    zones: HashMap<ZoneKey, (String, Vec<u8>)>,
    /// Records, and for each of their components in which frame and where it stood.
    records: Vec<(CalendarObject, Vec<(usize, u32)>)>,
    refused: Vec<(u64, u64, String)>,
}

impl Kept {
    fn of(input: &[u8]) -> Self {
        let mut kept = Self::default();
        let mut builder = None::<TemplateBuilder>;
        let mut grouper = ComponentGrouper::new();
        let mut groups = Vec::new();
        let mut object_of = HashMap::new();
        for piece in read(input) {
            match piece {
                ObjectPiece::Text(text) => {
                    if text.part == TemplatePart::Begin {
                        kept.frames
                            .extend(builder.take().map(TemplateBuilder::finish));
                    }
                    builder.get_or_insert_default().text(&text);
                }
                ObjectPiece::Zone(zone) => {
                    let hash = key_of(&zone.bytes);
                    builder.as_mut().unwrap().zone(hash);
                    kept.zones.insert(hash, (zone.tzid, zone.bytes));
                }
                ObjectPiece::Component(component) => {
                    builder.as_mut().unwrap().component();
                    object_of.insert(component.line, kept.frames.len());
                    let (group, grouped) = grouper.push(component);
                    groups.extend(group);
                    if let GroupOutcome::Refused(c) = grouped {
                        let why = "Contradiction".to_owned();
                        kept.refused.push((c.line, c.last_line, why));
                    }
                }
                ObjectPiece::Refused(why) => {
                    let reason = format!("{:?}", why.reason);
                    kept.refused.push((why.line, why.last_line, reason));
                }
            }
        }
        groups.extend(grouper.finish());
        kept.frames
            .extend(builder.take().map(TemplateBuilder::finish));
        let zones = kept.zones();
        for group in groups {
            let place = |c: &RawComponent| (object_of[&c.line], c.number);
            if !group.continues {
                let record = CalendarObject::parse(group.text(), &zones).unwrap();
                let places = group.components.iter().map(place).collect();
                kept.records.push((record, places));
                continue;
            }
            let of_uid = |r: &&mut (CalendarObject, _)| r.0.uid() == group.uid.as_deref();
            let (record, places) = kept.records.iter_mut().find(of_uid).unwrap();
            let more = CalendarObject::parse(group.text(), &zones).unwrap();
            let joined = record.merge(more);
            assert!(joined.iter().all(|j| *j == MergeOutcome::Taken));
            places.extend(group.components.iter().map(place));
        }
        kept
    }

    fn zones(&self) -> TimeZoneResolver {
        let mut zones = TimeZoneResolver::new();
        for (_, bytes) in self.zones.values() {
            zones.define(&TimeZoneDefinition::parse(bytes));
        }
        zones
    }

    /// The components in the order of an object's frame, with the numbers that `number` gives
    /// those of the frames; `None` for one of another object.
    fn write(&self, frame: &ObjectTemplate, number: impl Fn(usize, u32) -> Option<u32>) -> Vec<u8> {
        let mut components = Vec::new();
        for (record, places) in &self.records {
            for (text, &(at, n)) in record.component_texts().zip(places) {
                components.extend(number(at, n).map(|n| (n, text)));
            }
        }
        components.sort_by_key(|(n, _)| *n);
        let zone = |hash: &ZoneKey| Ok(self.zones[hash].1.clone());
        let mut object = ObjectWriter::new(Vec::new(), frame, zone);
        for (number, text) in components {
            object.component(number, text).unwrap();
        }
        object.finish().unwrap()
    }

    /// Each object with its own frame.
    fn as_it_came(&self) -> Vec<u8> {
        let frames = self.frames.iter().enumerate();
        let object = |(at, frame)| self.write(frame, |of, n| (of == at).then_some(n));
        frames.flat_map(object).collect()
    }

    /// As few objects as can be.
    fn merged(&self) -> Vec<u8> {
        let frames: Vec<&ObjectTemplate> = self.frames.iter().collect();
        let tzid = |hash: &ZoneKey| self.zones[hash].0.clone();
        let mut out = Vec::new();
        for merged in merge_templates(&frames, tzid) {
            let number = |of, n| {
                let source = merged.sources.iter().find(|(at, _)| *at == of);
                source.map(|(_, add)| n + add)
            };
            out.extend(self.write(&merged.template, number));
        }
        out
    }

    fn texts(&self) -> Vec<&[u8]> {
        self.records
            .iter()
            .map(|(record, _)| record.text())
            .collect()
    }
}

#[test]
fn fixtures_come_in_as_they_are_counted() {
    for fixture in ALL {
        let kept = Kept::of(fixture.bytes);
        let name = fixture.name;
        assert_eq!(kept.frames.len(), fixture.objects, "{name}");
        assert_eq!(kept.records.len(), fixture.records, "{name}");
        let components: usize = kept.records.iter().map(|(_, places)| places.len()).sum();
        assert_eq!(components, fixture.components, "{name}");
        let refused: Vec<_> = kept
            .refused
            .iter()
            .map(|(a, b, c)| (*a, *b, c.as_str()))
            .collect();
        assert_eq!(refused, fixture.refused, "{name}");
        assert_covered(fixture.bytes, &read(fixture.bytes));
    }
}

#[test]
fn fixtures_are_put_together_again_byte_for_byte() {
    for fixture in ALL.iter().filter(|fixture| fixture.refused.is_empty()) {
        let kept = Kept::of(fixture.bytes);
        assert!(kept.as_it_came() == fixture.bytes, "{}", fixture.name);
        // Also by way of the stored form.
        for frame in &kept.frames {
            let stored = ObjectTemplate::from_bytes(frame.as_bytes().to_vec());
            assert_eq!(stored.as_ref(), Some(frame));
        }
    }
}

/// Kinds of damage, each whole lines, by why they are refused.
fn damages() -> Vec<(&'static str, String)> {
    let large = format!("DESCRIPTION:{}\r\n", "x".repeat(20_000));
    [
        (
            "Unterminated",
            "BEGIN:VEVENT\r\nUID:broken\r\nSUMMARY:No END\r\n",
        ),
        ("Empty", "BEGIN:VEVENT\r\nEND:VEVENT\r\n"),
        (
            "Nesting",
            "BEGIN:VTODO\r\nUID:broken\r\nBEGIN:VALARM\r\nEND:VTODO\r\n",
        ),
        ("StrayEnd", "END:VEVENT\r\n"),
        ("Outside", "this is no property\r\n folded, neither\r\n"),
        (
            "TooLarge",
            &format!("BEGIN:VEVENT\r\nUID:broken\r\n{large}END:VEVENT\r\n"),
        ),
    ]
    .map(|(why, lines)| (why, lines.to_owned()))
    .to_vec()
}

/// Every export, with damage of every kind before each of its components and after the last.
#[test]
fn damage_in_any_export_is_refused_with_its_lines_and_the_rest_goes_in() {
    let exports = [
        "google",
        "apple",
        "outlook",
        "nextcloud",
        "thunderbird",
        "evolution",
    ];
    for name in exports.map(|name| format!("{name}.ics")) {
        let good = ALL.iter().find(|f| f.name == name).unwrap().bytes;
        let components = |pieces: Vec<ObjectPiece>| {
            let each = pieces.into_iter().filter_map(|piece| match piece {
                ObjectPiece::Component(component) => Some(component.bytes),
                _ => None,
            });
            each.collect::<Vec<_>>()
        };
        let offset = |piece: ObjectPiece| match piece {
            ObjectPiece::Component(c) => Some(usize::try_from(c.offset).unwrap()),
            _ => None,
        };
        let mut places: Vec<usize> = read(good).into_iter().filter_map(offset).collect();
        places.push(good.len() - b"END:VCALENDAR\r\n".len());
        for (why, lines) in damages() {
            for &place in &places {
                let input = [&good[..place], lines.as_bytes(), &good[place..]].concat();
                let reader = ObjectReader::new(&input[..]).max_component(10_000);
                let pieces: Vec<ObjectPiece> = reader.collect::<Result<_, _>>().unwrap();
                assert_covered(&input, &pieces);
                let refused: Vec<_> = pieces
                    .iter()
                    .filter_map(|piece| match piece {
                        ObjectPiece::Refused(r) => {
                            Some((r.line, r.last_line, format!("{:?}", r.reason)))
                        }
                        _ => None,
                    })
                    .collect();
                let count = |text: &[u8]| text.iter().filter(|b| **b == b'\n').count() as u64;
                let first = count(&good[..place]) + 1;
                let last = first + count(lines.as_bytes()) - 1;
                let [(line, last_line, reason)] = &refused[..] else {
                    panic!("{name}, {why}: {refused:?}");
                };
                assert_eq!((*line, *last_line), (first, last), "{name}, {why}");
                assert!(reason.starts_with(why), "{name}: {reason}");
                assert_eq!(components(pieces), components(read(good)), "{name}, {why}");
            }
        }
    }
}

#[test]
fn what_goes_out_comes_in_the_same() {
    for fixture in ALL {
        let kept = Kept::of(fixture.bytes);
        for written in [kept.as_it_came(), kept.merged()] {
            let again = Kept::of(&written);
            assert_eq!(again.refused, [], "{}", fixture.name);
            let (mut texts, mut before) = (again.texts(), kept.texts());
            texts.sort();
            before.sort();
            // A record in another encoding than the first object's is written in that one's.
            if fixture.objects == 1 {
                assert_eq!(texts, before, "{}", fixture.name);
            }
            assert_eq!(texts.len(), before.len(), "{}", fixture.name);
            let zones: HashSet<_> = kept.zones.keys().collect();
            assert_eq!(again.zones.keys().collect::<HashSet<_>>(), zones);
        }
    }
}

#[test]
fn zones_of_one_name_that_differ_stay_apart() {
    let fixture = ALL
        .iter()
        .find(|f| f.name == "several-objects.ics")
        .unwrap();
    let merged = Kept::of(fixture.bytes).merged();
    let again = Kept::of(&merged);
    assert_eq!(again.frames.len(), 2);
    let components: Vec<u32> = again
        .frames
        .iter()
        .map(ObjectTemplate::components)
        .collect();
    assert_eq!(components, [2, 1]);
}

#[test]
fn fixtures_say_what_they_say() {
    let item = |name: &str, summary: &str| {
        let fixture = ALL.iter().find(|f| f.name == name).unwrap();
        let kept = Kept::of(fixture.bytes);
        let records = kept.records.into_iter().map(|(record, _)| record);
        let found = records.flat_map(|r| r.components().cloned().collect::<Vec<_>>());
        let mut found = found.filter(|i| i.summary.as_deref() == Some(summary));
        found
            .next()
            .unwrap_or_else(|| panic!("{summary} of {name}"))
    };
    let weekly = item("google.ics", "Jour fixe");
    assert!(weekly.recurs() && weekly.timing.unwrap().exception_dates.len() == 2);
    assert_eq!(weekly.attendees[0].name.as_deref(), Some("Mira Beispiel"));
    assert!(item("google.ics", "Jour fixe (moved)").is_override());
    assert!(item("google.ics", "Sea 🏖 with the Müllers").all_day);
    let theatre = item("apple.ics", "Theatre with Ada");
    assert_eq!(theatre.alarms.len(), 2);
    assert!(theatre.alarms[0].acknowledged.is_some());
    let choir = item("apple.ics", "Choir, longer").timing.unwrap();
    assert!(choir.recurrence_id.unwrap().this_and_future);
    let figures = item("outlook.ics", "Monatszahlen Vertrieb");
    assert_eq!(
        figures.start.unwrap().zone().unwrap().name(),
        "Europe/Berlin"
    );
    assert!(item("outlook.ics", "Tag der Arbeit").all_day);
    let call = item("outlook.ics", "Call with Kathmandu");
    let start = call.start.unwrap().at(&TimeZone::UTC);
    assert_eq!(start.to_string(), "20260120T030000Z");
    let snow = item("nextcloud.ics", "Erster Schnee");
    assert_eq!(
        snow.description.as_deref(),
        Some("Zehn Zentimeter.\nAbends Tee.")
    );
    assert_eq!(item("nextcloud.ics", "Elternabend").alarms[1].repeat, 2);
    assert_eq!(
        item("thunderbird.ics", "Flohmarkt")
            .timing
            .unwrap()
            .dates
            .len(),
        3
    );
    let yoga = item("evolution.ics", "Yoga");
    assert!(yoga.recurs() && yoga.warnings.is_empty());
    assert_eq!(yoga.start.unwrap().zone().unwrap().name(), "Europe/Berlin");
    assert_eq!(item("utf16.ics", "Grüße 🎎").kind.name(), "VEVENT");
    assert_eq!(
        item("latin1.ics", "Müllabfuhr").location.as_deref(),
        Some("Straße")
    );
    assert_eq!(item("broken-between-good.ics", "Good").warnings, []);
}

#[test]
fn generated_calendars_are_read_whole() {
    let zones = TimeZoneResolver::new();
    for entry in Calendars::new(11).take(600) {
        let record = CalendarObject::parse(entry.text.as_str(), &zones).unwrap();
        assert_eq!(record.uid(), Some(entry.uid.as_str()));
        assert_eq!(record.components().len(), 1 + entry.overrides);
        let main = record.master();
        assert_eq!(main.warnings, []);
        assert_eq!(main.recurs(), entry.shape == Shape::Recurring);
        assert_eq!(main.alarms.len(), entry.alarms);
        assert!(main.summary.is_some() && (main.timing.is_some() || main.due.is_none()));
        if entry.overrides > 0 {
            // Every change is one of an instance that there is.
            let day = Date::from_days(entry.day - 1).midnight();
            let from = TimeZone::UTC.to_utc(day);
            let series = record.recurrence_set();
            let instances = series.between(from..from.plus_seconds(90 * 86_400), &TimeZone::UTC);
            let changed = instances.filter(|i| i.component > 0).count();
            assert_eq!(changed, entry.overrides, "{}", entry.text);
        }
    }
    let mut file = Vec::new();
    calendars::write_ics(&mut file, 11, Span::USUAL, 300).unwrap();
    let kept = Kept::of(&file);
    assert_eq!((kept.records.len(), kept.frames.len()), (300, 1));
    assert_eq!(kept.refused, []);
    assert!(kept.as_it_came() == file);
}

/// Every byte is in one piece, or in a blank line (or byte order mark) between them.
fn assert_covered(input: &[u8], pieces: &[ObjectPiece]) {
    let mut at = 0;
    for piece in pieces {
        let (offset, len) = match piece {
            // The beginning of an outer object, which occurs again.
            ObjectPiece::Text(text)
                if text.part == TemplatePart::Begin && text.offset < at as u64 =>
            {
                exactly(input, text.offset, &text.bytes);
                continue;
            }
            // The place at which an object began within another one.
            ObjectPiece::Refused(why) if why.len == 0 && why.offset < at as u64 => continue,
            ObjectPiece::Text(text) => (text.offset, exactly(input, text.offset, &text.bytes)),
            ObjectPiece::Zone(zone) => (zone.offset, exactly(input, zone.offset, &zone.bytes)),
            ObjectPiece::Component(c) => {
                assert!(c.line < c.last_line);
                (c.offset, exactly(input, c.offset, &c.bytes))
            }
            ObjectPiece::Refused(why) => {
                assert!(why.line <= why.last_line && why.excerpt.chars().count() <= 80);
                (why.offset, usize::try_from(why.len).unwrap())
            }
        };
        let offset = usize::try_from(offset).unwrap();
        assert_blank(&input[at..offset]);
        at = offset + len;
    }
    assert_blank(&input[at..]);
}

fn exactly(input: &[u8], offset: u64, bytes: &[u8]) -> usize {
    let offset = usize::try_from(offset).unwrap();
    assert!(input[offset..].starts_with(bytes) && !bytes.is_empty());
    bytes.len()
}

fn assert_blank(gap: &[u8]) {
    let blank = b" \t\r\n\0\xEF\xBB\xBF\xFE\xFF";
    assert!(gap.iter().all(|byte| blank.contains(byte)), "{gap:?}");
}

/// Lines that calendars are made of, whole and broken.
fn soup() -> impl Strategy<Value = Vec<u8>> {
    let lines = select(vec![
        "BEGIN:VCALENDAR",
        "END:VCALENDAR",
        "END:VCALENDARBEGIN:VCALENDAR",
        "BEGIN:VEVENT",
        "END:VEVENT",
        "BEGIN:VTODO",
        "END:VTODO",
        "BEGIN:VTIMEZONE",
        "END:VTIMEZONE",
        "BEGIN:VALARM",
        "END:VALARM",
        "BEGIN:X-A",
        "END:X-A",
        "UID:1",
        "UID:2",
        "TZID:Z",
        "RECURRENCE-ID:20260101",
        "SUMMARY:ü",
        " folded",
        "\tfolded",
        "",
        " ",
        "rubbish!",
        "X-A;B=\"c",
        "BEGIN:",
        "END:VEVENT ",
        "\u{FEFF}BEGIN:VCALENDAR",
        "ATTACH;ENCODING=BASE64:",
        "NOTE;ENCODING=QUOTED-PRINTABLE:a=",
        "DTSTART;TZID=Z:20260101T000000",
        "A.BEGIN:VEVENT",
        "BEGIN;CHARSET=utf-8:VALARM",
        "EN",
        "\tD:VEVENT",
        "AGENT:BEGIN:VEVENT",
        "X-N",
        " EW:1",
    ]);
    let ends = select(vec!["\r\n", "\n", "\r"]);
    vec((lines, ends), 0..60).prop_map(|lines| {
        let lines: Vec<String> = lines
            .iter()
            .map(|(line, end)| format!("{line}{end}"))
            .collect();
        lines.concat().into_bytes()
    })
}

/// In windows-1252, which all lines of the soup but the byte order mark can be written in.
fn to_latin(text: &[u8]) -> Vec<u8> {
    let text = std::str::from_utf8(text).unwrap().replace('\u{FEFF}', "");
    text.chars().map(|c| u8::try_from(c).unwrap()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn any_input_is_accounted_for(
        input in prop_oneof![soup(), vec(any::<u8>(), 0..300)],
        wide in any::<bool>(),
        sizes in vec(1usize..40, 1..5),
    ) {
        let input = match (wide, std::str::from_utf8(&input)) {
            (true, Ok(text)) => {
                let text = format!("\u{FEFF}{text}");
                text.encode_utf16().flat_map(u16::to_le_bytes).collect()
            }
            _ => input,
        };
        let pieces = read(&input);
        assert_covered(&input, &pieces);
        let chunked = Chunked { rest: &input, sizes, turn: 0 };
        let arrived: Vec<ObjectPiece> = ObjectReader::new(chunked).collect::<Result<_, _>>().unwrap();
        prop_assert_eq!(&arrived, &pieces);
    }

    #[test]
    fn what_is_kept_can_be_written_and_read_again(input in soup()) {
        let kept = Kept::of(&input);
        let written = kept.as_it_came();
        let again = Kept::of(&written);
        prop_assert_eq!(again.texts(), kept.texts());
        let nothing_lost = kept.refused.is_empty()
            && read(&input).iter().map(|piece| match piece {
                ObjectPiece::Text(text) => text.bytes.len(),
                ObjectPiece::Zone(zone) => zone.bytes.len(),
                ObjectPiece::Component(c) => c.bytes.len(),
                ObjectPiece::Refused(_) => 0,
            }).sum::<usize>() == input.len();
        let components: usize = kept.records.iter().map(|(_, places)| places.len()).sum();
        let of_frames: usize = kept.frames.iter().map(|f| f.components() as usize).sum();
        if nothing_lost && components == of_frames {
            prop_assert_eq!(written, input);
        }
    }

    #[test]
    fn edits_of_any_record_change_one_line(
        input in soup(),
        latin in any::<bool>(),
        value in "\\PC{0,90}",
    ) {
        let input = if latin { to_latin(&input) } else { input };
        let kept = Kept::of(&input);
        let zones = kept.zones();
        for (mut record, _) in kept.records {
            let at = record.components().len() - 1;
            if record.remove(at, "X-NEW", None, &zones) == Err(ObjectError::Empty) {
                continue;
            }
            let before = record.text().to_vec();
            let components = record.components().len();
            record.set(at, "X-NEW", &value, &zones).unwrap();
            prop_assert_eq!(record.components().len(), components);
            prop_assert!(latin || record.text().len() > before.len());
            prop_assert_eq!(record.remove(at, "X-NEW", None, &zones), Ok(1));
            // After a soft break an empty line stays: without it the new line would continue the
            // old one. Text that is not UTF-8 is converted.
            if !latin && !before.windows(6).any(|w| w == b"QUOTED") {
                prop_assert_eq!(record.text().trim_ascii_end(), before.trim_ascii_end());
            }
        }
    }
}

/// iCalendar has no quoted-printable, but programs write it (vCalendar 1.0 has it).
#[test]
fn quoted_printable_is_decoded() {
    for (lines, expected) in [
        (
            "SUMMARY;ENCODING=QUOTED-PRINTABLE:Abfall=C3=BCbersicht",
            "Abfallübersicht",
        ),
        ("SUMMARY;CHARSET=ISO-8859-1;QUOTED-PRINTABLE:M=FCll", "Müll"),
        (
            "SUMMARY;CHARSET=UTF-8;encoding=quoted-printable:M=C3=\n =BCll=\n =20A",
            "Müll A",
        ),
        ("SUMMARY;ENCODING=QUOTED-PRINTABLE:Zeile= \n 2", "Zeile 2"),
        (
            "SUMMARY;ENCODING=QUOTED-PRINTABLE:1=0D=0A2, 3=3B",
            "1\n2, 3;",
        ),
        (
            "SUMMARY;CHARSET=UTF-8;ENCODING=QUOTED-PRINTABLE:M=FCll =C3=BC",
            "Müll ü",
        ),
        (
            "SUMMARY:M=C3=BCll QUOTED-PRINTABLE",
            "M=C3=BCll QUOTED-PRINTABLE",
        ),
    ] {
        let text = format!("BEGIN:VEVENT\nUID:qp\nDTSTART:20260501\n{lines}\nEND:VEVENT\n");
        let object = CalendarObject::parse(text, &TimeZoneResolver::default()).unwrap();
        assert_eq!(
            object.master().summary.as_deref(),
            Some(expected),
            "{lines}"
        );
    }
}
