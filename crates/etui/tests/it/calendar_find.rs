//! Filters, queries and views of calendars over the public API: results match an evaluation of every
//! record's text.

use std::collections::BTreeMap;
use std::time::Duration;

use etui::calendar::ics::ComponentKind;
use etui::calendar::time::TimeZone;
use etui::calendar::zones::TimeZoneResolver;
use etui::calendar::{
    Calendar, CalendarObject, Column, Columns, Field, Filter, ListEntry, Query, Summary, View,
    ViewChange, ViewChanges,
};
use etui::contacts;
use etui::record::Paging;
use etui::search::filter::MatchMode;
use etui::search::query::{AccessPath, Rows, SortOrder};
use etui::text::fold;
use etui::{ChangeKind, Durability, Options, RecordId, Store};
use etui_testkit::rng::SplitMix64;

use crate::support::{card, clean, directory, german};

fn quick() -> Options {
    let mut options = german();
    options.durability = Durability::Deferred;
    options
}

fn record(text: impl Into<Vec<u8>>) -> CalendarObject {
    CalendarObject::parse(text, &TimeZoneResolver::new()).unwrap()
}

fn event(uid: &str, lines: &str) -> CalendarObject {
    record(format!(
        "BEGIN:VEVENT\r\nUID:{uid}\r\n{lines}END:VEVENT\r\n"
    ))
}

fn filter(text: &str) -> Filter {
    text.parse().unwrap()
}

fn titles(entries: &[ListEntry]) -> Vec<&str> {
    entries.iter().map(|e| e.summary.title.as_str()).collect()
}

/// Returns the folded values of a field in a record's components.
fn values(record: &CalendarObject, field: Field) -> Vec<String> {
    let mut all = Vec::new();
    for item in record.components() {
        // Umlauts of short texts are also spelled out.
        let mut say = |text: &Option<String>| {
            all.extend(text.as_deref().map(fold::fold_words));
            let short = text.as_deref().filter(|text| text.len() <= 256);
            all.extend(short.and_then(fold::fold_spelled_out));
        };
        match field {
            Field::Any => {
                say(&item.summary);
                say(&item.location);
                say(&item.description);
            }
            Field::Title => say(&item.summary),
            Field::Place => say(&item.location),
            Field::Notes => say(&item.description),
            Field::Category => item.categories.iter().for_each(|c| say(&Some(c.clone()))),
            Field::Kind => all.push(
                match item.kind {
                    ComponentKind::Event => "event",
                    ComponentKind::Todo => "todo",
                    ComponentKind::Journal => "journal",
                }
                .to_owned(),
            ),
            Field::Status => all.extend(item.status.map(|status| fold::fold_words(status.name()))),
            // A number, compared in `finding`.
            Field::Due => {}
        }
    }
    all.retain(|value| !value.is_empty());
    all
}

/// Evaluates a filter on a record's text.
fn means(filter: &Filter, record: &CalendarObject) -> bool {
    match filter {
        Filter::All => true,
        Filter::And(parts) => parts.iter().all(|p| means(p, record)),
        Filter::Or(parts) => parts.iter().any(|p| means(p, record)),
        Filter::Not(inner) => !means(inner, record),
        Filter::Present(field) => !values(record, *field).is_empty(),
        Filter::PhoneEquals { .. } => false,
        Filter::Uids(uids) => record.uid().is_some_and(|uid| uids.contains(uid)),
        Filter::Text { field, mode, text } => {
            let spelled = fold::fold_spelled_out(text);
            let all = [Some(fold::fold_words(text)), spelled]
                .into_iter()
                .flatten();
            all.filter(|wanted| !wanted.is_empty()).any(|wanted| {
                values(record, *field).iter().any(|value| {
                    let padded = format!(" {value} ");
                    match mode {
                        MatchMode::Words => padded.contains(&format!(" {wanted} ")),
                        MatchMode::Prefix => padded.contains(&format!(" {wanted}")),
                        MatchMode::Suffix => padded.contains(&format!("{wanted} ")),
                        MatchMode::Contains => padded.contains(&wanted),
                        MatchMode::Whole => *value == wanted,
                    }
                })
            })
        }
    }
}

const WORDS: [&str; 16] = [
    "Lunch", "lunar", "Café", "Tea", "team", "Board", "review", "Zürich", "hall", "Hallway", "tax",
    "anna", "Susanna", "of", "山田", "x-ray",
];

