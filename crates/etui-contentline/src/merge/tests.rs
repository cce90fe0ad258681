use super::*;

const RULES: MergeRules = MergeRules {
    keys: &[
        ("VCARD", &[]),
        ("VCALENDAR", &[]),
        ("VEVENT", &["UID", "RECURRENCE-ID"]),
        ("VTIMEZONE", &["TZID"]),
        ("VALARM", &["TRIGGER", "ACTION"]),
    ],
    permanent: &["VTIMEZONE"],
    sets: &["TEL", "EMAIL", "ATTENDEE"],
    lists: &["CATEGORIES", "EXDATE"],
    caseless: &["ATTENDEE"],
    groups: &[PropertyGroup {
        name: "WHEN",
        components: &["VEVENT"],
        members: &["DTSTART", "DTEND", "RRULE"],
        dependents: &["EXDATE"],
    }],
    greatest: &["REV", "SEQUENCE", "DTSTAMP"],
    ours: &["VERSION", "PRODID"],
};

fn card(lines: &str) -> String {
    let lines = lines.split(' ').filter(|line| !line.is_empty());
    let lines: String = lines
        .map(|line| format!("{}\r\n", line.replace('_', " ")))
        .collect();
    format!("BEGIN:VCARD\r\n{lines}END:VCARD\r\n")
}

fn event(lines: &str) -> String {
    let lines: String = lines.split(' ').map(|line| format!("{line}\n")).collect();
    format!("BEGIN:VCALENDAR\nBEGIN:VEVENT\nUID:1\n{lines}END:VEVENT\nEND:VCALENDAR\n")
}

fn merged(base: &str, ours: &str, theirs: &str) -> (String, Vec<String>) {
    merged_sides(base, ours, base, theirs, MergeWinner::Ours)
}

fn merged_sides(
    base: &str,
    ours: &str,
    their_base: &str,
    theirs: &str,
    winner: MergeWinner,
) -> (String, Vec<String>) {
    let ours = MergeSide { base, text: ours };
    let theirs = MergeSide {
        base: their_base,
        text: theirs,
    };
    let merged = merge(ours, theirs, winner, &RULES);
    let conflicts = merged.conflicts.iter();
    let conflicts = conflicts.map(|c| format!("{} {:?} {:?}", c.property, c.ours, c.theirs));
    (merged.text, conflicts.collect())
}

#[test]
fn both_sides_changes_are_in_it() {
    for (base, ours, theirs, expected) in [
        ("FN:A NOTE:x", "FN:B NOTE:x", "FN:A NOTE:y", "FN:B NOTE:y"),
        ("FN:A NOTE:x", "FN:A", "FN:B NOTE:x", "FN:B"),
        ("FN:A NOTE:x", "FN:A NOTE:y", "FN:A", "FN:A NOTE:y"),
        ("FN:A NOTE:x", "FN:A", "FN:A NOTE:y", "FN:A NOTE:y"),
        ("TEL:1", "TEL:1 TEL:2", "TEL:1 TEL:3", "TEL:1 TEL:2 TEL:3"),
        ("TEL:1 TEL:2", "TEL:2", "TEL:1", ""),
        ("TEL:1", "TEL:2", "TEL:3", "TEL:2 TEL:3"),
        ("TEL:1", "TEL;TYPE=home:1", "", "TEL;TYPE=home:1"),
        ("TEL:1", "TEL:1 TEL:1", "TEL:1", "TEL:1 TEL:1"),
        (
            "TEL;HOME:1",
            "TEL;HOME:1 FN:A",
            "TEL;TYPE=home:1",
            "TEL;HOME:1 FN:A",
        ),
        (
            "REV:20200101",
            "REV:20210101",
            "REV:2022-01-01",
            "REV:2022-01-01",
        ),
        ("SEQUENCE:9", "SEQUENCE:11", "SEQUENCE:10", "SEQUENCE:11"),
        ("PRODID:a", "PRODID:b", "PRODID:c", "PRODID:b"),
        (
            "CATEGORIES:a,b",
            "CATEGORIES:b,c",
            "CATEGORIES:a,d",
            "CATEGORIES:c,d",
        ),
        ("CATEGORIES:a", "", "CATEGORIES:a,b", "CATEGORIES:b"),
        (
            "item1.TEL:1 item1.X-ABLabel:a",
            "item1.TEL:1 item1.X-ABLabel:a item2.TEL:2 item2.X-ABLabel:b",
            "item1.TEL:1 item1.X-ABLabel:a item2.TEL:3 item2.X-ABLabel:c",
            "item1.TEL:1 item1.X-ABLabel:a item2.TEL:2 item2.X-ABLabel:b item3.TEL:3 item3.X-ABLabel:c",
        ),
        (
            "item1.TEL:1 item1.X-ABLabel:a",
            "item1.TEL:1 item1.X-ABLabel:a FN:A",
            "item7.TEL:1 item7.X-ABLabel:b",
            "item7.TEL:1 item7.X-ABLabel:b FN:A",
        ),
    ] {
        let (text, conflicts) = merged(&card(base), &card(ours), &card(theirs));
        assert_eq!(
            (text, conflicts),
            (card(expected), vec![]),
            "{base} | {ours} | {theirs}"
        );
    }
}

