//! The declared report of `phonebook`.

use super::super::backends::report::{
    growth_chart, list_hits, memory_table, save_measures, vfs_table, wall_times,
};
use super::super::backends::{MEMORY_WORK, PINNED_WORK};
use super::{BOOK_WORK, SERVERS_MEMORY_WORK, SERVERS_WORK, indexes, queries};
use crate::peers::eds;
use crate::report::numbers::format_whole;
use crate::spec::{AdviceSpec, Conclusion, Measure, Per, ReportSpec, TableSpec, Threshold};
use crate::stacks::HERE;
use crate::{GroupKey, Results};

/// The arms' names.
pub const DBUS: &str = "EDS over D-Bus, as shipped";
pub const TUNED: &str = "EDS over D-Bus, all indexes";
pub const DIRECT: &str = "EDS direct, as shipped";
pub const DIRECT_TUNED: &str = "EDS direct, all indexes";
pub const DURABLE: &str = "EDS over D-Bus, made durable";
pub const AS_EDS: &str = "etui as EDS, over D-Bus";
pub const AKONADI: &str = "Akonadi, SQLite backend";
pub const OWN: &str = "etui over D-Bus, own interface";
pub const PLAIN: &str = "plain SQLite, a schema by hand";
pub const PLAIN_REDO: &str = "plain SQLite, through etui-vfs";
pub const ETUI: &str = "etui";
pub const DEFERRED: &str = "etui, deferred";
pub const SYSTEM_VFS: &str = "etui, SQLite's WAL";

/// One frame of a list that scrolls at 60 frames a second, nanoseconds.
const FRAME_NS: f64 = 1e9 / 60.0;

/// Growth curves: phase, title, divisor.
const CURVES: [(&str, &str, Per); 8] = [
    ("save_one", "Saving one contact", Per::Run),
    ("fill", "Saving in batches, for each contact", Per::Size),
    ("all", "Fetching every contact", Per::Run),
    ("get", "Fetching one contact by UID", Per::Run),
    ("get_many", "Fetching 50 contacts by UID at once", Per::Run),
    ("name_prefix", "Name begins", Per::Run),
    ("email_suffix", "E-mail ends", Per::Run),
    ("phone_equal", "Same phone number", Per::Run),
];

/// Ways of fetching: title, phase.
const FETCHES: [(&str, &str); 8] = [
    ("every vCard", "all"),
    ("every vCard with its name", "names"),
    ("names alone", "partial"),
    ("one by UID", "get"),
    ("50 by UID", "get_many"),
    ("first 50 by name", "screen"),
    ("open", "open"),
    ("close", "close"),
];

/// What a client of the server is to get sooner from etui than from the server.
fn served_by_etui() -> impl Iterator<Item = String> {
    let works = ["fill", "save_one"].into_iter();
    let works = works.chain(FETCHES.map(|(_, phase)| phase));
    let queries = queries::all_queries().into_iter();
    let queries =
        queries.flat_map(|query| [query.name.to_owned(), format!("{}_which", query.name)]);
    works.map(str::to_owned).chain(queries)
}

/// Tables of the clients on one core, against the server as shipped.
fn client_tables(groups: &[GroupKey]) -> Vec<TableSpec> {
    let caption = "Client, bus and service on one core. Ratios are to the server over D-Bus. In etui's \
                   own interface lists of vCards come by descriptor.";
    let table = |title: &str, measures| {
        TableSpec::new(format!("Clients on one core: {title}"), groups.to_vec())
            .caption(caption)
            .measures(measures)
            .base(DBUS)
    };
    let queries = queries::all_queries();
    let names = queries.iter().map(|query| (query.title, query.name));
    let which: Vec<String> = queries
        .iter()
        .map(|q| format!("{}_which", q.name))
        .collect();
    let which = queries.iter().zip(&which);
    let which = which.map(|(query, phase)| (query.title, phase.as_str()));
    vec![
        table("saving and fetching", {
            let mut measures = vec![
                Measure::wall_time("save one", "save_one"),
                Measure::wall_time("in batches, each", "fill").per(Per::Size),
            ];
            measures.extend(wall_times(&FETCHES));
            measures
        }),
        table("queries", wall_times(&names.collect::<Vec<_>>())),
        table(
            "queries, UIDs alone",
            wall_times(&which.collect::<Vec<_>>()),
        ),
    ]
}

