//! SQL as text: words, the shape of a statement without its values, settings.

/// A word of a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SqlWord<'a> {
    /// A keyword or a name, without its quotes.
    Name(&'a str),
    /// A text, a blob, a number or a parameter.
    Value(&'a str),
    /// An operator or a bracket.
    Sign(&'a str),
}

impl SqlWord<'_> {
    pub fn is_keyword(&self, keyword: &str) -> bool {
        matches!(self, SqlWord::Name(name) if name.eq_ignore_ascii_case(keyword))
    }
}

/// Splits a statement into words; comments and white space are left out.
pub fn split_words(sql: &str) -> Vec<SqlWord<'_>> {
    let bytes = sql.as_bytes();
    let at = |n: usize| bytes.get(n).copied().unwrap_or(0);
    let mut words = Vec::new();
    let mut start = 0;
    while start < bytes.len() {
        let byte = at(start);
        let end = match byte {
            _ if byte.is_ascii_whitespace() => {
                start += 1;
                continue;
            }
            b'-' if at(start + 1) == b'-' => {
                start = find_end(bytes, start, |n| at(n) == b'\n');
                continue;
            }
            b'/' if at(start + 1) == b'*' => {
                let closes = |n| n > start + 3 && at(n - 2) == b'*' && at(n - 1) == b'/';
                start = find_end(bytes, start, closes);
                continue;
            }
            b'\'' | b'"' | b'`' => quoted_end(bytes, start, byte),
            b'[' => find_end(bytes, start, |n| at(n - 1) == b']'),
            b'x' | b'X' if at(start + 1) == b'\'' => quoted_end(bytes, start + 1, b'\''),
            b'?' | b':' | b'@' | b'$' => find_end(bytes, start, |n| !is_name(at(n))),
            b'0'..=b'9' => find_end(bytes, start, |n| !is_name(at(n)) && at(n) != b'.'),
            b'.' if at(start + 1).is_ascii_digit() => find_end(bytes, start, |n| !is_name(at(n))),
            _ if is_name(byte) => find_end(bytes, start, |n| !is_name(at(n))),
            b'<' | b'>' | b'=' | b'!' | b'|' => find_end(bytes, start, |n| {
                !matches!(at(n), b'<' | b'>' | b'=' | b'|')
            }),
            _ => start + 1,
        };
        // A cut within a character cannot be: all ends above are at ASCII characters.
        let Some(text) = sql.get(start..end) else {
            break;
        };
        words.push(match byte {
            b'\'' | b'0'..=b'9' | b'?' | b':' | b'@' | b'$' => SqlWord::Value(text),
            b'.' if text.len() > 1 => SqlWord::Value(text),
            b'x' | b'X' if text.ends_with('\'') => SqlWord::Value(text),
            b'"' | b'`' | b'[' => SqlWord::Name(
                text.get(1..text.len().saturating_sub(1))
                    .unwrap_or_default(),
            ),
            _ if is_name(byte) => SqlWord::Name(text),
            _ => SqlWord::Sign(text),
        });
        start = end;
    }
    words
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$' || byte >= 0x80
}

/// Returns the first position after `start` at which the word has ended.
fn find_end(bytes: &[u8], start: usize, ended: impl Fn(usize) -> bool) -> usize {
    (start + 1..bytes.len())
        .find(|n| ended(*n))
        .unwrap_or(bytes.len())
}

/// Returns the end of a text in quotes; a doubled quote is one of the text.
fn quoted_end(bytes: &[u8], start: usize, quote: u8) -> usize {
    let mut at = start + 1;
    while at < bytes.len() {
        if bytes.get(at) == Some(&quote) {
            if bytes.get(at + 1) != Some(&quote) {
                return at + 1;
            }
            at += 1;
        }
        at += 1;
    }
    bytes.len()
}