/// Returns up to `most` of the words.
fn words(rng: &mut SplitMix64, most: u32) -> String {
    let count = rng.below(most + 1);
    let all: Vec<_> = (0..count).map(|_| rng.pick(&WORDS)).collect();
    all.join(" ")
}

fn component(rng: &mut SplitMix64, uid: &str, kind: &str, replaces: &str) -> String {
    let mut text = format!("BEGIN:{kind}\r\nUID:{uid}\r\n{replaces}");
    let day = 1 + rng.below(28);
    let hour = rng.below(24);
    text.push_str(&match rng.below(5) {
        0 => String::new(),
        1 => format!("DTSTART;VALUE=DATE:202611{day:02}\r\n"),
        2 => format!("DTSTART:202611{day:02}T{hour:02}0000Z\r\n"),
        3 => format!("DTSTART;TZID=Asia/Tokyo:202611{day:02}T{hour:02}3000\r\n"),
        _ => format!("DTSTART:202611{day:02}T{hour:02}1500\r\n"),
    });
    for (name, most) in [
        ("SUMMARY", 3),
        ("LOCATION", 2),
        ("DESCRIPTION", 6),
        ("CATEGORIES", 2),
    ] {
        let value = words(rng, most);
        if !value.is_empty() {
            text.push_str(&format!("{name}:{value}\r\n"));
        }
    }
    text.push_str(&format!("X-NUMBER:{}\r\nEND:{kind}\r\n", rng.below(50)));
    text
}

fn made(rng: &mut SplitMix64, uid: &str) -> CalendarObject {
    let kind = rng.pick(&["VEVENT", "VEVENT", "VTODO", "VJOURNAL"]);
    let mut text = component(rng, uid, kind, "");
    if rng.chance(200) {
        text.push_str(&component(
            rng,
            uid,
            kind,
            "RECURRENCE-ID:20261105T100000Z\r\n",
        ));
    }
    record(text)
}

/// Returns a part of the words, or another text.
fn sought(rng: &mut SplitMix64) -> String {
    match rng.below(12) {
        0 => String::new(),
        1 => "zz".to_owned(),
        2 => rng
            .pick(&["event", "todo", "journal", "ev", "a", "e"])
            .to_owned(),
        3 => format!("{} {}", rng.pick(&WORDS), rng.pick(&WORDS)),
        n => {
            let word: Vec<char> = rng.pick(&WORDS).chars().collect();
            let length = word.len() as u32;
            let from = if n < 8 { 0 } else { rng.below(length) };
            let rest = &word[from as usize..];
            let most = 1 + rng.below(rest.len() as u32) as usize;
            rest[..most].iter().collect()
        }
    }
}

fn any_filter(rng: &mut SplitMix64, depth: u32) -> Filter {
    let fields = Field::NAMES.iter().map(|(_, field)| *field);
    let fields: Vec<Field> = fields.filter(|field| *field != Field::Due).collect();
    let field = fields[rng.below(fields.len() as u32) as usize];
    let inner = |rng: &mut SplitMix64| -> Vec<Filter> {
        (0..2 + rng.below(2))
            .map(|_| any_filter(rng, depth - 1))
            .collect()
    };
    match rng.below(if depth == 0 { 10 } else { 16 }) {
        0 => Filter::Present(field),
        1..10 => {
            let mode = [
                MatchMode::Words,
                MatchMode::Prefix,
                MatchMode::Suffix,
                MatchMode::Contains,
                MatchMode::Whole,
            ][rng.below(5) as usize];
            Filter::text(field, mode, sought(rng))
        }
        10..12 => Filter::And(inner(rng)),
        12..14 => Filter::Or(inner(rng)),
        _ => any_filter(rng, depth - 1).not(),
    }
}

/// Returns all records in the order of the list, computed from their texts.
fn by_start(calendar: &Calendar) -> Vec<(RecordId, CalendarObject)> {
    let all = calendar.all().unwrap();
    let mut all: Vec<_> = all.iter().map(|(id, t)| (id, record(t))).collect();
    all.sort_by_key(|(id, r)| {
        let start = r.master().start.as_ref().map(|s| s.at(&TimeZone::UTC));
        (start.is_none(), start, *id)
    });
    all
}

