//! The declared report of `calendar`.

use super::super::report::bounded_report;
use super::{CALENDAR_WORK, DENSE_WORK, ENDLESS_WORK};
use etui_lab::experiments::backends::report::{
    growth_chart, list_hits, memory_table, save_measures, vfs_table, wall_times,
};
use etui_lab::experiments::backends::{MEMORY_WORK, PINNED_WORK};
use etui_lab::report::numbers::format_whole;
use etui_lab::stacks::HERE;
use etui_lab::{GroupKey, Results};
use etui_lab::{Measure, Per, ReportSpec, TableSpec, Threshold};

/// The arms' names.
pub const SHIPPED: &str = "EDS, as shipped";
pub const DURABLE: &str = "EDS, made durable";
pub const PLAIN: &str = "plain SQLite, a schema by hand";
pub const PLAIN_REDO: &str = "plain SQLite, through etui-vfs";
pub const ETUI: &str = "etui";
pub const DEFERRED: &str = "etui, deferred";
pub const SYSTEM_VFS: &str = "etui, SQLite's WAL";
pub const AS_EDS: &str = "etui as EDS";
pub const OWN: &str = "etui over D-Bus, own interface";
pub const ETUI_REDO: &str = "etui, on etui-vfs";

/// Lower bound of the server's time as a ratio to etui's.
const MIN_SPEEDUP: f64 = 5.0;
/// Upper bound of a week in dense data, nanoseconds.
const MAX_WEEK_NS: f64 = 150e3;
/// Upper bound of a week among unbounded series, nanoseconds.
const MAX_UNBOUNDED_WEEK_NS: f64 = 1.5e6;

/// Phases that the server has too: phase, title. A save is compared with the durable server.
const PHASES: [(&str, &str, &str); 14] = [
    ("week", "occurrences of a week", SHIPPED),
    ("save_one", "saving one event durably", DURABLE),
    ("open", "opening", SHIPPED),
    ("fill", "saving in batches", DURABLE),
    ("all", "fetching every event", SHIPPED),
    ("names", "fetching every event with its title", SHIPPED),
    ("get", "one event by UID", SHIPPED),
    ("get_many", "50 events by UID", SHIPPED),
    ("week_events", "events of a week", SHIPPED),
    ("year", "occurrences of a year", SHIPPED),
    ("year_events", "events of a year", SHIPPED),
    ("title_word", "a word in titles", SHIPPED),
    ("title_part", "a substring of titles", SHIPPED),
    ("close", "closing", SHIPPED),
];

/// Growth curves: phase, title, divisor.
const CURVES: [(&str, &str, Per); 6] = [
    ("save_one", "Saving one event", Per::Run),
    ("fill", "Saving in batches, for each event", Per::Size),
    ("all", "Fetching every event", Per::Run),
    ("get", "Fetching one event by UID", Per::Run),
    ("week", "Occurrences of a week", Per::Run),
    ("year", "Occurrences of a year", Per::Run),
];

/// Clients on one core, against the server as shipped.
fn client_table(groups: Vec<GroupKey>) -> TableSpec {
    TableSpec::new("Clients on one core", groups)
        .caption(
            "Client, bus and service on one core. Ratios are to the server. In etui's own interface \
             lists of events come by descriptor, and the occurrences of a year in four calls.",
        )
        .measures(vec![
            Measure::wall_time("save one", "save_one"),
            Measure::wall_time("in batches, each", "fill").per(Per::Size),
            Measure::wall_time("every event", "all"),
            Measure::wall_time("one by UID", "get"),
            Measure::wall_time("50 by UID", "get_many"),
            Measure::wall_time("occurrences of a week", "week"),
            Measure::wall_time("events of a week", "week_events"),
            Measure::wall_time("occurrences of a year", "year"),
            Measure::wall_time("events of a year", "year_events"),
            Measure::wall_time("a word in titles", "title_word"),
            Measure::wall_time("open", "open"),
        ])
        .base(SHIPPED)
}

