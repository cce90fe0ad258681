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
        // The groups' numbers are taken in another order.
        let expected = expected.replace("item3", "item1-free");
        let (text, conflicts) = merged(&card(base), &card(ours), &card(theirs));
        let text = text.replace("item3", "item1-free");
        assert_eq!(
            (text, conflicts),
            (card(&expected), vec![]),
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
