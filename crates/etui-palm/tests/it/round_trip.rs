//! What a Palm has survives the way to vCard or iCalendar and back; what comes from there is kept or
//! noted.

use std::collections::{BTreeMap, HashSet};

use etui_contentline::charset::repair_charset;
use etui_contentline::lines::ContentLines;
use etui_contentline::split::{SplitItem, Splitter};
use etui_contentline::values::{property_value, unescape_text};
use etui_ical::CalendarObject;
use etui_ical::ics::{ComponentGrouper, ObjectPiece, ObjectReader};
use etui_ical::time::{Date, TimeZone, Timestamp};
use etui_ical::zones::TimeZoneResolver;
use etui_palm::{
    Address, AlarmAdvance, AlarmUnit, Appointment, CodePage, Database, DatabaseKind,
    DatabaseRecord, DatabaseWriter, Memo, PhoneLabel, RecordContext, Repeat, RepeatPeriod, Task,
    TimeOfDay, address_to_vcard, appointment_to_event, object_to_appointments, read_database,
    vcard_to_address,
};
use etui_vcard::Card;
use proptest::prelude::*;

/// Category names of the databases.
const NAMES: [&str; 3] = ["", "Büro, alt", "Family"];

/// An app info with [`NAMES`]; with labels of custom fields if it is for addresses.
fn app_info(kind: DatabaseKind) -> Vec<u8> {
    let page = CodePage::Windows1252;
    let mut info = vec![0; 276];
    for (at, name) in NAMES.iter().enumerate() {
        let (bytes, _) = page.encode(name);
        info[2 + at * 16..][..bytes.len()].copy_from_slice(&bytes);
    }
    if kind == DatabaseKind::Addresses {
        info.resize(276 + 4 + 22 * 16, 0);
        for (at, label) in (14..).zip(["Custom 1", "Spouse", "Custom 3", "Custom 4"]) {
            info[280 + at * 16..][..label.len()].copy_from_slice(label.as_bytes());
        }
    }
    info
}

/// The content of a database by unique id: category, secrecy and the bytes of the record.
type Content = BTreeMap<u32, (String, bool, Vec<u8>)>;

fn content(file: &[u8], kind: DatabaseKind, page: CodePage) -> Content {
    let (database, problems) = Database::parse(file).unwrap();
    assert_eq!(problems, []);
    let info = database.app_info.unwrap();
    let info = etui_palm::AppInfo::parse(&info, kind, page);
    let records = database.records.into_iter().map(|record| {
        let category = info.category(record.category()).unwrap_or_default();
        let secret = record.is_secret();
        (record.unique_id, (category.to_owned(), secret, record.data))
    });
    records.collect()
}

/// Makes a database of records, each with a category and its secrecy.
fn database(kind: DatabaseKind, records: &[(u8, bool, Vec<u8>)]) -> Vec<u8> {
    let mut database = Database::new(kind.name(), *b"DATA", kind.creator());
    database.app_info = Some(app_info(kind));
    for (unique_id, (category, is_secret, data)) in (0xA00..).zip(records) {
        let secret = if *is_secret {
            DatabaseRecord::SECRET
        } else {
            0
        };
        database.records.push(DatabaseRecord {
            attributes: category | secret,
            unique_id,
            data: data.clone(),
        });
    }
    database.to_bytes()
}

/// Reads a database and writes its records into another one.
fn through_standard_formats(file: &[u8], page: CodePage) -> Vec<u8> {
    let read = read_database(file, Some(page)).unwrap();
    assert_eq!(read.notes, []);
    let mut writer = DatabaseWriter::new(read.kind, page);
    let mut written = 0;
    if read.kind == DatabaseKind::Addresses {
        for item in Splitter::new(&*read.text, "VCARD") {
            let SplitItem::Record(record) = item.unwrap() else {
                panic!("a card is refused");
            };
            let added = writer
                .add_card(&Card::parse(record.bytes).unwrap())
                .unwrap();
            assert_eq!(added.notes, [""; 0]);
            written += added.records;
        }
    }
    for object in objects(&read.text) {
        let mut added = writer.add_object(&object, &TimeZone::UTC).unwrap();
        // It is written all the same.
        let off_rule = "starts off its rule (a Palm may not show the first time)";
        added.notes.retain(|note| note != off_rule);
        assert_eq!(added.notes, [""; 0]);
        written += added.records;
    }
    assert_eq!(written, read.records);
    writer.finish(1)
}

