//! What the results of `media-sync` come to.

use super::{
    ALL, AS_FOUND, BUFFER, COALESCE, ENOUGH, ETUI, FORMULA, GROWTH, KB, LIMITS, LOGGED, OLDER,
    PAGE_SIZE, PAGEWISE, REDO, REDO_BY_ITSELF, WAL, buffer, formula, limit, work_name,
};
use crate::{
    Better, Cell, Chart, ChartKind, Column, GroupKey, Presentation, Results, Role, Row, Series,
    Shown, Table, Unit, Verdict, stacks,
};

const TIME: &str = "sync/wall_ns";
const TWICE: &str = "sync/rewritten_pages";
const GROWS: &str = "sync/database_size_changes";
const JOURNAL: &str = "sync/journal_size_changes";

/// The columns of the main table: heading, measure, unit.
const MAIN: [(&str, &str, Unit); 9] = [
    ("time", TIME, Unit::Nanoseconds),
    ("of it commit", "commit/wall_ns", Unit::Nanoseconds),
    ("pages written twice", TWICE, Unit::Count),
    ("database resized", GROWS, Unit::Count),
    ("journal resized", JOURNAL, Unit::Count),
    ("out of order", "sync/database_out_of_order", Unit::Count),
    ("write calls", "sync/write_calls", Unit::Count),
    ("bytes written", "sync/called_write_bytes", Unit::Bytes),
    ("flushes", "sync/flush_calls", Unit::Count),
];

/// On a file system of its own the blocks that reach the device are seen too.
const CARD: [(&str, &str, Unit); 7] = [
    ("time", TIME, Unit::Nanoseconds),
    ("pages written twice", TWICE, Unit::Count),
    ("database resized", GROWS, Unit::Count),
    ("journal resized", JOURNAL, Unit::Count),
    ("block writes", "sync/block_writes", Unit::Count),
    ("block bytes", "sync/block_write_bytes", Unit::Bytes),
    ("room at the end", "sync/allocated_bytes", Unit::Bytes),
];

/// Tables, charts and the verdict.
pub(super) fn present(results: &Results) -> Presentation {
    let mut tables = Vec::new();
    let mut charts = Vec::new();
    let main = group(results, stacks::HERE, PAGE_SIZE);
    if let Some(main) = &main {
        let mut table = arms_table(results, main, &MAIN);
        table.title = "As found, each cure, all cures, etui: 4 kB pages, here".to_owned();
        table.caption = "For each batch of 60 tracks; ratios are to as found. What is resized \
            and written twice is what SQLite's files see; etui opens its files by itself, so \
            only its calls are counted. Logs that are written back after the commit have a \
            table of their own."
            .to_owned();
        tables.push(table);
        tables.push(log_table(results, main));
        charts.push(bars(
            results,
            main,
            TIME,
            "Time of a batch, 4 kB pages, here",
        ));
        charts.push(bars(
            results,
            main,
            TWICE,
            "Pages written twice before a commit",
        ));
    }
    tables.push(pages_table(results));
    tables.push(journal_table(results));
    tables.push(buffer_table(results));
    for key in results.groups() {
        if key.stack != stacks::HERE && key.work == work_name(PAGE_SIZE) {
            let mut table = arms_table(results, &key, &CARD);
            let logs = log_table(results, &key);
            table.title = format!("On {}: 4 kB pages", key.stack);
            table.caption = "For each batch; the room is that of all files at the end. Blocks \
                are counted at the device, in a pass of their own."
                .to_owned();
            let details = results.stacks.get(&key.stack);
            if let Some(driver) = details.and_then(|details| details.get("driver")) {
                table.caption += &format!(" Driver: {driver}.");
            }
            tables.extend([table, logs]);
        }
    }
    tables.retain(|table| !table.rows.is_empty());
    Presentation {
        tables,
        charts,
        verdict: main.map_or_else(Verdict::default, |main| verdict(results, &main)),
        not_run: Vec::new(),
    }
}

fn group(results: &Results, stack: &str, page_size: u64) -> Option<GroupKey> {
    let work = work_name(page_size);
    let mut groups = results.groups().into_iter();
    groups.find(|key| key.stack == stack && key.work == work)
}

