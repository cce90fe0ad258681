//! JSON objects of contacts.

use etui::contacts::{Card, CardError, Contact, PartialDate, Photo, Summary, TypedValue};
use etui::text::phone::{PhoneNumber, Region};
use serde::Serialize;

/// A row of `contacts list` and `find`.
#[derive(Debug, Serialize)]
pub struct ContactSummaryJson<'a> {
    pub name: &'a str,
    pub organization: &'a str,
    pub phone: &'a str,
    pub email: &'a str,
}

impl<'a> From<&'a Summary> for ContactSummaryJson<'a> {
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
pub struct ContactJson {
    id: i64,
    /// UID, or the derived identity.
    uid: String,
    /// Version of the content, 32 hexadecimal digits.
    etag: String,
    /// Version of the vCard: `2.1`, `3.0` or `4.0`.
    version: String,
    name: String,
    /// The N property.
    name_parts: NameJson,
    nicknames: Vec<String>,
    /// The first organisation's name.
    organization: Option<String>,
    organizations: Vec<OrganizationJson>,
    title: Option<String>,
    /// Phone numbers, preferred ones first.
    phones: Vec<PhoneJson>,
    /// E-mail addresses, preferred ones first.
    emails: Vec<TypedJson>,
    urls: Vec<TypedJson>,
    addresses: Vec<AddressJson>,
    /// `2001-02-28`, or `--02-28` without a year.
    birthday: Option<String>,
    categories: Vec<String>,
    note: Option<String>,
    /// The first photo, without its bytes.
    photo: Option<PhotoJson>,
    /// Every property, in the vCard's order.
    properties: Vec<PropertyJson>,
}

#[derive(Debug, Serialize)]
struct NameJson {
    family: String,
    given: String,
    additional: String,
    prefix: String,
    suffix: String,
}

#[derive(Debug, Serialize)]
struct OrganizationJson {
    name: String,
    units: Vec<String>,
}

#[derive(Debug, Serialize)]
struct PhoneJson {
    value: String,
    types: Vec<String>,
    preferred: bool,
    /// The number in E.164, if it is known.
    e164: Option<String>,
}

#[derive(Debug, Serialize)]
struct TypedJson {
    value: String,
    types: Vec<String>,
    preferred: bool,
}

impl From<TypedValue> for TypedJson {
    fn from(t: TypedValue) -> Self {
        Self {
            value: t.value,
            types: t.types,
            preferred: t.preferred,
        }
    }
}

#[derive(Debug, Serialize)]
struct AddressJson {
    street: String,
    locality: String,
    region: String,
    code: String,
    country: String,
    types: Vec<String>,
}

#[derive(Debug, Serialize)]
struct PhotoJson {
    media_type: Option<String>,
    bytes: Option<u64>,
    uri: Option<String>,
}

#[derive(Debug, Serialize)]
struct PropertyJson {
    group: Option<String>,
    name: String,
    value: String,
}

impl ContactJson {
    pub fn new(contact: &Contact, region: Option<Region>) -> Result<Self, CardError> {
        let card = contact.card()?;
        Ok(Self {
            id: contact.id.0,
            uid: contact.uid.clone(),
            etag: contact.etag.to_string(),
            ..Self::from_card(&card, region)
        })
    }

    fn from_card(card: &Card, region: Option<Region>) -> Self {
        let name = card.name();
        let phone = |t: TypedValue| PhoneJson {
            e164: PhoneNumber::parse(&t.value, region).and_then(|n| n.e164()),
            value: t.value,
            types: t.types,
            preferred: t.preferred,
        };
        let typed = |all: Vec<TypedValue>| all.into_iter().map(TypedJson::from).collect();
        Self {
            id: 0,
            uid: String::new(),
            etag: String::new(),
            version: card.version().to_string(),
            name: card.display_name(),
            name_parts: NameJson {
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
                .map(|o| OrganizationJson {
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
                .map(|a| AddressJson {
                    street: a.street,
                    locality: a.locality,
                    region: a.region,
                    code: a.code,
                    country: a.country,
                    types: a.types,
                })
                .collect(),
            birthday: card.birthday().map(format_date),
            categories: card.categories(),
            note: card.note(),
            photo: card.photo().map(|p| match p {
                Photo::Inline { media_type, bytes } => PhotoJson {
                    media_type,
                    bytes: Some(bytes.len() as u64),
                    uri: None,
                },
                Photo::Uri(uri) => PhotoJson {
                    media_type: None,
                    bytes: None,
                    uri: Some(uri),
                },
            }),
            properties: card
                .all_properties()
                .map(|(group, name, value)| PropertyJson {
                    group: group.map(str::to_owned),
                    name: name.to_owned(),
                    value,
                })
                .collect(),
        }
    }
}

/// Formats a date as in vCard 4.0 and ISO 8601, `--MM-DD` without a year.
pub fn format_date(date: PartialDate) -> String {
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
