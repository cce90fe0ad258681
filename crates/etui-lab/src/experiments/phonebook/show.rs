//! What the results mean: tables, curves, verdict, and why a row is lost.

use super::super::shelf::show::{View, Wanted, saves, time};
use super::super::shelf::through;
use super::{BOOK_WORK, INDEX_REDO_WORK, INDEX_WORK, MEMORY_WORK, queries};
use crate::present::{Cell, Column, Presentation, Row, Shown, Table, Unit, Verdict};
use crate::report::numbers::{one, whole};
use crate::results::{GroupKey, Results};

/// The arms' names.
pub const DBUS: &str = "EDS over D-Bus, as shipped";
pub const TUNED: &str = "EDS over D-Bus, all indexes";
pub const DIRECT: &str = "EDS direct, as shipped";
pub const DIRECT_TUNED: &str = "EDS direct, all indexes";
pub const DURABLE: &str = "EDS over D-Bus, made durable";
pub const PLAIN: &str = "plain SQLite, a schema by hand";
pub const PLAIN_REDO: &str = "plain SQLite, through etui-vfs";
pub const ETUI: &str = "etui";
pub const DEFERRED: &str = "etui, deferred";

/// One frame of a list that moves at 60 frames a second.
const FRAME_NS: f64 = 1e9 / 60.0;

/// What the results mean.
pub fn present(results: &Results) -> Presentation {
    let mut view = View::new(results, ETUI, why);
    let mut shown = Presentation::default();
    let groups = results.groups();
    let of = |work: &'static str| groups.iter().filter(move |group| group.work == work);
    let largest = of(BOOK_WORK).max_by_key(|group| group.size);
    if let Some(group) = largest {
        shown.tables.extend(tables(&mut view, group));
        shown.tables.push(durability(&view, group));
        let counted = through::counted(results, group, PLAIN_REDO, "contacts");
        shown
            .tables
            .extend((!counted.rows.is_empty()).then_some(counted));
    }
    if let Some(group) = of(MEMORY_WORK).max_by_key(|group| group.size) {
        shown
            .tables
            .push(view.memory(group, "a contact", "contacts"));
    }
    for work in [INDEX_WORK, INDEX_REDO_WORK] {
        if let Some(group) = of(work).max_by_key(|group| group.size) {
            shown.tables.push(indexes(results, group));
        }
    }
    let curve: Vec<&GroupKey> = of(BOOK_WORK).collect();
    shown.charts = CURVES
        .iter()
        .map(|(work, title, per_contact)| {
            view.chart(&curve, work, title, "contacts in the book", *per_contact)
        })
        .collect();
    if let Some(group) = largest {
        shown.verdict = verdict(&mut view, group);
    }
    shown
}

/// The curves: work, title, and whether it is shown for one contact.
const CURVES: [(&str, &str, bool); 8] = [
    ("save_one", "Saving one contact", false),
    ("fill", "Saving in batches, for each contact", true),
    ("all", "Fetching every contact", false),
    ("get", "Fetching one contact by UID", false),
    ("get_many", "Fetching 50 contacts by UID at once", false),
    ("name_prefix", "Name begins", false),
    ("email_suffix", "E-mail ends", false),
    ("phone_equal", "Same phone number", false),
];

