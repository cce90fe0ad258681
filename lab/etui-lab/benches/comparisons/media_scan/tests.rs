#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;

use super::*;
use etui_lab::experiments::backends::run_all::run_all;

#[test]
fn every_product_here_gives_the_same_answer() {
    let set = [("albums".to_owned(), vec![8])];
    let info = MediaScan.experiment_info();
    let lab = LabContext::new(&info, true, &BTreeMap::from(set)).unwrap();
    let plan = MediaScan.plan_run(&lab).unwrap();
    let lines = run_all(&MediaScan, &plan, &[MeasurePass::Timed]);
    let results = Results::of(NAME, &lines);
    let shown = MediaScan.present_results(&results);
    assert!(shown.tables.len() >= 6);
    let groups = results.groups();
    let of = |measure| results.median(&groups[0], report::ETUI, measure).unwrap();
    assert_eq!(of("first/covers_decoded"), of("first/distinct_covers"));
    assert_eq!(of("first/covers_stored"), of("first/distinct_covers"));
    assert!(of("search/hits") > 0.0);
    assert_eq!(of("page/albums"), 8.0);
    assert_eq!(of("changed/files"), 1.0);
}