/// Operations that Akonadi has too.
fn server_tables(results: &Results) -> Vec<TableSpec> {
    let groups = |work| results.select_groups(&[work], &[HERE]);
    let table = |title: &str, caption: &str, measures| {
        TableSpec::new(title, groups(SERVERS_WORK))
            .caption(caption)
            .measures(measures)
            .base(ETUI)
            .size_unit("contacts")
    };
    let fetches = FETCHES.into_iter();
    let fetches = fetches.filter(|(_, phase)| !matches!(*phase, "partial" | "screen"));
    let mut saves = save_measures();
    saves.push(Measure::wall_time("files written after", "finish_writes"));
    vec![
        table(
            "Servers: saving",
            "Akonadi answers once its SQLite database has the contact; its agent then writes each \
             contact to a file of its own, here until all of the fill are written. Writes and \
             flushes are those of the process that answers.",
            saves,
        ),
        table(
            "Servers: fetching",
            "Akonadi has no queries without an indexing agent, and no partial contacts.",
            wall_times(&fetches.collect::<Vec<_>>()),
        ),
        memory_table(groups(SERVERS_MEMORY_WORK), ETUI, "contacts in servers"),
    ]
}

/// Cost of each index to a save.
fn index_tables(results: &Results) -> Vec<TableSpec> {
    let table = |work: &str, caption: &str, measures| {
        TableSpec::new(
            format!("Cost of each index ({work})"),
            results.select_groups(&[work], &[HERE]),
        )
        .caption(caption)
        .measures(measures)
    };
    let times = || {
        vec![
            Measure::wall_time("in a batch, each", "fill").per(Per::Size),
            Measure::wall_time("one", "save_one"),
        ]
    };
    let plain = [
        (indexes::PLAIN, "saves/called_write_bytes"),
        (indexes::PLAIN_REDO, "saves/vfs_log_write_bytes"),
    ];
    let plain = plain.map(|(work, bytes)| {
        let mut measures = times();
        measures.extend([
            Measure::new("batch bytes, each", "fill/called_write_bytes").per(Per::Size),
            Measure::new("bytes of one", bytes).per(Per::Setting("saves")),
            Measure::new("pages", "fill/pages"),
        ]);
        table(
            work,
            "Plain SQLite with etui's rows, one more index in each row, then etui itself. \
             Substrings (gram) are written in batches, never by a single save.",
            measures,
        )
    });
    let mut measures = times();
    measures.extend([
        Measure::new("bytes of one", "save_one/file_write_bytes"),
        Measure::new("writes of one", "save_one/file_writes"),
        Measure::new("database", "fill/database_bytes"),
    ]);
    let server = table(
        indexes::SERVER,
        "Evolution Data Server over D-Bus, one more index in each row: beginnings and ends of \
         full, family and given names; family and given name in list order; e-mail; phone as \
         written; phone as a number. Client, bus and server on one core. Ratios are to the summary without an index.",
        measures,
    );
    let mut tables = plain.to_vec();
    tables.push(server.base(eds::INDEX_STEPS[0]));
    tables
}

