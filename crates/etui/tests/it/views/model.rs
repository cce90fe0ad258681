//! Random operations: a reader that applies a view's changes has what its filter finds.

use std::collections::BTreeMap;

use etui::Store;
use etui::contacts::{Card, Paging};
use etui_testkit::rng::SplitMix64;

use super::{Follower, PATIENCE, clean, directory, filter, quick, since};

/// Random operations, many views: the applied changes equal the filter's answer.
#[test]
fn applied_changes_equal_find() {
    let filters = [
        "*",
        "name:ann*",
        "-name:ann*",
        "anna or berta",
        "org:acme",
        "phone:*4711",
        "phone:0304711",
        "email:*",
        "email:*@example.org -anna",
        "note:tea",
        "*nn*",
        "zz",
        "uid:\"u1\",\"u5\",\"u9\"",
        "-uid:u2 anna or uid:u2",
    ];
    let rounds = if std::env::var_os("ETUI_TEST_LONG").is_some() {
        60
    } else {
        6
    };
    for seed in 0..rounds {
        let mut rng = SplitMix64::new(seed);
        let (_dir, path) = directory();
        let store = Store::open_with(&path, &quick()).unwrap();
        let contacts = store.contacts().unwrap();
        let other = store.collections::<Card>().create("Other").unwrap();
        let mut views: Vec<_> = filters
            .iter()
            .map(|f| {
                (
                    filter(f),
                    contacts.view(&filter(f)).unwrap(),
                    Follower::default(),
                )
            })
            .collect();
        for step in 0..150 {
            let book = if rng.chance(100) { &other } else { &contacts };
            let uids: Vec<_> = (0..1 + rng.below(4))
                .map(|_| format!("u{}", rng.below(12)))
                .collect();
            match rng.below(6) {
                0..3 => {
                    let cards: Vec<_> = uids.iter().map(|u| random_card(&mut rng, u)).collect();
                    book.save_many(&cards).unwrap();
                }
                3 | 4 => drop(book.remove_many(&uids).unwrap()),
                _ => drop(book.restore_many(&uids).unwrap()),
            }
            if rng.chance(30) {
                store.maintenance().merge_index().unwrap();
            }
            for (filter, view, follower) in &mut views {
                match rng.below(4) {
                    0 => follower.apply(since(view.changes().unwrap())),
                    1 => {
                        let loaded = view.load(Paging::ALL).unwrap();
                        follower.apply(since(loaded.changes));
                        let entries: BTreeMap<_, _> = loaded
                            .entries
                            .into_iter()
                            .map(|e| (e.id, e.summary))
                            .collect();
                        assert_eq!(follower.entries, entries, "seed {seed}, step {step}");
                    }
                    2 => {
                        // A view is woken if it has changes to report.
                        let token = view.token();
                        let mut twin = contacts.view_since(filter, token).unwrap();
                        let expected = since(twin.changes().unwrap());
                        if !expected.is_empty() {
                            let reported =
                                view.wait(Some(PATIENCE)).unwrap().expect("a lost wakeup");
                            assert_eq!(since(reported), expected, "seed {seed}, step {step}");
                            follower.apply(expected);
                        }
                    }
                    _ => continue,
                }
                follower.check(&contacts, filter);
            }
        }
        clean(&store);
    }
}

fn random_card(rng: &mut SplitMix64, uid: &str) -> Card {
    let mut pick = |from: &[&str]| from[rng.below(from.len() as u32) as usize].to_owned();
    let text = format!(
        "BEGIN:VCARD\r\nVERSION:4.0\r\nUID:{uid}\r\n{}{}{}{}{}END:VCARD\r\n",
        pick(&[
            "FN:Anna\r\n",
            "FN:Berta\r\n",
            "FN:Annika Zz\r\n",
            "FN:Ines\r\n"
        ]),
        pick(&["", "ORG:Acme\r\n", "ORG:Acme;Sales\r\n", "ORG:Other\r\n"]),
        pick(&[
            "",
            "TEL:030 4711\r\n",
            "TEL:+49 30 4711\r\n",
            "TEL:0171 5\r\n"
        ]),
        pick(&["", "EMAIL:a@example.org\r\n", "EMAIL:a@example.com\r\n"]),
        pick(&[
            "",
            "NOTE:tea\r\n",
            "NOTE:no teapot\r\n",
            "URL:http://example.org\r\n"
        ]),
    );
    Card::parse(text).unwrap()
}
