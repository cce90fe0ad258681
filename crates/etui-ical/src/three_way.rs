//! Merging what two sides made of a calendar object since they last agreed.

use etui_contentline::merge::{MergeRules, MergeSide, MergeWinner, Merged, PropertyGroup, merge};

/// How calendar objects are merged.
const RULES: MergeRules = MergeRules {
    keys: &[
        ("VCALENDAR", &[]),
        ("VEVENT", &["UID", "RECURRENCE-ID"]),
        ("VTODO", &["UID", "RECURRENCE-ID"]),
        ("VJOURNAL", &["UID", "RECURRENCE-ID"]),
        ("VTIMEZONE", &["TZID"]),
        // Programs that stop an alarm write to it: it is known by when it is and what it does.
        ("VALARM", &["ACTION", "TRIGGER"]),
    ],
    // Their zones may be named by times that are kept.
    permanent: &["VCALENDAR", "VTIMEZONE"],
    sets: &[
        "ATTACH",
        "ATTENDEE",
        "COMMENT",
        "CONFERENCE",
        "CONTACT",
        "IMAGE",
        "RELATED-TO",
        "REQUEST-STATUS",
    ],
    lists: &["CATEGORIES", "EXDATE", "RDATE", "RESOURCES"],
    caseless: &["ATTENDEE", "ORGANIZER"],
    groups: &[
        PropertyGroup {
            name: "time",
            components: &["VEVENT", "VTODO", "VJOURNAL"],
            members: &["DTSTART", "DTEND", "DURATION", "DUE", "RRULE", "EXRULE"],
            // Instances that are left out or added belong to the series that they are of.
            dependents: &["EXDATE", "RDATE"],
        },
        PropertyGroup {
            name: "progress",
            components: &["VTODO"],
            members: &["STATUS", "COMPLETED", "PERCENT-COMPLETE"],
            dependents: &[],
        },
    ],
    greatest: &[
        "ACKNOWLEDGED",
        "CREATED",
        "DTSTAMP",
        "LAST-MODIFIED",
        "SEQUENCE",
        "X-MOZ-GENERATION",
        "X-MOZ-LASTACK",
    ],
    ours: &["CALSCALE", "METHOD", "PRODID", "VERSION"],
};

/// Merges the changes of both sides of a calendar object: a `VCALENDAR`, or its components alone.
///
/// Each instance of a series, and the series itself, is merged by itself. All that says when it is
/// (DTSTART, DTEND, DURATION, DUE, RRULE) is one value; EXDATE and RDATE are sets as long as nobody changes
/// it. See [`etui_contentline::merge`](mod@etui_contentline::merge).
///
/// ```
/// use etui_contentline::merge::{MergeSide, MergeWinner};
/// use etui_ical::merge_three_way;
///
/// let event = |lines| format!("BEGIN:VEVENT\r\nUID:1\r\n{lines}END:VEVENT\r\n");
/// let base = event("SUMMARY:Tea\r\nDTSTART:20261123T160000\r\n");
/// let ours = event("SUMMARY:Tea\r\nDTSTART:20261123T170000\r\n");
/// let theirs = event("SUMMARY:Tea with Ada\r\nDTSTART:20261123T160000\r\n");
/// let merged = merge_three_way(
///     MergeSide { base: &base, text: &ours },
///     MergeSide { base: &base, text: &theirs },
///     MergeWinner::Ours,
/// );
/// assert_eq!(merged.text, event("SUMMARY:Tea with Ada\r\nDTSTART:20261123T170000\r\n"));
/// assert_eq!(merged.conflicts, []);
/// ```
pub fn merge_three_way(ours: MergeSide<'_>, theirs: MergeSide<'_>, winner: MergeWinner) -> Merged {
    merge(ours, theirs, winner, &RULES)
}