#[test]
fn a_value_that_both_changed_is_a_conflict() {
    let (base, ours, theirs) = (
        card("NOTE:x FN:A"),
        card("NOTE:y FN:A"),
        card("NOTE:z FN:A"),
    );
    let conflict = "NOTE [\"NOTE:y\"] [\"NOTE:z\"]".to_owned();
    for (winner, text) in [(MergeWinner::Ours, &ours), (MergeWinner::Theirs, &theirs)] {
        let merged = merged_sides(&base, &ours, &base, &theirs, winner);
        assert_eq!(merged, (text.clone(), vec![conflict.clone()]));
    }
}

#[test]
fn what_a_server_rewrites_is_no_edit() {
    let ours_base = card("FN:A TEL;TYPE=CELL:+49_30_1 TEL:2 PHOTO:large");
    let ours = card("FN:A TEL;TYPE=CELL:+49_30_1 TEL:2 PHOTO:large NOTE:x");
    let served = card("FN:A_ TEL;TYPE=CELL;X-A=1:+49301 TEL:2");
    let same = merged_sides(&ours_base, &ours, &served, &served, MergeWinner::Theirs);
    assert_eq!(same, (ours.clone(), vec![]));
    // Removed there in the server's notation.
    let removed = card("FN:A_ TEL:2 ORG:B");
    let (text, conflicts) = merged_sides(&ours_base, &ours, &served, &removed, MergeWinner::Theirs);
    assert_eq!(text, card("FN:A TEL:2 PHOTO:large NOTE:x ORG:B"));
    assert!(conflicts.is_empty());
}

#[test]
fn the_times_of_an_event_are_one_value() {
    let base = event("DTSTART:20260101T100000 DTEND:20260101T110000 RRULE:FREQ=DAILY");
    let ours = event("DTSTART:20260101T120000 DTEND:20260101T130000 RRULE:FREQ=DAILY");
    let theirs = event("DTSTART:20260101T100000 DTEND:20260101T110000 RRULE:FREQ=WEEKLY");
    let (text, conflicts) = merged(&base, &ours, &theirs);
    assert_eq!(text, ours);
    assert_eq!(conflicts.len(), 1);
    let (text, _) = merged_sides(&base, &ours, &base, &theirs, MergeWinner::Theirs);
    assert_eq!(text, theirs);
}

#[test]
fn instances_that_each_side_leaves_out_are_both_left_out() {
    let base = event("DTSTART:20260101 RRULE:FREQ=DAILY");
    let ours = event("DTSTART:20260101 RRULE:FREQ=DAILY EXDATE:20260102");
    let theirs = event("DTSTART:20260101 RRULE:FREQ=DAILY EXDATE:20260103");
    let (text, conflicts) = merged(&base, &ours, &theirs);
    let expected = event("DTSTART:20260101 RRULE:FREQ=DAILY EXDATE:20260102,20260103");
    assert_eq!((text, conflicts), (expected, vec![]));
}

