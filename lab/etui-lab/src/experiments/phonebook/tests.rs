//! Every arm at a small size, and its report.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeMap;

use super::super::backends::run_all::run_all;
use super::*;
use crate::FindingStatus;
use crate::arms::MeasurePass;
use crate::peers::eds::{self, EdsSession};

fn plan(sizes: &[u64]) -> RunPlan {
    let set = BTreeMap::from([
        ("sizes".to_owned(), sizes.to_vec()),
        ("saves".to_owned(), vec![5]),
    ]);
    let lab = LabContext::new(&Phonebook.experiment_info(), true, &set).unwrap();
    Phonebook.plan_run(&lab).unwrap()
}

#[test]
fn all_arms_give_the_same_answer() {
    if let Err(reason) = eds::available(eds::Server::AddressBook) {
        println!("skipped for Evolution Data Server: {reason}");
    }
    let mut plan = plan(&[50]);
    // The first and the last of the server's indexes.
    for group in &mut plan.groups {
        if group.work == indexes::SERVER {
            group.arms = [0, 8].map(|at| group.arms[at].clone()).to_vec();
        }
    }
    let lines = run_all(
        &Phonebook,
        &plan,
        &[MeasurePass::Timed, MeasurePass::Counted],
    );
    let results = Results::of("phonebook", &lines);
    let shown = Phonebook.present_results(&results);
    assert!(shown.tables.iter().all(|table| !table.rows.is_empty()));
    assert!(shown.charts.iter().all(|chart| !chart.series.is_empty()));
    let group = results.groups().into_iter().next().unwrap();
    let redo = |measure: &str| results.median(&group, report::PLAIN_REDO, measure).unwrap();
    assert_eq!(redo("saves/vfs_commits"), 5.0);
    // One for each, and one for the epoch, as the book was closed and opened before.
    assert_eq!(redo("saves/vfs_log_flushes"), 6.0);
    let written = redo("save_one/vfs_median_block_bytes");
    assert!((4_096.0..40_960.0).contains(&written), "{written}");
    if eds::available(eds::Server::AddressBook).is_ok() {
        assert_ne!(shown.verdict.shown, FindingStatus::Open);
        let group = results.groups().into_iter().next().unwrap();
        let flushes = |arm: &str| results.median(&group, arm, "save_one/flushes");
        // Where a tracer can watch: as shipped nothing is flushed before the reply.
        if let Some(durable) = flushes(report::DURABLE) {
            assert!(durable >= 3.0, "journal, directory, database: {durable}");
            assert_eq!(flushes(report::DBUS), Some(0.0));
        }
        let group = plan.groups.iter().find(|g| g.work == indexes::SERVER);
        let group = group.unwrap();
        let length = |arm: usize| {
            let key = group
                .make_case("", &group.arms[arm], MeasurePass::Timed, 0)
                .group();
            let arm = &group.arms[arm].name;
            results.median(&key, arm, "fill/database_bytes").unwrap()
        };
        assert!(length(0) < length(1), "every index takes room");
    }
}

#[test]
fn partial_results_are_shown() {
    let shown = Phonebook.present_results(&Results::default());
    assert_eq!(shown.verdict.shown, FindingStatus::Open);
    let mut plan = plan(&[50]);
    for group in &mut plan.groups {
        group.arms.retain(|arm| is_product(&arm.settings, "etui"));
    }
    plan.groups.retain(|group| !group.arms.is_empty());
    let shown = Phonebook.present_results(&Results::of(
        "phonebook",
        &run_all(&Phonebook, &plan, &[MeasurePass::Timed]),
    ));
    assert_eq!(shown.verdict.shown, FindingStatus::Open);
    assert!(!shown.verdict.sentence.is_empty());
}

#[test]
fn a_session_leaves_nothing() {
    if let Err(reason) = eds::available(eds::Server::AddressBook) {
        println!("skipped: {reason}");
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let built = eds::build(eds::Server::AddressBook, dir.path()).unwrap();
    assert!(
        eds::build(eds::Server::AddressBook, dir.path()).is_ok(),
        "compiled already"
    );
    let home = dir.path().join("home");
    fs::create_dir(&home).unwrap();
    let cards = dir.path().join("cards.vcf");
    let text: String = (0..60)
        .map(|index| person(SEED, index).to_vcard(Version::V3))
        .collect();
    fs::write(&cards, text).unwrap();
    eds::fill_book(&home, &built, BOOK, &cards).unwrap();
    let session = EdsSession::start(&home, &built, eds::ServedBy::Stock).unwrap();
    let cold = eds::first_screen(&session, BOOK, "dbus", SCREEN).unwrap();
    let warm = eds::first_screen(&session, BOOK, "dbus", SCREEN).unwrap();
    assert_eq!((cold.count, warm.count), (SCREEN, SCREEN));
    assert!(cold.inside <= cold.wall);
    let servers = session.servers();
    assert_eq!(servers.len(), 2);
    let mut client = session.client().unwrap();
    assert!(client.ask(&["find", "1", "(nonsense"]).is_err(), "no book");
    assert!(client.ask(&["nonsense"]).is_err());
    drop(session);
    for pid in servers {
        // Gone, or gone but for its entry, which its parent has not taken yet.
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        assert!(environment.is_empty(), "{pid} is still there");
    }
}
