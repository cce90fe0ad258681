//! Properties of a card with their types: `TEL;TYPE=WORK,VOICE:...`.

use etui_contentline::edit::own_lines;
use etui_contentline::lines::{ContentLine, parse_params};
use etui_contentline::values::{property_value, unescape_text};

/// The value of a property and its types.
pub(super) struct TypedProperty {
    /// The value without escapes.
    pub(super) value: String,
    types: Vec<String>,
}

impl TypedProperty {
    /// Whether the property has a type, in any case.
    pub(super) fn has_type(&self, wanted: &str) -> bool {
        self.types.iter().any(|t| t.eq_ignore_ascii_case(wanted))
    }
}

/// Returns the properties of a name, in the card's order.
pub(super) fn typed_properties<'t>(
    text: &'t [u8],
    name: &'t str,
) -> impl Iterator<Item = TypedProperty> + 't {
    own_lines(text, Some("VCARD"))
        .filter(move |line| line.name_is(name))
        .map(|line| TypedProperty {
            value: unescape_text(&property_value(&line)),
            types: read_types(&line),
        })
}

fn read_types(line: &ContentLine<'_>) -> Vec<String> {
    let params = line.unfolded_params();
    let mut types = Vec::new();
    for param in parse_params(&params) {
        let value = match param.value {
            Some(value) if param.name.eq_ignore_ascii_case(b"TYPE") => value,
            // A bare word is a type in vCard 2.1.
            None => param.name,
            Some(_) => continue,
        };
        let value = String::from_utf8_lossy(value);
        types.extend(value.split(',').map(|t| t.trim_matches('"').to_owned()));
    }
    types
}
