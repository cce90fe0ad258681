#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
//! A run is killed in the midst of everything; the next one removes its leftovers.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};

use super::*;

/// Where the helper's registry and its working directory are.
const PLACE: &str = "ETUI_LAB_TEST_PLACE";

/// Not a test of its own: the run that is killed. It creates everything that a run creates, prints it, and
/// waits for its end.
#[test]
#[allow(clippy::zombie_processes)] // The child outlives the helper; that is the point.
fn helper_that_is_killed() {
    let Some(place) = std::env::var_os(PLACE).map(PathBuf::from) else {
        return;
    };
    let registry = CleanupRegistry::at(&place.join("registry")).unwrap();
    let mut live = registry.begin().unwrap();
    let work = live.directory(&place).unwrap();
    fs::write(work.join("a file"), b"x").unwrap();
    std::os::unix::fs::symlink(place.join("precious"), work.join("link")).unwrap();
    for dir in stacks::outside_directory(&work) {
        fs::create_dir(dir).unwrap();
    }
    let (name, id) = live.marker();
    let child = Command::new("sleep")
        .arg("600")
        .env(name, id)
        .spawn()
        .unwrap();
    let mut stacks = Vec::new();
    for name in ["ext4", "ext4-journal", stacks::RAM] {
        if stacks::check_available(name).is_ok() && rustix::process::geteuid().is_root() {
            let stack = stacks::prepare_stack(name, &work, None).unwrap();
            fs::write(stack.dir.join("data"), b"on it").unwrap();
            stacks.push(stack);
        }
    }
    if rustix::process::geteuid().is_root() {
        let image = work.join("gone.img");
        fs::write(&image, vec![0; 1 << 20]).unwrap();
        let attached = Command::new("losetup")
            .args(["--find", "--show"])
            .arg(&image)
            .output()
            .unwrap();
        assert!(attached.status.success());
        fs::remove_file(&image).unwrap();
    }
    println!("\nready {} {}", child.id(), work.display());
    std::io::stdout().flush().unwrap();
    thread::sleep(Duration::from_secs(600));
}

fn start_helper(place: &Path) -> (Child, u32, PathBuf) {
    let mut helper = Command::new(std::env::current_exe().unwrap())
        .args(["helper_that_is_killed", "--nocapture", "--test-threads=1"])
        .env(PLACE, place)
        .env_remove(MARKER)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(helper.stdout.take().unwrap()).lines();
    let line = lines
        .by_ref()
        .map(Result::unwrap)
        .find(|line| line.starts_with("ready "))
        .expect("the helper to get ready");
    let mut words = line.splitn(3, ' ').skip(1);
    let child = words.next().unwrap().parse().unwrap();
    (helper, child, PathBuf::from(words.next().unwrap()))
}

fn place() -> (tempfile::TempDir, PathBuf) {
    let place = tempfile::tempdir().unwrap();
    let path = fs::canonicalize(place.path()).unwrap();
    fs::create_dir(path.join("precious")).unwrap();
    fs::write(path.join("precious/file"), b"not the laboratory's").unwrap();
    (place, path)
}

fn lives(pid: u32) -> bool {
    // A process that was killed and waits to be reaped has no environment.
    let mut environment = Vec::new();
    File::open(format!("/proc/{pid}/environ"))
        .and_then(|mut file| file.read_to_end(&mut environment))
        .is_ok_and(|size| size > 0)
}

#[test]
fn what_a_killed_run_left_is_removed() {
    let (_guard, place) = place();
    let (mut helper, child, work) = start_helper(&place);
    let registry = CleanupRegistry::at(&place.join("registry")).unwrap();

    // As long as it lives it is left alone.
    assert_eq!(registry.sweep().unwrap(), Vec::<String>::new());
    assert!(work.join("a file").exists() && lives(child));
    let mounted = mounts::mounts_beneath(&work).unwrap().len();
    let attached = loops_beneath(&work).len();
    if rustix::process::geteuid().is_root() && stacks::check_available("ext4").is_ok() {
        assert_eq!((mounted, attached), (3, 4));
    }

    helper.kill().unwrap();
    helper.wait().unwrap();
    assert!(lives(child));

    let removed = registry.sweep().unwrap();
    println!("{removed:#?}");
    assert!(removed.contains(&format!("process {child}")));
    assert!(removed.contains(&format!("directory {}", work.display())));
    assert!(!work.exists() && !lives(child));
    for dir in stacks::outside_directory(&work) {
        assert!(!dir.exists());
    }
    assert!(mounts::mounts_beneath(&work).unwrap().is_empty());
    assert!(loops_beneath(&work).is_empty());
    assert_eq!(fs::read_dir(place.join("registry")).unwrap().count(), 0);
    assert_eq!(
        fs::read(place.join("precious/file")).unwrap(),
        b"not the laboratory's"
    );
    assert_eq!(registry.sweep().unwrap(), Vec::<String>::new());
}

#[test]
fn a_run_that_ends_removes_its_own() {
    let (_guard, place) = place();
    let registry = CleanupRegistry::at(&place.join("registry")).unwrap();
    let mut live = registry.begin().unwrap();
    let work = live.directory(&place).unwrap();
    fs::write(work.join("file"), b"x").unwrap();
    let removed = live.end().unwrap();
    assert_eq!(removed, [format!("directory {}", work.display())]);

    let mut live = registry.begin().unwrap();
    let work = live.directory(&place).unwrap();
    drop(live);
    assert!(!work.exists());
    assert_eq!(fs::read_dir(place.join("registry")).unwrap().count(), 0);
}

#[test]
fn nothing_but_a_runs_own_directory_is_removed() {
    let (_guard, place) = place();
    let registry = CleanupRegistry::at(&place.join("registry")).unwrap();
    let id = "0123456789abcdef";
    let precious = place.join("precious");
    let link = place.join(format!("{PREFIX}{id}"));
    std::os::unix::fs::symlink(&precious, &link).unwrap();
    let relative = format!("{PREFIX}{id}");
    let lines = format!(
        "dir {}\ndir {}\ndir /\ndir {relative}\ngarbage\n",
        precious.display(),
        link.display()
    );
    fs::write(place.join("registry").join(id), lines).unwrap();
    fs::write(place.join("registry/README"), "not an entry").unwrap();

    assert_eq!(registry.sweep().unwrap(), Vec::<String>::new());
    assert!(precious.join("file").exists());
    assert!(link.symlink_metadata().is_ok());
    assert!(place.join("registry/README").exists());
    assert!(!place.join("registry").join(id).exists());
}

#[test]
fn a_registry_that_others_can_write_is_refused() {
    let (_guard, place) = place();
    let open = place.join("open");
    fs::create_dir(&open).unwrap();
    fs::set_permissions(&open, fs::Permissions::from_mode(0o777)).unwrap();
    assert!(CleanupRegistry::at(&open).is_err());
    let link = place.join("link");
    CleanupRegistry::at(&place.join("own")).unwrap();
    std::os::unix::fs::symlink(place.join("own"), &link).unwrap();
    assert!(CleanupRegistry::at(&link).is_err());
}
