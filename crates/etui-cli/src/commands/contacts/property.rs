//! Properties as they are written on the command line: `PROP=VALUE`, `PROP:TYPE,TYPE=VALUE`.

use std::str::FromStr;

use etui::contacts::NewProperty;

/// Words that people know, and the vCard's.
const WORDS: &[(&str, &str)] = &[
    ("name", "FN"),
    ("phone", "TEL"),
    ("tel", "TEL"),
    ("mail", "EMAIL"),
    ("organisation", "ORG"),
    ("organization", "ORG"),
    ("birthday", "BDAY"),
    ("address", "ADR"),
    ("nick", "NICKNAME"),
    ("category", "CATEGORIES"),
];

/// The vCard's name of a property.
fn property_name(word: &str) -> String {
    WORDS
        .iter()
        .find(|(known, _)| known.eq_ignore_ascii_case(word))
        .map_or_else(|| word.to_ascii_uppercase(), |(_, name)| (*name).to_owned())
}

/// `PROP=VALUE` or `PROP:TYPE,TYPE=VALUE`.
#[derive(Debug, Clone)]
pub struct Assignment(pub NewProperty);

impl FromStr for Assignment {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let Some((property, value)) = text.split_once('=') else {
            return Err("write it like phone=\"+44 20 7946 0123\"".to_owned());
        };
        let (name, types) = property.split_once(':').unwrap_or((property, ""));
        Ok(Self(NewProperty {
            name: property_name(name.trim()),
            types: types
                .split(',')
                .map(|t| t.trim().to_owned())
                .filter(|t| !t.is_empty())
                .collect(),
            value: value.to_owned(),
        }))
    }
}

/// `PROP` or `PROP=VALUE`.
#[derive(Debug, Clone)]
pub struct Removal {
    /// The property's name.
    pub name: String,
    /// Only with this value.
    pub value: Option<String>,
}

impl FromStr for Removal {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, value) = match text.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (text, None),
        };
        Ok(Self {
            name: property_name(name.trim()),
            value,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_types_and_values() {
        let Assignment(p) = "phone:work,cell=+44 = x".parse().unwrap();
        assert_eq!((p.name.as_str(), p.value.as_str()), ("TEL", "+44 = x"));
        assert_eq!(p.types, ["work", "cell"]);
        assert_eq!("x-hobby=a".parse::<Assignment>().unwrap().0.name, "X-HOBBY");
        assert!("phone".parse::<Assignment>().is_err());
        assert_eq!("note".parse::<Removal>().unwrap().value, None);
    }
}
