//! Folders that khard, khal and vdirsyncer change while etui changes its store: both sides agree in the
//! end, no removed record comes back, and no change is lost.

use std::collections::BTreeMap;

use etui_testkit::rng::SplitMix64;

use crate::harness::TestHome;
use crate::vdir::is_installed;

/// Records of each kind.
const RECORDS: usize = 250;
/// Rounds of changes on both sides.
const ROUNDS: usize = 10;
/// Changes of each kind of record in a round, half of them on each side.
const CHANGES: usize = 10;

const KHARD: &str = "[addressbooks]\n[[theirs]]\npath = ~/theirs/Contacts\n[general]\ndefault_action = list\n\
[vcard]\npreferred_version = 3.0\n";
const KHAL: &str = "[calendars]\n[[theirs]]\npath = ~/theirs/Calendar\n[locale]\ntimeformat = %H:%M\n\
dateformat = %Y-%m-%d\nlongdateformat = %Y-%m-%d\ndatetimeformat = %Y-%m-%d %H:%M\n\
longdatetimeformat = %Y-%m-%d %H:%M\nlocal_timezone = Europe/Berlin\ndefault_timezone = Europe/Berlin\n";
const VDIRSYNCER: &str = "[general]\nstatus_path = \"~/status/\"\n\
[pair cards]\na = \"cards_a\"\nb = \"cards_b\"\ncollections = [\"Contacts\"]\n\
[pair events]\na = \"events_a\"\nb = \"events_b\"\ncollections = [\"Calendar\"]\n\
[storage cards_a]\ntype = \"filesystem\"\npath = \"~/ours\"\nfileext = \".vcf\"\n\
[storage cards_b]\ntype = \"filesystem\"\npath = \"~/theirs\"\nfileext = \".vcf\"\n\
[storage events_a]\ntype = \"filesystem\"\npath = \"~/ours\"\nfileext = \".ics\"\n\
[storage events_b]\ntype = \"filesystem\"\npath = \"~/theirs\"\nfileext = \".ics\"\n";

const TAKE: &str = "etui import -q --delete --addressbook Contacts ours/Contacts; \
    etui import -q --delete --calendar Calendar ours/Calendar";
const GIVE: &str = "etui export -q --delete --addressbook Contacts --vdir ours/Contacts && \
    etui export -q --delete --calendar Calendar --vdir ours/Calendar";
const SYNC: &str = "vdirsyncer -v WARNING -c vdirsyncer.conf sync";

/// A kind of record: its command, folder, suffix, and the property that changes give a value.
#[derive(Clone, Copy)]
struct Kind {
    command: &'static str,
    folder: &'static str,
    suffix: &'static str,
    property: &'static str,
    field: &'static str,
}

const KINDS: [Kind; 2] = [
    Kind {
        command: "contacts",
        folder: "Contacts",
        suffix: "vcf",
        property: "FN",
        field: "name",
    },
    Kind {
        command: "calendar",
        folder: "Calendar",
        suffix: "ics",
        property: "SUMMARY",
        field: "title",
    },
];

fn first_record(kind: Kind, n: usize) -> String {
    match kind.suffix {
        "vcf" => format!(
            "BEGIN:VCARD\r\nVERSION:3.0\r\nUID:r{n}\r\nN:First{n};;;;\r\nFN:First{n}\r\nEND:VCARD\r\n"
        ),
        _ => format!(
            "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//Example//EN\r\nBEGIN:VEVENT\r\nUID:r{n}\r\n\
             DTSTAMP:20260101T000000Z\r\nDTSTART:202603{:02}T100000Z\r\nDTEND:202603{:02}T110000Z\r\n\
             SUMMARY:First{n}\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n",
            n % 28 + 1,
            n % 28 + 1
        ),
    }
}