/// Compares every kind of query of a filter with the reference.
fn compare(
    calendar: &Calendar,
    all: &[(RecordId, CalendarObject)],
    filter: &Filter,
    rng: &mut SplitMix64,
) {
    let expected: Vec<RecordId> = all
        .iter()
        .filter(|(_, r)| means(filter, r))
        .map(|(id, _)| *id)
        .collect();
    let found = calendar.find(filter).unwrap();
    let ids: Vec<_> = found.iter().map(|e| e.id).collect();
    assert_eq!(ids, expected, "{filter}");
    let sort = Column::SORTS[rng.below(Column::SORTS.len() as u32) as usize].1;
    let mut ordered = expected;
    match sort {
        SortOrder::List => {}
        SortOrder::ListReversed => ordered.reverse(),
        _ => ordered.sort_unstable(),
    }
    if sort == SortOrder::AddedReversed {
        ordered.reverse();
    }
    let query = Query::new(filter.clone()).sort(sort).columns(Column::Uid);
    let rows = |query: &Query| calendar.query(query).unwrap();
    let ids = |rows: &Rows<Column>| rows.ids().to_vec();
    if sort == SortOrder::Unordered {
        let found = ids(&rows(&query));
        let mut sorted = found.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, ordered, "{sort:?} {filter}");
        ordered = found;
    }
    let (offset, limit) = (rng.below(6) as usize, 1 + rng.below(9) as usize);
    let page = rows(&query.clone().offset(offset as u64).limit(limit as u64));
    let rest = ordered.get(offset..).unwrap_or_default();
    let here = &rest[..limit.min(rest.len())];
    assert_eq!(ids(&page), here, "{sort:?} {filter}");
    if let Some(next) = page.next() {
        let behind = rows(&query.after(next.clone()));
        assert_eq!(ids(&behind), &rest[here.len()..], "{sort:?} {filter}");
    }
}

/// Random records, filters and index states, beside contacts with the same words.
#[test]
fn results_match_the_texts() {
    let rounds = match std::env::var_os("ETUI_TEST_LONG") {
        Some(_) => 40,
        None => 4,
    };
    for seed in 0..rounds {
        let mut rng = SplitMix64::new(seed);
        let (_dir, path) = directory();
        let store = Store::open_with(&path, &quick()).unwrap();
        let calendar = store.calendar().unwrap();
        let other = store
            .collections::<CalendarObject>()
            .create("Other")
            .unwrap();
        let book = store.contacts().unwrap();
        let people: Vec<_> = WORDS.iter().map(|w| card(w, w)).collect();
        book.save_many(&people).unwrap();
        for step in 0..12 {
            let count = if step == 0 { 400 } else { 1 + rng.below(40) };
            let uids: Vec<_> = (0..count).map(|_| format!("u{}", rng.below(600))).collect();
            let into = if rng.chance(150) { &other } else { &calendar };
            match rng.below(if step == 0 { 1 } else { 5 }) {
                0..3 => {
                    let records: Vec<_> = uids.iter().map(|u| made(&mut rng, u)).collect();
                    into.save_many(&records).unwrap();
                }
                3 => drop(into.remove_many(&uids).unwrap()),
                _ => drop(into.restore_many(&uids).unwrap()),
            }
            if rng.chance(400) {
                store.maintenance().merge_index().unwrap();
            }
            let all = by_start(&calendar);
            assert_eq!(calendar.count().unwrap(), all.len() as u64);
            compare(&calendar, &all, &Filter::All, &mut rng);
            for _ in 0..40 {
                let filter = any_filter(&mut rng, 3);
                compare(&calendar, &all, &filter, &mut rng);
                let again: Result<Filter, _> = filter.to_string().parse();
                assert!(again.is_err() || again == Ok(filter));
            }
            for (at, (id, _)) in all.iter().enumerate().step_by(37) {
                assert_eq!(calendar.position(*id).unwrap(), Some(at as u64));
            }
        }
        for word in WORDS {
            let found = book
                .find(&contacts::Filter::text(
                    contacts::Field::Any,
                    contacts::MatchMode::Contains,
                    word,
                ))
                .unwrap();
            assert!(!found.is_empty() && found.len() < WORDS.len(), "{word}");
        }
        clean(&store);
    }
}

