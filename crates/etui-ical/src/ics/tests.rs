//! Accepted and rejected input of the reader, case by case.

#![allow(clippy::unwrap_used, clippy::panic)]

use super::*;
use etui_contentline::stream::CodeUnits;

fn read(input: &[u8]) -> Vec<ObjectPiece> {
    ObjectReader::new(input).collect::<Result<_, _>>().unwrap()
}

/// Each piece in short.
fn summary(input: &[u8]) -> Vec<String> {
    read(input).into_iter().map(short).collect()
}

fn short(piece: ObjectPiece) -> String {
    match piece {
        ObjectPiece::Text(text) => format!("{} {:?}", text.line, text.part),
        ObjectPiece::Zone(zone) => format!("{} zone {}", zone.line, zone.tzid),
        ObjectPiece::Component(c) => format!(
            "{}-{} {} {} {}{}",
            c.line,
            c.last_line,
            c.kind,
            c.number,
            c.uid.as_deref().unwrap_or("-"),
            c.recurrence_id
                .map(|r| format!(" at {r}"))
                .unwrap_or_default()
        ),
        ObjectPiece::Refused(why) => format!("{}-{} {:?}", why.line, why.last_line, why.reason),
    }
}

fn calendar(body: &str) -> String {
    format!("BEGIN:VCALENDAR\nVERSION:2.0\n{body}END:VCALENDAR\n")
}

fn event(uid: &str) -> String {
    format!("BEGIN:VEVENT\nUID:{uid}\nEND:VEVENT\n")
}

#[test]
fn pieces_come_in_order() {
    let input = calendar(
        "BEGIN:VTIMEZONE\nTZID:A\nBEGIN:STANDARD\nTZID:x\nEND:STANDARD\nEND:VTIMEZONE\n\
         BEGIN:VEVENT\nUID: 1 \nBEGIN:VALARM\nUID:a\nEND:VALARM\nEND:VEVENT\n\n\
         begin:vtodo\nRECURRENCE-ID;VALUE=DATE:2026\n 1121\nUID:1\nend:vtodo\n\
         BEGIN:VFREEBUSY\nUID:f\nEND:VFREEBUSY\nBEGIN:VJOURNAL\nDTSTART:x\nEND:VJOURNAL\n\
         BEGIN:VALARM\nEND:VALARM\n",
    );
    assert_eq!(
        summary(input.as_bytes()),
        [
            "1 Begin",
            "3 zone A",
            "9-14 VEVENT 0 1",
            "15 Middle",
            "16-20 VTODO 1 1 at VALUE=DATE:20261121",
            "21 Other",
            "24-26 VJOURNAL 2 -",
            "27 Other",
            "29 End"
        ]
    );
}

#[test]
fn broken_components_do_not_take_the_next_one_along() {
    let good = event("1");
    for (broken, reasons) in [
        ("BEGIN:VEVENT\nUID:2\n", &["3-4 Unterminated"][..]),
        (
            "BEGIN:VEVENT\nUID:2\nBEGIN:VALARM\nEND:VEVENT\n",
            &["3-6 Nesting"],
        ),
        (
            "BEGIN:VEVENT\nEND:VALARM\nUID:2\nEND:VEVENT\n",
            &["3-6 Nesting"],
        ),
        ("BEGIN:VEVENT\nEND:VTODO\n", &["3-4 Nesting"]),
        ("END:VEVENT\n", &["3-3 StrayEnd"]),
        ("no property\n folded\n\n", &["3-5 Outside"]),
        ("BEGIN:VEVENT\nEND:VEVENT\n", &["3-4 Empty"]),
        ("BEGIN:X-A\nEND:VEVENT\n", &["3-4 Nesting"]),
        (
            "END:VALARM\nrubbish!\nEND:STANDARD\n",
            &["3-3 StrayEnd", "4-4 Outside", "5-5 StrayEnd"],
        ),
    ] {
        let lines = broken.lines().count() + 3;
        let input = calendar(&format!("{broken}{good}"));
        let mut expected = vec!["1 Begin".to_owned()];
        expected.extend(reasons.iter().map(|&r| r.to_owned()));
        expected.push(format!("{lines}-{} VEVENT 0 1", lines + 2));
        expected.push(format!("{} End", lines + 3));
        assert_eq!(summary(input.as_bytes()), expected, "{broken}");
    }
}

