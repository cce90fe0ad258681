//! What the results mean: tables, curves, verdict, and why a row is lost.

use super::super::shelf::show::{View, saves, time, wanted};
use super::super::shelf::through;
use super::{CALENDAR_WORK, DENSE_WORK, ENDLESS_WORK, MEMORY_WORK};
use crate::present::{Presentation, Shown, Table, Unit, Verdict};
use crate::report::numbers::{one, whole};
use crate::results::{GroupKey, Results};

/// The arms' names.
pub const SHIPPED: &str = "EDS, as shipped";
pub const DURABLE: &str = "EDS, made durable";
pub const PLAIN: &str = "plain SQLite, a schema by hand";
pub const PLAIN_REDO: &str = "plain SQLite, through etui-vfs";
pub const ETUI: &str = "etui";
pub const DEFERRED: &str = "etui, deferred";
pub const ETUI_REDO: &str = "etui, on etui-vfs";

/// At least so many times as fast as the server is every work meant to be, from so many events
/// on.
const AIM: f64 = 5.0;
const AIM_FROM: u64 = 10_000;
/// What a week in dense data is meant to take at most, and one among events without end.
const AIM_WEEK_NS: f64 = 150e3;
const AIM_ENDLESS_NS: f64 = 1.5e6;

/// The works that the server does, too, each with its name for people.
const WORKS: [(&str, &str); 14] = [
    ("open", "opening"),
    ("fill", "saving in batches"),
    ("save_one", "saving one"),
    ("all", "fetching all"),
    ("names", "fetching all with their titles"),
    ("get", "one by UID"),
    ("get_many", "50 by UID"),
    ("week", "what happens in a week"),
    ("week_events", "the events of a week"),
    ("year", "what happens in a year"),
    ("year_events", "the events of a year"),
    ("title_word", "a word in titles"),
    ("title_part", "a part of words in titles"),
    ("close", "closing"),
];

/// The curves: work, title, and whether it is shown for one event.
const CURVES: [(&str, &str, bool); 6] = [
    ("save_one", "Saving one event", false),
    ("fill", "Saving in batches, for each event", true),
    ("all", "Fetching every event", false),
    ("get", "Fetching one event by UID", false),
    ("week", "What happens in a week", false),
    ("year", "What happens in a year", false),
];

/// What the results mean.
pub fn present(results: &Results) -> Presentation {
    let mut view = View::new(results, ETUI, why);
    let mut shown = Presentation::default();
    let groups = results.groups();
    let of = |work: &'static str| groups.iter().filter(move |group| group.work == work);
    let largest = of(CALENDAR_WORK).max_by_key(|group| group.size);
    if let Some(group) = largest {
        shown.tables.extend(tables(&mut view, group));
        shown.tables.push(durability(&view, group));
        let counted = through::counted(results, group, PLAIN_REDO, "events");
        shown
            .tables
            .extend((!counted.rows.is_empty()).then_some(counted));
    }
    if let Some(group) = of(MEMORY_WORK).max_by_key(|group| group.size) {
        shown.tables.push(view.memory(group, "an event", "events"));
    }
    for work in [DENSE_WORK, ENDLESS_WORK] {
        let mut years: Vec<&GroupKey> = of(work).collect();
        years.sort_by_key(|group| group.size);
        for group in &years {
            shown.tables.push(dense(&mut view, group));
        }
        let title = match work {
            DENSE_WORK => "A week in the middle of dense years",
            _ => "The same, beside events without end",
        };
        let chart = view.chart(&years, "middle", title, "years of data", false);
        shown
            .charts
            .extend((!chart.series.is_empty()).then_some(chart));
    }
    let curve: Vec<&GroupKey> = of(CALENDAR_WORK).collect();
    let charts = CURVES.iter().map(|(work, title, each)| {
        view.chart(&curve, work, title, "events in the calendar", *each)
    });
    let charts: Vec<_> = charts.filter(|chart| !chart.series.is_empty()).collect();
    shown.charts.extend(charts);
    shown.verdict = verdict(&mut view, &groups);
    shown
}