fn few(store: &Store) -> Calendar {
    let calendar = store.calendar().unwrap();
    let records = [
        event(
            "concert",
            "DTSTART;TZID=Europe/Berlin:20261121T190000\r\nDTEND;TZID=Europe/Berlin:20261121T213000\r\n\
             SUMMARY:Concert\\, with dinner\r\nLOCATION:City Hall\r\nDESCRIPTION:Bring the tickets\r\n\
             CATEGORIES:music,friends\r\nSTATUS:TENTATIVE\r\nORGANIZER:mailto:o@example.org\r\n\
             ATTENDEE:mailto:a@example.org\r\nATTENDEE:mailto:b@example.org\r\n\
             URL:https://example.org/\r\n",
        ),
        event("fair", "DTSTART;VALUE=DATE:20261120\r\nSUMMARY:Fair\r\n"),
        record(
            "BEGIN:VTODO\r\nUID:pay\r\nDUE:20261122T100000Z\r\nSUMMARY:Pay the hall\r\nEND:VTODO\r\n",
        ),
        record(
            "BEGIN:VJOURNAL\r\nUID:note\r\nSUMMARY:Notes\r\nDESCRIPTION:concert was fine\r\nEND:VJOURNAL\r\n",
        ),
    ];
    calendar.save_many(&records).unwrap();
    calendar
}

#[test]
fn fields_have_their_names() {
    let (_dir, path) = directory();
    let store = Store::open_with(&path, &quick()).unwrap();
    let calendar = few(&store);
    let found = |text: &str| calendar.find(&filter(text)).unwrap();
    for merged in [false, true] {
        if merged {
            store.maintenance().merge_index().unwrap();
        }
        for (text, expected) in [
            (
                "",
                &["Fair", "Concert, with dinner", "Pay the hall", "Notes"][..],
            ),
            ("conc", &["Concert, with dinner", "Notes"]),
            ("hall", &["Concert, with dinner", "Pay the hall"]),
            ("title:concert", &["Concert, with dinner"]),
            ("summary:*ert", &["Concert, with dinner"]),
            ("title=fair", &["Fair"]),
            ("location:hall", &["Concert, with dinner"]),
            ("place:*all*", &["Concert, with dinner"]),
            ("notes:tick*", &["Concert, with dinner"]),
            ("description:*cket*", &["Concert, with dinner"]),
            ("notes:*", &["Concert, with dinner", "Notes"]),
            ("category:friends", &["Concert, with dinner"]),
            ("kind:todo", &["Pay the hall"]),
            ("kind:journal or kind:todo", &["Pay the hall", "Notes"]),
            ("kind:event -fair", &["Concert, with dinner"]),
            ("kind:ev* -fair", &["Concert, with dinner"]),
        ] {
            assert_eq!(titles(&found(text)), expected, "{text}");
        }
    }
    assert_eq!(filter("title:a"), filter("summary:a"));
    assert_eq!(filter("description:a").to_string(), "notes:\"a\"");
    let error = "name:a".parse::<Filter>().unwrap_err();
    assert_eq!(error.at, 1);
    assert_eq!(
        error.problem,
        "there is no field \"name\"; fields are any, summary, title, place, location, notes, \
         description, category, label, kind, status, due, uid (quote a text with \":\")"
    );
}

#[test]
fn columns_have_the_values_of_the_record() {
    let (_dir, path) = directory();
    let store = Store::open_with(&path, &quick()).unwrap();
    let calendar = few(&store);
    let all: Columns = Column::NAMES.iter().map(|(_, column)| *column).collect();
    let rows = calendar.query(&Query::all().columns(all)).unwrap();
    let row = rows.get(1).unwrap();
    let stored = calendar.get("concert").unwrap().unwrap();
    let shown: Vec<_> = [
        Column::Title,
        Column::Place,
        Column::Start,
        Column::End,
        Column::Kind,
        Column::Status,
        Column::Uid,
        Column::Notes,
        Column::Categories,
        Column::Organizer,
        Column::Attendees,
        Column::Url,
    ]
    .iter()
    .map(|column| row.values(*column).collect::<Vec<_>>().join("|"))
    .collect();
    assert_eq!(
        shown,
        [
            "Concert, with dinner",
            "City Hall",
            "20261121T190000 Europe/Berlin",
            "20261121T213000 Europe/Berlin",
            "event",
            "TENTATIVE",
            "concert",
            "Bring the tickets",
            "music|friends",
            "o@example.org",
            "a@example.org|b@example.org",
            "https://example.org/",
        ]
    );
    assert_eq!(row.get(Column::ETag), stored.etag.to_string());
    assert_eq!(row.record(), stored.text);
    let starts: Vec<_> = rows.iter().map(|r| r.get(Column::Start)).collect();
    assert_eq!(
        starts,
        [
            "20261120",
            "20261121T190000 Europe/Berlin",
            "20261122T100000Z",
            ""
        ]
    );
    // The values are independent of the other columns.
    for (_, column) in Column::NAMES {
        let alone = calendar.query(&Query::all().columns(*column)).unwrap();
        for (one, other) in alone.iter().zip(rows.iter()) {
            assert!(one.values(*column).eq(other.values(*column)), "{column}");
        }
    }
    let plan = calendar.explain(&Query::new(filter("kind:event"))).unwrap();
    assert_eq!((plan.records, plan.rows), (4, 2));
    assert_ne!(plan.access_path, AccessPath::ListScan);
}

