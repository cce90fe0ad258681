//! The declared report of `dav`.

use super::workload::ResourceKind;
use super::{COUNTED_SAVES, Phases, WORK};
use crate::report::numbers::format_whole;
use crate::spec::{
    AdviceSpec, ChartSpec, Conclusion, Measure, Per, ReportSpec, TableSpec, Threshold,
};
use crate::stacks::HERE;
use crate::{GroupKey, Results};

/// The arms' names.
pub(super) const ETUI: &str = "etui serve";
pub(super) const RADICALE: &str = "Radicale";
pub(super) const XANDIKOS: &str = "Xandikos";
pub(super) const CYRUS: &str = "Cyrus";
const PEERS: [&str; 3] = [RADICALE, XANDIKOS, CYRUS];

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

/// Bounds of etui, and of its ratio to each peer that answers.
fn thresholds(results: &Results, group: Option<&GroupKey>) -> Vec<Threshold> {
    let target = |claim: String, measure| Threshold::target(claim).of(group, ETUI, measure);
    let mut all = Vec::new();
    for (phase, title, bound) in ALL {
        let measure = || processor("processor", phase);
        if let Some(bound) = bound {
            all.push(target(format!("processor time, {title}"), measure()).at_most(bound));
        }
        for peer in PEERS {
            let answers = group.is_some_and(|group| {
                let key = format!("{phase}/server_ns");
                results.median(group, peer, &key).is_some()
            });
            if answers {
                let claim = format!("processor time, {title}");
                all.push(target(claim, measure()).against_arm(peer).at_most(1.0));
            }
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

/// Advice on the server to run: etui, or the fastest of the others.
fn advise(results: &Results, group: Option<&GroupKey>) -> Option<AdviceSpec> {
    let sync = processor("processor", CONTACTS.sync_change);
    let peer = sync.best_arm(results, group, &PEERS)?;
    let contacts = format_whole(group?.size);
    Some(
        AdviceSpec::new(format!(
            "serve contacts and calendars with etui instead of {peer}"
        ))
        .or_else(format!(
            "keep {peer} as the server of contacts and calendars"
        ))
        .how("etui serve; devices find it as any CardDAV and CalDAV server")
        .measured(format!(
            "Processor time of a device's most frequent request, a sync after one change, among \
                 {contacts} contacts; {peer} is the fastest of the other servers"
        ))
        .about_etui()
        .gain("a sync")
        .compare(group, &sync, peer, ETUI),
    )
}

pub(super) fn report_spec(results: &Results) -> ReportSpec {
    let groups = results.select_groups(&[WORK], &[HERE]);
    let largest: Vec<GroupKey> = groups.last().cloned().into_iter().collect();
    let charts = [CONTACTS.replace, CONTACTS.sync_change, WEEK].into_iter();
    let charts = charts.map(|phase| {
        let title = ALL.iter().find(|(of, ..)| *of == phase);
        let title = title.map_or(phase, |(_, title, _)| title);
        let title = format!("Processor time: {title}");
        let measures = vec![processor("processor", phase)];
        ChartSpec::bars(title, largest.clone(), measures, "processor time")
    });
    ReportSpec {
        tables: tables(&groups),
        charts: charts.collect(),
        advice: advise(results, groups.last()).into_iter().collect(),
        thresholds: thresholds(results, groups.last()),
        conclusion: Conclusion {
            yes: "Every request costs etui less processor time than the other servers, and none takes \
                  longer than its bound.",
            partly: "Most requests cost etui less processor time than the other servers, but not all \
                     do, or some take longer than their bound.",
            no: "No request costs etui less processor time than the other servers or stays within its \
                 bound.",
        },
        etui: Some(ETUI),
        ..ReportSpec::default()
    }
}
