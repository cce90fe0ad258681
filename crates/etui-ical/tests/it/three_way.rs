//! Calendar objects that two sides changed.

use etui_contentline::merge::{MergeSide, MergeWinner, Merged};
use etui_ical::merge_three_way;

const WEEKLY: &str = "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:a\r\nBEGIN:VEVENT\r\nUID:1\r\nDTSTAMP:20260101T000000Z\r\n\
    SEQUENCE:1\r\nSUMMARY:Tea\r\nDTSTART:20260105T160000\r\nDTEND:20260105T170000\r\nRRULE:FREQ=WEEKLY\r\n\
    ATTENDEE;PARTSTAT=NEEDS-ACTION:mailto:ada@example.org\r\nATTENDEE;PARTSTAT=NEEDS-ACTION:mailto:bo@example.org\r\n\
    BEGIN:VALARM\r\nACTION:DISPLAY\r\nTRIGGER:-PT15M\r\nDESCRIPTION:Tea\r\nEND:VALARM\r\n\
    END:VEVENT\r\nEND:VCALENDAR\r\n";

/// Merges two replacements, with both sides in both places; returns the text that both orders say.
fn merged(base: &str, ours: &[(&str, &str)], theirs: &[(&str, &str)]) -> Merged {
    let edited = |edits: &[(&str, &str)]| {
        edits.iter().fold(base.to_owned(), |text, (from, to)| {
            assert!(text.contains(from), "{from} is not in {text}");
            text.replacen(from, to, 1)
        })
    };
    let (ours, theirs) = (edited(ours), edited(theirs));
    let merge = |ours, theirs, winner| {
        let side = |text| MergeSide { base, text };
        merge_three_way(side(ours), side(theirs), winner)
    };
    let found = merge(&ours, &theirs, MergeWinner::Ours);
    let mirrored = merge(&theirs, &ours, MergeWinner::Theirs);
    assert_eq!(sorted(&found.text), sorted(&mirrored.text));
    assert_eq!(found.conflicts.len(), mirrored.conflicts.len());
    // What is merged stays.
    assert_eq!(
        merge(&found.text, &theirs, MergeWinner::Ours).text,
        found.text
    );
    assert_eq!(
        merge(&found.text, &ours, MergeWinner::Ours).text,
        found.text
    );
    found
}

/// Returns the parts of all lines, without their order.
fn sorted(text: &str) -> Vec<&str> {
    let mut parts: Vec<&str> = text.split(['\r', '\n', ':', ',']).collect();
    parts.sort_unstable();
    parts
}

fn instance(day: &str, lines: &str) -> String {
    format!(
        "BEGIN:VEVENT\r\nUID:1\r\nRECURRENCE-ID:202601{day}T160000\r\nDTSTART:202601{day}T160000\r\n{lines}END:VEVENT\r\nEND:VCALENDAR"
    )
}