fn since(changes: ViewChanges) -> Vec<ViewChange> {
    match changes {
        ViewChanges::Since(all) => all,
        ViewChanges::Reset => panic!("a reset"),
    }
}

/// Applies a view's changes.
#[derive(Default)]
struct Follower(BTreeMap<RecordId, Summary>);

impl Follower {
    fn apply(&mut self, changes: Vec<ViewChange>) {
        for change in changes {
            let known = match change.kind {
                ChangeKind::Removed => self.0.remove(&change.id),
                _ => self.0.insert(change.id, change.summary.clone()),
            };
            let is_new = change.kind == ChangeKind::Added;
            assert_eq!(known.is_none(), is_new, "{change:?}");
        }
    }
}

fn entries(entries: Vec<ListEntry>) -> BTreeMap<RecordId, Summary> {
    entries.into_iter().map(|e| (e.id, e.summary)).collect()
}

#[test]
fn views_report_what_a_query_finds() {
    for seed in 0..3 {
        let mut rng = SplitMix64::new(seed);
        let (_dir, path) = directory();
        let store = Store::open_with(&path, &quick()).unwrap();
        let calendar = store.calendar().unwrap();
        let book = store.contacts().unwrap();
        let filters: Vec<_> = (0..12).map(|_| any_filter(&mut rng, 2)).collect();
        let mut views: Vec<(&Filter, View, Follower)> = filters
            .iter()
            .chain([&Filter::All])
            .map(|f| (f, calendar.view(f).unwrap(), Follower::default()))
            .collect();
        for _ in 0..80 {
            let uids: Vec<_> = (0..1 + rng.below(4))
                .map(|_| format!("u{}", rng.below(15)))
                .collect();
            match rng.below(6) {
                0..3 => {
                    let records: Vec<_> = uids.iter().map(|u| made(&mut rng, u)).collect();
                    calendar.save_many(&records).unwrap();
                }
                3 => drop(calendar.remove_many(&uids).unwrap()),
                4 => drop(calendar.restore_many(&uids).unwrap()),
                _ => drop(book.save(&card(&uids[0], rng.pick(&WORDS))).unwrap()),
            }
            for (filter, view, follower) in &mut views {
                match rng.below(3) {
                    0 => follower.apply(since(view.changes().unwrap())),
                    1 => {
                        let loaded = view.load(Paging::ALL).unwrap();
                        follower.apply(since(loaded.changes));
                        assert_eq!(follower.0, entries(loaded.entries), "{filter}");
                    }
                    _ => continue,
                }
                let found = entries(calendar.find(filter).unwrap());
                assert_eq!(follower.0, found, "{filter}");
            }
        }
    }
}

#[test]
fn a_view_reports_the_changed_fields() {
    let (_dir, path) = directory();
    let store = Store::open_with(&path, &quick()).unwrap();
    let calendar = few(&store);
    let mut view = calendar.view(&filter("concert")).unwrap();
    let moved = |place: &str, title: &str| {
        event(
            "concert",
            &format!("DTSTART:20261124T190000Z\r\nSUMMARY:{title}\r\nLOCATION:{place}\r\n"),
        )
    };
    calendar.save(&moved("Town Hall", "Concert")).unwrap();
    let told = since(view.wait(Some(Duration::from_secs(120))).unwrap().unwrap());
    assert_eq!(told.len(), 1);
    assert_eq!(told[0].kind, ChangeKind::Changed);
    assert_eq!(told[0].summary.location, "Town Hall");
    assert_eq!(
        told[0].fields,
        [
            Field::Title,
            Field::Place,
            Field::Notes,
            Field::Category,
            Field::Status
        ]
    );
    calendar.save(&moved("Town Hall", "Opera")).unwrap();
    let told = since(view.wait(Some(Duration::from_secs(120))).unwrap().unwrap());
    assert_eq!(told[0].kind, ChangeKind::Removed);
    // Contacts of that name do not match.
    store
        .contacts()
        .unwrap()
        .save(&card("c", "Concert"))
        .unwrap();
    assert!(view.changes().unwrap().is_empty());
}