/// The value of the property in a file of a folder, by UID.
fn folder_state(home: &TestHome, side: &str, kind: Kind) -> BTreeMap<String, String> {
    let mut state = BTreeMap::new();
    for entry in std::fs::read_dir(home.path(&format!("{side}/{}", kind.folder))).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|e| e == kind.suffix) {
            let text = std::fs::read_to_string(&path).unwrap();
            let value = |name: &str| {
                let line = text
                    .lines()
                    .find_map(|l| l.strip_prefix(&format!("{name}:")));
                line.unwrap_or_default().trim().to_owned()
            };
            state.insert(value("UID"), value(kind.property));
        }
    }
    state
}

/// The same of the store.
fn store_state(home: &TestHome, kind: Kind) -> BTreeMap<String, String> {
    let (text, _) = home.run(&format!(
        "etui {} list --fields uid,{} --json",
        kind.command, kind.field
    ));
    let rows = text
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let text = |row: &serde_json::Value, name: &str| row[name].as_str().unwrap().to_owned();
    rows.map(|row| (text(&row, "uid"), text(&row, kind.field)))
        .collect()
}

fn replace(home: &TestHome, kind: Kind, uid: &str, value: &str) {
    let path = home.path(&format!("theirs/{}/{uid}.{}", kind.folder, kind.suffix));
    let text = std::fs::read_to_string(&path).unwrap();
    let lines = text.lines().map(
        |line| match line.starts_with(&format!("{}:", kind.property)) {
            true => format!("{}:{value}\r\n", kind.property),
            false => format!("{}\r\n", line.trim_end()),
        },
    );
    std::fs::write(path, lines.collect::<String>()).unwrap();
}

