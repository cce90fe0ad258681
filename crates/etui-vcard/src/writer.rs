//! Writing properties as lines of vCard 4.0 (RFC 6350).

use etui_contentline::values::escape_text;

use crate::date::PropertyDate;
use crate::parameter::PropertyParameter;
use crate::property::{Property, PropertyValue, ValueSyntax, encode_base64};

/// The characters that are escaped in a component of a structured value, and in any text of 3.0.
pub(crate) const COMPONENT: &str = "\\;,";
/// The characters that are escaped in a text of 4.0, also in a list (RFC 6350 §4.1 has no `\;`).
pub(crate) const TEXT: &str = "\\,";
/// The character that is escaped in a URI, so that it reads back.
const URI: &str = "\\";

/// The property as one line, without its line end.
pub(crate) fn property_line(property: &Property) -> String {
    let mut line = String::new();
    push_head(&mut line, property);
    push_value(&mut line, property);
    line
}

/// Appends group, name and parameters with the colon.
pub(crate) fn push_head(line: &mut String, property: &Property) {
    if let Some(group) = &property.group {
        line.push_str(group);
        line.push('.');
    }
    line.push_str(&property.name);
    for parameter in &property.parameters {
        push_parameter(line, parameter);
    }
    line.push(':');
}

/// Appends the parameter, unless its name cannot be written.
pub(crate) fn push_parameter(line: &mut String, parameter: &PropertyParameter) {
    let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if parameter.name.is_empty() || !parameter.name.chars().all(is_word) {
        return;
    }
    line.push(';');
    line.push_str(&parameter.name);
    for (i, value) in parameter.values.iter().enumerate() {
        line.push(if i == 0 { '=' } else { ',' });
        // No escape exists for quotes, and controls are not allowed (RFC 6350 §3.3).
        let value: String = value
            .chars()
            .filter(|&c| c != '"' && (c == '\t' || !c.is_control()))
            .collect();
        if value.contains([',', ';', ':']) {
            line.push('"');
            line.push_str(&value);
            line.push('"');
        } else {
            line.push_str(&value);
        }
    }
}

pub(crate) fn push_value(line: &mut String, property: &Property) {
    match &property.value {
        PropertyValue::Text(text) => {
            let syntax = property.syntax();
            let date = match syntax {
                ValueSyntax::Date if !is_text(property) => {
                    let text = text.trim();
                    PropertyDate::parse(text).or_else(|| PropertyDate::parse_whole_seconds(text))
                }
                _ => None,
            };
            match date {
                Some(date) => line.push_str(&date.to_basic()),
                None => {
                    let special = if value_is_text(property) { TEXT } else { URI };
                    line.push_str(&escape_value(text, special));
                }
            }
        }
        PropertyValue::List(texts) => push_joined(line, texts, TEXT),
        PropertyValue::Components(components) => {
            for (i, texts) in components.iter().enumerate() {
                if i > 0 {
                    line.push(';');
                }
                push_joined(line, texts, COMPONENT);
            }
        }
        PropertyValue::Binary(data) => {
            line.push_str("data:");
            line.push_str(data.media_type.as_deref().unwrap_or_default());
            line.push_str(";base64,");
            encode_base64(&data.bytes, line);
        }
    }
}

/// Returns true if separators in the value are escaped: it is a text by its VALUE parameter, or
/// else by its name.
fn value_is_text(property: &Property) -> bool {
    match property.value_type() {
        Some(value) => value.eq_ignore_ascii_case("TEXT"),
        None => property.syntax() == ValueSyntax::Text,
    }
}

/// Returns true if the value is declared to be a text.
pub(crate) fn is_text(property: &Property) -> bool {
    property
        .value_type()
        .is_some_and(|value| value.eq_ignore_ascii_case("TEXT"))
}

/// Appends texts separated by commas.
pub(crate) fn push_joined(line: &mut String, texts: &[String], special: &str) {
    for (i, text) in texts.iter().enumerate() {
        if i > 0 {
            line.push(',');
        }
        line.push_str(&escape_value(text, special));
    }
}

/// Escapes the characters of `special` and line breaks.
pub(crate) fn escape_value(text: &str, special: &str) -> String {
    escape_text(text, special, "\\n")
}
