//! Kernel features available to this process.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::machine;

/// The program that serves exfat where the kernel does not.
pub const FUSE_EXFAT: &str = "mount.exfat-fuse";

/// Whether this process may mount: CAP_SYS_ADMIN, which root in a container may lack.
pub fn may_mount() -> bool {
    const CAP_SYS_ADMIN: u32 = 21;
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    status
        .lines()
        .find_map(|line| line.strip_prefix("CapEff:"))
        .and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok())
        .is_some_and(|effective| effective >> CAP_SYS_ADMIN & 1 == 1)
}

/// Whether the kernel has a file system, built in or as a module.
pub fn has_file_system(file_system: &str) -> bool {
    let known = fs::read_to_string("/proc/filesystems").unwrap_or_default();
    if known
        .lines()
        .any(|line| line.split_ascii_whitespace().next_back() == Some(file_system))
    {
        return true;
    }
    machine::find_tool("modprobe").is_some_and(|modprobe| {
        Command::new(modprobe)
            .args(["-n", "-q", &format!("fs-{file_system}")])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success())
    })
}

/// Whether exfat can be had through FUSE.
pub fn has_fuse_exfat() -> bool {
    has_file_system("fuse")
        && Path::new("/dev/fuse").exists()
        && machine::find_tool(FUSE_EXFAT).is_some()
}

/// Whether the kernel hands out loop devices.
pub fn has_loop() -> bool {
    Path::new("/dev/loop-control").exists()
}