#[test]
fn both_sides_of_a_folder_agree_after_random_changes() {
    if !["khard", "khal", "vdirsyncer"]
        .into_iter()
        .all(is_installed)
    {
        return;
    }
    let home = TestHome::new();
    let mut rng = SplitMix64::new(37);
    let mut expected: [BTreeMap<String, String>; 2] = Default::default();
    for (kind, expected) in KINDS.into_iter().zip(&mut expected) {
        let all: String = (0..RECORDS).map(|n| first_record(kind, n)).collect();
        std::fs::write(home.path(&format!("all.{}", kind.suffix)), all).unwrap();
        expected.extend((0..RECORDS).map(|n| (format!("r{n}"), format!("First{n}"))));
    }
    for (name, text) in [
        (".config/khard/khard.conf", KHARD),
        (".config/khal/config", KHAL),
        ("vdirsyncer.conf", VDIRSYNCER),
        // khard edits a form.
        (
            "editor",
            "#!/bin/sh\nsed -i -E \"s/^( *)Formatted name *:.*/\\1Formatted name : $NEW/\" \"$1\"\n",
        ),
    ] {
        std::fs::create_dir_all(home.path(name).parent().unwrap()).unwrap();
        std::fs::write(home.path(name), text).unwrap();
    }
    let (text, code) = home.run(&format!(
        "chmod +x editor; etui import -q all.vcf all.ics && {GIVE} && mkdir -p theirs/Contacts theirs/Calendar && \
         {{ yes | vdirsyncer -v WARNING -c vdirsyncer.conf discover >/dev/null 2>&1; {SYNC}; }}"
    ));
    assert_eq!(code, Some(0), "{text}");

    let mut edits_lost_to_a_later_one = 0;
    for round in 0..ROUNDS {
        for (kind, expected) in KINDS.into_iter().zip(&mut expected) {
            let alive: Vec<String> = expected.keys().cloned().collect();
            let pick = |rng: &mut SplitMix64| alive[rng.below(alive.len() as u32) as usize].clone();
            let (mut ours, mut theirs) = (BTreeMap::new(), BTreeMap::new());
            for change in 0..CHANGES {
                // Some are of one record on both sides.
                let uid = pick(&mut rng);
                let value = (rng.below(3) > 0).then(|| format!("Value{round}x{change}"));
                match change % 2 {
                    0 => ours.insert(uid, value),
                    _ => theirs.insert(uid, value),
                };
            }
            // One in each round is of both.
            if let Some((uid, _)) = ours.first_key_value() {
                theirs.insert(
                    uid.clone(),
                    (round % 2 == 0).then(|| format!("Both{round}")),
                );
            }
            let mut lines = String::new();
            for (uid, value) in &ours {
                lines.push_str(&match value {
                    Some(value) => {
                        format!(
                            "etui {} edit -q {uid} --set {}={value} || echo failed\n",
                            kind.command, kind.field
                        )
                    }
                    None => format!("etui {} remove -q {uid} || echo failed\n", kind.command),
                });
            }
            let mut is_first = true;
            for (uid, value) in &theirs {
                match (value, kind.suffix) {
                    // The programs take half a second each: one edit and one removal of a round.
                    (Some(value), "vcf") if is_first => {
                        lines.push_str(&format!(
                            "NEW={value} EDITOR=~/editor khard edit --format yaml uid:{uid} </dev/null >/dev/null\n"
                        ));
                        is_first = false;
                    }
                    (None, "vcf") if round % 2 == 1 => {
                        lines.push_str(&format!(
                            "khard remove --force uid:{uid} </dev/null >/dev/null\n"
                        ));
                    }
                    (Some(value), _) => replace(&home, kind, uid, value),
                    (None, _) => {
                        let path = format!("theirs/{}/{uid}.{}", kind.folder, kind.suffix);
                        std::fs::remove_file(home.path(&path)).unwrap();
                    }
                }
            }
            let (text, _) = home.run(&lines);
            assert!(!text.contains("failed"), "{text}");
            for uid in ours.keys().chain(theirs.keys()) {
                match (
                    ours.get(uid).cloned().flatten(),
                    theirs.get(uid).cloned().flatten(),
                ) {
                    // The folder's edit is taken; the other one stays in the history.
                    (here, Some(there)) => {
                        edits_lost_to_a_later_one += usize::from(here.is_some());
                        expected.insert(uid.clone(), there)
                    }
                    (Some(here), None) => expected.insert(uid.clone(), here),
                    (None, None) => expected.remove(uid),
                };
            }
        }
        if round == 0 {
            let new = "khal new -a theirs 2026-03-05 10:00 11:00 Added by khal";
            let (text, code) = home.run(new);
            assert_eq!(code, Some(0), "{text}");
        }
        let (text, code) = home.run(&format!("{SYNC} && {TAKE}; {GIVE} && {SYNC}"));
        assert_eq!(code, Some(0), "{text}");
        if round == 0 {
            let added = store_state(&home, KINDS[1])
                .into_iter()
                .find(|(_, title)| title == "Added by khal");
            let (uid, title) = added.expect("khal's event is imported");
            expected[1].insert(uid, title);
        }
        for (kind, expected) in KINDS.into_iter().zip(&expected) {
            let states = [
                store_state(&home, kind),
                folder_state(&home, "ours", kind),
                folder_state(&home, "theirs", kind),
            ];
            for state in states {
                let differs =
                    |(uid, value): &(&String, &String)| expected.get(*uid) != Some(*value);
                let wrong: Vec<_> = state.iter().filter(differs).collect();
                let lost: Vec<_> = expected
                    .keys()
                    .filter(|uid| !state.contains_key(*uid))
                    .collect();
                assert!(
                    wrong.is_empty() && lost.is_empty(),
                    "round {round}: {wrong:?} {lost:?}: {text}"
                );
            }
        }
    }
    assert!(edits_lost_to_a_later_one > 0);
    // All is quiet now.
    let (text, code) = home.run(&format!(
        "{} && {}",
        TAKE.replace("-q ", ""),
        GIVE.replace("-q ", "")
    ));
    assert_eq!(code, Some(0));
    assert!(
        !text.contains("removed") && text.matches(" 0 added").count() == 2,
        "{text}"
    );
    assert_eq!(
        text.matches(" 0 contacts written").count() + text.matches(" 0 entries written").count(),
        2,
        "{text}"
    );
    let (text, _) = home
        .run("khard list | wc -l; khal list 2026-03-01 28d | grep -c -E 'First|Value|Both|Added'");
    let counts: Vec<usize> = text
        .split_whitespace()
        .filter_map(|n| n.parse().ok())
        .collect();
    assert!(
        counts.len() == 2 && counts[0] > expected[0].len() && counts[1] == expected[1].len(),
        "{text}"
    );
}