/// The arms whose batches end with the database's file written: in the others that is a phase of
/// its own, and [`log_table`] shows both.
fn comparable(results: &Results, key: &GroupKey) -> Vec<(String, Role)> {
    let mut arms = results.arms(key);
    arms.retain(|(arm, _)| !is_apart(arm));
    arms
}

/// Whether an arm is of the log and the VFS only, whose tables are their own.
fn is_apart(arm: &str) -> bool {
    let older = OLDER.iter().any(|(name, ..)| *name == arm);
    older || [WAL, REDO, LOGGED, PAGEWISE].contains(&arm)
}

/// The page sizes that were run here, in rising order.
fn page_sizes(results: &Results) -> Vec<(u64, GroupKey)> {
    let mut sizes: Vec<(u64, GroupKey)> = results
        .groups()
        .into_iter()
        .filter(|key| key.stack == stacks::HERE)
        .filter_map(|key| {
            let size = results.setting(&key, AS_FOUND, "page_size")?.as_u64()?;
            Some((size, key))
        })
        .collect();
    sizes.sort_by_key(|(size, _)| *size);
    sizes
}

/// A measure for each batch.
fn per_batch(results: &Results, key: &GroupKey, arm: &str, measure: &str) -> Option<f64> {
    Some(results.median(key, arm, measure)? / key.size.max(1) as f64)
}

fn cell(results: &Results, key: &GroupKey, arm: &str, measure: &str) -> Cell {
    let mut cell = results.cell(key, arm, measure, Some(AS_FOUND));
    if measure != "sync/allocated_bytes" {
        let batches = key.size.max(1) as f64;
        cell.value = cell.value.map(|value| value / batches);
        cell.range = cell
            .range
            .map(|(low, high)| (low / batches, high / batches));
    }
    if cell.value.is_none() && measure.starts_with("sync/") {
        cell.note = "not counted".to_owned();
    }
    cell
}

/// A row for each arm; where another arm does better than etui, etui's figure is marked.
fn arms_table(results: &Results, key: &GroupKey, columns: &[(&str, &str, Unit)]) -> Table {
    let arms = comparable(results, key);
    let rows = arms
        .iter()
        .map(|(arm, role)| {
            let cells = columns.iter().map(|(_, measure, _)| {
                let mut cell = cell(results, key, arm, measure);
                cell.lost = *role == Role::Etui && beaten(results, key, arm, measure);
                cell
            });
            Row {
                label: arm.clone(),
                role: *role,
                cells: cells.collect(),
            }
        })
        .collect();
    Table {
        columns: columns
            .iter()
            .map(|(title, _, unit)| Column::new(*title, *unit, Better::Less))
            .collect(),
        rows,
        ..Table::default()
    }
}

/// The arms with a log, with what is written back after each commit, beside the journal's.
fn log_table(results: &Results, key: &GroupKey) -> Table {
    const PARTS: [&str; 2] = ["sync", "checkpoint"];
    const WRITTEN: [&str; 2] = ["database_write_bytes", "journal_write_bytes"];
    let each = |arm: &str, part: &str, measure: &str| {
        per_batch(results, key, arm, &format!("{part}/{measure}"))
    };
    // What a part does not have, it did not do.
    let both = |arm: &str, measures: &[&str]| -> Option<f64> {
        each(arm, "sync", measures[0])?;
        let all = PARTS
            .iter()
            .flat_map(|part| measures.iter().map(move |of| (*part, *of)));
        Some(all.filter_map(|(part, of)| each(arm, part, of)).sum())
    };
    // The batches are the same for all arms.
    let payload =
        each(WAL, "sync", "payload_bytes").or_else(|| each(REDO, "sync", "payload_bytes"));
    let logs = [AS_FOUND, ALL, WAL, REDO, LOGGED, PAGEWISE, REDO_BY_ITSELF].into_iter();
    let rows = logs.chain(OLDER.iter().map(|(name, ..)| *name));
    let rows = rows.filter_map(|arm| {
        let roles = results.arms(key);
        let (_, role) = roles.iter().find(|(name, _)| name == arm)?;
        let bytes = both(arm, &WRITTEN);
        let ratio = bytes.zip(payload).map(|(bytes, payload)| bytes / payload);
        Some(Row {
            label: arm.to_owned(),
            role: *role,
            cells: vec![
                Cell::of(each(arm, "sync", "wall_ns")),
                Cell::of(both(arm, &["wall_ns"])),
                Cell::of(each(arm, "sync", "write_calls")),
                Cell::of(both(arm, &["write_calls"])),
                Cell::of(bytes),
                Cell::of(ratio),
                Cell::of(both(arm, &["database_syncs", "journal_syncs"])),
                Cell::of(each(arm, "sync", "block_writes")),
                Cell::of(both(arm, &["block_writes"])),
                Cell::of(both(arm, &["block_write_bytes"])),
            ],
        })
    });
    let rows: Vec<Row> = rows.collect();
    let logs = rows
        .iter()
        .any(|row| ![AS_FOUND, ALL].contains(&row.label.as_str()));
    Table {
        title: format!("Journal and logs, with what is written back, {}", key.stack),
        caption: "For each batch. Up to the commit, and with the checkpoint after it, which a \
            journal has within its commit, as has the log that SQLite checkpoints itself. Write \
            calls are all of the process; bytes are those that the database and its journal or \
            log were given; ratios are to the bytes of pictures and metadata."
            .to_owned(),
        columns: vec![
            Column::time("up to the commit"),
            Column::time("and written back"),
            Column::count("write calls up to the commit"),
            Column::count("write calls"),
            Column::bytes("file bytes"),
            Column::new("of the payload", Unit::Ratio, Better::Less),
            Column::count("flushes"),
            Column::count("block writes up to the commit"),
            Column::count("block writes"),
            Column::bytes("block bytes"),
        ],
        rows: if logs { rows } else { Vec::new() },
    }
}

