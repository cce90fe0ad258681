//! Log lines: one for each request, without names, titles or paths of records.

use std::fmt;
use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::time::{Duration, Instant, SystemTime};

use etui::calendar::time::{TimeZone, Timestamp};
use http::{Method, StatusCode};

/// Where log lines go.
pub type LogSink = Arc<dyn Fn(&str) + Send + Sync>;

/// Lines that wait to be written; further ones are counted and left out.
const MAX_WAITING: usize = 1024;

/// How long a server that stops waits for its last lines.
const FLUSH_TIME: Duration = Duration::from_secs(1);

/// The longest method that is logged; clients may invent any.
const MAX_METHOD: usize = 20;

/// Lines on their way to a sink, which a thread calls: a log that cannot be written does not stop the server.
pub struct LogQueue {
    lines: SyncSender<String>,
    counts: Arc<Counts>,
}

#[derive(Default)]
struct Counts {
    waiting: AtomicU64,
    left_out: AtomicU64,
}

impl LogQueue {
    /// Starts the thread, which ends with the last sender of lines.
    ///
    /// # Errors
    /// The system has no thread.
    pub fn start(sink: LogSink) -> io::Result<Self> {
        let (lines, received) = sync_channel::<String>(MAX_WAITING);
        let counts = Arc::new(Counts::default());
        let counted = Arc::clone(&counts);
        let thread = std::thread::Builder::new().name("log".to_owned());
        thread.spawn(move || {
            for line in received {
                sink(&line);
                // After the line is written, which `flush` waits for.
                counted.waiting.fetch_sub(1, Ordering::Relaxed);
                let left_out = counted.left_out.swap(0, Ordering::Relaxed);
                if left_out > 0 {
                    sink(&notice(format_args!(
                        "{left_out} lines were left out: the log is written too slowly"
                    )));
                }
            }
        })?;
        Ok(Self { lines, counts })
    }

    /// Returns the sink that never waits.
    pub fn sink(&self) -> LogSink {
        let (lines, counts) = (self.lines.clone(), Arc::clone(&self.counts));
        Arc::new(move |line| {
            counts.waiting.fetch_add(1, Ordering::Relaxed);
            if lines.try_send(line.to_owned()).is_err() {
                counts.waiting.fetch_sub(1, Ordering::Relaxed);
                counts.left_out.fetch_add(1, Ordering::Relaxed);
            }
        })
    }

    /// Waits until the lines are written, for a second at most.
    pub fn flush(&self) {
        let end = Instant::now() + FLUSH_TIME;
        while self.counts.waiting.load(Ordering::Relaxed) > 0 && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

/// A request that was answered.
pub struct RequestLine<'a> {
    /// The device, and its user if there are several; `None` before a password was accepted.
    pub device: Option<&'a str>,
    /// The address, where it helps to find an attacker.
    pub address: Option<IpAddr>,
    pub method: &'a Method,
    /// The kind of the request, or the reason for its refusal; `-` is written if it is the method.
    pub kind: &'a str,
    pub status: StatusCode,
    /// Bytes of the answer's body.
    pub bytes: u64,
    pub took: Duration,
}

impl fmt::Display for RequestLine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let method = self.method.as_str();
        let method = method.get(..MAX_METHOD).unwrap_or(method);
        let milliseconds = self.took.as_secs_f64() * 1000.0;
        let status = self.status.as_u16();
        write!(
            f,
            "{} {} {method} {} {status} {} B {milliseconds:.1} ms",
            local_time(),
            self.device.map_or_else(|| "-".to_owned(), quote_name),
            if self.kind == method { "-" } else { self.kind },
            self.bytes,
        )?;
        match self.address {
            Some(address) => write!(f, " from {address}"),
            None => Ok(()),
        }
    }
}

/// Returns the time in the system's zone, such as `2026-11-23 09:00:00`.
fn local_time() -> String {
    let local = TimeZone::system().to_local(Timestamp::from(SystemTime::now()));
    let ((year, month, day), (hour, minute, second)) = (local.date().ymd(), local.hms());
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}")
}

/// Returns the name of a device as one word: a name with blanks is quoted, and everything that could make it look
/// like more than a name is escaped.
pub fn quote_name(name: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '/' | '\'' | '+');
    match !name.is_empty() && name != "-" && name.chars().all(is_plain) {
        true => name.to_owned(),
        false => format!("{name:?}"),
    }
}

/// Returns a line about the server itself. Control characters, which could begin a line, are replaced.
pub fn notice(text: impl fmt::Display) -> String {
    let text = text.to_string().replace(char::is_control, "\u{fffd}");
    format!("{} {text}", local_time())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_look_like_a_line() {
        for (name, written) in [
            ("Phone", "Phone"),
            ("ada/Jürgens-Pixel_7", "ada/Jürgens-Pixel_7"),
            ("Ada's tablet", "\"Ada's tablet\""),
            ("a\n2026-11-23 b", "\"a\\n2026-11-23 b\""),
            ("a\"b", "\"a\\\"b\""),
            ("\u{202e}x\u{1b}[31m", "\"\\u{202e}x\\u{1b}[31m\""),
            ("-", "\"-\""),
            ("", "\"\""),
        ] {
            assert_eq!(quote_name(name), written);
        }
        let line = notice("a\nb\u{1b}[31m\r");
        assert!(
            line.ends_with(" a\u{fffd}b\u{fffd}[31m\u{fffd}"),
            "{line:?}"
        );
        let line = RequestLine {
            device: Some("a\nb"),
            address: None,
            method: &Method::GET,
            kind: "page",
            status: StatusCode::OK,
            bytes: 1,
            took: Duration::ZERO,
        };
        let line = line.to_string();
        assert!(line.contains(" \"a\\nb\" GET page 200 1 B "), "{line}");
    }
}
