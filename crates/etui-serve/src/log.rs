//! Log lines: one for each request, without names, titles or paths of records.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use etui::calendar::time::{TimeZone, Timestamp};
use http::{Method, StatusCode};

/// Where log lines go.
pub type LogSink = Arc<dyn Fn(&str) + Send + Sync>;

/// The longest method that is logged; clients may invent any.
const MAX_METHOD: usize = 20;

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
