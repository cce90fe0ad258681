//! Options by name, from the environment or a database's URI:
//!
//! ```text
//! log growth memory append             of the redo log, in bytes
//! gather                               of checkpoints, in bytes
//! write_back read_buffer database_step of rollback modes too, in bytes
//! journal_rests                        1 or 0
//! redo_log                             never or always
//! ```

use std::ffi::CStr;
use std::os::raw::c_char;

use etui_vfs_base::sqlite_api::api;

use super::{Options, RedoLogUse};
use crate::Error;
use crate::redo::log::SMALLEST;
use etui_redo::BLOCK;

/// The parameters of a URI, and the option of each one.
const PARAMETERS: [(&CStr, &str); 10] = [
    (c"etui_redo_log", "redo_log"),
    (c"etui_log", "log"),
    (c"etui_growth", "growth"),
    (c"etui_memory", "memory"),
    (c"etui_append", "append"),
    (c"etui_gather", "gather"),
    (c"etui_write_back", "write_back"),
    (c"etui_read_buffer", "read_buffer"),
    (c"etui_database_step", "database_step"),
    (c"etui_journal_rests", "journal_rests"),
];

impl Options {
    /// Sets an option by its name, which is its URI parameter without `etui_`: `log`, `growth`,
    /// `memory`, `append`, `gather`, `write_back`, `read_buffer` and `database_step` in bytes,
    /// `journal_rests` as 1 or 0, `redo_log` as `never` or `always`.
    ///
    /// # Errors
    ///
    /// The name is unknown, or the value is not a number of bytes, or too large.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), Error> {
        if name == "redo_log" {
            self.redo_log = match value {
                "never" => RedoLogUse::Never,
                "always" => RedoLogUse::Always,
                // Until version 0.1 it changed between the two.
                "bursts" => {
                    let what = "redo_log=bursts is no more: use always, for one process, or never";
                    return Err(Error::Usage(what.to_owned()));
                }
                _ => {
                    return Err(Error::Usage(format!(
                        "redo_log is never or always, not {value}"
                    )));
                }
            };
            return Ok(());
        }
        let bytes: u64 = value
            .parse()
            .map_err(|_| Error::Usage(format!("{value:?} is not a number of bytes")))?;
        let size = || {
            usize::try_from(bytes).map_err(|_| Error::Usage(format!("{value} bytes are too many")))
        };
        match name {
            "log" => self.log_size = bytes,
            "growth" => self.growth_step = bytes,
            "memory" => self.wal_memory = size()?,
            "append" => self.append_in_place = size()?,
            "gather" => self.gather = size()?,
            "write_back" => self.write_back = size()?,
            "read_buffer" => self.read_buffer = size()?,
            "database_step" => self.database_step = bytes,
            "journal_rests" if bytes <= 1 => self.journal_rests = bytes == 1,
            "journal_rests" => {
                return Err(Error::Usage(format!(
                    "journal_rests is 1 or 0, not {value}"
                )));
            }
            _ => return Err(Error::Usage(format!("there is no option {name:?}"))),
        }
        Ok(())
    }

    /// Checks the sizes.
    pub(super) fn check(&self) -> Result<(), Error> {
        let block = BLOCK as u64;
        // No file is larger, and sums of sizes do not overflow.
        let most = 1 << 40;
        if self.log_size < SMALLEST || self.growth_step < block {
            return Err(Error::Usage(format!(
                "a log of {} bytes that grows by {} is too small: at least 16 KiB, by 4 KiB",
                self.log_size, self.growth_step
            )));
        }
        if self.log_size > most || self.growth_step > most {
            return Err(Error::Usage(format!(
                "a log of {} bytes that grows by {} is too large: at most 1 TiB",
                self.log_size, self.growth_step
            )));
        }
        let buffers = self.gather.max(self.write_back).max(self.read_buffer);
        if buffers > 1 << 30 || self.database_step > 1 << 30 {
            return Err(Error::Usage(
                "a buffer or a step of more than 1 GiB is too large".to_owned(),
            ));
        }
        Ok(())
    }

    /// Applies the parameters of a database's URI.
    ///
    /// # Safety
    ///
    /// `name` is the name that SQLite passed to `xOpen` for a database.
    pub(super) unsafe fn of_uri(mut self, name: *const c_char) -> Result<Self, Error> {
        let Some(api) = api() else { return Ok(self) };
        for (parameter, option) in PARAMETERS {
            // SAFETY: as the caller promises, and the parameter is a C string.
            let value = unsafe { (api.uri_parameter)(name, parameter.as_ptr()) };
            if value.is_null() {
                continue;
            }
            // SAFETY: SQLite returns a C string, which lives as long as the name.
            let value = unsafe { CStr::from_ptr(value) }.to_string_lossy();
            self.set(option, &value)
                .map_err(|error| Error::Usage(format!("etui_{option}: {error}")))?;
        }
        self.check()?;
        Ok(self)
    }
}
