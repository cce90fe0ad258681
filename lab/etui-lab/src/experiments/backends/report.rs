//! Declarations that the experiments on address books and calendars share.

use crate::spec::{ChartSpec, Measure, Per, TableSpec};
use crate::{GroupKey, Results};

/// Measures of saving into a filled backend.
pub fn save_measures() -> Vec<Measure> {
    vec![
        Measure::wall_time("save one", "save_one"),
        Measure::wall_time("save one, mean", "save_one_mean"),
        Measure::wall_time("save in batches, each", "fill").per(Per::Size),
        Measure::new("bytes written for one", "save_one/file_write_bytes"),
        Measure::new("writes for one", "save_one/file_writes"),
        Measure::new("flushes for one", "save_one/flushes"),
    ]
}

/// Returns wall times of phases, by title.
pub fn wall_times(phases: &[(&str, &str)]) -> Vec<Measure> {
    let times = phases.iter();
    times
        .map(|(title, phase)| Measure::wall_time(*title, phase))
        .collect()
}

/// Returns `title 12, title 3`: the hits of queries.
pub fn list_hits(
    results: &Results,
    group: &GroupKey,
    arm: &str,
    queries: &[(&str, &str)],
) -> String {
    let hits = queries.iter().map(|(title, name)| {
        let hits = results.median(group, arm, &format!("{name}/hits"));
        hits.map_or_else(|| format!("{title} ?"), |hits| format!("{title} {hits:.0}"))
    });
    hits.collect::<Vec<_>>().join(", ")
}

/// Memory per record held, and of the whole process.
pub fn memory_table(groups: Vec<GroupKey>, base: &'static str, records: &'static str) -> TableSpec {
    let each = |title: &str, kind: &str| {
        Measure::new(title, format!("held/{kind}_bytes - empty/{kind}_bytes")).per(Per::Size)
    };
    TableSpec::new(format!("Memory of {records}"), groups)
        .caption(
            "Each: all processes (client, server, source registry) with every record \
             fetched, parsed and kept, less the memory of an empty backend, per record. \
             In-process arms: the laboratory's own process.",
        )
        .measures(vec![
            each("each, RSS", "rss"),
            each("each, PSS", "pss"),
            each("each, VMS", "vms"),
            each("each, private dirty", "private_dirty"),
            Measure::new("empty, RSS", "empty/rss_bytes"),
            Measure::new("opened, RSS", "opened/rss_bytes"),
            Measure::new("all held, RSS", "held/rss_bytes"),
        ])
        .base(base)
        .size_unit(records)
}

/// Counters of the VFS `etui` for one save.
pub fn vfs_table(groups: Vec<GroupKey>) -> TableSpec {
    let each = |title: &str, counter: &str| {
        Measure::new(title, format!("saves/vfs_{counter}")).per(Per::Setting("saves"))
    };
    TableSpec::new("Counters of etui-vfs for a save", groups)
        .caption("Means, except for the first. Database bytes and flushes include checkpoints.")
        .measures(vec![
            Measure::new("blocks, median", "save_one/vfs_median_block_bytes"),
            each("pages compared", "pages_compared"),
            each("pages whole", "pages_whole"),
            each("bytes compared", "compared_bytes"),
            each("logged", "logged_bytes"),
            each("log bytes", "log_write_bytes"),
            each("log flushes", "log_flushes"),
            each("database bytes", "database_write_bytes"),
            each("database flushes", "database_flushes"),
        ])
}

/// The growth of a phase's time with the size of the backend.
pub fn growth_chart(
    groups: Vec<GroupKey>,
    phase: &str,
    title: &str,
    size: &'static str,
    per: Per,
) -> ChartSpec {
    ChartSpec::growth(
        title.to_owned(),
        groups,
        Measure::wall_time("time", phase).per(per),
        size,
    )
}