pub(super) fn report_spec(results: &Results) -> ReportSpec {
    let groups = |work: &str| results.select_groups(&[work], &[HERE]);
    let calendars = groups(CALENDAR_WORK);
    let largest = calendars.last();
    let of_largest: Vec<_> = largest.cloned().into_iter().collect();
    let events = format_whole(largest.map_or(0, |group| group.size));
    let hits = |queries: &[(&str, &str)]| {
        let hits = largest.map(|group| list_hits(results, group, ETUI, queries));
        hits.unwrap_or_default()
    };
    let table = |title: &str, caption: String, measures: Vec<Measure>| {
        TableSpec::new(format!("{title} {events} events"), of_largest.clone())
            .caption(caption)
            .measures(measures)
            .base(ETUI)
    };
    let ranges = [("week", "week"), ("year", "year")];
    let range_events = [("week", "week_events"), ("year", "year_events")];
    let titles = [("a word", "title_word"), ("a substring", "title_part")];
    let mut tables = vec![
        table(
            "Saving into",
            "Flushes are those before the save returns, counted by a tracer in a pass of their \
             own. The server writes its whole file for a save; as shipped, after the reply."
                .to_owned(),
            save_measures(),
        ),
        table(
            "Fetching from",
            "50 by UID: one call; for the server a query that names all 50.".to_owned(),
            wall_times(&[
                ("every event", "all"),
                ("every event with its title", "names"),
                ("one by UID", "get"),
                ("50 by UID", "get_many"),
                ("open", "open"),
                ("close", "close"),
            ]),
        ),
        table(
            "A week and a year among",
            format!(
                "Occurrences: each time of each event, series expanded, in UTC ({}). Events: \
                 each whole, once ({}).",
                hits(&ranges),
                hits(&range_events)
            ),
            wall_times(&[
                ("occurrences of a week", "week"),
                ("events of a week", "week_events"),
                ("occurrences of a year", "year"),
                ("events of a year", "year_events"),
            ]),
        ),
        table(
            "Titles among",
            format!("The server returns whole events. Hits: {}.", hits(&titles)),
            wall_times(&titles),
        ),
        table(
            "A calendar program's requests, among",
            "etui alone: the next ten alarms, free-busy of a week, occurrences of a day."
                .to_owned(),
            wall_times(&[
                ("next 10 alarms", "alarms"),
                ("busy in a week", "busy"),
                ("a day", "day"),
            ]),
        ),
        client_table(groups(PINNED_WORK)),
        vfs_table(of_largest.clone()),
        memory_table(groups(MEMORY_WORK), ETUI, "events"),
    ];
    let mut charts = Vec::new();
    for (work, title) in [
        (DENSE_WORK, "A week in dense years"),
        (ENDLESS_WORK, "A week in dense years, with unbounded series"),
    ] {
        tables.push(
            TableSpec::new(title.to_owned(), groups(work))
                .caption(
                    "In the middle of the data; the first time is that of a process that has \
                     just started. Anywhere: weeks spread over a hundred years before and after \
                     one day, each asked for five times; median and slowest of the weeks' \
                     medians, and the slowest first time.",
                )
                .measures(vec![
                    Measure::wall_time("in the middle", "middle"),
                    Measure::wall_time("the first time", "first"),
                    Measure::new("occurrences there", "middle/hits").informative(),
                    Measure::wall_time("anywhere", "anywhere"),
                    Measure::wall_time("slowest", "worst"),
                    Measure::wall_time("slowest at first", "worst_first"),
                    Measure::new("occurrences at most", "anywhere/hits").informative(),
                ])
                .base(ETUI)
                .size_unit("years"),
        );
        charts.push(growth_chart(
            groups(work),
            "middle",
            title,
            "years of data",
            Per::Run,
        ));
    }
    charts.extend(CURVES.into_iter().map(|(phase, title, per)| {
        growth_chart(
            calendars.clone(),
            phase,
            title,
            "events in the calendar",
            per,
        )
    }));
    let time = |phase: &str| Measure::wall_time("time", phase);
    let server = PHASES.iter().map(|(phase, title, arm)| {
        Threshold::finding(format!("{title} in the server, against etui"))
            .of(largest, *arm, time(phase))
            .against_arm(ETUI)
            .at_least(MIN_SPEEDUP)
    });
    let weeks = [
        (DENSE_WORK, "middle", "a week in dense years", MAX_WEEK_NS),
        (
            ENDLESS_WORK,
            "worst",
            "the slowest week with unbounded series",
            MAX_UNBOUNDED_WEEK_NS,
        ),
    ];
    let weeks = weeks.into_iter().map(|(work, phase, claim, bound)| {
        Threshold::target(claim)
            .of(groups(work).last(), ETUI, time(phase))
            .at_most(bound)
    });
    let pinned = groups(PINNED_WORK);
    let served = PHASES.iter().map(|(phase, _, _)| {
        Threshold::target(format!(
            "`{phase}` by the server's client library, from etui"
        ))
        .of(pinned.last(), AS_EDS, time(phase))
        .against_arm(SHIPPED)
        .at_most(1.0)
    });
    let deferred =
        Threshold::target("a save in the server as shipped, not durable, against etui deferred")
            .of(largest, SHIPPED, time("save_one"))
            .against_arm(DEFERRED)
            .at_least(1.0);
    let bounds = server.chain(weeks).chain([deferred]).chain(served);
    bounded_report(ETUI, tables, charts, bounds.collect())
}
