//! The guest's part of a run: saves on the device under test, and checks of stores after cuts.

use std::ffi::CString;
use std::fs;
use std::path::{Path, PathBuf};

use rustix::mount::{MountFlags, UnmountFlags};

use super::file_systems::FileSystem;
use super::port::{CheckedStore, GuestMessage, GuestPort, GuestTask, clip_text};
use super::saves::{SaveStep, StoreState, draw_steps, list_states};
use super::stores::{open_store, use_again};
use crate::{ArmSettings, Error};

const POINT: &str = "/mnt/cut";
/// The sessions in which a run saves: the store is closed and opened between them.
const SESSIONS: usize = 3;

/// Arguments of the guest's program.
#[derive(Debug, clap::Args)]
pub struct CutGuestArgs {
    /// The kernel's name of the file system.
    file_system: String,
    /// The device under test.
    device: String,
    /// The device of the messages.
    port: PathBuf,
}

impl CutGuestArgs {
    /// Does the host's tasks until it has no more.
    pub fn run(&self) -> Result<(), Error> {
        let file_system = FileSystem::by_name(&self.file_system)?;
        write_back_at_once()?;
        let mut port = GuestPort::open(&self.port)?;
        fs::create_dir_all(POINT).map_err(|e| Error::file(POINT, e))?;
        // Left by a program that ended in the middle.
        let _ = unmount();
        let dir = Path::new(POINT);
        let mut known = KnownSteps::default();
        loop {
            match port.next_task()? {
                GuestTask::Record { settings, saves } => {
                    let steps = &known.of(saves).steps;
                    let recorded = mount(file_system, &self.device).and_then(|()| {
                        let saved = save_steps(&settings, dir, steps, &mut |saves| {
                            port.send(&GuestMessage::Acknowledged { saves })
                        });
                        let unmounted = unmount();
                        saved.and(unmounted)
                    });
                    let error = recorded.err().map(|error| clip_text(&error.to_string()));
                    port.send(&GuestMessage::Recorded { error })?;
                }
                GuestTask::Check { settings, saves } => {
                    let checked = match mount_repaired(file_system, &self.device) {
                        Err(error) => CheckedStore {
                            unmounted: Some(clip_text(&error.to_string())),
                            ..CheckedStore::default()
                        },
                        Ok(repaired) => CheckedStore {
                            repaired,
                            ..check_store(&settings, dir, &known.of(saves).states)
                        },
                    };
                    let left = match checked.unmounted {
                        None => unmount(),
                        Some(_) => Ok(()),
                    };
                    port.send(&GuestMessage::Checked(CheckedStore {
                        restarts: left.is_err(),
                        ..checked
                    }))?;
                    left?;
                }
                GuestTask::End => return Ok(()),
            }
        }
    }
}

/// The steps of a run and the states that they leave, equal for all points.
#[derive(Default)]
struct KnownSteps {
    steps: Vec<SaveStep>,
    states: Vec<StoreState>,
}

impl KnownSteps {
    fn of(&mut self, saves: u64) -> &Self {
        if self.steps.len() as u64 != saves {
            self.steps = draw_steps(saves);
            self.states = list_states(&self.steps);
        }
        self
    }
}

/// Has the kernel write dirty pages within a tenth of a second, so that a run of seconds has, as a
/// day of use, pages that are written without a flush.
fn write_back_at_once() -> Result<(), Error> {
    for name in ["dirty_writeback_centisecs", "dirty_expire_centisecs"] {
        let path = Path::new("/proc/sys/vm").join(name);
        fs::write(&path, "5").map_err(|e| Error::file(&path, e))?;
    }
    Ok(())
}

fn mount(file_system: &FileSystem, device: &str) -> Result<(), Error> {
    let options = CString::new(file_system.mount_options()?).unwrap_or_default();
    let name = file_system.name;
    rustix::mount::mount(device, POINT, name, MountFlags::NOATIME, options.as_c_str())
        .map_err(|e| Error::other(format!("mount -t {name} {device}: {e}")))
}

/// Mounts the device; repairs it first if the kernel refuses it. Returns true if it was repaired.
fn mount_repaired(file_system: &FileSystem, device: &str) -> Result<bool, Error> {
    match mount(file_system, device) {
        Ok(()) => Ok(false),
        Err(refused) => match file_system.repair(device)? {
            true => mount(file_system, device).map(|()| true),
            false => Err(refused),
        },
    }
}

fn unmount() -> Result<(), Error> {
    rustix::mount::unmount(POINT, UnmountFlags::NOFOLLOW).map_err(|e| Error::file(POINT, e))
}

