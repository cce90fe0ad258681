//! The declared report of `dav`.

use super::super::report::bounded_report;
use super::workload::ResourceKind;
use super::{COUNTED_SAVES, Phases, WORK};
use etui_lab::stacks::HERE;
use etui_lab::{GroupKey, Results};
use etui_lab::{Measure, Per, ReportSpec, TableSpec, Threshold};

/// The arms' names.
pub(super) const ETUI: &str = "etui serve";
pub(super) const RADICALE: &str = "Radicale";
pub(super) const XANDIKOS: &str = "Xandikos";
pub(super) const CYRUS: &str = "Cyrus";

/// Phases of one kind of resource only.
pub(super) const NAMES: &str = "query_names";
pub(super) const WEEK: &str = "query_week";
pub(super) const EXPANDED: &str = "expand_week";

/// Bounds of etui's processor time, nanoseconds.
const MAX_SAVE: f64 = 1e6;
const MAX_LIST: f64 = 100e6;
const MAX_CHANGE: f64 = 2e6;
const MAX_MULTIGET: f64 = 5e6;
const MAX_WEEK: f64 = 50e6;
/// Bound of its resident memory, bytes.
const MAX_MEMORY: f64 = 64e6;

const CONTACTS: Phases = Phases::of(ResourceKind::Contact);
const EVENTS: Phases = Phases::of(ResourceKind::Event);

/// All phases, with their titles and bounds.
const ALL: [(&str, &str, Option<f64>); 15] = [
    (CONTACTS.put, "a new contact", Some(MAX_SAVE)),
    (CONTACTS.replace, "a changed contact", Some(MAX_SAVE)),
    (EVENTS.put, "a new event", Some(MAX_SAVE)),
    (EVENTS.replace, "a changed event", Some(MAX_SAVE)),
    (CONTACTS.list, "listing of contacts", Some(MAX_LIST)),
    (EVENTS.list, "listing of events", Some(MAX_LIST)),
    (CONTACTS.sync, "first sync of contacts", Some(MAX_LIST)),
    (EVENTS.sync, "first sync of events", Some(MAX_LIST)),
    (
        CONTACTS.sync_change,
        "sync after a changed contact",
        Some(MAX_CHANGE),
    ),
    (
        EVENTS.sync_change,
        "sync after a changed event",
        Some(MAX_CHANGE),
    ),
    (CONTACTS.multiget, "50 contacts", Some(MAX_MULTIGET)),
    (EVENTS.multiget, "50 events", Some(MAX_MULTIGET)),
    (NAMES, "contacts by a part of the name", None),
    (WEEK, "events of a week", Some(MAX_WEEK)),
    (EXPANDED, "events of a week, expanded", Some(MAX_WEEK)),
];

fn processor(title: &str, phase: &str) -> Measure {
    Measure::new(title, format!("{phase}/server_ns"))
}

fn flushes(phase: &str) -> Measure {
    Measure::new("flushes", format!("{phase}/flush_calls")).per(Per::Setting(COUNTED_SAVES))
}

fn written(phase: &str) -> Measure {
    Measure::new("bytes written", format!("{phase}/written_bytes")).per(Per::Setting(COUNTED_SAVES))
}

