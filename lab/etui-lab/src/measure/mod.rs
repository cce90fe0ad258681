//! The measures and their sources.
//!
//! A figure's name is `phase/measure`. The measure implies unit and kind ([`measure_unit`]): time ends
//! in `_ns`, sizes in `_bytes`; everything else is a count.
//!
//! | measure | meaning | from |
//! |---|---|---|
//! | `wall_ns`, `cpu_ns` | time, of the wall and of the processor | the clocks |
//! | `minor_faults`, `major_faults` | page faults without and with reading | `/proc/self/stat` |
//! | `read_calls`, `write_calls`, `called_read_bytes`, `called_write_bytes` | read and write calls, and their bytes | `/proc/self/io` |
//! | `block_writes`, `block_write_bytes`, `block_reads`, `block_read_bytes`, `block_flushes` | requests to the block device | `block` |
//! | `block_real_writes`, `block_real_write_bytes`, `block_empty_flushes` | of that, writes that carry data, and flushes that do not | `trace` |
//! | `block_database_bytes`, `block_journal_bytes`, `block_fs_journal_bytes`, `block_metadata_bytes`, `block_data_bytes`, and `_writes` | purposes of the writes | `layout` |
//! | `rss_bytes`, `peak_rss_bytes`, `pss_bytes`, `vms_bytes`, `private_dirty_bytes`, `private_bytes` | memory | `/proc/PID/smaps_rollup` |
//! | `instructions` | instructions executed | callgrind |
//! | any other | counted by the experiment, exact | its instrumented VFS or tracer |

pub(crate) mod block;
pub(crate) mod instructions;
pub(crate) mod layout;
pub mod pinned;
pub mod process;
pub mod syscalls;
pub(crate) mod trace;

use std::ffi::OsStr;
use std::process::Command;

use crate::machine;
use crate::report::content::Unit;

/// How exactly a measure repeats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MeasureClass {
    /// Time: depends on everything.
    Time,
    /// Memory and faults: depend on the kernel's moment.
    Memory,
    /// Device I/O: repeats except for the moment at which the kernel writes back.
    Block,
    /// Instructions: repeat but for the seeds of hash tables and the like.
    Instructions,
    /// A counter that repeats exactly.
    Exact,
}

/// Unit and class of a measure by its name (with or without its phase).
pub fn measure_unit(name: &str) -> (Unit, MeasureClass) {
    let measure = name.rsplit('/').next().unwrap_or(name);
    let unit = if measure.ends_with("_ns") {
        Unit::Nanoseconds
    } else if measure.ends_with("_bytes") {
        Unit::Bytes
    } else {
        Unit::Count
    };
    let class = match measure {
        _ if measure.ends_with("_ns") => MeasureClass::Time,
        "rss_bytes"
        | "peak_rss_bytes"
        | "pss_bytes"
        | "vms_bytes"
        | "private_dirty_bytes"
        | "private_bytes"
        | "minor_faults"
        | "major_faults" => MeasureClass::Memory,
        "instructions" => MeasureClass::Instructions,
        _ if measure.starts_with("block_") => MeasureClass::Block,
        _ => MeasureClass::Exact,
    };
    (unit, class)
}

/// Whether more of a measure is better; of most, less is.
pub fn more_is_better(name: &str) -> bool {
    name.ends_with("_per_second")
}

/// Returns the command as it runs under a tool: program, arguments, environment and directory are
/// taken over; input and output must be set again. None if the tool is not installed.
fn wrap_command(tool: &str, options: &[&OsStr], command: &Command) -> Option<Command> {
    let mut wrapped = Command::new(machine::find_tool(tool)?);
    wrapped
        .args(options)
        .arg("--")
        .arg(command.get_program())
        .args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => wrapped.env(name, value),
            None => wrapped.env_remove(name),
        };
    }
    if let Some(dir) = command.get_current_dir() {
        wrapped.current_dir(dir);
    }
    Some(wrapped)
}