#[test]
fn objects_that_are_cut_off_keep_what_is_whole() {
    let (one, two) = (event("1"), event("2"));
    let cut = format!("BEGIN:VCALENDAR\nVERSION:2.0\n{one}");
    let all = format!("{cut}{}", calendar(&two));
    assert_eq!(
        summary(all.as_bytes()),
        [
            "1 Begin",
            "3-5 VEVENT 0 1",
            "6 Begin",
            "8-10 VEVENT 0 2",
            "11 End",
            "5-5 Unended"
        ]
    );
    let cut = format!("{cut}BEGIN:VEVENT\nUID:3\nBEGIN:VALARM");
    assert_eq!(
        summary(cut.as_bytes()),
        ["1 Begin", "3-5 VEVENT 0 1", "6-8 Unterminated"]
    );
    let all = format!("{cut}\n{}", calendar(""));
    let tail = ["6-8 Unterminated", "9 Begin", "11 End"];
    assert_eq!(summary(all.as_bytes())[2..], tail);
    let ended = format!("{cut}\nEND:VCALENDAR");
    assert_eq!(
        summary(ended.as_bytes())[2..],
        ["6-8 Unterminated", "9 End"]
    );
}

#[test]
fn an_object_within_another_one_leaves_its_components() {
    let object = |inner: &str| format!("BEGIN:VCALENDAR\nMETHOD:X\n{inner}END:VCALENDAR\n");
    let (one, two, three) = (event("1"), event("2"), event("3"));
    for (input, expected) in [
        (
            object(&format!("{one}{}{three}", object(&two))),
            &[
                "1 Begin",
                "3-5 VEVENT 0 1",
                "6 Begin",
                "8-10 VEVENT 0 2",
                "11 End",
                "1 Begin",
                "12-14 VEVENT 0 3",
                "15 End",
            ][..],
        ),
        (
            object(&object(&one)),
            &["1 Begin", "3 Begin", "5-7 VEVENT 0 1", "8 End", "9 End"],
        ),
        (
            object(&format!("{}{two}", object(&object(&one)))),
            &[
                "1 Begin",
                "3 Begin",
                "5 Begin",
                "7-9 VEVENT 0 1",
                "10 End",
                "11 End",
                "1 Begin",
                "12-14 VEVENT 0 2",
                "15 End",
            ],
        ),
        (
            object(&format!("{}{}{three}", object(&one), object(&two))),
            &[
                "1 Begin",
                "3 Begin",
                "5-7 VEVENT 0 1",
                "8 End",
                "9 Begin",
                "11-13 VEVENT 0 2",
                "14 End",
                "1 Begin",
                "15-17 VEVENT 0 3",
                "18 End",
            ],
        ),
        (
            format!("{}{}", object(&object(&one)), object(&two)),
            &[
                "1 Begin",
                "3 Begin",
                "5-7 VEVENT 0 1",
                "8 End",
                "9 End",
                "10 Begin",
                "12-14 VEVENT 0 2",
                "15 End",
            ],
        ),
        // The END of the outer one is missing.
        (
            format!("BEGIN:VCALENDAR\n{}{two}", object(&one)),
            &[
                "1 Begin",
                "2 Begin",
                "4-6 VEVENT 0 1",
                "7 End",
                "1 Begin",
                "8-10 VEVENT 0 2",
                "10-10 Unended",
            ],
        ),
    ] {
        assert_eq!(summary(input.as_bytes()), expected, "{input}");
    }
    let deep = format!("{}{one}", "BEGIN:VCALENDAR\n".repeat(40));
    assert!(summary(deep.as_bytes()).contains(&"41-43 VEVENT 0 1".to_owned()));
}