fn tables(view: &mut View<'_>, group: &GroupKey) -> Vec<Table> {
    let events = whole(group.size);
    let hits = |name: &str| {
        view.results
            .median(group, ETUI, &format!("{name}/hits"))
            .map_or("?".to_owned(), |hits| whole(hits as u64))
    };
    let ranges = format!(
        "What happens: each time of each event, those that recur expanded, seen from UTC ({} in \
         the week, {} in the year). The events: each whole, once ({}, {}).",
        hits("week"),
        hits("year"),
        hits("week_events"),
        hits("year_events"),
    );
    let searches = format!(
        "Which events have a text in their titles; the server hands out whole events. Hits: {}, {}.",
        hits("title_word"),
        hits("title_part"),
    );
    let mut tables = vec![
        view.table(
            group,
            format!("Saving into {events} events"),
            "Flushes are those before the save returns. Counted in a pass of their own by a \
             tracer, where one could watch the process. The server writes its whole file for a \
             save, as shipped after the reply.",
            &saves(group.size),
        ),
        view.table(
            group,
            format!("Fetching from {events} events"),
            "50 by UID: a batch call, for the server a query that names all 50.",
            &[
                time("every event", "all"),
                time("and its title", "names"),
                time("one by UID", "get"),
                time("50 by UID", "get_many"),
                time("open", "open"),
                time("close", "close"),
            ],
        ),
        view.table(
            group,
            format!("A week and a year among {events} events"),
            &ranges,
            &[
                time("a week", "week"),
                time("its events", "week_events"),
                time("a year", "year"),
                time("its events", "year_events"),
            ],
        ),
        view.table(
            group,
            format!("Titles among {events} events"),
            &searches,
            &[
                time("a word", "title_word"),
                time("a part of words", "title_part"),
            ],
        ),
        view.table(
            group,
            format!("What a calendar's program asks for, among {events} events"),
            "Asked of etui alone: the next ten alarms, when one is busy in a week, and what \
             happens in a day.",
            &[
                time("next 10 alarms", "alarms"),
                time("busy in a week", "busy"),
                time("a day", "day"),
            ],
        ),
    ];
    tables.retain(|table| !table.rows.is_empty());
    tables
}

fn durability(view: &View<'_>, group: &GroupKey) -> Table {
    let title = format!(
        "The same durability: saving into {} events, EDS as so many times etui",
        whole(group.size)
    );
    let pairs = [
        [
            "not durable at return: EDS as shipped / etui deferred",
            SHIPPED,
            DEFERRED,
        ],
        ["durable at return: EDS made durable / etui", DURABLE, ETUI],
        [
            "headline: EDS as shipped (not durable) / etui (durable)",
            SHIPPED,
            ETUI,
        ],
    ];
    view.durability(group, title, pairs)
}

fn dense(view: &mut View<'_>, group: &GroupKey) -> Table {
    let setting = |name: &str| {
        let value = view.results.setting(group, ETUI, name);
        value.and_then(|value| value.as_u64()).unwrap_or(0)
    };
    let endless = match setting("endless") {
        0 => String::new(),
        some => format!(" and {} events without end", whole(some)),
    };
    let title = format!(
        "One week in {} years of {} events a day{endless}",
        group.size,
        setting("daily"),
    );
    let caption = format!(
        "In the middle of the data, where the first time is that of a process that was just \
         started; and {} weeks spread over the hundred years before and after one day, all of them \
         asked for five times, one after another. Of each week the median of its five times, the \
         first among them: the median and the slowest of the weeks; beside them the slowest of \
         the first times alone.",
        setting("weeks"),
    );
    view.table(
        group,
        title,
        &caption,
        &[
            time("in the middle", "middle"),
            time("the first time", "first"),
            wanted("happen there", "middle/hits"),
            time("anywhere", "anywhere"),
            time("slowest", "worst"),
            time("slowest at first", "worst_first"),
            wanted("happen at most", "anywhere/hits"),
        ],
    )
}

