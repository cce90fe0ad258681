//! Saves, removals and restorations of records.

use std::time::{Duration, Instant};

use etui::calendar::CalendarObject;
use etui::contacts::Card;
use etui::{Options, Store, Vfs};
use etui_testkit::own_process::in_own_process;
use etui_testkit::rng::SplitMix64;

use super::child::{Lives, Running, Task, is_over, kills, seed, tell};
use super::kinds::Written;
use super::steps::{Model, Step, contents, differing};

/// The child: writes until it is killed.
fn write_until_killed<R: Written>() {
    let Some(task) = Task::given() else {
        return;
    };
    let mut rng = SplitMix64::new(task.seed);
    let store = task.begin(&mut rng);
    let mut versions = task.versions();
    loop {
        let step = Step::random(&mut rng, &mut versions);
        tell(&step.write());
        step.run(&R::of(&store));
        tell("done");
    }
}

#[test]
pub fn contacts_are_written_until_killed() {
    write_until_killed::<Card>();
}

#[test]
pub fn calendars_are_written_until_killed() {
    write_until_killed::<CalendarObject>();
}

#[test]
fn acknowledged_contacts_survive_a_kill_at_any_moment() {
    // It starts many processes.
    if !in_own_process(acknowledged_contacts_survive_a_kill_at_any_moment) {
        return;
    }
    survives_kills::<Card>(Vfs::System);
}

#[test]
fn acknowledged_contacts_in_a_redo_log_survive_a_kill_at_any_moment() {
    // It starts many processes.
    if !in_own_process(acknowledged_contacts_in_a_redo_log_survive_a_kill_at_any_moment) {
        return;
    }
    survives_kills::<Card>(Vfs::RedoLog);
}

#[test]
fn acknowledged_calendars_survive_a_kill_at_any_moment() {
    // It starts many processes.
    if !in_own_process(acknowledged_calendars_survive_a_kill_at_any_moment) {
        return;
    }
    survives_kills::<CalendarObject>(Vfs::System);
}

#[test]
fn acknowledged_calendars_in_a_redo_log_survive_a_kill_at_any_moment() {
    // It starts many processes.
    if !in_own_process(acknowledged_calendars_in_a_redo_log_survive_a_kill_at_any_moment) {
        return;
    }
    survives_kills::<CalendarObject>(Vfs::RedoLog);
}

fn survives_kills<R: Written>(vfs: Vfs) {
    let seed = seed();
    let mut rng = SplitMix64::new(seed);
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("personal.etui");
    let mut model = Model::default();
    let (mut acknowledged, mut kept, mut compared) = (0, 0, 0);
    let mut slowest = Duration::ZERO;
    let mut lives = Lives::new();
    for round in 0.. {
        if is_over(round, acknowledged * 4 > round && compared > 0) {
            break;
        }
        let life = lives.draw(&mut rng);
        let running = Running::start(R::child(), &path, vfs, seed * 1_000 + round);
        std::thread::sleep(life);
        let mut begun: Option<Step> = None;
        let before = acknowledged;
        for line in running.kill() {
            if line == "done" {
                model.apply(&begun.take().unwrap());
                acknowledged += 1;
            } else {
                assert_eq!(begun, None);
                begun = Some(Step::read(&line));
            }
        }
        lives.learn(acknowledged > before);

        // The next program may be one that only reads.
        let mut options = Options::default();
        options.read_only = round % 2 == 1 && acknowledged > 0;
        options.vfs = vfs;
        let asked = Instant::now();
        let store = Store::open_with(&path, &options).unwrap();
        slowest = slowest.max(asked.elapsed());
        let found = contents(&R::of(&store));
        let mut with_last = model.clone();
        if let Some(step) = &begun {
            with_last.apply(step);
        }
        if found != model.contents::<R>() {
            assert!(
                found == with_last.contents::<R>(),
                "round {round}, seed {seed}, killed after {life:?}: {:?} differ from what was \
                 acknowledged, {:?} from that and the last step, {begun:?}",
                differing(&found, &model.contents::<R>()),
                differing(&found, &with_last.contents::<R>()),
            );
            model = with_last;
            kept += 1;
        }
        let report = store.check().unwrap();
        assert!(
            report.is_clean(),
            "round {round}, seed {seed}: {:?}",
            report.problems
        );
        assert_eq!(R::counted(&report), found[0].len() as u64);
        assert_eq!(R::of(&store).count().unwrap(), R::counted(&report));
        compared += R::compare(&R::of(&store), seed + round);
        store.close().unwrap();
    }
    println!(
        "{acknowledged} steps acknowledged, {kept} kept that were not, {} kills, {compared} finds \
         compared, opened in at most {slowest:?}",
        kills()
    );
    assert!(
        acknowledged * 4 > kills() && compared > 0,
        "the kills came too early to say anything"
    );
}
