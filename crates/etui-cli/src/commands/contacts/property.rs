//! Properties as they are written on the command line: `PROP=VALUE`, `PROP:TYPE,TYPE=VALUE`.

use std::str::FromStr;

use etui::contacts::{Card, NewProperty};

use crate::commands::records::property::{PropertyWords, property_name};

/// Common words and their vCard properties.
pub const WORDS: PropertyWords = &[
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

/// `PROP=VALUE` or `PROP:TYPE,TYPE=VALUE`.
#[derive(Debug, Clone)]
pub struct PropertyAssignment(pub NewProperty);

impl FromStr for PropertyAssignment {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let Some((property, value)) = text.split_once('=') else {
            return Err("write it like phone=\"+44 20 7946 0123\"".to_owned());
        };
        let (name, types) = property.split_once(':').unwrap_or((property, ""));
        Ok(Self(NewProperty {
            name: property_name::<Card>(name),
            types: types
                .split(',')
                .map(|t| t.trim().to_owned())
                .filter(|t| !t.is_empty())
                .collect(),
            value: value.to_owned(),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::records::property::parse_removal;

    #[test]
    fn words_types_and_values() {
        let PropertyAssignment(p) = "phone:work,cell=+44 = x".parse().unwrap();
        assert_eq!((p.name.as_str(), p.value.as_str()), ("TEL", "+44 = x"));
        assert_eq!(p.types, ["work", "cell"]);
        assert_eq!(
            "x-hobby=a".parse::<PropertyAssignment>().unwrap().0.name,
            "X-HOBBY"
        );
        assert!("phone".parse::<PropertyAssignment>().is_err());
        assert_eq!(parse_removal::<Card>("note").unwrap().value, None);
    }
}
