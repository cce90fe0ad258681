//! Records, appended to the file `PID` of the trace directory.
//!
//! A record is a line of words, and for most kinds a payload of as many bytes as the last word says,
//! and a newline. The first words are the kind, the time in nanoseconds (monotonic clock) and the
//! thread. Conn and statement are addresses in hexadecimal.
//!
//! ```text
//! p TIME TID LEN                          the program; payload: its executable
//! v TIME TID LEN                          its SQLite; payload: version, compile options, a line each
//! o TIME TID CONN LEN                     a connection was opened; payload: path
//! c TIME TID CONN                         it is closed
//! n TIME TID CONN                         its statements cannot be traced
//! s TIME TID CONN STMT EXPANDED LEN       a statement begins; payload: SQL, with values if EXPANDED
//! e TIME TID CONN STMT NS READONLY AUTOCOMMIT SCANNED SORTS STEPS   it ends
//! w TIME TID OFFSET BYTES LEN             bytes were written; payload: path
//! f TIME TID DATA LEN                     flushed (DATA: by fdatasync); payload: path
//! t TIME TID SIZE LEN                     resized; payload: path
//! u TIME TID LEN                          removed; payload: path
//! x TIME TID                              the limit of bytes is reached: nothing further is recorded
//! ```

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};

use crate::libc::{self, IoSlice, PATH_MAX};
use crate::settings::TRACE_DIR;

/// The bytes that one process may record.
const LIMIT: u64 = 256 << 20;

/// Bytes recorded by this process; a fork continues its parent's count.
static RECORDED: AtomicU64 = AtomicU64::new(0);
/// The process that has recorded its executable.
static INTRODUCED: AtomicI32 = AtomicI32::new(0);

/// A number in a record.
#[derive(Clone, Copy)]
pub enum Word {
    /// In decimal.
    Number(u64),
    /// In hexadecimal.
    Address(*const c_void),
}

/// A line that does not allocate.
struct Line {
    bytes: [u8; 320],
    len: usize,
}

impl Line {
    fn new() -> Self {
        Self {
            bytes: [0; 320],
            len: 0,
        }
    }

    fn push(&mut self, byte: u8) {
        if let Some(place) = self.bytes.get_mut(self.len) {
            *place = byte;
            self.len = self.len.wrapping_add(1);
        }
    }

    fn push_word(&mut self, word: Word) {
        let (mut value, base) = match word {
            Word::Number(value) => (value, 10),
            Word::Address(address) => (address.addr() as u64, 16),
        };
        let mut digits = [0_u8; 20];
        let mut count = 0;
        for place in digits.iter_mut() {
            *place = b"0123456789abcdef"
                .get((value % base) as usize)
                .copied()
                .unwrap_or(b'0');
            count += 1;
            value /= base;
            if value == 0 {
                break;
            }
        }
        self.push(b' ');
        for digit in digits.iter().take(count).rev() {
            self.push(*digit);
        }
    }

    fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or_default()
    }
}

/// Appends a record.
pub fn record(kind: u8, words: &[Word], payload: Option<&[u8]>) {
    if TRACE_DIR.get().is_empty() {
        return;
    }
    introduce();
    append(kind, words, payload);
}

/// Records the executable before the first record of a process.
fn introduce() {
    // SAFETY: it takes nothing and cannot fail.
    let process = unsafe { libc::getpid() };
    if INTRODUCED.swap(process, Ordering::Relaxed) == process {
        return;
    }
    let mut path = [0_u8; PATH_MAX];
    append(b'p', &[], read_link(c"/proc/self/exe", &mut path));
}

/// Returns the target of a link.
pub fn read_link<'a>(link: &std::ffi::CStr, path: &'a mut [u8; PATH_MAX]) -> Option<&'a [u8]> {
    // SAFETY: the link is a C string, and the buffer has the given size.
    let len = unsafe { libc::readlink(link.as_ptr(), path.as_mut_ptr().cast(), PATH_MAX) };
    path.get(..usize::try_from(len).ok()?)
}

fn append(kind: u8, words: &[Word], payload: Option<&[u8]>) {
    let mut time = libc::TimeSpec::default();
    // SAFETY: the clock exists, and the structure is that of 64-bit systems.
    let (_, thread) = unsafe {
        (
            libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time),
            libc::gettid(),
        )
    };
    let now = (time.seconds as u64)
        .wrapping_mul(1_000_000_000)
        .wrapping_add(time.nanoseconds as u64);
    let mut line = Line::new();
    line.push(kind);
    line.push_word(Word::Number(now));
    line.push_word(Word::Number(thread as u64));
    for word in words {
        line.push_word(*word);
    }
    let end: &[u8] = match payload {
        Some(payload) => {
            line.push_word(Word::Number(payload.len() as u64));
            b"\n"
        }
        None => b"",
    };
    line.push(b'\n');
    let pieces = [line.as_bytes(), payload.unwrap_or_default(), end];
    let bytes = pieces
        .iter()
        .fold(0_u64, |sum, piece| sum.wrapping_add(piece.len() as u64));
    let before = RECORDED.fetch_add(bytes, Ordering::Relaxed);
    if before.saturating_add(bytes) <= LIMIT {
        write_pieces(pieces);
    } else if before <= LIMIT {
        // Only one record is the first that does not fit.
        RECORDED.fetch_add(LIMIT, Ordering::Relaxed);
        let mut last = Line::new();
        last.push(b'x');
        last.push_word(Word::Number(now));
        last.push_word(Word::Number(thread as u64));
        last.push(b'\n');
        write_pieces([last.as_bytes(), b"", b""]);
    }
}

fn write_pieces(pieces: [&[u8]; 3]) {
    let mut name = [0_u8; PATH_MAX + 24];
    let directory = TRACE_DIR.get();
    // SAFETY: it takes nothing and cannot fail.
    let process = unsafe { libc::getpid() };
    let mut number = Line::new();
    number.push_word(Word::Number(process as u64));
    // `DIR/PID`: the word begins with a space, which becomes the slash. The rest remains zero.
    let (Some(target), Some(rest)) = (name.get_mut(..directory.len()), number.as_bytes().get(1..))
    else {
        return;
    };
    target.copy_from_slice(directory);
    let mut at = directory.len();
    for byte in std::iter::once(&b'/').chain(rest) {
        if let Some(place) = name.get_mut(at) {
            *place = *byte;
        }
        at = at.wrapping_add(1);
    }
    let slices = pieces.map(|piece| IoSlice {
        base: piece.as_ptr().cast(),
        len: piece.len(),
    });
    let flags = libc::O_WRONLY | libc::O_CREAT | libc::O_APPEND | libc::O_CLOEXEC;
    let mode: c_int = 0o600;
    // SAFETY: the name ends with a zero: it is shorter than its buffer. The slices are live. A
    // record that cannot be written is dropped.
    unsafe {
        let file = libc::open(name.as_ptr().cast(), flags, mode);
        if file >= 0 {
            let _ = libc::writev(file, slices.as_ptr(), 3);
            libc::close(file);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_decimal_and_hexadecimal() {
        let mut line = Line::new();
        line.push(b'w');
        line.push_word(Word::Number(0));
        line.push_word(Word::Number(u64::MAX));
        line.push_word(Word::Address(std::ptr::without_provenance(0x7f0a)));
        assert_eq!(line.as_bytes(), b"w 0 18446744073709551615 7f0a");
    }

    #[test]
    fn a_line_that_is_too_long_is_cut() {
        let mut line = Line::new();
        for _ in 0..1000 {
            line.push(b'x');
        }
        assert_eq!(line.as_bytes().len(), 320);
    }
}