/// The records of calendar objects.
fn objects(text: &[u8]) -> Vec<CalendarObject> {
    let mut zones = TimeZoneResolver::new();
    let mut grouper = ComponentGrouper::new();
    let mut groups = Vec::new();
    for piece in ObjectReader::new(text) {
        match piece.unwrap() {
            ObjectPiece::Component(component) => groups.extend(grouper.push(component).0),
            ObjectPiece::Zone(zone) => {
                zones.define(&etui_ical::zones::TimeZoneDefinition::parse(&zone.bytes));
            }
            _ => {}
        }
    }
    groups.extend(grouper.finish());
    let groups = groups.into_iter();
    groups
        .filter_map(|group| CalendarObject::parse(group.text(), &zones).ok())
        .collect()
}

/// Texts of a western device.
fn western() -> impl Strategy<Value = String> {
    "[a-zA-Z0-9 ,;:=\\\\\"'^äöüÉß€\n\t.-]{0,14}"
}

/// Texts of a Japanese device.
fn japanese() -> impl Strategy<Value = String> {
    "[a-z ,;\\\\山田さくらー東京ｶﾅ\n]{0,10}"
}

fn address(text: impl Strategy<Value = String>) -> impl Strategy<Value = Address> {
    let texts = prop::collection::vec(text, 19);
    let labels = prop::collection::vec(0..8usize, 5);
    (texts, labels, 0..5usize).prop_map(|(texts, labels, shown_phone)| {
        let mut texts = texts.into_iter();
        let mut text = || texts.next().unwrap();
        let mut address = Address {
            last: text(),
            first: text(),
            company: text(),
            street: text(),
            city: text(),
            state: text(),
            zip: text(),
            country: text(),
            title: text(),
            note: text(),
            shown_phone,
            ..Address::default()
        };
        address.custom = [(); 4].map(|()| text());
        for (phone, label) in address.phones.iter_mut().zip(labels) {
            *phone = (PhoneLabel::ALL[label], text());
        }
        address
    })
}

fn date() -> impl Strategy<Value = Date> {
    // 1904-01-01 to 2031-12-31
    (-24_107i64..22_645).prop_map(Date::from_days)
}

fn time() -> impl Strategy<Value = TimeOfDay> {
    (0..24u8, 0..60u8).prop_map(|(hour, minute)| TimeOfDay { hour, minute })
}

fn repeat() -> impl Strategy<Value = Repeat> {
    let period = prop_oneof![
        Just(RepeatPeriod::Daily),
        (1..128u8).prop_map(RepeatPeriod::Weekly),
        (0..5u8, 0..7u8).prop_map(|(week, weekday)| RepeatPeriod::MonthlyByDay { week, weekday }),
        Just(RepeatPeriod::MonthlyByDate),
        Just(RepeatPeriod::Yearly),
    ];
    (period, 1..=255u8, prop::option::of(0..4000i64), 0..7u8).prop_map(
        |(period, every, days, week_start)| Repeat {
            period,
            every,
            // Counted from the start, by `appointment`.
            end: days.map(Date::from_days),
            week_start,
        },
    )
}

fn appointment() -> impl Strategy<Value = Appointment> {
    let unit = prop_oneof![
        Just(AlarmUnit::Minutes),
        Just(AlarmUnit::Hours),
        Just(AlarmUnit::Days)
    ];
    let alarm = (any::<u8>(), unit).prop_map(|(amount, unit)| AlarmAdvance { amount, unit });
    (
        date(),
        prop::option::of((time(), time())),
        prop::option::of(alarm),
        prop::option::of((repeat(), prop::collection::hash_set(date(), 0..4))),
        western(),
        western(),
    )
        .prop_map(|(date, times, alarm, repeat, description, note)| {
            let (repeat, exceptions) = repeat.unzip();
            let last = Date::new(2031, 12, 31).unwrap();
            let repeat = repeat.map(|repeat: Repeat| Repeat {
                end: repeat
                    .end
                    .map(|days| date.plus_days(days.days().into()).min(last)),
                ..repeat
            });
            Appointment {
                times: times.map(|(a, b)| (a.min(b), a.max(b))),
                alarm,
                repeat,
                exceptions: exceptions.unwrap_or_default().into_iter().collect(),
                description,
                note,
                ..Appointment::on(date)
            }
        })
}

fn task() -> impl Strategy<Value = Task> {
    (
        prop::option::of(date()),
        any::<bool>(),
        1..=5u8,
        western(),
        western(),
    )
        .prop_map(|(due, is_done, priority, title, note)| Task {
            due,
            is_done,
            priority,
            title,
            note,
        })
}

/// Records with their category and secrecy.
fn records<T: std::fmt::Debug>(
    one: impl Strategy<Value = T>,
) -> impl Strategy<Value = Vec<(u8, bool, T)>> {
    prop::collection::vec((0..3u8, any::<bool>(), one), 0..5)
}

