//! GVariant's text format, in which `Open` and `RetrieveProperties` return property values.

/// A property's value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PropertyValue {
    /// `true` or `false`.
    Bool(bool),
    /// `'text'`.
    Text(String),
    /// `['a', 'b']`; `@as []` if empty.
    List(Vec<String>),
}

impl PropertyValue {
    /// The value as `g_variant_print` with type annotations writes it.
    pub fn print(&self) -> String {
        match self {
            Self::Bool(value) => value.to_string(),
            Self::Text(text) => quote(text),
            Self::List(items) if items.is_empty() => "@as []".to_owned(),
            Self::List(items) => {
                let items: Vec<String> = items.iter().map(|item| quote(item)).collect();
                format!("[{}]", items.join(", "))
            }
        }
    }
}

/// Property names (lower case, with hyphens) and values as the flat list of names and texts that
/// `Open` returns, in alphabetical order of names.
pub fn print_properties(mut properties: Vec<(&'static str, PropertyValue)>) -> Vec<String> {
    properties.sort_by_key(|(name, _)| *name);
    properties
        .into_iter()
        .flat_map(|(name, value)| [name.to_owned(), value.print()])
        .collect()
}

fn quote(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('\'');
    for c in text.chars() {
        match c {
            '\\' => quoted.push_str("\\\\"),
            '\'' => quoted.push_str("\\'"),
            '\n' => quoted.push_str("\\n"),
            c => quoted.push(c),
        }
    }
    quoted.push('\'');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_written_as_gvariant_text() {
        assert_eq!(PropertyValue::Bool(true).print(), "true");
        assert_eq!(PropertyValue::Text(r"it's \".into()).print(), r"'it\'s \\'");
        assert_eq!(PropertyValue::List(vec![]).print(), "@as []");
        let list = PropertyValue::List(vec!["a".into(), "b".into()]);
        assert_eq!(list.print(), "['a', 'b']");
    }
}