/// Whether any other arm has less of a measure.
fn beaten(results: &Results, key: &GroupKey, arm: &str, measure: &str) -> bool {
    let Some(own) = results.median(key, arm, measure) else {
        return false;
    };
    comparable(results, key)
        .iter()
        .filter(|(other, _)| other != arm)
        .filter_map(|(other, _)| results.median(key, other, measure))
        .any(|other| other < own)
}

fn pages_table(results: &Results) -> Table {
    let mut rows = Vec::new();
    for (size, key) in page_sizes(results) {
        for (arm, role) in [
            (AS_FOUND.to_owned(), Role::AsFound),
            (limit(8), Role::Cure),
            (ALL.to_owned(), Role::AllCures),
        ] {
            let cells: Vec<Cell> = MAIN
                .iter()
                .take(8)
                .map(|(_, measure, _)| cell(results, &key, &arm, measure))
                .collect();
            if cells.iter().any(|cell| cell.value.is_some()) {
                rows.push(Row {
                    label: format!("{} kB: {arm}", size / KB),
                    role,
                    cells,
                });
            }
        }
    }
    Table {
        title: "By page size, here".to_owned(),
        caption: "For each batch; ratios are to as found at the same page size.".to_owned(),
        columns: MAIN
            .iter()
            .take(8)
            .map(|(title, _, unit)| Column::new(*title, *unit, Better::Less))
            .collect(),
        rows,
    }
}

/// What the study's formula gives, what a batch needs, and what comes of it.
fn journal_table(results: &Results) -> Table {
    let rows = page_sizes(results)
        .into_iter()
        .map(|(size, key)| {
            let peak = results.median(&key, AS_FOUND, "sync/journal_peak_bytes");
            let rests = formula(size);
            let ruled = match rests == 64 * KB {
                true => AS_FOUND,
                false => FORMULA,
            };
            let resized = |arm: &str| Cell::of(per_batch(results, &key, arm, JOURNAL));
            let mut by_rule = Cell::of(Some(rests as f64));
            by_rule.note = match peak {
                Some(peak) if peak <= rests as f64 => "suffices".to_owned(),
                Some(_) => "does not suffice".to_owned(),
                None => String::new(),
            };
            Row {
                label: format!("{} kB pages", size / KB),
                role: Role::Cure,
                cells: vec![
                    Cell::of(peak),
                    by_rule,
                    resized(AS_FOUND),
                    resized(ruled),
                    resized(ENOUGH),
                ],
            }
        })
        .collect();
    Table {
        title: "The journal's resting size".to_owned(),
        caption: "How often the journal's size changes in a batch: each change allocates or frees \
            room. A rule that gives 64 kB changes nothing."
            .to_owned(),
        columns: vec![
            Column::new("longest journal", Unit::Bytes, Better::Neither),
            Column::new("rests by the formula", Unit::Bytes, Better::Neither),
            Column::count("resized as found"),
            Column::count("resized by the formula"),
            Column::count("resized if never cut"),
        ],
        rows,
    }
}