/// Does the steps in sessions; reports after each step how many are acknowledged.
pub fn save_steps(
    settings: &ArmSettings,
    dir: &Path,
    steps: &[SaveStep],
    acknowledge: &mut dyn FnMut(u64) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut done = 0;
    for session in steps.chunks(steps.len().div_ceil(SESSIONS).max(1)) {
        let mut store = open_store(settings, dir)?;
        for step in session {
            store.save(step)?;
            done += 1;
            acknowledge(done)?;
        }
        store.close()?;
    }
    Ok(())
}

/// Opens a store after a cut, as the next program does, and compares it with the states of its run.
pub fn check_store(settings: &ArmSettings, dir: &Path, states: &[StoreState]) -> CheckedStore {
    let damaged = |error: &str| CheckedStore {
        damage: Some(clip_text(error)),
        ..CheckedStore::default()
    };
    match look_at_store(settings, dir) {
        Err(error) => damaged(&error.to_string()),
        Ok((state, problems)) => {
            let saves = states.iter().position(|known| *known == state);
            let damage = match (problems.first(), saves) {
                (Some(problem), _) => Some(clip_text(problem)),
                (None, None) => Some(clip_text(&describe_state(&state, states))),
                (None, Some(_)) => None,
            };
            CheckedStore {
                damage,
                saves: saves.map(|saves| saves as u64),
                ..CheckedStore::default()
            }
        }
    }
}

fn look_at_store(settings: &ArmSettings, dir: &Path) -> Result<(StoreState, Vec<String>), Error> {
    let mut store = open_store(settings, dir)?;
    let state = store.read_state()?;
    let problems = store.check()?;
    if problems.is_empty() {
        use_again(store.as_mut())?;
    }
    store.close()?;
    Ok((state, problems))
}

/// Names the differences of a state that no step left.
fn describe_state(state: &StoreState, states: &[StoreState]) -> String {
    let differences = |known: &StoreState| {
        let mut names: Vec<String> = Vec::new();
        for (key, text) in state {
            if known.get(key) != Some(text) {
                names.push(format!("{:?} {}", key.0, key.1));
            }
        }
        for key in known.keys().filter(|key| !state.contains_key(*key)) {
            names.push(format!("{:?} {} missing", key.0, key.1));
        }
        names
    };
    let nearest = states
        .iter()
        .enumerate()
        .map(|(saves, known)| (saves, differences(known)));
    let nearest = nearest.min_by_key(|(_, names)| names.len());
    let (saves, names) = nearest.unwrap_or_default();
    format!(
        "the records are those of no moment: nearest is the one after {saves} saves, which differs in {}",
        names.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::power_cut::arms::list_arms;

    /// The files in a directory and those below it.
    fn list_files(dir: &Path) -> Vec<PathBuf> {
        let entries = fs::read_dir(dir).unwrap();
        let paths = entries.map(|entry| entry.unwrap().path());
        paths
            .flat_map(|path| match path.is_dir() {
                true => list_files(&path),
                false => vec![path],
            })
            .collect()
    }

    /// Every arm saves all steps, and its store has the state of each moment.
    #[test]
    fn every_arm_has_the_state_after_each_step() {
        let steps = draw_steps(45);
        let states = list_states(&steps);
        let mut arms = list_arms();
        arms.retain(|arm| !arm.settings.is("dropped"));
        assert!(arms.len() > 8);
        for arm in arms {
            let dir = tempfile::tempdir().unwrap();
            let mut acknowledged = Vec::new();
            save_steps(&arm.settings, dir.path(), &steps[..30], &mut |saves| {
                acknowledged.push(saves);
                Ok(())
            })
            .unwrap();
            assert!(acknowledged.into_iter().eq(1..=30), "{}", arm.name);
            let copy = |from: &Path| {
                let to = tempfile::tempdir().unwrap();
                for path in list_files(from) {
                    let copied = to.path().join(path.strip_prefix(from).unwrap());
                    fs::create_dir_all(copied.parent().unwrap()).unwrap();
                    fs::copy(&path, copied).unwrap();
                }
                to
            };
            let checked = |saves: Option<u64>| CheckedStore {
                saves,
                ..CheckedStore::default()
            };
            let at_thirty = copy(dir.path());
            let found = check_store(&arm.settings, at_thirty.path(), &states);
            assert_eq!(found, checked(Some(30)), "{}", arm.name);
            // A state that the run did not have is damage, and so is a file of garbage.
            let found = check_store(&arm.settings, copy(dir.path()).path(), &states[..30]);
            assert!(found.damage.is_some(), "{}", arm.name);
            let garbage = copy(dir.path());
            for path in list_files(garbage.path()) {
                fs::write(path, [0x55; 20_000]).unwrap();
            }
            let found = check_store(&arm.settings, garbage.path(), &states);
            assert!(found.damage.is_some(), "{}", arm.name);
            let empty = tempfile::tempdir().unwrap();
            let found = check_store(&arm.settings, empty.path(), &states);
            assert_eq!(found, checked(Some(0)), "{}", arm.name);
        }
    }
}