#[test]
fn components_are_merged_by_their_key() {
    let instance = |id: &str, summary: &str| {
        format!("BEGIN:VEVENT\nUID:1\nRECURRENCE-ID:{id}\nSUMMARY:{summary}\nEND:VEVENT\n")
    };
    let zone = "BEGIN:VTIMEZONE\nTZID:Z\nEND:VTIMEZONE\n";
    let text = |parts: &[&str]| format!("BEGIN:VCALENDAR\n{}END:VCALENDAR\n", parts.concat());
    let (a, b, c) = (instance("1", "a"), instance("2", "b"), instance("3", "c"));
    let changed = instance("1", "z");
    for (base, ours, theirs, expected) in [
        (vec![&a], vec![&a, &b], vec![&a, &c], vec![&a, &b, &c]),
        (vec![&a, &b], vec![&a], vec![&b], vec![]),
        (vec![&a, &b], vec![&changed, &b], vec![], vec![&changed]),
        (
            vec![&a, &b],
            vec![&b],
            vec![&changed, &b],
            vec![&b, &changed],
        ),
    ] {
        let of = |parts: &[&String]| {
            let parts: Vec<&str> = parts.iter().map(|part| part.as_str()).collect();
            text(&parts)
        };
        let found = merged(&of(&base), &of(&ours), &of(&theirs));
        assert_eq!(found, (of(&expected), vec![]));
    }
    let (with, ours, without) = (text(&[zone, &a]), text(&[zone, &a, &b]), text(&[&a]));
    assert_eq!(merged(&with, &ours, &without).0, ours);
}

#[test]
fn odd_texts_are_merged_too() {
    let deep = "BEGIN:X\n".repeat(10_000);
    for text in [
        "",
        "END:VCARD\n",
        "FN:A",
        "\n\n",
        "BEGIN:VCARD\nNOTE;ENCODING=QUOTED-PRINTABLE:a=",
        &deep,
    ] {
        assert_eq!(merged(text, text, text).0, text);
        assert_eq!(merged("", text, "").0, text);
        let added = merged("", "BEGIN:VCARD\nFN:A\nEND:VCARD", text).0;
        assert!(added.starts_with("BEGIN:VCARD\nFN:A\n"), "{added}");
    }
    // The base is there alone.
    let taken = merged("a", "a", "b\r\n").0;
    assert_eq!(taken, "b\r\n");
}

#[test]
fn a_rewriting_that_is_taken_back_removes_nothing() {
    let ours = card("TEL:+49_30_1 FN:A");
    let served = card("TEL:+49301 FN:A");
    let back = card("TEL:+49_30_1 TEL:2 FN:A");
    let (text, conflicts) = merged_sides(&ours, &ours, &served, &back, MergeWinner::Theirs);
    assert_eq!((text, conflicts), (card("TEL:+49_30_1 TEL:2 FN:A"), vec![]));

    let instance = |id: &str, lines: &str| {
        format!(
            "BEGIN:VCALENDAR\nBEGIN:VEVENT\nUID:1\nRECURRENCE-ID{id}\n{lines}END:VEVENT\nEND:VCALENDAR\n"
        )
    };
    let ours = instance(";TZID=Z:20260101T100000", "");
    let served = instance(":20260101T090000Z", "");
    let back = instance(";TZID=Z:20260101T100000", "LOCATION:x\n");
    let (text, conflicts) = merged_sides(&ours, &ours, &served, &back, MergeWinner::Theirs);
    assert_eq!((text, conflicts), (back, vec![]));
}

#[test]
fn what_a_server_never_had_is_not_removed_with_what_it_changes() {
    for (ours, served, theirs, expected) in [
        (
            "work.TEL:1 work.EMAIL:a@b",
            "TEL:1 EMAIL:a@b",
            "TEL;TYPE=work:1 EMAIL:a@b",
            "work.TEL;TYPE=work:1 work.EMAIL:a@b",
        ),
        (
            "work.TEL:1 work.EMAIL:a@b",
            "TEL:1 EMAIL:a@b",
            "EMAIL:a@b",
            "work.EMAIL:a@b",
        ),
        (
            "item1.TEL;X-SIGNAL=1:1 item1.X-ABLabel:Boat",
            "TEL:1",
            "TEL;TYPE=home:1",
            "item1.TEL;TYPE=home;X-SIGNAL=1:1 item1.X-ABLabel:Boat",
        ),
        (
            "item1.TEL:1 item1.X-ABLabel:Boat",
            "item1.TEL;X-ID=7:1 item1.X-ABLabel:Boat",
            "item1.TEL;X-ID=7:1 item1.X-ABLabel:Ship",
            "item1.TEL;X-ID=7:1 item1.X-ABLabel:Ship",
        ),
        // Nobody says which is which.
        (
            "TEL:030_1 TEL:030_2",
            "TEL:+49302 TEL:+49301",
            "TEL:+49302",
            "TEL:030_1 TEL:030_2",
        ),
    ] {
        let (ours, served, theirs) = (card(ours), card(served), card(theirs));
        let (text, conflicts) = merged_sides(&ours, &ours, &served, &theirs, MergeWinner::Theirs);
        assert_eq!((text, conflicts), (card(expected), vec![]));
    }
}