fn buffer_table(results: &Results) -> Table {
    let rows = page_sizes(results)
        .into_iter()
        .map(|(size, key)| {
            let own = match buffer(size) == 8 * KB {
                true => AS_FOUND,
                false => BUFFER,
            };
            let figure = |arm: &str, measure: &str| Cell::of(results.median(&key, arm, measure));
            Row {
                label: format!("{} kB pages, buffer of {} kB", size / KB, buffer(size) / KB),
                role: Role::Cure,
                cells: vec![
                    figure(AS_FOUND, "read/database_reads"),
                    figure(own, "read/database_reads"),
                    figure(AS_FOUND, "read/database_read_bytes"),
                    figure(own, "read/database_read_bytes"),
                    figure(AS_FOUND, "read/wall_ns"),
                    figure(own, "read/wall_ns"),
                ],
            }
        })
        .collect();
    Table {
        title: "The read buffer: all tracks and pictures read back".to_owned(),
        caption: "Reads that reach the file system, with 8 kB and with at least 4 pages. Up to \
            2 kB pages both are the same."
            .to_owned(),
        columns: vec![
            Column::count("reads, 8 kB"),
            Column::count("reads, 4 pages"),
            Column::bytes("bytes, 8 kB"),
            Column::bytes("bytes, 4 pages"),
            Column::time("time, 8 kB"),
            Column::time("time, 4 pages"),
        ],
        rows,
    }
}

fn bars(results: &Results, key: &GroupKey, measure: &str, title: &str) -> Chart {
    let mut labels = Vec::new();
    let mut series: Vec<Series> = Vec::new();
    for (arm, role) in comparable(results, key) {
        let Some(value) = per_batch(results, key, &arm, measure) else {
            continue;
        };
        let at = labels.len() as f64;
        labels.push(arm);
        match series.iter_mut().find(|series| series.role == role) {
            Some(series) => series.points.push((at, value)),
            None => series.push(Series {
                name: role.label().to_owned(),
                role,
                points: vec![(at, value)],
            }),
        }
    }
    let time = measure.ends_with("_ns");
    Chart {
        title: title.to_owned(),
        kind: ChartKind::Bars,
        x: "arm".to_owned(),
        y: if time {
            "time of a batch"
        } else {
            "pages in a batch"
        }
        .to_owned(),
        unit: if time { Unit::Nanoseconds } else { Unit::Count },
        labels,
        series,
    }
}

/// One finding: whether its cure has the study's direction, and the figures.
struct Direction {
    words: String,
    holds: bool,
}

/// What a cure that ought to lessen a measure does.
fn lessens(what: &str, cure: &str, before: f64, after: f64) -> Direction {
    Direction {
        words: format!(
            "{what}: {} as found, {} with {cure}",
            short(before),
            short(after)
        ),
        holds: after < before,
    }
}

fn short(value: f64) -> String {
    if value.fract().abs() < 0.05 || value >= 100.0 {
        format!("{value:.0}")
    } else {
        format!("{value:.1}")
    }
}

