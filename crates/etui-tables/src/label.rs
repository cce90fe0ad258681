//! Labels of values in tables (`Mobile`, `Work Fax`), and the types of vCard.

/// Words of labels, and types. The first word of a type is the one that is written.
const WORDS: &[(&str, &str)] = &[
    ("home", "home"),
    ("work", "work"),
    ("mobile", "cell"),
    ("cell", "cell"),
    ("fax", "fax"),
    ("pager", "pager"),
    ("main", "main"),
    ("car", "car"),
    ("text", "text"),
    ("video", "video"),
    ("business", "work"),
];

/// The meaning of a label.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Label {
    /// Types of vCard.
    pub(crate) types: Vec<String>,
    /// Google marks the preferred value by an asterisk.
    pub(crate) is_preferred: bool,
    /// The label itself, if it is not made of types.
    pub(crate) text: Option<String>,
}

impl Label {
    /// Parses a label: `* Work Fax` is a preferred value of the types work and fax, `Boat` a label.
    /// `Other` is no label.
    pub(crate) fn parse(text: &str) -> Self {
        let text = text.trim();
        let (is_preferred, text) = match text.strip_prefix('*') {
            Some(rest) => (true, rest.trim()),
            None => (false, text),
        };
        let mut label = Self {
            is_preferred,
            ..Self::default()
        };
        if text.is_empty() || text.eq_ignore_ascii_case("other") {
            return label;
        }
        let type_of = |word: &str| {
            let mut known = WORDS.iter();
            let found = known.find(|(known, _)| known.eq_ignore_ascii_case(word));
            found.map(|(_, kind)| (*kind).to_owned())
        };
        let types: Option<Vec<String>> = text.split_whitespace().map(type_of).collect();
        match types {
            Some(types) => {
                for kind in types {
                    if !label.types.contains(&kind) {
                        label.types.push(kind);
                    }
                }
            }
            None => label.text = Some(text.to_owned()),
        }
        label
    }

    /// Returns the label as a table writes it, and the types that it cannot express.
    pub(crate) fn format(&self) -> (String, Vec<String>) {
        let mut words: Vec<String> = Vec::new();
        let mut lost = Vec::new();
        for kind in &self.types {
            // Voice is the default type of a phone number (RFC 6350 section 6.4.1).
            match WORDS.iter().find(|(_, known)| known == kind) {
                Some((word, _)) if self.text.is_none() => words.push(capitalize(word)),
                _ if kind == "voice" => {}
                _ => lost.push(kind.clone()),
            }
        }
        words.extend(self.text.clone());
        let star = if self.is_preferred { "* " } else { "" };
        (format!("{star}{}", words.join(" ")), lost)
    }
}

fn capitalize(word: &str) -> String {
    let (first, rest) = word.split_at_checked(1).unwrap_or((word, ""));
    first.to_uppercase() + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn label(types: &[&str], is_preferred: bool, text: Option<&str>) -> Label {
        Label {
            types: types.iter().map(|t| (*t).to_owned()).collect(),
            is_preferred,
            text: text.map(str::to_owned),
        }
    }

    #[test]
    fn labels_and_types() {
        for (text, expected) in [
            ("Home", label(&["home"], false, None)),
            ("* Work", label(&["work"], true, None)),
            ("Work Fax", label(&["work", "fax"], false, None)),
            ("Mobile", label(&["cell"], false, None)),
            ("*", label(&[], true, None)),
            ("Other", label(&[], false, None)),
            ("", label(&[], false, None)),
            ("Summer house", label(&[], false, Some("Summer house"))),
        ] {
            let parsed = Label::parse(text);
            assert_eq!(parsed, expected, "{text}");
            let (written, lost) = parsed.format();
            assert_eq!(Label::parse(&written), expected, "{text}");
            assert!(lost.is_empty());
        }
    }

    #[test]
    fn types_that_no_label_has_are_returned() {
        let (text, lost) = label(&["home", "voice", "isdn"], false, None).format();
        assert_eq!((text.as_str(), lost), ("Home", vec!["isdn".to_owned()]));
        let (text, lost) = label(&["home"], true, Some("Boat")).format();
        assert_eq!((text.as_str(), lost), ("* Boat", vec!["home".to_owned()]));
    }
}
