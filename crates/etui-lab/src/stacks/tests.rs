#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
//! Every stack that can be had here is made, used and gone afterwards.

use super::*;

const ALL: [&str; 11] = [
    HERE,
    RAM,
    "ext4",
    "ext4-journal",
    "xfs",
    "btrfs",
    "vfat",
    "exfat",
    "squashfs",
    "squashfs-uncompressed",
    "erofs",
];

fn loops_over(dir: &Path) -> Vec<PathBuf> {
    crate::runner::cleanup::loops_beneath(dir)
}

#[test]
fn each_stack_is_made_and_taken_down() {
    let work = tempfile::Builder::new()
        .prefix(".etui-lab-")
        .tempdir()
        .unwrap();
    let work = fs::canonicalize(work.path()).unwrap();
    let contents = work.join("contents");
    fs::create_dir(&contents).unwrap();
    fs::write(contents.join("file"), b"what is packed").unwrap();
    for name in ALL {
        match check_available(name) {
            Ok(()) => {}
            Err(reason) => {
                println!("{name}: {reason}");
                assert!(prepare_stack(name, &work, Some(&contents)).is_err());
                continue;
            }
        }
        let stack = prepare_stack(name, &work, Some(&contents)).unwrap();
        println!("{name}: {:?} {:#?}", stack.devices, stack.details);
        if read_only(name) {
            assert_eq!(fs::read(stack.dir.join("file")).unwrap(), b"what is packed");
            assert!(fs::write(stack.dir.join("new"), b"no").is_err());
        } else {
            let file = stack.dir.join("new");
            fs::write(&file, b"yes").unwrap();
            assert_eq!(fs::read(&file).unwrap(), b"yes");
            fs::remove_file(&file).unwrap();
        }
        drop(stack);
        assert!(mounts::mounts_beneath(&work).unwrap().is_empty(), "{name}");
        assert!(loops_over(&work).is_empty(), "{name}");
        let left: Vec<_> = fs::read_dir(&work)
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        assert_eq!(left, ["contents"], "{name}");
    }
}

#[test]
fn reasons_are_in_plain_words() {
    assert_eq!(
        check_available("zfs").unwrap_err(),
        "there is no stack called `zfs`"
    );
    if !rustix::process::geteuid().is_root() {
        assert_eq!(
            check_available("ext4").unwrap_err(),
            "needs root (loop images)"
        );
    }
}