fn tables(view: &mut View<'_>, group: &GroupKey) -> Vec<Table> {
    let size = group.size;
    let contacts = whole(size);
    let fetches = [
        time("every vCard", "all"),
        time("and its name", "names"),
        time("names alone", "partial"),
        time("one by UID", "get"),
        time("50 by UID", "get_many"),
        time("first 50 by name", "screen"),
        time("open", "open"),
        time("close", "close"),
    ];
    let mut tables = vec![
            view.table(
                group,
                format!("Saving into {contacts} contacts"),
                "Flushes are those before the save returns. Counted in a pass of their own by a \
                 tracer, where one could watch the process.",
                &saves(size),
            ),
            view.table(
                group,
                format!("Fetching from {contacts} contacts"),
                "Names alone: UID and name of each; the server by a view that asks for them. 50 by UID: a batch call, for the server a query that \
                 names all 50. One frame at 60 frames a second is 16.7 ms.",
                &fetches,
            ),
        ];
    let own = view.table(
        group,
        format!("What a list asks for, among {contacts} contacts"),
        "Asked of etui alone. In list order: name, organisation, phone and e-mail of all, of \
             50 from any position on, where a contact stands, where each letter begins. As found: \
             the first 50 with a name that begins so, with an e-mail address of a domain.",
        &[
            time("whole list", "list_whole"),
            time("50 at a position", "list_at"),
            time("position of one", "list_position"),
            time("letters", "list_letters"),
            time("50 of a name", "page_name_prefix"),
            time("50 of a domain", "page_email_suffix"),
        ],
    );
    if !own.rows.is_empty() {
        tables.push(own);
    }
    for (what, prefix) in [("Name", "name"), ("E-mail", "email"), ("Phone", "phone")] {
        let queries: Vec<_> = queries::all()
            .into_iter()
            .filter(|query| query.name.starts_with(prefix) && size <= query.largest)
            .collect();
        let mut columns: Vec<Wanted> = queries
            .iter()
            .map(|query| time(query.title, query.name))
            .collect();
        let hits = |name: &str| {
            view.results
                .median(group, ETUI, &format!("{name}/hits"))
                .map_or("?".to_owned(), |hits| format!("{hits:.0}"))
        };
        let hits: Vec<String> = queries
            .iter()
            .map(|query| format!("{}: {}", query.title, hits(query.name)))
            .collect();
        let caption = format!(
            "The contacts that are meant, with their vCards. Hits: {}.",
            hits.join(", ")
        );
        let title = format!("{what} queries among {contacts} contacts");
        tables.push(view.table(group, title, &caption, &columns));
        for column in &mut columns {
            column.measure = column.measure.replace('/', "_which/");
        }
        let title = format!("{what} queries among {contacts} contacts: which ones");
        let caption = "The UIDs of the contacts that are meant, without their vCards.";
        tables.push(view.table(group, title, caption, &columns));
    }
    tables
}

/// The three comparisons of durability: the server against etui.
fn durability(view: &View<'_>, group: &GroupKey) -> Table {
    let title = format!(
        "The same durability: saving into {} contacts, EDS over D-Bus as so many times etui",
        whole(group.size)
    );
    let pairs = [
        [
            "not durable at return: EDS as shipped / etui deferred",
            DBUS,
            DEFERRED,
        ],
        ["durable at return: EDS made durable / etui", DURABLE, ETUI],
        [
            "headline: EDS as shipped (not durable) / etui (durable)",
            DBUS,
            ETUI,
        ],
    ];
    view.durability(group, title, pairs)
}

fn indexes(results: &Results, group: &GroupKey) -> Table {
    let saves = results
        .arms(group)
        .first()
        .and_then(|(arm, _)| results.setting(group, arm, "saves")?.as_f64())
        .unwrap_or(1.0)
        .max(1.0);
    let size = group.size.max(1) as f64;
    // Checkpoints come in some saves only, and are not the index's.
    let (of_one, bytes) = match group.work == INDEX_REDO_WORK {
        true => ("log bytes of one", "saves/vfs_log_write_bytes"),
        false => ("bytes of one", "saves/called_write_bytes"),
    };
    let measures = [
        ("fill/wall_ns", size),
        ("save_one/wall_ns", 1.0),
        ("fill/called_write_bytes", size),
        (bytes, saves),
        ("fill/pages", 1.0),
    ];
    let mut before: [Option<f64>; 5] = [None; 5];
    let mut rows = Vec::new();
    for (arm, role) in results.arms(group) {
        let mut cells = Vec::new();
        for ((measure, per), before) in measures.iter().zip(&mut before) {
            let value = results
                .median(group, &arm, measure)
                .map(|value| value / per);
            cells.push(Cell::of(value));
            let added = value.zip(*before).map(|(value, before)| value - before);
            cells.push(Cell::of(added));
            *before = value;
        }
        rows.push(Row {
            label: arm,
            role,
            cells,
        });
    }
    let columns = [
        Column::time("in a batch, each"),
        Column::time("added"),
        Column::time("one"),
        Column::time("added"),
        Column::bytes("batch bytes, each"),
        Column::bytes("added"),
        Column::bytes(of_one),
        Column::bytes("added"),
        Column::count("pages"),
        Column::count("added"),
    ];
    Table {
            title: format!(
                "What each index costs a save, at {} contacts{}",
                whole(group.size),
                if group.work == INDEX_REDO_WORK {
                    ", through etui-vfs"
                } else {
                    ""
                }
            ),
            caption: "Plain SQLite with a schema made by hand, an index more in each row; added: by that \
                      one; below 0 is noise. Substrings (gram) are written in batches, never within a single save."
                .to_owned(),
            columns: columns.to_vec(),
            rows,
        }
}

