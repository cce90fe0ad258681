//! [`PropertyParameter`]: a parameter of a property, and the types that it may hold.

use etui_contentline::charset::decode_quoted_text;
use etui_contentline::lines::Parameter;

/// A parameter of a property.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PropertyParameter {
    /// The name, as written; the word itself for the bare words of vCard 2.1 (`TEL;CELL:`).
    pub(crate) name: String,
    /// The values, without quotes; none for a bare word.
    pub(crate) values: Vec<String>,
}

/// Returns true for a type that is a user's label; those of programs for themselves are none.
pub(crate) fn is_label(kind: &str) -> bool {
    if !kind.starts_with(['X', 'x']) {
        return false;
    }
    let own = [
        "SYNCML",
        "EVOLUTION-",
        "MOZILLA-",
        "KADDRESSBOOK-",
        "GOOGLE-",
        "APPLE-",
    ];
    let begins = |text: &str, prefix: &str| {
        let head = text.get(..prefix.len());
        head.is_some_and(|head| head.eq_ignore_ascii_case(prefix))
    };
    let label = kind.get(2..).unwrap_or_default().trim();
    begins(kind, "X-") && !label.is_empty() && !own.iter().any(|own| begins(label, own))
}

/// Returns the type of Android's `X-CUSTOM(CHARSET=UTF-8,ENCODING=QUOTED-PRINTABLE,=42=C3=BC=72=6F)`, as
/// `X-Büro`.
fn custom_label(text: &[u8]) -> Option<String> {
    let text = text.strip_suffix(b")")?;
    let (head, inner) = text.trim_ascii().split_at_checked(b"X-CUSTOM(".len())?;
    if !head.eq_ignore_ascii_case(b"X-CUSTOM(") {
        return None;
    }
    let label = inner.rsplit(|byte| *byte == b',').next()?;
    let encoded = decode_quoted_text(label);
    Some(format!("X-{}", encoded.trim()))
}

impl PropertyParameter {
    pub(crate) fn parse(param: &Parameter<'_>) -> Self {
        if let Some(label) = custom_label(param.text) {
            return Self {
                name: label,
                values: Vec::new(),
            };
        }
        let name = text_of(param.name);
        let mut values = Vec::new();
        if param.value.is_some()
            && let Some(equals) = param.text.iter().position(|&byte| byte == b'=')
        {
            let mut rest = param.text.get(equals + 1..).unwrap_or_default();
            loop {
                let end = value_end(rest);
                let (value, after) = rest.split_at(end);
                let value = text_of(value).replace('"', "");
                values.push(value.trim().to_owned());
                match after.get(1..) {
                    Some(after) => rest = after,
                    None => break,
                }
            }
        }
        Self { name, values }
    }

    /// Returns true if the parameter's name is `name`, in any case.
    pub(crate) fn is_named(&self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name)
    }

    /// Returns true for TYPE, and for the bare words of vCard 2.1.
    pub(crate) fn is_type(&self) -> bool {
        self.values.is_empty() || self.is_named("TYPE")
    }

    /// The types in a parameter that has them; `TYPE="home,work"` holds two. Some programs escape the
    /// separators as if they were text: `TYPE=HOME\,VOICE`.
    pub(crate) fn each_type(&self) -> impl Iterator<Item = &str> {
        let bare = self.values.is_empty().then_some(&self.name);
        bare.into_iter()
            .chain(&self.values)
            .flat_map(|value| value.split(','))
            .map(|kind| kind.trim_matches(|c: char| c == '\\' || c.is_whitespace()))
    }
}

/// The end of the first value in a list separated by commas outside quotes.
fn value_end(text: &[u8]) -> usize {
    let mut quoted = false;
    text.iter()
        .position(|&byte| {
            quoted ^= byte == b'"';
            byte == b',' && !quoted
        })
        .unwrap_or(text.len())
}

fn text_of(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim().to_owned()
}

/// Encodes a parameter's value (RFC 6868).
pub(crate) fn encode_parameter(text: &str) -> String {
    let text = text.replace('^', "^^").replace('"', "^'");
    text.replace("\r\n", "^n").replace(['\r', '\n'], "^n")
}

/// Decodes a parameter's value (RFC 6868); the line breaks of other programs, too.
pub(crate) fn decode_parameter(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match (c, chars.peek()) {
            ('^', Some('n')) | ('\\', Some('n' | 'N')) => out.push('\n'),
            ('^', Some('\'')) => out.push('"'),
            ('^', Some('^')) => out.push('^'),
            ('\\', Some(',')) => out.push(','),
            _ => {
                out.push(c);
                continue;
            }
        }
        chars.next();
    }
    out
}