#[test]
fn between_objects_only_blank_lines_pass() {
    let one = calendar(&event("1"));
    let input = format!("\n \n{one}\n\ntext\n{}\n{one}\nEND:VCALENDAR\n", event("2"));
    assert_eq!(
        summary(input.as_bytes()),
        [
            "1 Begin",
            "5-7 VEVENT 0 1",
            "8 End",
            "11-15 Outside",
            "16 Begin",
            "18-20 VEVENT 0 1",
            "21 End",
            "23-23 StrayEnd"
        ]
    );
    assert_eq!(summary(b"\n\n"), [""; 0]);
    let joined = format!("{0}\u{FEFF}{0}", one.trim_end());
    assert_eq!(
        summary(joined.as_bytes())[3..],
        ["6 Begin", "8-10 VEVENT 0 1", "11 End"]
    );
}

#[test]
fn large_and_deep_components_are_refused_and_the_next_one_is_found() {
    let good = event("1");
    let long = "x".repeat(100_000);
    let deep = "BEGIN:A\n".repeat(40) + &"END:A\n".repeat(40);
    for (body, reason) in [
        (
            format!("DESCRIPTION:{long}\n"),
            "3-5 TooLarge { limit: 200 }",
        ),
        ("A:b\n".repeat(100), "3-104 TooLarge { limit: 200 }"),
    ] {
        let input = calendar(&format!("BEGIN:VEVENT\n{body}END:VEVENT\n{good}"));
        let reader = ObjectReader::new(input.as_bytes()).max_component(200);
        let pieces: Vec<_> = reader.map(|p| short(p.unwrap())).collect();
        assert_eq!(pieces[1], reason);
        assert!(pieces[2].ends_with("VEVENT 0 1"));
    }
    let input = calendar(&format!("BEGIN:VEVENT\n{deep}END:VEVENT\n{good}"));
    let pieces = summary(input.as_bytes());
    assert_eq!(pieces[1], "3-84 TooDeep { limit: 16 }");
    assert!(pieces[2].ends_with("VEVENT 0 1"));
}

#[test]
fn a_frame_has_its_limit() {
    let line = format!("X-A:{}\n", "x".repeat(MAX_OBJECT_TEXT));
    let input = calendar(&format!("X-B:1\n{line} goes on\n{}", event("1")));
    assert_eq!(
        summary(input.as_bytes()),
        [
            "1 Begin".to_owned(),
            format!("4-5 TooLarge {{ limit: {MAX_OBJECT_TEXT} }}"),
            "6-8 VEVENT 0 1".to_owned(),
            "9 End".to_owned()
        ]
    );
    let other = format!("BEGIN:X-A\n{line}END:X-A\n");
    let input = calendar(&format!("{other}{}", event("1")));
    let pieces = summary(input.as_bytes());
    assert_eq!(
        pieces[1],
        format!("3-5 TooLarge {{ limit: {MAX_OBJECT_TEXT} }}")
    );
    assert_eq!(pieces[2], "6-8 VEVENT 0 1");
}

#[test]
fn utf16_is_read_and_kept() {
    let text = format!("\u{FEFF}{}", calendar(&event("ü\u{A0D}")));
    for to in [u16::to_le_bytes, u16::to_be_bytes] {
        let input: Vec<u8> = text.encode_utf16().flat_map(to).collect();
        let pieces = read(&input);
        let ObjectPiece::Component(found) = &pieces[1] else {
            panic!("{pieces:?}")
        };
        assert_eq!(found.uid.as_deref(), Some("ü\u{A0D}"));
        assert_eq!(rebuilt(&input), input);
        // One in UTF-8 that goes into the same object is written in its units.
        let (frame, _) = taken_apart(&input);
        let mut object = ObjectWriter::new(Vec::new(), &frame, |_| Ok(Vec::new()));
        object.component(0, event("ü\u{A0D}").as_bytes()).unwrap();
        assert_eq!(object.finish().unwrap(), input);
        assert_ne!(CodeUnits::Bytes, CodeUnits::Utf16Be);
    }
}

