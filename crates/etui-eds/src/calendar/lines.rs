//! Properties of component texts.

use etui_contentline::edit::own_lines;
use etui_contentline::lines::{ContentLine, ContentLines};
use etui_contentline::values::{param_value, property_value};
use rustix::rand::{GetRandomFlags, getrandom};

/// Returns true if a component has a property of its own with this name.
pub(super) fn has_property(component: &[u8], name: &str) -> bool {
    own_lines(component, None).any(|line| line.name_is(name))
}

/// Returns the values of a component's own properties with this name, as written.
pub(super) fn property_values(component: &[u8], name: &str) -> Vec<String> {
    own_lines(component, None)
        .filter(|line| line.name_is(name))
        .map(|line| property_value(&line).into_owned())
        .collect()
}

/// Returns the URIs of a component's attachments; those with their content inline have none.
pub(super) fn attachment_uris(component: &[u8]) -> Vec<String> {
    let is_inline = |line: &ContentLine<'_>| {
        let is = |name, value: &str| {
            param_value(line, name).is_some_and(|found| found.eq_ignore_ascii_case(value))
        };
        is("VALUE", "BINARY") || is("ENCODING", "BASE64")
    };
    own_lines(component, None)
        .filter(|line| line.name_is("ATTACH") && !is_inline(line))
        .map(|line| property_value(&line).into_owned())
        .collect()
}

/// Returns a component with these properties only, in itself and its nested components.
pub(super) fn with_properties(component: &str, names: &[String]) -> String {
    let mut out = String::new();
    for line in ContentLines::of_text(component) {
        if line.delimiter().is_some() || names.iter().any(|name| line.name_is(name)) {
            out.push_str(&String::from_utf8_lossy(line.raw()));
        }
    }
    out
}

/// Returns a new UID: 40 random hexadecimal digits.
pub(super) fn new_uid() -> String {
    let mut bytes = [0; 20];
    if getrandom(&mut bytes, GetRandomFlags::empty()).is_err() {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let now = now.map_or(0, |since| since.as_nanos()).to_le_bytes();
        bytes[..16].copy_from_slice(&now);
    }
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn properties_are_found_and_kept_by_name() {
        let text = "BEGIN:VEVENT\r\nUID:1\r\nATTACH:file:///a\r\n\
            ATTACH;ENCODING=BASE64;VALUE=BINARY:QQ==\r\nBEGIN:VALARM\r\nUID:2\r\n\
            ACTION:AUDIO\r\nEND:VALARM\r\nEND:VEVENT\r\n";
        assert_eq!(attachment_uris(text.as_bytes()), ["file:///a"]);
        assert_eq!(property_values(text.as_bytes(), "uid"), ["1"]);
        assert!(!has_property(text.as_bytes(), "ACTION"));
        assert_eq!(
            with_properties(text, &["uid".to_owned()]),
            "BEGIN:VEVENT\r\nUID:1\r\nBEGIN:VALARM\r\nUID:2\r\nEND:VALARM\r\nEND:VEVENT\r\n"
        );
        assert_ne!(new_uid(), new_uid());
    }
}
