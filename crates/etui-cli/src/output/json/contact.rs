//! The objects of contacts.

use etui::contacts::{Card, CardError, Contact, Date, Photo, Summary, Typed};
use etui::text::phone::{PhoneNumber, Region};
use serde::Serialize;

/// What a list shows of a contact.
#[derive(Debug, Serialize)]
pub struct ContactSummaryObject<'a> {
    /// The name to show.
    pub name: &'a str,
    /// The first organisation.
    pub organization: &'a str,
    /// The first phone number, as written.
    pub phone: &'a str,
    /// The first e-mail address.
    pub email: &'a str,
}

impl<'a> From<&'a Summary> for ContactSummaryObject<'a> {
    fn from(summary: &'a Summary) -> Self {
        Self {
            name: &summary.name,
            organization: &summary.organization,
            phone: &summary.phone,
            email: &summary.email,
        }
    }
}

/// A line of `contacts show`, and of `export --json`.
#[derive(Debug, Serialize)]
pub struct ContactObject {
    /// Number in the store.
    id: i64,
    /// UID, or the identity that stands for one.
    uid: String,
    /// Version of the content, 32 hexadecimal digits.
    etag: String,
    /// Version of the vCard: `2.1`, `3.0` or `4.0`.
    version: String,
    /// The name to show.
    name: String,
    /// The N property.
    name_parts: NameObject,
    /// Nicknames.
    nicknames: Vec<String>,
    /// The first organisation's name.
    organization: Option<String>,
    /// All organisations.
    organizations: Vec<OrganizationObject>,
    /// Job title.
    title: Option<String>,
    /// Phone numbers, preferred ones first.
    phones: Vec<PhoneObject>,
    /// E-mail addresses, preferred ones first.
    emails: Vec<TypedObject>,
    /// Web addresses.
    urls: Vec<TypedObject>,
    /// Postal addresses.
    addresses: Vec<AddressObject>,
    /// `2001-02-28`, or `--02-28` without a year.
    birthday: Option<String>,
    /// Categories.
    categories: Vec<String>,
    /// Notes.
    note: Option<String>,
    /// The first photo, without its bytes.
    photo: Option<PhotoObject>,
    /// Every property, in the vCard's order.
    properties: Vec<PropertyObject>,
}

#[derive(Debug, Serialize)]
struct NameObject {
    family: String,
    given: String,
    additional: String,
    prefix: String,
    suffix: String,
}

#[derive(Debug, Serialize)]
struct OrganizationObject {
    name: String,
    units: Vec<String>,
}

#[derive(Debug, Serialize)]
struct PhoneObject {
    value: String,
    types: Vec<String>,
    preferred: bool,
    /// The number in international form, `+` and digits, where it can be told.
    e164: Option<String>,
}

#[derive(Debug, Serialize)]
struct TypedObject {
    value: String,
    types: Vec<String>,
    preferred: bool,
}

impl From<Typed> for TypedObject {
    fn from(t: Typed) -> Self {
        Self {
            value: t.value,
            types: t.types,
            preferred: t.preferred,
        }
    }
}

#[derive(Debug, Serialize)]
struct AddressObject {
    street: String,
    locality: String,
    region: String,
    code: String,
    country: String,
    types: Vec<String>,
}

#[derive(Debug, Serialize)]
struct PhotoObject {
    media_type: Option<String>,
    /// Size of the image.
    bytes: Option<u64>,
    /// Where it is, when it is not in the vCard.
    uri: Option<String>,
}

#[derive(Debug, Serialize)]
struct PropertyObject {
    group: Option<String>,
    name: String,
    value: String,
}

impl ContactObject {
    /// The object for a contact.
    pub fn of(contact: &Contact, region: Option<Region>) -> Result<Self, CardError> {
        let card = contact.card()?;
        Ok(Self {
            id: contact.id.0,
            uid: contact.uid.clone(),
            etag: contact.etag.to_string(),
            ..Self::of_card(&card, region)
        })
    }

    fn of_card(card: &Card, region: Option<Region>) -> Self {
        let name = card.name();
        let phone = |t: Typed| PhoneObject {
            e164: PhoneNumber::parse(&t.value, region).and_then(|n| n.e164()),
            value: t.value,
            types: t.types,
            preferred: t.preferred,
        };
        let typed = |all: Vec<Typed>| all.into_iter().map(TypedObject::from).collect();
        Self {
            id: 0,
            uid: String::new(),
            etag: String::new(),
            version: card.version().to_string(),
            name: card.display_name(),
            name_parts: NameObject {
                family: name.family,
                given: name.given,
                additional: name.additional,
                prefix: name.prefix,
                suffix: name.suffix,
            },
            nicknames: card.nicknames(),
            organization: card.organization().map(|o| o.name),
            organizations: card
                .organizations()
                .into_iter()
                .map(|o| OrganizationObject {
                    name: o.name,
                    units: o.units,
                })
                .collect(),
            title: card.title().map(str::to_owned),
            phones: card.phones().into_iter().map(phone).collect(),
            emails: typed(card.emails()),
            urls: typed(card.urls()),
            addresses: card
                .addresses()
                .into_iter()
                .map(|a| AddressObject {
                    street: a.street,
                    locality: a.locality,
                    region: a.region,
                    code: a.code,
                    country: a.country,
                    types: a.types,
                })
                .collect(),
            birthday: card.birthday().map(date),
            categories: card.categories(),
            note: card.note(),
            photo: card.photo().map(|p| match p {
                Photo::Inline { media_type, bytes } => PhotoObject {
                    media_type,
                    bytes: Some(bytes.len() as u64),
                    uri: None,
                },
                Photo::Uri(uri) => PhotoObject {
                    media_type: None,
                    bytes: None,
                    uri: Some(uri),
                },
            }),
            properties: card
                .all_properties()
                .map(|(group, name, value)| PropertyObject {
                    group: group.map(str::to_owned),
                    name: name.to_owned(),
                    value,
                })
                .collect(),
        }
    }
}

/// A date as vCard 4.0 and ISO 8601 write it, `--MM-DD` without its year.
pub fn date(date: Date) -> String {
    match (date.year, date.month, date.day) {
        (Some(y), Some(m), Some(d)) => format!("{y:04}-{m:02}-{d:02}"),
        (Some(y), Some(m), None) => format!("{y:04}-{m:02}"),
        (Some(y), None, _) => format!("{y:04}"),
        (None, Some(m), Some(d)) => format!("--{m:02}-{d:02}"),
        (None, Some(m), None) => format!("--{m:02}"),
        (None, None, Some(d)) => format!("---{d:02}"),
        (None, None, None) => String::new(),
    }
}
