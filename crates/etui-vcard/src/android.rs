//! `X-ANDROID-CUSTOM`, in which Android's contacts write what vCard 2.1 has no property for.
//!
//! ```text
//! X-ANDROID-CUSTOM:vnd.android.cursor.item/nickname;Umi;1;;;         NICKNAME:Umi
//! X-ANDROID-CUSTOM:vnd.android.cursor.item/relation;Ole;14;;;        RELATED;VALUE=text;TYPE=spouse:Ole
//! X-ANDROID-CUSTOM:vnd.android.cursor.item/contact_event;1990-05-09;3;;;   BDAY:1990-05-09
//! X-ANDROID-CUSTOM:vnd.android.cursor.item/contact_event;2011-12-06;1;;;   ANNIVERSARY:2011-12-06
//! ```

use crate::date::PropertyDate;
use crate::property::{Property, PropertyValue};

/// The property of Android.
const NAME: &str = "X-ANDROID-CUSTOM";

/// TYPE of RELATED (RFC 6350 §6.6.6) by the number of `ContactsContract.CommonDataKinds.Relation`.
const RELATIONS: &[(&str, &str)] = &[
    ("1", "agent"),
    ("2", "sibling"),
    ("3", "child"),
    ("4", "spouse"),
    ("5", "parent"),
    ("6", "friend"),
    ("8", "parent"),
    ("9", "parent"),
    ("10", "sweetheart"),
    ("12", "kin"),
    ("13", "sibling"),
    ("14", "spouse"),
];

/// Returns true for an `X-ANDROID-CUSTOM`.
pub(crate) fn is_custom(property: &Property) -> bool {
    property.is_named(NAME)
}

/// Returns the property of RFC 6350 that an `X-ANDROID-CUSTOM` is; `None` for other kinds and
/// properties.
pub(crate) fn standard_property(property: &Property) -> Option<Property> {
    if !is_custom(property) {
        return None;
    }
    let mut parts = property.first_text()?.split(';').map(str::trim);
    let kind = parts.next()?.strip_prefix("vnd.android.cursor.item/")?;
    let value = parts.next().filter(|value| !value.is_empty())?;
    let detail = parts.next().unwrap_or_default();
    let mut standard = Property::of_text("", value.to_owned());
    match kind {
        "nickname" => {
            standard.name = "NICKNAME".to_owned();
            standard.value = PropertyValue::List(vec![value.to_owned()]);
        }
        "relation" => {
            standard.name = "RELATED".to_owned();
            standard.push_parameter("VALUE", vec!["text".to_owned()]);
            if let Some((_, relation)) = RELATIONS.iter().find(|(number, _)| *number == detail) {
                standard.push_parameter("TYPE", vec![(*relation).to_owned()]);
            }
        }
        "contact_event" => {
            let date = PropertyDate::parse(value)?;
            standard.value = PropertyValue::Text(date.to_extended());
            let name = match detail {
                "1" => "ANNIVERSARY",
                "3" => "BDAY",
                _ => return None,
            };
            standard.name = name.to_owned();
        }
        _ => return None,
    }
    Some(standard)
}