fn tables(groups: &[GroupKey]) -> Vec<TableSpec> {
    let table = |title: &str, caption: &str, measures| {
        TableSpec::new(title, groups.to_vec())
            .caption(caption)
            .measures(measures)
            .base(ETUI)
            .size_unit("contacts")
    };
    let pair = |[(first, title), (second, other)]: [(&str, &str); 2]| {
        vec![
            processor(&format!("{title}: processor"), first),
            Measure::wall_time(format!("{title}: time"), first),
            processor(&format!("{other}: processor"), second),
            Measure::wall_time(format!("{other}: time"), second),
        ]
    };
    let save = |phases: Phases| {
        let mut measures = pair([(phases.put, "new"), (phases.replace, "changed")]);
        measures.extend([flushes(phases.replace), written(phases.replace)]);
        measures
    };
    let both = |first, second| pair([(first, "contacts"), (second, "events")]);
    vec![
        table(
            "A contact is saved (PUT)",
            "Processor time is that of all processes of the server, user and system, the mean of the \
             requests; time is their median. A new contact has If-None-Match, a changed one If-Match. \
             Flushes and written bytes are those of a changed one, counted by strace in a pass of its own.",
            save(CONTACTS),
        ),
        table("An event is saved (PUT)", "As for contacts.", save(EVENTS)),
        table(
            "Names and ETags of all (PROPFIND, depth 1)",
            "",
            both(CONTACTS.list, EVENTS.list),
        ),
        table(
            "First sync (sync-collection without a token)",
            "",
            both(CONTACTS.sync, EVENTS.sync),
        ),
        table(
            "Sync after one change (sync-collection with the last token)",
            "The change itself is not in the figures.",
            both(CONTACTS.sync_change, EVENTS.sync_change),
        ),
        table(
            "50 texts by name (multiget)",
            "",
            both(CONTACTS.multiget, EVENTS.multiget),
        ),
        table(
            "The events of a week with their texts (calendar-query)",
            "Expanded: each occurrence is an event of its own.",
            pair([(WEEK, "whole"), (EXPANDED, "expanded")]),
        ),
        table(
            "Contacts by a part of the name (addressbook-query)",
            "Names and ETags of the contacts whose FN contains three letters.",
            vec![
                processor("processor", NAMES),
                Measure::wall_time("time", NAMES),
            ],
        ),
        table(
            "Memory after all requests",
            "Of all processes of the server, added up. etui's RSS and PSS contain the pages of the store that it \
             has mapped.",
            vec![
                Measure::new("RSS", "end/rss_bytes"),
                Measure::new("peak of RSS", "end/peak_rss_bytes"),
                Measure::new("PSS", "end/pss_bytes"),
                Measure::new("private, dirty", "end/private_dirty_bytes"),
            ],
        ),
        TableSpec::new("Answers that differ", groups.to_vec())
            .caption(
                "Number of names, texts and occurrences that are missing or too many in the answer of a \
                 peer. Its time does not count then, and has no row above.",
            )
            .measures(
                ALL.iter()
                    .map(|(phase, title, _)| {
                        Measure::new(*title, format!("{phase}/differences")).informative()
                    })
                    .collect(),
            )
            .size_unit("contacts"),
        TableSpec::new("Requests that were measured", groups.to_vec())
            .caption("A slow server is asked fewer times: the time for each operation is bounded.")
            .measures(
                ALL.iter()
                    .map(|(phase, title, _)| {
                        Measure::new(*title, format!("{phase}/rounds")).informative()
                    })
                    .collect(),
            )
            .size_unit("contacts"),
    ]
}

/// Bounds of etui.
fn thresholds(group: Option<&GroupKey>) -> Vec<Threshold> {
    let target = |claim: String, measure| Threshold::target(claim).of(group, ETUI, measure);
    let mut all = Vec::new();
    for (phase, title, bound) in ALL {
        if let Some(bound) = bound {
            let claim = format!("processor time, {title}");
            all.push(target(claim, processor("processor", phase)).at_most(bound));
        }
    }
    for phase in [CONTACTS.put, CONTACTS.replace, EVENTS.put, EVENTS.replace] {
        let title = ALL.iter().find(|(of, ..)| *of == phase);
        let title = title.map_or(phase, |(_, title, _)| title);
        all.push(target(format!("flushes, {title}"), flushes(phase)).at_most(1.0));
    }
    let memory = Measure::new("peak of RSS", "end/peak_rss_bytes");
    all.push(target("peak of resident memory".to_owned(), memory).at_most(MAX_MEMORY));
    all
}

pub(super) fn report_spec(results: &Results) -> ReportSpec {
    let groups = results.select_groups(&[WORK], &[HERE]);
    let tables = tables(&groups);
    bounded_report(ETUI, tables, Vec::new(), thresholds(groups.last()))
}