#[test]
fn an_entry_that_both_sides_changed_has_both_changes() {
    let attendee =
        |name: &str, answer: &str| format!("ATTENDEE;PARTSTAT={answer}:mailto:{name}@example.org");
    let ada = attendee("ada", "NEEDS-ACTION");
    let bo = attendee("bo", "NEEDS-ACTION");
    for (ours, theirs, expected, absent) in [
        // Both answer.
        (
            vec![(
                ada.as_str(),
                "ATTENDEE;PARTSTAT=ACCEPTED:MAILTO:ADA@example.org",
            )],
            vec![(
                bo.as_str(),
                "ATTENDEE;PARTSTAT=DECLINED:mailto:bo@example.org",
            )],
            vec![
                "PARTSTAT=ACCEPTED:MAILTO:ADA@example.org",
                "PARTSTAT=DECLINED:mailto:bo@example.org",
            ],
            "NEEDS-ACTION",
        ),
        // A text here, the time there.
        (
            vec![("SUMMARY:Tea", "SUMMARY:Coffee")],
            vec![("DTSTART:20260105T160000", "DTSTART:20260105T163000")],
            vec!["SUMMARY:Coffee\r", "DTSTART:20260105T163000\r"],
            "SUMMARY:Tea",
        ),
        // The counters of both.
        (
            vec![
                ("SEQUENCE:1", "SEQUENCE:9"),
                ("DTSTAMP:20260101", "DTSTAMP:20260301"),
            ],
            vec![
                ("SEQUENCE:1", "SEQUENCE:10"),
                ("DTSTAMP:20260101", "DTSTAMP:20260201"),
            ],
            vec!["SEQUENCE:10\r", "DTSTAMP:20260301"],
            "SEQUENCE:9",
        ),
        // The alarm was seen here, and there it was given another text.
        (
            vec![(
                "DESCRIPTION:Tea\r\n",
                "DESCRIPTION:Tea\r\nACKNOWLEDGED:20260105T155000Z\r\n",
            )],
            vec![(
                "DESCRIPTION:Tea\r\n",
                "DESCRIPTION:Tea!\r\nACKNOWLEDGED:20260105T155100Z\r\n",
            )],
            vec!["DESCRIPTION:Tea!\r", "ACKNOWLEDGED:20260105T155100Z"],
            "155000Z",
        ),
        // Both leave out an instance.
        (
            vec![("ATTENDEE", "EXDATE:20260112T160000\r\nATTENDEE")],
            vec![("ATTENDEE", "EXDATE:20260119T160000\r\nATTENDEE")],
            vec!["20260112T160000", "20260119T160000"],
            "conflict",
        ),
    ] {
        let found = merged(WEEKLY, &ours, &theirs);
        for line in expected {
            assert!(found.text.contains(line), "{line} is not in {}", found.text);
        }
        assert!(
            !found.text.contains(absent),
            "{absent} is in {}",
            found.text
        );
        assert_eq!(found.conflicts, []);
    }
}

#[test]
fn instances_are_merged_by_themselves() {
    let (twelfth, nineteenth) = (
        instance("12", "SUMMARY:A\r\n"),
        instance("19", "SUMMARY:B\r\n"),
    );
    let found = merged(
        WEEKLY,
        &[("END:VCALENDAR", &twelfth)],
        &[("END:VCALENDAR", &nineteenth)],
    );
    assert!(found.text.contains("SUMMARY:A\r\n") && found.text.contains("SUMMARY:B\r\n"));
    assert_eq!(found.conflicts, []);

    // Both changed the same one.
    let other = instance("12", "SUMMARY:C\r\nLOCATION:Here\r\n");
    let found = merged(
        WEEKLY,
        &[("END:VCALENDAR", &twelfth)],
        &[("END:VCALENDAR", &other)],
    );
    assert!(found.text.contains("SUMMARY:A\r\n") && found.text.contains("LOCATION:Here\r\n"));
    let [conflict] = &found.conflicts[..] else {
        panic!("{:?}", found.conflicts);
    };
    assert_eq!(conflict.component, "VEVENT 1 20260112T160000");
    assert_eq!(
        (&conflict.ours[..], &conflict.theirs[..]),
        (&["SUMMARY:A".to_owned()][..], &["SUMMARY:C".to_owned()][..])
    );
}

#[test]
fn times_and_progress_are_one_value_each() {
    let found = merged(
        WEEKLY,
        &[
            ("DTSTART:20260105T160000", "DTSTART:20260105T150000"),
            ("DTEND:20260105T170000", "DTEND:20260105T160000"),
        ],
        &[("DTEND:20260105T170000", "DTEND:20260105T180000")],
    );
    assert!(
        found.text.contains("DTSTART:20260105T150000\r\n")
            && found.text.contains("DTEND:20260105T160000\r\n")
    );
    assert_eq!(found.conflicts.len(), 1);
    assert_eq!(found.conflicts[0].property, "time");

    let todo = "BEGIN:VTODO\r\nUID:1\r\nSUMMARY:x\r\nSTATUS:IN-PROCESS\r\nPERCENT-COMPLETE:10\r\nEND:VTODO\r\n";
    let found = merged(
        todo,
        &[(
            "STATUS:IN-PROCESS\r\nPERCENT-COMPLETE:10",
            "STATUS:COMPLETED\r\nCOMPLETED:20260105T160000Z\r\nPERCENT-COMPLETE:100",
        )],
        &[("PERCENT-COMPLETE:10", "PERCENT-COMPLETE:50")],
    );
    assert!(
        found.text.contains("PERCENT-COMPLETE:100\r\n") && found.text.contains("STATUS:COMPLETED")
    );
    assert_eq!(found.conflicts.len(), 1);
}