fn verdict(results: &Results, key: &GroupKey) -> Verdict {
    let each = |arm: &str, measure: &str| per_batch(results, key, arm, measure);
    let mut directions = Vec::new();
    // The smallest limit at which no page is written twice.
    let enough = LIMITS
        .into_iter()
        .find(|megabytes| each(&limit(*megabytes), TWICE) == Some(0.0));
    let twice = each(AS_FOUND, TWICE);
    if let (Some(before), Some(megabytes)) = (twice, enough) {
        let cure = format!("a soft heap limit of {megabytes} MB");
        directions.push(lessens("pages written twice", &cure, before, 0.0));
    } else if let (Some(before), Some(after)) = (twice, each(&limit(8), TWICE)) {
        directions.push(lessens("pages written twice", "8 MB", before, after));
    }
    for (what, cure, arm, measure) in [
        (
            "the journal resized",
            "a resting size that suffices",
            ENOUGH,
            JOURNAL,
        ),
        ("the database resized", "growth in steps", GROWTH, GROWS),
        (
            "writes to the database",
            "consolidated write-back",
            COALESCE,
            "sync/database_writes",
        ),
    ] {
        if let (Some(before), Some(after)) = (each(AS_FOUND, measure), each(arm, measure)) {
            directions.push(lessens(what, cure, before, after));
        }
    }
    let reads = |arm: &str| results.median(key, arm, "read/database_reads");
    if let (Some(before), Some(after)) = (reads(AS_FOUND), reads(BUFFER)) {
        directions.push(lessens(
            "reads when read back",
            "a buffer of 4 pages",
            before,
            after,
        ));
    }
    let holding = directions
        .iter()
        .filter(|direction| direction.holds)
        .count();
    let shown = match (holding, directions.len()) {
        (_, 0..5) => Shown::Open,
        (holding, all) if holding == all => Shown::Yes,
        (0, _) => Shown::No,
        _ => Shown::Partly,
    };
    let told: Vec<&str> = directions.iter().map(|d| d.words.as_str()).collect();
    Verdict {
        shown,
        sentence: format!("For each batch {}.", told.join("; ")),
        notes: notes(results, key),
    }
}

fn notes(results: &Results, key: &GroupKey) -> Vec<String> {
    let mut notes = Vec::new();
    let ratio = |arm: &str| results.ratio(key, arm, AS_FOUND, TIME);
    if let (Some(limited), Some(all)) = (ratio(&limit(8)), ratio(ALL)) {
        let sure = match limited.low < 1.0 && limited.high > 1.0 {
            true => " (the repetitions do not agree on which is faster)",
            false => "",
        };
        notes.push(format!(
            "Time here: {:.2} of that as found with a limit of 8 MB{sure} (the study: 0.80), {:.2} \
             with all cures. Counters repeat; the time is this device's.",
            limited.median, all.median
        ));
    }
    let short_of: Vec<String> = page_sizes(results)
        .into_iter()
        .filter(|(size, key)| {
            results
                .median(key, AS_FOUND, "sync/journal_peak_bytes")
                .is_some_and(|peak| peak > formula(*size) as f64)
        })
        .map(|(size, _)| format!("{} kB", size / KB))
        .collect();
    if !short_of.is_empty() {
        notes.push(format!(
            "The study's formula for the resting size does not suffice for this library at pages \
             of {}: its indexes have more pages than the formula allows for. It is shown as it \
             is, beside a journal that is never cut.",
            short_of.join(", ")
        ));
    }
    if let (Some(found), Some(log)) = (ratio(REDO), results.ratio(key, REDO, WAL, TIME)) {
        notes.push(format!(
            "SQLite's log through etui's VFS takes {:.2} of the time as found up to the commit \
             ({:.2} to {:.2}), {:.2} of that of SQLite's own log ({:.2} to {:.2}); what both \
             write back afterwards has a table of its own.",
            found.median, found.low, found.high, log.median, log.low, log.high
        ));
        let calls = |arm: &str| per_batch(results, key, arm, "sync/write_calls");
        if let (Some(calls), Some(before)) = (calls(REDO), calls(AS_FOUND)) {
            notes.push(format!(
                "Up to the commit it makes {calls:.0} write calls for a batch, {:.2} of those as \
                 found.",
                calls / before
            ));
        }
    }
    if let Some(etui) = results.ratio(key, ETUI, AS_FOUND, TIME) {
        let best = comparable(results, key)
            .into_iter()
            .filter(|(arm, _)| arm != ETUI)
            .filter_map(|(arm, _)| Some((results.median(key, &arm, TIME)?, arm)))
            .min_by(|a, b| a.0.total_cmp(&b.0));
        let own = results.median(key, ETUI, TIME);
        let beaten = match (best, own) {
            (Some((time, arm)), Some(own)) if time < own => {
                format!("; `{arm}` is faster, {:.2} of etui's time", time / own)
            }
            _ => String::new(),
        };
        notes.push(format!(
            "etui takes {:.2} of the time as found{beaten}. It writes pictures as base64 text \
             through its log and indexes for searching; a media library of its own comes later.",
            etui.median
        ));
    }
    notes
}
