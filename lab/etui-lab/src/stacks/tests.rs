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
fn an_image_is_copied_to_a_ram_disk() {
    if let Err(reason) = check_available("squashfs") {
        println!("squashfs: {reason}");
        return;
    }
    let work = tempfile::Builder::new()
        .prefix(".etui-lab-")
        .tempdir()
        .unwrap();
    let work = fs::canonicalize(work.path()).unwrap();
    let (contents, run) = (work.join("contents"), work.join("run"));
    fs::create_dir(&contents).unwrap();
    fs::create_dir(&run).unwrap();
    fs::write(contents.join("file"), b"what is packed").unwrap();
    let stack = prepare_stack("squashfs", &work, Some(&contents)).unwrap();
    let mut copy = RamCopy::prepare(&stack.dir, &run).unwrap();
    assert_eq!(copy.image(), work.join("squashfs.img"));
    copy.copy().unwrap();
    let point = copy.mount().unwrap().to_owned();
    // The original is not needed any more.
    drop(stack);
    assert_eq!(fs::read(point.join("file")).unwrap(), b"what is packed");
    assert_eq!(
        mounts::mount_of(&point).unwrap().file_system,
        "squashfs",
        "{point:?}"
    );
    drop(copy);
    assert!(mounts::mounts_beneath(&work).unwrap().is_empty());
    assert!(loops_over(&work).is_empty());
    assert_eq!(fs::read_dir(&run).unwrap().count(), 0);
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
