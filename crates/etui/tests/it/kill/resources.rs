//! Resources put under names.

use std::collections::BTreeMap;

use etui::resource::ResourceCondition;
use etui::{Options, Store, Vfs};
use etui_testkit::own_process::{ProgramOfTest, in_own_process};
use etui_testkit::rng::SplitMix64;

use super::child::{Lives, Running, Task, is_over, seed, tell};
use crate::support::clean;

/// Number of names.
const NAMES: u32 = 200;

fn content(number: u32, version: u64) -> String {
    format!(
        "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//test//{}\r\nBEGIN:VEVENT\r\nUID:{number}\r\n\
         DTSTART:20261120T100000Z\r\nSUMMARY:{version}\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n",
        version % 5
    )
}

/// The child: puts and moves until it is killed.
#[test]
fn resources_are_put_until_killed() {
    let Some(task) = Task::given() else {
        return;
    };
    let mut rng = SplitMix64::new(task.seed);
    let store = task.begin(&mut rng);
    let calendar = store.calendar().unwrap();
    for version in task.versions() {
        let number = rng.below(NAMES);
        tell(&format!("{number} {version}"));
        let always = ResourceCondition::Always;
        let text = content(number, version);
        calendar
            .put_resource(&format!("{number}.ics"), text.as_bytes(), &always)
            .unwrap();
        tell("done");
    }
}

/// Every put that was answered is there, byte for byte, under its name.
#[test]
fn acknowledged_resources_survive_a_kill_at_any_moment() {
    // It starts many processes.
    if !in_own_process(acknowledged_resources_survive_a_kill_at_any_moment) {
        return;
    }
    let seed = seed();
    let mut rng = SplitMix64::new(seed);
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("personal.etui");
    let mut model: BTreeMap<u32, u64> = BTreeMap::new();
    let mut lives = Lives::new();
    for round in 0.. {
        if is_over(round, !model.is_empty()) {
            break;
        }
        let vfs = [Vfs::System, Vfs::RedoLog][round as usize % 2];
        let child = ProgramOfTest::new(resources_are_put_until_killed);
        let running = Running::start(child, &path, vfs, seed * 1_000 + round);
        std::thread::sleep(lives.draw(&mut rng));
        let mut begun = None;
        let mut has_worked = false;
        for line in running.kill() {
            if line == "done" {
                let (number, version) = begun.take().unwrap();
                model.insert(number, version);
                has_worked = true;
            } else {
                let (number, version) = line.split_once(' ').unwrap();
                begun = Some((number.parse().unwrap(), version.parse().unwrap()));
            }
        }
        lives.learn(has_worked);
        let mut options = Options::default();
        options.vfs = vfs;
        let store = Store::open_with(&path, &options).unwrap();
        let calendar = store.calendar().unwrap();
        // The put under way is there as a whole, or not at all.
        if let Some((number, version)) = begun {
            let found = calendar.resource(&format!("{number}.ics")).unwrap();
            if found.is_some_and(|found| found.bytes == content(number, version).into_bytes()) {
                model.insert(number, version);
            }
        }
        let mut found = BTreeMap::new();
        let names: Vec<String> = (0..NAMES).map(|number| format!("{number}.ics")).collect();
        calendar
            .resources(&names, |number, resource| {
                if let Some(resource) = resource {
                    found.insert(number as u32, resource.bytes);
                }
                Ok(())
            })
            .unwrap();
        let expected = model.iter();
        let expected =
            expected.map(|(&number, &version)| (number, content(number, version).into_bytes()));
        assert!(found == expected.collect(), "round {round}, seed {seed}");
        clean(&store);
        store.close().unwrap();
    }
    assert!(!model.is_empty());
}
