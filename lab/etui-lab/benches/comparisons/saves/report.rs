//! The declared report of `saves`.

use super::super::report::bounded_report;
use super::{
    CHANGED, COUNTED_STACK, ETUI_VFS, LATENCY, MANY_THREADS, MANY_VIEWS, NEW, NO_VIEWS, ONE_THREAD,
    OPENED, OTHER_PROCESS, SLOW_THREADS, SPACED, SYSTEM_VFS, THREADS, VIEWS,
};
use etui_lab::Results;
use etui_lab::stacks::HERE;
use etui_lab::{Measure, Per, ReportSpec, TableSpec, Threshold};

/// Saves of a thread group per second, as a multiple of one thread's, with slow flushes.
const MIN_GROUP_SPEEDUP: f64 = 6.0;
/// Saves with 1,000 views open, as a multiple of the time with none.
const MAX_VIEW_COST: f64 = 1.25;
/// Flushes of a save every 9 s: one, and room for a checkpoint now and then.
const MAX_SPACED_FLUSHES: f64 = 2.0;

pub(super) fn report_spec(results: &Results) -> ReportSpec {
    let group = |work: &str| results.select_groups(&[work], &[HERE]).into_iter().next();
    let table = |work: &str, caption: &str, measures, base| {
        let groups = results.select_groups(&[work], &[HERE]);
        let table = TableSpec::new(format!("Saves: {work}"), groups);
        table.caption(caption).measures(measures).base(base)
    };
    let one = || Measure::new("median", "save/p50_ns");
    let each = || Measure::wall_time("mean", "save").per(Per::Setting("saves"));
    let flushes = |title| Measure::new(title, "save/flushes").per(Per::Setting("saves"));
    let single = || {
        vec![
            Measure::new("bytes, median", "save/p50_bytes"),
            Measure::new("bytes, mean", "save/mean_bytes"),
            Measure::new(
                "bytes, with merges and checkpoints",
                "save/called_write_bytes",
            )
            .per(Per::Setting("saves")),
            flushes("flushes"),
            Measure::new("time, median", "save/p50_ns"),
            Measure::wall_time("time, with merges and checkpoints", "save")
                .per(Per::Setting("saves")),
        ]
    };
    let shared = || vec![each(), flushes("flushes a save")];
    let device = |title, key: &str| Measure::new(title, key).per(Per::Setting("saves"));
    let device_flushes = || device("flushes", "save/block_flushes");
    let occasional = || {
        vec![
            device_flushes(),
            device("writes", "save/block_writes"),
            device("bytes", "save/block_write_bytes"),
        ]
    };
    let on_device = |work: &str| {
        let groups = results.select_groups(&[work], &[COUNTED_STACK]);
        TableSpec::new(format!("Saves: {work}"), groups)
            .caption("Of the block device, the file system's own journal included.")
            .measures(occasional())
            .base(Some(SYSTEM_VFS))
    };
    let spaced = results.select_groups(&[SPACED], &[COUNTED_STACK]);
    let spaced = spaced.into_iter().next();
    let report = || Measure::new("median", "report/p50_ns");
    let without_merges = "The mean leaves out merges of the index.";
    let to_one_thread = "Ratios are to one thread.";
    let tables = vec![
        table(NEW, without_merges, single(), Some(SYSTEM_VFS)),
        table(CHANGED, without_merges, single(), Some(SYSTEM_VFS)),
        on_device(SPACED),
        on_device(OPENED),
        table(SLOW_THREADS, to_one_thread, shared(), Some(ONE_THREAD)),
        table(THREADS, to_one_thread, shared(), Some(ONE_THREAD)),
        table(
            VIEWS,
            "Views that none of the saves concerns; ratios are to no view.",
            vec![
                one(),
                Measure::new("99th percentile", "save/p99_ns"),
                each(),
            ],
            Some(NO_VIEWS),
        ),
        table(
            LATENCY,
            "",
            vec![
                report(),
                Measure::new("99th percentile", "report/p99_ns"),
                Measure::new("longest", "report/max_ns"),
            ],
            None,
        ),
    ];
    let bounds = vec![
        Threshold::target("flushes of a save every 9 s")
            .of(spaced.as_ref(), SYSTEM_VFS, device_flushes())
            .at_most(MAX_SPACED_FLUSHES),
        Threshold::target(
            "time of 16 threads for a save against one thread's, flushes 3 ms longer",
        )
        .of(group(SLOW_THREADS).as_ref(), MANY_THREADS, each())
        .against_arm(ONE_THREAD)
        .at_most(1.0 / MIN_GROUP_SPEEDUP),
        Threshold::target("a save with 1,000 views open")
            .of(group(VIEWS).as_ref(), MANY_VIEWS, one())
            .against_arm(NO_VIEWS)
            .at_most(MAX_VIEW_COST),
        Threshold::target("bytes of a new contact through etui-vfs")
            .of(
                group(NEW).as_ref(),
                ETUI_VFS,
                Measure::new("bytes", "save/p50_bytes"),
            )
            .against_arm(SYSTEM_VFS)
            .at_most(1.0),
        Threshold::target("a save reported to a view of another process").of(
            group(LATENCY).as_ref(),
            OTHER_PROCESS,
            report(),
        ),
    ];
    bounded_report(None, tables, Vec::new(), bounds)
}