/// Returns the shape of a statement: its words with `?` in place of values. Lists of values are one
/// `?`, so that statements for different numbers of values are of one shape.
pub fn shape(sql: &str) -> String {
    let mut shape = String::new();
    let mut last_value = false;
    let words = split_words(sql);
    let mut words = words.iter().peekable();
    while let Some(word) = words.next() {
        let text = match word {
            SqlWord::Value(_) => "?",
            SqlWord::Name(text) | SqlWord::Sign(text) => text,
        };
        if last_value && text == "," && matches!(words.peek(), Some(SqlWord::Value(_))) {
            words.next();
            continue;
        }
        last_value = text == "?";
        let glued = matches!(text, "," | ")" | "." | ";" | "(")
            || shape.ends_with(['(', '.'])
            || shape.is_empty();
        if !glued || (text == "(" && !shape.is_empty() && shape.ends_with(['=', '<', '>'])) {
            shape.push(' ');
        }
        shape.push_str(text);
    }
    if shape.ends_with(';') {
        shape.pop();
    }
    shape
}

/// Pragmas whose argument is no value to set.
const QUERIES: [&str; 14] = [
    "foreign_key_check",
    "foreign_key_list",
    "function_list",
    "incremental_vacuum",
    "index_info",
    "index_list",
    "index_xinfo",
    "integrity_check",
    "optimize",
    "quick_check",
    "table_info",
    "table_list",
    "table_xinfo",
    "wal_checkpoint",
];

/// Returns the name of a `PRAGMA` in small letters, and the value that it sets, if any.
pub fn pragma(sql: &str) -> Option<(String, Option<String>)> {
    let words = split_words(sql);
    let (first, mut rest) = words.split_first()?;
    if !first.is_keyword("PRAGMA") {
        return None;
    }
    // `PRAGMA main.name = value`.
    if let [SqlWord::Name(_), SqlWord::Sign("."), ..] = rest {
        rest = rest.get(2..)?;
    }
    let (SqlWord::Name(name), rest) = rest.split_first()? else {
        return None;
    };
    let text: Vec<&str> = rest
        .iter()
        .filter_map(|word| match word {
            SqlWord::Name(text) | SqlWord::Value(text) => Some(*text),
            SqlWord::Sign("-" | "+") => Some("-"),
            SqlWord::Sign(_) => None,
        })
        .collect();
    let value = text.concat();
    let value = value.trim_matches('\'').to_owned();
    let name = name.to_ascii_lowercase();
    let sets = !value.is_empty() && !QUERIES.contains(&name.as_str());
    Some((name, sets.then_some(value)))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn shapes_have_no_values() {
        let same = shape("INSERT INTO t(a,b) VALUES('it''s; x',x'00ff')");
        assert_eq!(same, "INSERT INTO t(a, b) VALUES(?)");
        assert_eq!(
            same,
            shape("INSERT  INTO t(a, b) VALUES ( ?1 , 2.5e3 ) -- now")
        );
        assert_eq!(
            shape("SELECT \"a b\" FROM t WHERE x>=10 AND y IN(1,2,3) /* c */;"),
            "SELECT a b FROM t WHERE x >= ? AND y IN(?)"
        );
        assert_eq!(shape("SELECT 'ü' || [ö] FROM tä"), "SELECT ? || ö FROM tä");
    }

    #[test]
    fn settings_are_found() {
        let of = |sql: &str| pragma(sql).unwrap();
        let set = |name: &str, value: &str| (name.to_owned(), Some(value.to_owned()));
        assert_eq!(
            of("pragma journal_mode = 'WAL'"),
            set("journal_mode", "WAL")
        );
        assert_eq!(
            of("PRAGMA main.cache_size(-500);"),
            set("cache_size", "-500")
        );
        assert_eq!(of("PRAGMA synchronous"), ("synchronous".to_owned(), None));
        assert_eq!(of("PRAGMA table_info(t)"), ("table_info".to_owned(), None));
        assert_eq!(pragma("SELECT 1"), None);
        assert_eq!(pragma("PRAGMA"), None);
    }

    #[test]
    fn any_text_ends() {
        for sql in [
            "'", "x'", "\"ü", "[", "/*", "--", "''''", ".", "?", "\u{0}", "ü", "/*/", "1.2.3",
        ] {
            split_words(sql);
            shape(sql);
            pragma(sql);
        }
    }
}