fn encode_all<T>(
    records: Vec<(u8, bool, T)>,
    encode: impl Fn(&T) -> etui_palm::Encoded,
) -> Vec<(u8, bool, Vec<u8>)> {
    let records = records.into_iter().map(|(category, is_secret, record)| {
        let encoded = encode(&record);
        assert_eq!(encoded.notes, [""; 0]);
        (category, is_secret, encoded.data)
    });
    records.collect()
}

fn assert_survives(kind: DatabaseKind, records: &[(u8, bool, Vec<u8>)], page: CodePage) {
    let file = database(kind, records);
    let (parsed, problems) = Database::parse(&file).unwrap();
    assert_eq!((parsed.to_bytes(), problems), (file.clone(), vec![]));
    let back = through_standard_formats(&file, page);
    assert_eq!(content(&back, kind, page), content(&file, kind, page));
    // What was read from there has the same UIDs.
    let uids = |file: &[u8]| {
        let text = String::from_utf8(read_database(file, Some(page)).unwrap().text).unwrap();
        let uids = text
            .lines()
            .filter(|line| line.starts_with("UID:"))
            .map(str::to_owned);
        uids.collect::<HashSet<_>>()
    };
    assert_eq!(uids(&back), uids(&file));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn contacts_survive(all in records(address(western()))) {
        let page = CodePage::Windows1252;
        let all = encode_all(all, |one| one.encode(page));
        assert_survives(DatabaseKind::Addresses, &all, page);
    }

    #[test]
    fn japanese_contacts_survive(all in prop::collection::vec(address(japanese()), 0..5)) {
        let page = CodePage::ShiftJis;
        let all = all.into_iter().map(|one| (2, false, one)).collect();
        let all = encode_all(all, |one: &Address| one.encode(page));
        assert_survives(DatabaseKind::Addresses, &all, page);
    }

    #[test]
    fn appointments_survive(all in records(appointment())) {
        let page = CodePage::Windows1252;
        let all = encode_all(all, |one| one.encode(page).unwrap());
        assert_survives(DatabaseKind::Appointments, &all, page);
    }

    #[test]
    fn tasks_survive(all in records(task())) {
        let page = CodePage::Windows1252;
        let all = encode_all(all, |one| one.encode(page));
        assert_survives(DatabaseKind::Tasks, &all, page);
    }

    #[test]
    fn memos_survive(all in records(western())) {
        let page = CodePage::Windows1252;
        let all = encode_all(all, |text| Memo { text: text.clone() }.encode(page));
        assert_survives(DatabaseKind::Memos, &all, page);
    }

    /// A rule is converted only if the appointment has the same occurrences.
    #[test]
    fn a_converted_rule_has_the_same_occurrences(
        start in (10_000i64..14_000, 0..86_400i64 / 60),
        is_date in any::<bool>(),
        frequency in prop_oneof!["DAILY", "WEEKLY", "MONTHLY", "YEARLY"],
        interval in 1..5u8,
        end in prop_oneof!["", ";COUNT=[1-9]", ";UNTIL=20[01][0-9]0[1-9]1[0-9]T[01]20000"],
        parts in prop_oneof![
            "", ";BYDAY=(MO|TU|WE),(SA|SU)", ";BYDAY=-?[1-3](MO|TH|SU)", ";BYMONTHDAY=[1-9]",
            ";BYMONTH=[1-9];BYDAY=[1-4]FR", ";BYMONTH=[1-9]", ";WKST=SU;BYDAY=SU,MO",
        ],
    ) {
        let (day, minute) = start;
        let start = Date::from_days(day).midnight().plus_seconds(minute * 60);
        let start = match is_date {
            true => format!("DTSTART;VALUE=DATE:{}", start.date()),
            false => format!("DTSTART:{start}"),
        };
        let text = format!(
            "BEGIN:VEVENT\r\nUID:1\r\n{start}\r\nRRULE:FREQ={frequency};INTERVAL={interval}{end}{parts}\r\nEND:VEVENT\r\n"
        );
        let parse = |text: Vec<u8>| CalendarObject::parse(text, &TimeZoneResolver::new()).unwrap();
        let object = parse(text.clone().into_bytes());
        let all = object_to_appointments(&object, &TimeZone::UTC);
        let [Ok(one)] = &all[..] else { panic!("one event is one appointment") };
        if one.record.repeat.is_some() {
            let is_expected = |note: &String| note.starts_with("starts off its rule");
            prop_assert!(one.notes.iter().all(is_expected), "{:?}", one.notes);
            let context = RecordContext { uid: "1", category: None, is_secret: false };
            let back = parse(appointment_to_event(&one.record, context));
            let starts = |object: &CalendarObject| {
                let set = object.recurrence_set();
                let range = Timestamp::from_seconds(0)..Timestamp::from_seconds(1_700_000_000);
                set.between(range, &TimeZone::UTC).map(|i| i.during.start).take(300).collect::<Vec<_>>()
            };
            prop_assert_eq!(starts(&object), starts(&back), "{}", text);
        } else {
            prop_assert!(!one.notes.is_empty(), "{}", text);
        }
    }
}

