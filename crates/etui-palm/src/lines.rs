//! Content lines of vCard and iCalendar: written, and read for export.
//!
//! [`PropertyLine`] keeps count of its own parts: what nobody has taken is a note.

use etui_contentline::edit::fold_line;
use etui_contentline::lines::{ContentLine, parse_params};
use etui_contentline::values::{escape_text, split_list, split_unescaped, unescape_text};

/// Appends a line with a text value; none for an empty one.
pub(crate) fn push_text(out: &mut Vec<u8>, head: &str, text: &str) {
    if !text.is_empty() {
        push_raw(out, head, &escape(text));
    }
}

/// Appends a line with a value as it is.
pub(crate) fn push_raw(out: &mut Vec<u8>, head: &str, value: &str) {
    out.extend(fold_line(&format!("{head}:{value}"), b"\r\n"));
}

/// Escapes a text value.
pub(crate) fn escape(text: &str) -> String {
    escape_text(text, "\\;,", "\\n")
}

/// Returns a parameter value in quotes, with the escapes of RFC 6868.
pub(crate) fn quote_param(value: &str) -> String {
    let escaped = value
        .replace('^', "^^")
        .replace('"', "^'")
        .replace('\n', "^n");
    format!("\"{escaped}\"")
}

/// Removes the escapes of RFC 6868.
fn decode_carets(value: &str) -> String {
    let mut out = String::with_capacity(value.len());
    let mut chars = value.chars();
    while let Some(c) = chars.next() {
        match (c, chars.as_str().chars().next()) {
            ('^', Some(escaped @ ('^' | '\'' | 'n'))) => {
                chars.next();
                out.push(match escaped {
                    '\'' => '"',
                    'n' => '\n',
                    other => other,
                });
            }
            _ => out.push(c),
        }
    }
    out
}

/// A property that is exported.
#[derive(Debug, Clone)]
pub(crate) struct PropertyLine {
    /// The name in upper case.
    pub(crate) name: String,
    /// The parameters with names in upper case.
    params: Vec<(String, String)>,
    /// The value as written.
    pub(crate) value: String,
}

impl PropertyLine {
    pub(crate) fn read(line: &ContentLine<'_>) -> Self {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let params = line.unfolded_params();
        let params = parse_params(&params).map(|param| match param.value {
            Some(value) => {
                let name = text(param.name).to_ascii_uppercase();
                (name, decode_carets(&text(value)))
            }
            None => ("TYPE".to_owned(), text(param.name)),
        });
        Self {
            name: text(&line.unfolded_name()).to_ascii_uppercase(),
            params: params.collect(),
            value: text(&line.unfolded_value()),
        }
    }

    /// Returns the value without its escapes.
    pub(crate) fn text(&self) -> String {
        unescape_text(&self.value)
    }

    /// Returns the components, each without its escapes.
    pub(crate) fn components(&self) -> Vec<String> {
        split_unescaped(&self.value, ';')
            .map(unescape_text)
            .collect()
    }

    /// Returns the parts of a list, without their escapes and without blanks around them.
    pub(crate) fn list(&self) -> Vec<String> {
        let parts = split_list(&self.value).map(|part| unescape_text(part).trim().to_owned());
        parts.filter(|part| !part.is_empty()).collect()
    }

    /// Removes a parameter and returns its value.
    pub(crate) fn take_param(&mut self, name: &str) -> Option<String> {
        let at = self.params.iter().position(|(n, _)| n == name)?;
        Some(self.params.remove(at).1)
    }

    /// Removes all types and returns them in lower case.
    pub(crate) fn take_types(&mut self) -> Vec<String> {
        let mut types = Vec::new();
        while let Some(value) = self.take_param("TYPE") {
            let each = value
                .split(',')
                .map(|t| t.trim().trim_matches('"').to_ascii_lowercase());
            types.extend(each.filter(|t| !t.is_empty()));
        }
        types
    }

    /// Adds a note about the parameters that are left.
    pub(crate) fn note_params(&self, notes: &mut Vec<String>) {
        for (name, value) in &self.params {
            notes.push(format!("{} ({name}={value})", self.name));
        }
    }

    /// Returns the property for a note: name and the beginning of its value.
    pub(crate) fn excerpt(&self) -> String {
        const MAX_EXCERPT: usize = 60;
        let is_binary = self.value.starts_with("data:")
            || self.params.iter().any(|(name, _)| name == "ENCODING");
        let value = self.text().replace('\n', " ");
        match value.char_indices().nth(MAX_EXCERPT) {
            _ if is_binary => self.name.clone(),
            Some((end, _)) => format!("{}: {}...", self.name, value.get(..end).unwrap_or_default()),
            None if value.is_empty() => self.name.clone(),
            None => format!("{}: {value}", self.name),
        }
    }
}