pub(super) fn report_spec(results: &Results) -> ReportSpec {
    let books = results.select_groups(&[BOOK_WORK], &[HERE]);
    let largest = books.last();
    let pinned = results.select_groups(&[PINNED_WORK], &[HERE]);
    let of_largest: Vec<_> = largest.cloned().into_iter().collect();
    let contacts = format_whole(largest.map_or(0, |group| group.size));
    let table = |title: &str, caption: &str, measures: Vec<Measure>| {
        TableSpec::new(format!("{title} {contacts} contacts"), of_largest.clone())
            .caption(caption.to_owned())
            .measures(measures)
            .base(ETUI)
    };
    let mut tables = vec![
        table(
            "Saving into",
            "Flushes are those before the save returns, counted by a tracer in a pass of their \
             own. As shipped the server's saves are not durable when they return.",
            save_measures(),
        ),
        table(
            "Fetching from",
            "Names alone: UID and name of each; for the server a view. 50 by UID: one call; for \
             the server a query that names all 50. A frame at 60 frames a second is 16.7 ms.",
            wall_times(&FETCHES),
        ),
        table(
            "A list's requests, among",
            "etui alone. In list order: name, organisation, phone and e-mail of all contacts, of \
             50 from any position, the position of one contact, the first of each letter. As \
             found: the first 50 with a name prefix, with an e-mail domain.",
            wall_times(&[
                ("whole list", "list_whole"),
                ("50 at a position", "list_at"),
                ("position of one", "list_position"),
                ("first of each letter", "list_letters"),
                ("50 of a name", "page_name_prefix"),
                ("50 of a domain", "page_email_suffix"),
            ]),
        ),
    ];
    for (title, prefix) in [("Name", "name"), ("E-mail", "email"), ("Phone", "phone")] {
        let queries: Vec<_> = queries::all_queries()
            .into_iter()
            .filter(|query| query.name.starts_with(prefix))
            .collect();
        let names: Vec<_> = queries.iter().map(|q| (q.title, q.name)).collect();
        let which: Vec<_> = names
            .iter()
            .map(|(t, n)| (*t, format!("{n}_which")))
            .collect();
        let which: Vec<_> = which.iter().map(|(t, n)| (*t, n.as_str())).collect();
        let hits = largest.map(|group| list_hits(results, group, ETUI, &names));
        tables.push(table(
            &format!("{title} queries among"),
            &format!("With vCards. Hits: {}.", hits.unwrap_or_default()),
            wall_times(&names),
        ));
        tables.push(table(
            &format!("{title} queries, UIDs alone, among"),
            "Without vCards.",
            wall_times(&which),
        ));
    }
    tables.extend(client_tables(&pinned));
    tables.push(vfs_table(of_largest.clone()));
    tables.push(memory_table(
        results.select_groups(&[MEMORY_WORK], &[HERE]),
        ETUI,
        "contacts",
    ));
    tables.extend(server_tables(results));
    tables.extend(index_tables(results));
    let time = |phase: &str| Measure::wall_time("time", phase);
    let finding =
        |claim: &str, arm, phase: &str| Threshold::finding(claim).of(largest, arm, time(phase));
    let advised = |change: &str, phase: &str, after: &str| {
        AdviceSpec::new(change)
            .measured(format!(
                "Among {contacts} contacts; before and after in Evolution Data Server"
            ))
            .compare(largest, &time(phase), DBUS, after)
            .etui(largest, ETUI, time(phase))
    };
    let advice = vec![
        advised(
            "read contacts in the program's own process, not from a server over D-Bus",
            "get",
            DIRECT,
        )
        .how("e_book_client_connect_direct() with libebook, or a library such as etui")
        .gain("fetching one contact")
        .or_else("leave contacts behind the server"),
        advised("index the fields that are searched", "phone_equal", TUNED)
            .how(
                "e_source_backend_summary_setup_set_indexed_fields() for phone and e-mail; in a schema \
                 by hand, an index on the number's normal form",
            )
            .gain("finding a contact by its phone number")
            .or_else("add no index for phone numbers"),
    ];
    ReportSpec {
        tables,
        advice,
        charts: CURVES
            .into_iter()
            .map(|(phase, title, per)| {
                growth_chart(books.clone(), phase, title, "contacts in the book", per)
            })
            .collect(),
        thresholds: [
            finding(
                "one contact by UID, read directly against over D-Bus",
                DIRECT,
                "get",
            )
            .against_arm(DBUS)
            .at_most(0.5),
            finding(
                "a query on e-mail, read directly against over D-Bus",
                DIRECT,
                "email_suffix",
            )
            .against_arm(DBUS)
            .at_most(0.6),
            finding(
                "a phone number without an index against with one",
                DBUS,
                "phone_equal",
            )
            .against_arm(TUNED)
            .at_least(2.0),
            finding("50 contacts by UID over D-Bus", DBUS, "get_many").at_least(FRAME_NS),
            finding("saving in batches with all indexes", TUNED, "fill")
                .against_arm(DBUS)
                .at_least(1.0),
            Threshold::target("a durable save in the server made durable, against etui")
                .of(largest, DURABLE, time("save_one"))
                .against_arm(ETUI)
                .at_least(1.0),
            Threshold::target(
                "a save in the server as shipped, not durable, against etui deferred",
            )
            .of(largest, DBUS, time("save_one"))
            .against_arm(DEFERRED)
            .at_least(1.0),
        ]
        .into_iter()
        .chain(served_by_etui().map(|phase| {
            Threshold::target(format!(
                "`{phase}` by the server's client library, from etui"
            ))
            .of(pinned.last(), AS_EDS, time(&phase))
            .against_arm(DBUS)
            .at_most(1.0)
        }))
        .collect(),
        conclusion: Conclusion {
            yes: "The way between processes and missing indexes still take most of the time of an \
                  address book behind a server.",
            partly: "The way between processes and missing indexes still cost time, but not in \
                     every case that the study measured.",
            no: "Neither the way between processes nor missing indexes cost much any more.",
        },
        etui: Some(ETUI),
        ..ReportSpec::default()
    }
}
