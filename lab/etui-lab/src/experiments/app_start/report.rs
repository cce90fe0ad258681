//! The declared report of `app-start`.

use super::card::card_times;
use super::copied::{self, COPIED};
use super::methods::LoadMethod;
use super::screen::{ALL_COLD, COUNTED, ETUI, PLAIN};
use super::{CARD, FILE_SYSTEMS, HALF, READ, SCREEN, WRITTEN};
use crate::spec::{AdviceSpec, ChartSpec, Conclusion, Measure, ReportSpec, TableSpec, Threshold};
use crate::{GroupKey, Results, stacks};

/// A saving of time counts from half of the study's.
const MAX_TIME_RATIO: f64 = 0.95;
/// A loss of time counts from half of the study's.
const MIN_LOSS_RATIO: f64 = 1.07;
/// A saving of page faults counts from half of the study's.
const MAX_FAULT_RATIO: f64 = 0.82;

pub(super) fn report_spec(results: &Results) -> ReportSpec {
    let groups = |work: &str, stack: &str| results.select_groups(&[work], &[stack]);
    let here = |work: &str| groups(work, stacks::HERE);
    let (cold, warm) = (
        Measure::wall_time("cold", "cold"),
        Measure::wall_time("warm", "warm"),
    );
    let by_part_used = |title: &str, work, stack| {
        TableSpec::new(title.to_owned(), groups(work, stack))
            .caption(
                "From opening the file until the used part was read (and written). Ratios are \
                 to reading the whole file into memory.",
            )
            .measures(vec![cold.clone(), warm.clone()])
            .by_group()
            .base(LoadMethod::ReadAll.name())
            .size_unit("% used")
    };
    let half = |work, stack| middle_size(groups(work, stack));
    let chart = |title: &str, work, measure: &Measure| {
        ChartSpec::growth(
            title.to_owned(),
            here(work),
            measure.clone(),
            "part used, %",
        )
    };
    let halves: Vec<GroupKey> = [READ, WRITTEN]
        .iter()
        .filter_map(|work| half(work, stacks::HERE))
        .collect();
    let (read, written) = (here(READ), half(WRITTEN, stacks::HERE));
    let counted = results.select_groups(&[SCREEN], &[COUNTED, CARD]);
    let packed = half(WRITTEN, copied::STACK);
    let faults = || Measure::new("minor faults, warm", "warm/minor_faults");
    let of_read = middle_size(read.clone());
    let part = |group: Option<&GroupKey>| group.map_or(0, |group| group.size);
    let advice = vec![
        AdviceSpec::new("map a data file and bring in only the part that is used, not all of it")
            .how("mmap(), madvise(MADV_RANDOM), then MADV_POPULATE_READ for the used ranges")
            .or_else("go on reading data files into memory")
            .measured(format!(
                "A cold start that uses {} % of the data file",
                part(of_read.as_ref())
            ))
            .gain("the start")
            .compare(
                of_read.as_ref(),
                &cold,
                LoadMethod::ReadAll.name(),
                LoadMethod::MapUsedPopulated.name(),
            ),
        AdviceSpec::new("copy pages that will be written before they are touched, in one call")
            .how("a private mapping and madvise(MADV_POPULATE_WRITE) for the used ranges")
            .or_else("let mapped pages be copied at the first write, as they are")
            .measured(format!(
                "A warm start that reads, then writes, {} % of the data file",
                part(written.as_ref())
            ))
            .gain("the start")
            .compare(
                written.as_ref(),
                &warm,
                LoadMethod::PrivateReadFirst.name(),
                LoadMethod::UsedTakenOver.name(),
            ),
    ];
    ReportSpec {
        advice,
        derived_tables: card_times(results).into_iter().collect(),
        tables: vec![
            by_part_used("Data that is read", READ, stacks::HERE),
            by_part_used("Data that is written later", WRITTEN, stacks::HERE),
            TableSpec::new("First screen of a contact list", here(SCREEN))
                .caption(
                    "From the start of a program until the names of the first 50 contacts \
                     are printed, and until it has ended. Cold: the store is not in memory, the \
                     program is. All cold: neither is (as root); the program is the laboratory, \
                     larger than most. Ratios are to etui. Evolution Data Server's cold start \
                     includes the start of its processes.",
                )
                .measures(vec![
                    Measure::wall_time("cold: shown", "cold"),
                    Measure::wall_time("cold: ended", "cold-exit"),
                    Measure::wall_time("warm: shown", "warm"),
                    Measure::wall_time("warm: ended", "warm-exit"),
                    Measure::wall_time("all cold: shown", ALL_COLD),
                    Measure::new("read from the device, cold", "cold/block_read_bytes"),
                    faults(),
                ])
                .base(ETUI)
                .size_unit("contacts"),
            TableSpec::new(
                "First screen: read from the store's device",
                counted.clone(),
            )
            .caption(
                "Requests and bytes that reached a device with nothing but the store's file \
                     system. Cold: the store is not in memory; all cold: nor is the file system's \
                     own data. On a slow card each request is a wait of its own.",
            )
            .measures(vec![
                Measure::new("requests", "cold/block_reads"),
                Measure::new("bytes", "cold/block_read_bytes"),
                Measure::new("requests, all cold", "all-cold/block_reads"),
                Measure::new("bytes, all cold", "all-cold/block_read_bytes"),
            ])
            .by_group()
            .base(ETUI)
            .size_unit("contacts"),
            TableSpec::new("Page faults and memory", halves)
                .caption(
                    "Counted by the kernel: populated pages count as faults too, and a \
                     fault on a mapped file brings in up to 16 pages. Memory is the \
                     process's growth; pages that are not private belong to the page cache.",
                )
                .measures(vec![
                    faults(),
                    Measure::new("major faults, cold", "cold/major_faults"),
                    Measure::new("read from the device, cold", "cold/block_read_bytes"),
                    Measure::new("resident", "warm/rss_bytes"),
                    Measure::new("private, written", "warm/private_dirty_bytes"),
                ]),
            TableSpec::new(
                "By file system",
                [stacks::HERE]
                    .into_iter()
                    .chain(FILE_SYSTEMS)
                    .flat_map(|stack| [READ, WRITTEN].map(|work| half(work, stack)))
                    .flatten()
                    .collect(),
            )
            .caption(
                "squashfs is compressed (gzip) and the data compresses to a half; erofs \
                 is not.",
            )
            .arms(
                [
                    LoadMethod::ReadAll,
                    LoadMethod::Map,
                    LoadMethod::MapUsedPopulated,
                    LoadMethod::PrivateReadFirst,
                    LoadMethod::UsedTakenOver,
                ]
                .map(LoadMethod::name),
            )
            .measures(vec![
                cold.clone(),
                warm.clone(),
                Measure::new("read from the device, cold", "cold/block_read_bytes"),
                Measure::new("major faults, cold", "cold/major_faults"),
            ])
            .base(LoadMethod::ReadAll.name()),
            TableSpec::new(
                "Image copied to a RAM disk first",
                packed.iter().cloned().collect(),
            )
            .caption(
                "Data that is written later, on squashfs: started in place, and with the \
                     image copied to a RAM disk and mounted there before; all of it cold.",
            )
            .arms([copied::METHOD.name(), COPIED])
            .measures(vec![
                Measure::wall_time("copy", "copy"),
                Measure::wall_time("mount", "mount"),
                Measure::wall_time("start", "start"),
                Measure::wall_time("together", "cold"),
                Measure::wall_time("start again, warm", "warm"),
            ])
            .base(copied::METHOD.name()),
            by_part_used("Data that is read, RAM disk", READ, stacks::RAM),
            by_part_used("Data that is written later, RAM disk", WRITTEN, stacks::RAM),
        ],
        charts: vec![
            chart("Data that is read, cold", READ, &cold),
            chart("Data that is read, warm", READ, &warm),
            chart("Data that is written later, cold", WRITTEN, &cold),
            chart("Data that is written later, warm", WRITTEN, &warm),
        ],
        thresholds: vec![
            Threshold::finding(
                "time of mapping a file that is used whole, against reading it, cold",
            )
            .of(read.last(), LoadMethod::Map.name(), cold.clone())
            .against_arm(LoadMethod::ReadAll.name())
            .at_most(MAX_TIME_RATIO)
            .published("90 %"),
            Threshold::finding("time of mapping only the used half, cold")
                .of(
                    middle_size(read.clone()).as_ref(),
                    LoadMethod::MapUsedPopulated.name(),
                    cold.clone(),
                )
                .against_arm(LoadMethod::ReadAll.name())
                .at_most(MAX_TIME_RATIO),
            Threshold::finding(
                "page faults of data that is written later, taken over against copied",
            )
            .of(written.as_ref(), LoadMethod::UsedTakenOver.name(), faults())
            .against_arm(LoadMethod::PrivateReadFirst.name())
            .at_most(MAX_FAULT_RATIO)
            .published("64 %"),
            Threshold::finding("time of taking over, warm")
                .of(written.as_ref(), LoadMethod::UsedTakenOver.name(), warm)
                .against_arm(LoadMethod::PrivateReadFirst.name())
                .at_most(MAX_TIME_RATIO),
            Threshold::finding(
                "time with the image copied to a RAM disk first, against starting in place, cold",
            )
            .of(packed.as_ref(), COPIED, cold.clone())
            .against_arm(copied::METHOD.name())
            .at_least(MIN_LOSS_RATIO)
            .published("115 %"),
            Threshold::target("time of etui's first screen, cold, against plain SQLite's")
                .of(here(SCREEN).first(), ETUI, cold)
                .against_arm(PLAIN)
                .at_most(1.0),
            Threshold::target("requests for etui's first screen, cold, against plain SQLite's")
                .of(
                    counted.first(),
                    ETUI,
                    Measure::new("requests", "cold/block_reads"),
                )
                .against_arm(PLAIN)
                .at_most(1.0),
        ],
        conclusion: Conclusion {
            yes: "Mapping a program's data still starts it sooner than reading it into memory.",
            partly: "Mapping a program's data saves part of what it saved then.",
            no: "Mapping a program's data no longer starts it sooner than reading it.",
        },
        etui: Some(ETUI),
        ..ReportSpec::default()
    }
}

/// Returns the group of which half is used, or else the middle one.
fn middle_size(groups: Vec<GroupKey>) -> Option<GroupKey> {
    let half = groups.iter().find(|group| group.size == HALF);
    half.or_else(|| groups.get(groups.len() / 2)).cloned()
}