/// The lines of a text by name, with their values.
fn lines(text: &[u8]) -> Vec<(String, String)> {
    let text = repair_charset(text);
    let all = ContentLines::of_text(&text).map(|line| {
        let name = String::from_utf8_lossy(line.name).to_ascii_uppercase();
        let value = unescape_text(&property_value(&line));
        (name, value.trim_end_matches(';').to_owned())
    });
    all.filter(|(name, _)| !name.is_empty()).collect()
}

#[test]
fn every_line_of_a_foreign_card_is_kept_or_noted() {
    const BOOKKEEPING: [&str; 6] = ["BEGIN", "END", "VERSION", "PRODID", "REV", "UID"];
    let mut cards = 0;
    for sample in etui_testkit::fixtures::ALL {
        for item in Splitter::new(sample.bytes, "VCARD") {
            let SplitItem::Record(record) = item.unwrap() else {
                continue;
            };
            let Ok(card) = Card::parse(record.bytes) else {
                continue;
            };
            cards += 1;
            let outgoing = vcard_to_address(&card);
            let context = RecordContext {
                uid: "1",
                category: outgoing.contact.category.as_deref(),
                is_secret: outgoing.contact.is_secret,
            };
            let back = address_to_vcard(&outgoing.contact.record, context, &outgoing.labels);
            let kept: HashSet<_> = lines(&back).into_iter().collect();
            let notes = &outgoing.contact.notes;
            for (name, value) in lines(card.to_v4().as_bytes()) {
                let is_empty = value.chars().all(|c| c == ';' || c.is_whitespace());
                let is_kept = kept.contains(&(name.clone(), value.clone()))
                    || (name == "TEL"
                        && kept.contains(&(
                            name.clone(),
                            value.trim_start_matches("tel:").to_owned(),
                        )))
                    || (name == "KIND" && value == "individual")
                    || (name == "CLASS" && value == "PUBLIC");
                let is_noted = notes.iter().any(|note| note.starts_with(&name));
                assert!(
                    is_empty || is_kept || is_noted || BOOKKEEPING.contains(&name.as_str()),
                    "{}: {name}:{value} is lost; notes: {notes:#?}",
                    sample.name
                );
            }
        }
    }
    assert!(cards > 30, "{cards}");
}

#[test]
fn every_line_of_a_foreign_event_is_kept_or_noted() {
    let held = [
        "BEGIN",
        "END",
        "UID",
        "DTSTAMP",
        "CREATED",
        "LAST-MODIFIED",
        "SEQUENCE",
        "DTSTART",
        "DTEND",
        "DURATION",
        "RRULE",
        "RDATE",
        "EXDATE",
        "RECURRENCE-ID",
    ];
    let mut events = 0;
    for sample in etui_testkit::fixtures::icalendar::ALL {
        for object in objects(sample.bytes) {
            let berlin = TimeZone::named("Europe/Berlin").unwrap();
            let notes: Vec<String> = object_to_appointments(&object, &berlin)
                .into_iter()
                .flat_map(|one| match one {
                    Ok(one) => {
                        events += 1;
                        let context = RecordContext {
                            uid: "1",
                            category: one.category.as_deref(),
                            is_secret: one.is_secret,
                        };
                        let back = appointment_to_event(&one.record, context);
                        let kept = lines(&back)
                            .into_iter()
                            .map(|(name, value)| format!("{name}: {value}"));
                        one.notes.into_iter().chain(kept).collect::<Vec<_>>()
                    }
                    Err(error) => vec![error.to_string()],
                })
                .collect();
            let components = object.components().zip(object.component_texts());
            for (component, text) in components {
                if component.kind != etui_ical::ics::ComponentKind::Event
                    || component.start.is_none()
                {
                    continue;
                }
                let mut depth = 0;
                for (name, value) in lines(text) {
                    depth += i32::from(name == "BEGIN") - i32::from(name == "END");
                    let is_default = matches!(
                        (name.as_str(), value.as_str()),
                        ("TRANSP", "OPAQUE") | ("STATUS", "CONFIRMED") | ("CLASS", "PUBLIC")
                    );
                    let is_known = depth > 1 || held.contains(&name.as_str()) || is_default;
                    let is_noted = notes.iter().any(|note| note.starts_with(&name));
                    assert!(
                        is_known || value.is_empty() || is_noted,
                        "{}: {name}:{value} is lost; notes: {notes:#?}",
                        sample.name
                    );
                }
            }
        }
    }
    assert!(events > 20, "{events}");
}