#[test]
fn one_value_with_several_descriptions_is_several_lines() {
    let (text, conflicts) = merged(
        &card("TEL;HOME:1 TEL;WORK:1"),
        &card("TEL;HOME;X-SEEN=1:1 TEL;WORK:1"),
        &card("TEL;WORK:1 TEL;HOME:1 TEL:2"),
    );
    assert_eq!(
        (text, conflicts),
        (card("TEL;HOME;X-SEEN=1:1 TEL;WORK:1 TEL:2"), vec![])
    );
}

#[test]
fn instances_that_are_left_out_have_zones() {
    let at = |lines: &str| event(&format!("DTSTART;TZID=Z:1 RRULE:FREQ=DAILY {lines}"));
    let (text, conflicts) = merged(
        &at("EXDATE;TZID=Z:2,3"),
        &at("EXDATE;TZID=Z:2,3,4"),
        &at("EXDATE;TZID=Z:3 EXDATE:20260101T000000Z"),
    );
    let expected = at("EXDATE;TZID=Z:3,4 EXDATE:20260101T000000Z");
    assert_eq!((text, conflicts), (expected, vec![]));
}

#[test]
fn a_time_that_is_taken_has_its_zone() {
    let zone = |id: &str| format!("BEGIN:VTIMEZONE\nTZID:{id}\nEND:VTIMEZONE\n");
    let at = |zone: &str, start: &str| {
        format!(
            "BEGIN:VCALENDAR\n{zone}BEGIN:VEVENT\nUID:1\nDTSTART{start}\nEND:VEVENT\nEND:VCALENDAR\n"
        )
    };
    let berlin = at(&zone("Europe/Berlin"), ";TZID=Europe/Berlin:1");
    let served = at(&zone("W. Europe"), ";TZID=W. Europe:1");
    let moved = at(&zone("W. Europe"), ";TZID=W. Europe:2");
    let (text, _) = merged_sides(&berlin, &berlin, &served, &moved, MergeWinner::Ours);
    assert!(text.contains("DTSTART;TZID=W. Europe:2\n") && text.contains(&zone("W. Europe")));
    // Ours has left the zone.
    let utc = at("", ":1Z");
    let later = at(&zone("Europe/Berlin"), ";TZID=Europe/Berlin:2");
    let (text, conflicts) = merged_sides(&berlin, &utc, &berlin, &later, MergeWinner::Theirs);
    assert!(text.contains(&zone("Europe/Berlin")) && conflicts.len() == 1);
    // A zone that nothing needs is not added.
    let named = |start: &str| at(&zone("X"), start).replace("UID:1", "UID:1\nSUMMARY:x");
    let (text, _) = merged_sides(
        &utc,
        &utc,
        &at(&zone("X"), ":1Z"),
        &named(":1Z"),
        MergeWinner::Ours,
    );
    assert!(text.contains("SUMMARY:x") && !text.contains("VTIMEZONE"));
}

#[test]
fn an_entry_is_not_merged_into_the_object_around_it() {
    let bare = "BEGIN:VEVENT\nUID:1\nSUMMARY:a\nEND:VEVENT\n";
    let whole = format!("BEGIN:VCALENDAR\n{bare}END:VCALENDAR\n");
    let edited = bare.replace("SUMMARY:a", "SUMMARY:b");
    let (text, _) = merged_sides(&whole, &whole, bare, &edited, MergeWinner::Theirs);
    assert_eq!(text, format!("{whole}{edited}"));
}