/// The rule: from 10,000 events on every work is at least five times as fast as the server's; a
/// week in dense years takes at most 150 us, and one anywhere among events without end 1.5 ms.
fn verdict(view: &mut View<'_>, groups: &[GroupKey]) -> Verdict {
    let results = view.results;
    let mut verdict = Verdict::default();
    let largest = groups
        .iter()
        .filter(|group| group.work == CALENDAR_WORK)
        .max_by_key(|group| group.size);
    let mut kept = Vec::new();
    let mut slow = Vec::new();
    let mut least: Option<(f64, &str)> = None;
    for (work, title) in WORKS {
        let Some(group) = largest else { continue };
        let measure = format!("{work}/wall_ns");
        // A save is compared with a save as safe as it: the server made durable.
        let arm = match work {
            "fill" | "save_one" => DURABLE,
            _ => SHIPPED,
        };
        let Some(ratio) = results.ratio(group, arm, ETUI, &measure) else {
            continue;
        };
        let ratio = ratio.median;
        if ratio < AIM {
            slow.push(format!("{title} {ratio:.1}"));
        }
        if least.is_none_or(|(so_far, _)| ratio < so_far) {
            least = Some((ratio, title));
        }
    }
    match (largest, least) {
        (Some(group), Some((ratio, title))) => {
            let figure = |arm: &str, work: &str| {
                let ns = results.median(group, arm, &format!("{work}/wall_ns"));
                ns.map_or("?".to_owned(), words)
            };
            verdict.sentence = format!(
                "At {} events what happens in a week takes {} in the server and {} in etui, a \
                 save that is durable {} and {}; of all works the server comes nearest at {title}: \
                 {ratio:.1} times etui's time.",
                whole(group.size),
                figure(SHIPPED, "week"),
                figure(ETUI, "week"),
                figure(DURABLE, "save_one"),
                figure(ETUI, "save_one"),
            );
            if group.size >= AIM_FROM {
                kept.push(slow.is_empty());
            }
            if !slow.is_empty() {
                verdict.notes.push(format!(
                    "Less than {AIM:.0} times as fast as the server: {}.",
                    slow.join(", ")
                ));
            }
        }
        _ => {
            "Too little was run to compare: the arms of Evolution Data Server are missing."
                .clone_into(&mut verdict.sentence);
        }
    }
    for group in groups {
        let (measure, aim, what) = match group.work.as_str() {
            DENSE_WORK => ("middle/wall_ns", AIM_WEEK_NS, "A week in the middle"),
            ENDLESS_WORK => ("worst/wall_ns", AIM_ENDLESS_NS, "The slowest week"),
            _ => continue,
        };
        if let Some(ns) = results.median(group, ETUI, measure) {
            kept.push(ns <= aim);
            verdict.notes.push(format!(
                "{what} of {} in {} years takes {} (at most {} is meant).",
                group.work,
                group.size,
                words(ns),
                words(aim)
            ));
        }
    }
    verdict.shown = match (kept.iter().any(|kept| *kept), kept.iter().all(|kept| *kept)) {
        _ if kept.is_empty() || least.is_none() => Shown::Open,
        (_, true) => Shown::Yes,
        (true, _) => Shown::Partly,
        _ => Shown::No,
    };
    verdict.notes.extend(view.losses());
    verdict
}

fn words(ns: f64) -> String {
    one(ns, Unit::Nanoseconds)
}

/// Why an arm does better than etui, as far as it is known.
fn why(measure: &str, arm: &str) -> &'static str {
    let work = measure.split('/').next().unwrap_or(measure);
    let saving = matches!(work, "save_one" | "save_one_mean" | "fill");
    if matches!(arm, PLAIN | PLAIN_REDO) {
        return match work {
            _ if saving => {
                "it inserts rows that were made before, with three indexes; etui makes what it \
                 keeps of the events: keys, their place in the list, times, alarms, words"
            }
            "open" | "close" => {
                "etui has a schema of some twenty things, which SQLite parses each time, and looks at the file's marks"
            }
            "rss" | "pss" | "vms" | "private_dirty" => {
                "not known: the events that are kept are the same"
            }
            "first" => {
                "not profiled: a process's first range opens a connection of its own and reads \
                 what recurs, which is kept"
            }
            "week_events" | "year_events" => {
                "one statement hands out the texts with the times; etui looks up each record by \
                 its number"
            }
            _ => "one statement made by hand for this question, over one table",
        };
    }
    match work {
        _ if saving && arm == SHIPPED => {
            "it is not durable when the save returns: its file is written after the reply"
        }
        _ if saving => "it writes its whole file at once: few writes, of many bytes",
        "close" => "the client only leaves; what the server does then is not waited for",
        "vms" => {
            "address space is reserved in large pieces before it is used, so that it hardly grows \
             with the events"
        }
        "rss" | "pss" | "private_dirty" => {
            "it keeps what an event holds once, etui the text and where its parts are"
        }
        _ => "it answers from memory, where it keeps the whole calendar parsed",
    }
}
