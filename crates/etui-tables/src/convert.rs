//! Values that tables and directories write alike: relations, messengers, genders.

use etui_contentline::edit::is_one_of;

use crate::draft::{DraftProperty, DraftValue};
use crate::label::Label;

/// Types of RELATED (RFC 6350 section 6.6.6).
const RELATIONS: &[&str] = &[
    "contact",
    "acquaintance",
    "friend",
    "met",
    "co-worker",
    "colleague",
    "co-resident",
    "neighbor",
    "child",
    "parent",
    "sibling",
    "spouse",
    "kin",
    "muse",
    "crush",
    "date",
    "sweetheart",
    "me",
    "agent",
    "emergency",
];

/// Services of messengers and their URI schemes.
const SERVICES: &[(&str, &str)] = &[
    ("aim", "aim"),
    ("gtalk", "xmpp"),
    ("google talk", "xmpp"),
    ("googletalk", "xmpp"),
    ("hangouts", "xmpp"),
    ("icq", "icq"),
    ("irc", "irc"),
    ("jabber", "xmpp"),
    ("matrix", "matrix"),
    ("msn", "msnim"),
    ("qq", "mqq"),
    ("signal", "sgnl"),
    ("skype", "skype"),
    ("telegram", "tg"),
    ("xmpp", "xmpp"),
    ("yahoo", "ymsgr"),
];

/// Returns the types or the label of a relation: `Spouse` is a type, `Brother` a label.
pub(crate) fn relation_label(text: &str) -> Label {
    let text = text.trim();
    if is_one_of(RELATIONS, text) {
        return Label {
            types: vec![text.to_ascii_lowercase()],
            ..Label::default()
        };
    }
    Label {
        text: (!text.is_empty()).then(|| text.to_owned()),
        ..Label::default()
    }
}

/// Returns true for a type of RELATED.
pub(crate) fn is_relation(kind: &str) -> bool {
    is_one_of(RELATIONS, kind)
}

/// Returns the IMPP property of a messenger's account; the service stays as X-SERVICE-TYPE.
pub(crate) fn messenger_property(service: &str, account: &str) -> DraftProperty {
    let service = service.trim();
    let has_scheme = account.split_once(':').is_some_and(|(scheme, _)| {
        !scheme.is_empty() && scheme.chars().all(|c| c.is_ascii_alphanumeric())
    });
    let known = SERVICES
        .iter()
        .find(|(name, _)| name.eq_ignore_ascii_case(service));
    let uri = match known {
        _ if has_scheme => account.to_owned(),
        Some((_, scheme)) => format!("{scheme}:{account}"),
        None => format!("x-im:{account}"),
    };
    let property = DraftProperty::new("IMPP", DraftValue::Uri(uri));
    match service {
        "" => property,
        service => property.with_parameter("X-SERVICE-TYPE", service),
    }
}

/// Returns the value of GENDER (RFC 6350 section 6.2.7); `None` if nothing is said.
pub(crate) fn gender_value(text: &str) -> Option<String> {
    let text = text.trim();
    Some(match text.to_lowercase().as_str() {
        "" | "unspecified" => return None,
        "m" | "male" => "M".to_owned(),
        "f" | "female" => "F".to_owned(),
        "o" | "n" | "u" => text.to_uppercase(),
        _ => format!(";{text}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relations_messengers_and_genders() {
        assert_eq!(relation_label(" Spouse ").types, ["spouse"]);
        assert_eq!(relation_label("Brother").text.as_deref(), Some("Brother"));
        assert_eq!(relation_label(""), Label::default());
        for (service, account, uri) in [
            ("GoogleTalk", "ada@example.org", "xmpp:ada@example.org"),
            ("Skype", "ada", "skype:ada"),
            ("", "xmpp:ada@example.org", "xmpp:ada@example.org"),
            ("Other", "ada", "x-im:ada"),
        ] {
            let property = messenger_property(service, account);
            assert_eq!(property.value, DraftValue::Uri(uri.to_owned()));
        }
        assert_eq!(gender_value("Female").as_deref(), Some("F"));
        assert_eq!(gender_value("agender").as_deref(), Some(";agender"));
        assert_eq!(gender_value("Unspecified"), None);
    }
}
