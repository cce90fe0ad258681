#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;

use super::*;
use etui_lab::experiments::backends::run_all::run_all;

#[test]
fn every_server_here_gives_the_same_answers() {
    let set = [("contacts", 64), (SECONDS, 1)];
    let set = set.map(|(name, value)| (name.to_owned(), vec![value]));
    let info = Dav.experiment_info();
    let lab = LabContext::new(&info, true, &BTreeMap::from(set)).unwrap();
    let plan = Dav.plan_run(&lab).unwrap();
    let lines = run_all(&Dav, &plan, &[MeasurePass::Timed, MeasurePass::Syscalls]);
    let results = Results::of(NAME, &lines);
    let shown = Dav.present_results(&results);
    for group in results.groups() {
        assert!(shown.tables.len() >= 9);
        for arm in &plan.groups[0].arms {
            let of = |measure: &str| results.median(&group, &arm.name, measure);
            for phase in [
                "list_contacts",
                "get_50_events",
                "add_contact",
                "replace_event",
            ] {
                for measure in ["server_ns", "wall_ns"] {
                    let name = format!("{phase}/{measure}");
                    assert!(of(&name).unwrap() > 0.0, "{name}");
                }
            }
            assert!(of("end/pss_bytes").unwrap() > 0.0);
            assert_eq!(of("list_contacts/differences"), None);
        }
    }
}