/// The frame of the first object of `input`, and its groups.
fn taken_apart(input: &[u8]) -> (ObjectTemplate, Vec<ComponentGroup>) {
    let (mut frame, mut grouper, mut groups) = (
        TemplateBuilder::default(),
        ComponentGrouper::new(),
        Vec::new(),
    );
    for piece in read(input) {
        match piece {
            ObjectPiece::Text(text) => frame.text(&text),
            ObjectPiece::Zone(zone) => frame.zone(key_of(&zone.bytes)),
            ObjectPiece::Component(component) => {
                frame.component();
                groups.extend(grouper.push(component).0);
            }
            ObjectPiece::Refused(_) => {}
        }
    }
    groups.extend(grouper.finish());
    (frame.finish(), groups)
}

fn rebuilt(input: &[u8]) -> Vec<u8> {
    let (frame, groups) = taken_apart(input);
    let mut components: Vec<_> = groups.iter().flat_map(|g| &g.components).collect();
    components.sort_by_key(|c| c.number);
    let mut object = ObjectWriter::new(Vec::new(), &frame, |_| Ok(b"zone\n".to_vec()));
    for component in components {
        object
            .component(component.number, &component.bytes)
            .unwrap();
    }
    object.finish().unwrap()
}

#[test]
fn scattered_components_find_their_places_again() {
    let changed = "BEGIN:VEVENT\nUID:1\nRECURRENCE-ID:2\nEND:VEVENT\n";
    let body = format!(
        "{}{}{changed}\n{}X-A:b\n",
        event("1"),
        event("2"),
        event("3")
    );
    let input = calendar(&body);
    let (_, groups) = taken_apart(input.as_bytes());
    let short: Vec<_> = groups
        .iter()
        .map(|g| (g.uid.as_deref().unwrap(), g.components.len(), g.continues))
        .collect();
    let expected = [
        ("1", 1, false),
        ("2", 1, false),
        ("1", 1, true),
        ("3", 1, false),
    ];
    assert_eq!(short, expected);
    assert_eq!(rebuilt(input.as_bytes()), input.as_bytes());
}

#[test]
fn removed_components_leave_no_trace_and_new_ones_come_last() {
    let body = format!("{}\n{}X-A:b\n", event("1"), event("2"));
    let (frame, groups) = taken_apart(calendar(&body).as_bytes());
    let mut object = ObjectWriter::new(Vec::new(), &frame, |_| Ok(Vec::new()));
    object.component(1, &groups[1].text()).unwrap();
    object
        .component(u32::MAX, event("3").trim_end().as_bytes())
        .unwrap();
    object.component(u32::MAX, event("4").as_bytes()).unwrap();
    let body = format!("\n{}{}{}X-A:b\n", event("2"), event("3"), event("4"));
    let written = String::from_utf8(object.finish().unwrap()).unwrap();
    assert_eq!(written.replace("\r\n", "\n"), calendar(&body));

    let plain = ObjectTemplate::plain();
    let mut object = ObjectWriter::new(Vec::new(), &plain, |_| Ok(Vec::new()));
    object.component(0, b"new\r\n").unwrap();
    let written = String::from_utf8(object.finish().unwrap()).unwrap();
    assert!(
        written.ends_with("EN\r\nnew\r\nEND:VCALENDAR\r\n"),
        "{written}"
    );
}

