//! Every arm of `media-sync`, once, in a process of their own: SQLite must not be in use before
//! its memory is counted.

use std::collections::BTreeMap;

use etui_lab::results::RunRecord;
use etui_lab::{FindingStatus, LabContext, MeasurePass, Recorder, Results, RunLocation};
use etui_testkit::own_process::in_own_process;

#[test]
fn all_arms_give_the_same_answer_and_the_cures_show() {
    if !in_own_process(all_arms_give_the_same_answer_and_the_cures_show) {
        return;
    }
    etui_lab_io::memory::enable_memory_statistics(true).unwrap();
    let experiments = etui_lab::experiments::all_experiments();
    let experiment = experiments
        .iter()
        .find(|e| e.experiment_info().name == "media-sync")
        .unwrap();
    let set = BTreeMap::from([
        ("batches".to_owned(), vec![2]),
        ("page-sizes".to_owned(), vec![4096, 16_384]),
    ]);
    let lab = LabContext::new(&experiment.experiment_info(), true, &set).unwrap();
    let plan = experiment.plan_run(&lab).unwrap();
    let mut results = Results::default();
    for group in plan.groups.iter().filter(|group| group.stack == "here") {
        let shared = tempfile::tempdir().unwrap();
        experiment.set_up(group, shared.path()).unwrap();
        let mut answers = Vec::new();
        for arm in &group.arms {
            let dir = tempfile::tempdir().unwrap();
            let place = RunLocation {
                dir: dir.path().to_owned(),
                shared: shared.path().to_owned(),
                devices: Vec::new(),
                traced: false,
            };
            let case = group.make_case("media-sync", arm, MeasurePass::Timed, 0);
            let mut recorder = Recorder::new(place, MeasurePass::Timed);
            experiment.run_case(&case, &mut recorder).unwrap();
            let (measures, answer) = recorder.finish();
            answers.push(answer.clone());
            results.runs.push(RunRecord {
                case,
                answer,
                measures,
            });
        }
        answers.dedup();
        assert_eq!(answers.len(), 1, "{}", group.work);
    }
    let key = &results.groups()[0];
    let of = |arm: &str, measure: &str| {
        results
            .median(key, arm, &format!("sync/{measure}"))
            .unwrap_or_else(|| panic!("{arm} {measure}"))
    };
    let found = "as found";
    assert!(of(found, "rewritten_pages") > 0.0);
    assert_eq!(of("soft heap limit 8 MB", "rewritten_pages"), 0.0);
    assert_eq!(of(found, "journal_unsteady_batches"), 2.0);
    assert_eq!(
        of("journal rests as long as it was", "journal_size_changes"),
        0.0
    );
    let (grown, steps) = (
        of(found, "database_size_changes"),
        of("database grows in steps", "database_size_changes"),
    );
    assert!(steps * 20.0 < grown);
    assert!(of("write-back consolidated", "database_writes") * 3.0 < of(found, "database_writes"));

    // A batch is written to its place and flushed there; then a small record names it.
    let redo = "etui-vfs";
    assert_eq!(
        of(redo, "journal_syncs"),
        2.0 + 2.0,
        "two batches, two epochs"
    );
    assert_eq!(of(redo, "database_syncs"), 2.0);
    let payload = of(redo, "payload_bytes");
    assert!(of(redo, "journal_write_bytes") < 0.2 * payload);
    let writes = |arm: &str| of(arm, "database_writes") + of(arm, "journal_writes");
    assert!(writes(redo) * 4.0 <= writes(found));
    let bytes = |arm: &str, measure: &str| {
        let back = results.median(key, arm, &format!("checkpoint/{measure}"));
        of(arm, measure) + back.unwrap()
    };
    let all = bytes(redo, "database_write_bytes") + bytes(redo, "journal_write_bytes");
    assert!(all < 1.3 * payload, "{}", all / payload);
    let logged = "etui-vfs, new pages logged";
    assert_eq!(of(logged, "database_write_bytes"), 0.0);
    assert!(of(logged, "journal_write_bytes") > payload);
    // SQLite's own checkpoint comes after every second batch.
    assert!(of("etui-vfs, SQLite's checkpoints", "database_write_bytes") > payload);

    let shown = experiment.present_results(&results);
    let logs = shown
        .tables
        .iter()
        .find(|table| table.title.starts_with("Journal and logs"));
    assert_eq!(logs.unwrap().rows.len(), 7);
    assert_eq!(
        shown.verdict.shown,
        FindingStatus::Yes,
        "{}",
        shown.verdict.sentence
    );
    assert!(
        shown.tables.len() >= 4
            && shown.tables.iter().all(|table| {
                table
                    .rows
                    .iter()
                    .all(|row| row.cells.len() == table.columns.len())
            })
    );
    // With a part of the results there is no verdict, and no failure.
    results.runs.truncate(1);
    assert_eq!(
        experiment.present_results(&results).verdict.shown,
        FindingStatus::Open
    );
    assert_eq!(
        experiment
            .present_results(&Results::default())
            .verdict
            .shown,
        FindingStatus::Open
    );
}
