//! Options by name: `log`, `growth` and `memory`, each in bytes, as an environment or a
//! database's URI tells them.

use std::ffi::CStr;
use std::os::raw::c_char;

use super::Options;
use crate::Error;
use crate::api::api;
use crate::redo::BLOCK;

/// The parameters of a URI, and the option that each one sets.
const PARAMETERS: [(&CStr, &str); 3] = [
    (c"etui_log", "log"),
    (c"etui_growth", "growth"),
    (c"etui_memory", "memory"),
];

impl Options {
    /// Sets one by its name: `log`, `growth` or `memory`.
    ///
    /// # Errors
    ///
    /// There is none of this name, or the value is not a number of bytes.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), Error> {
        let bytes: u64 = value
            .parse()
            .map_err(|_| Error::Usage(format!("{value:?} is not a number of bytes")))?;
        match name {
            "log" => self.log_size = bytes,
            "growth" => self.growth_step = bytes,
            "memory" => {
                self.wal_memory = usize::try_from(bytes)
                    .map_err(|_| Error::Usage(format!("{value} bytes are too many")))?;
            }
            _ => return Err(Error::Usage(format!("there is no option {name:?}"))),
        }
        Ok(())
    }

    /// Whether the sizes can be had.
    pub(super) fn check(&self) -> Result<(), Error> {
        let block = BLOCK as u64;
        // Beyond that no file goes, and sums of sizes stay numbers.
        let most = 1 << 40;
        if self.log_size < 4 * block || self.growth_step < block {
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
        Ok(())
    }

    /// What the URI of a database changes.
    ///
    /// # Safety
    ///
    /// `name` is what SQLite gave to `xOpen` for a database.
    pub(super) unsafe fn of_uri(mut self, name: *const c_char) -> Result<Self, Error> {
        let Some(api) = api() else { return Ok(self) };
        for (parameter, option) in PARAMETERS {
            // SAFETY: as the caller promises, and the parameter is a C string.
            let value = unsafe { (api.uri_parameter)(name, parameter.as_ptr()) };
            if value.is_null() {
                continue;
            }
            // SAFETY: SQLite answers with a C string, which lives as long as the name.
            let value = unsafe { CStr::from_ptr(value) }.to_string_lossy();
            self.set(option, &value)
                .map_err(|error| Error::Usage(format!("etui_{option}: {error}")))?;
        }
        self.check()?;
        Ok(self)
    }
}