#[test]
fn repetitions_are_left_out_and_contradictions_refused() {
    let mut grouper = ComponentGrouper::new();
    let other = "BEGIN:VEVENT\nUID:1\nX:1\nEND:VEVENT\n";
    let input = calendar(&format!(
        "{0}{0}{other}{1}{1}",
        event("1"),
        "BEGIN:VEVENT\nX:1\nEND:VEVENT\n"
    ));
    let mut outcomes = Vec::new();
    for piece in read(input.as_bytes()) {
        if let ObjectPiece::Component(component) = piece {
            outcomes.push(grouper.push(component).1);
        }
    }
    assert_eq!(outcomes[..2], [GroupOutcome::Taken, GroupOutcome::Repeated]);
    assert!(matches!(&outcomes[2], GroupOutcome::Refused(c) if c.line == 9));
    // Without UID each is a record of its own.
    assert_eq!(outcomes[3..], [GroupOutcome::Taken, GroupOutcome::Taken]);
}

#[test]
fn frames_merge_unless_they_contradict() {
    let object = |zone: &str, body: &str| {
        let zone = format!("BEGIN:VTIMEZONE\nTZID:Z\n{zone}END:VTIMEZONE\n");
        let (frame, _) = taken_apart(calendar(&format!("{zone}{body}")).as_bytes());
        frame
    };
    let two = event("1") + &event("2");
    let busy = "BEGIN:VFREEBUSY\nUID:f\nEND:VFREEBUSY\n";
    let frames = [
        object("", &two),
        object("", &format!("{busy}{}", event("3"))),
        object("X:other\n", &event("4")),
    ];
    let all: Vec<&ObjectTemplate> = frames.iter().collect();
    let merged = merge_templates(&all, |_| "Z".to_owned());
    assert_eq!(merged.len(), 2);
    assert_eq!(merged[0].sources, [(0, 0), (1, 2)]);
    assert_eq!(merged[0].template.components(), 3);
    assert_eq!(merged[0].template.zones().count(), 1);
    assert_eq!(merged[1].sources, [(2, 0)]);
    assert_eq!(merged[1].template, frames[2]);
    let mut object = ObjectWriter::new(Vec::new(), &merged[0].template, |_| Ok(b"zone\n".to_vec()));
    for number in 0..3 {
        object
            .component(number, format!("{number}\n").as_bytes())
            .unwrap();
    }
    let written = String::from_utf8(object.finish().unwrap()).unwrap();
    let expected = format!("zone\n0\n1\n2\n{busy}");
    assert_eq!(written.replace("\r\n", "\n"), calendar(&expected));
}

/// The name and the colour of a calendar are properties of its object.
#[test]
fn frames_with_different_properties_stay_separate() {
    let object = |properties: &str, between: &str| {
        let text = calendar(&format!(
            "{properties}{}{between}{}",
            event("1"),
            event("2")
        ));
        taken_apart(text.as_bytes()).0
    };
    let frames = [
        object("X-WR-CALNAME:Work\n", ""),
        object("X-WR-CALNAME:Club\nCOLOR:teal\n", ""),
        object("X-WR-CALNAME:Wo\n rk\n", ""),
        object("X-WR-CALNAME:Work\n", "X-BETWEEN:1\n"),
        object("X-WR-CALNAME:Work\n", "X-BETWEEN:1\n"),
    ];
    let all: Vec<&ObjectTemplate> = frames.iter().collect();
    let merged = merge_templates(&all, |_| String::new());
    let sources: Vec<Vec<usize>> = merged
        .iter()
        .map(|one| one.sources.iter().map(|(at, _)| *at).collect())
        .collect();
    assert_eq!(sources, [vec![0, 2], vec![1], vec![3], vec![4]]);
}

fn key_of(bytes: &[u8]) -> ZoneKey {
    use std::hash::{DefaultHasher, Hasher};
    let mut hasher = DefaultHasher::new();
    hasher.write(bytes);
    let hash = hasher.finish().to_le_bytes();
    let mut key = [0; 16];
    key[..8].copy_from_slice(&hash);
    ZoneKey(key)
}