fn verdict(view: &mut View<'_>, group: &GroupKey) -> Verdict {
    let median =
        |arm: &str, work: &str| view.results.median(group, arm, &format!("{work}/wall_ns"));
    let ratio = |arm: &str, against: &str, work: &str| {
        view.results
            .ratio(group, arm, against, &format!("{work}/wall_ns"))
            .map(|ratio| ratio.median)
    };
    let mut verdict = Verdict::default();
    let figures = (
        median(DBUS, "get"),
        median(DIRECT, "get"),
        median(ETUI, "get"),
        median(ETUI, "save_one"),
        median(DBUS, "save_one"),
        ratio(DURABLE, ETUI, "save_one"),
    );
    let (Some(dbus), Some(direct), Some(etui), Some(save), Some(shipped), Some(durable)) = figures
    else {
        "Too little was run to compare: the arms of Evolution Data Server are missing."
            .clone_into(&mut verdict.sentence);
        return verdict;
    };
    verdict.sentence = format!(
        "At {} contacts one by UID takes {} over D-Bus, {} direct and {} in etui; a save \
             takes {} over D-Bus as shipped (not durable), {} in etui (durable), and {durable:.1} \
             times etui's time when the server is made durable.",
        whole(group.size),
        words(dbus),
        words(direct),
        words(etui),
        words(shipped),
        words(save),
    );
    // The study's own findings, one by one.
    let findings = [
        (
            "direct access fetches by UID in less than half of D-Bus's time",
            Some(direct / dbus < 0.5),
        ),
        (
            "direct access answers queries in under 60 % of D-Bus's time",
            ratio(DIRECT, DBUS, "email_suffix").map(|ratio| ratio < 0.6),
        ),
        (
            "as shipped no index serves a phone number: an index makes it at least twice as \
                 fast",
            ratio(DBUS, TUNED, "phone_equal").map(|ratio| ratio > 2.0),
        ),
        (
            "50 by UID need a query; through it they miss the 16.7 ms of a frame",
            median(DBUS, "get_many").map(|ns| ns > FRAME_NS),
        ),
        (
            "indexes slow down saving in batches",
            ratio(TUNED, DBUS, "fill").map(|ratio| ratio > 1.0),
        ),
    ];
    let known = findings.iter().filter_map(|(_, shows)| *shows);
    let (all, any) = (known.clone().all(|shows| shows), known.clone().any(|s| s));
    verdict.shown = match (all, any) {
        _ if known.count() == 0 => Shown::Open,
        (true, _) => Shown::Yes,
        (_, true) => Shown::Partly,
        _ => Shown::No,
    };
    for (finding, shows) in findings {
        let word = match shows {
            Some(true) => "Shows",
            Some(false) => "No longer shows",
            None => "Not measured",
        };
        verdict.notes.push(format!("{word}: {finding}."));
    }
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
            _ if saving && arm == PLAIN_REDO => {
                "its saves are records of what changed in a redo log, one write and one flush \
                 each, and its rows were made before; etui makes them of the cards"
            }
            _ if saving => {
                "it inserts rows that were made before; etui makes them of the cards: keys \
                 folded, sort keys, hashes; and looks for an earlier version"
            }
            "open" | "close" => {
                "etui has a schema of some twenty things, which SQLite parses each time, and looks at the file's marks"
            }
            "partial" => {
                "it reads names and UIDs by one statement; etui looks up the UID of each contact \
                 of the list"
            }
            "rss" | "pss" | "vms" | "private_dirty" => {
                "not known: the cards that are kept are the same"
            }
            _ => {
                "a query made by hand for these people: one statement joins the index to the \
                 records, and what the index names is not tested against the filter; etui reads \
                 each contact found by statements of its own, with its sort key, summary and keys"
            }
        };
    }
    match work {
        _ if saving && arm != DURABLE => {
            "it is not durable when the save returns; nothing is flushed before the reply"
        }
        _ if saving => "one transaction for the batch and fewer terms for each contact",
        "vms" => {
            "address space is reserved in large pieces before it is used, so that it hardly \
             grows with the contacts"
        }
        "rss" | "pss" | "private_dirty" => {
            "it keeps what a card holds once, etui the text and where its parts are"
        }
        "open" | "close" => "the server keeps the book open; a client only joins and leaves",
        _ if work.ends_with("_which") => {
            "its index gives UIDs; etui's gives numbers, by which it reads each contact's record"
        }
        _ => "its index holds whole values, etui's words and numbers, which are tested after",
    }
}
