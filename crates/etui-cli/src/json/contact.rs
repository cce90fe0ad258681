//! JSON objects of contacts.

use etui::contacts::{CardError, Contact, Photo, TypedValue};
use etui::text::phone::{PhoneNumber, Region};
use etui_program::output::object;
use serde::Serialize;

/// A line of `contacts show`, and of `export --json`.
pub fn contact_json(
    contact: &Contact,
    region: Option<Region>,
) -> Result<impl Serialize, CardError> {
    let card = contact.card()?;
    let name = card.name();
    let organizations = card.organizations().into_iter();
    let phone = |t: TypedValue| {
        let e164 = PhoneNumber::parse(&t.value, region).and_then(|n| n.e164());
        object! {
            value: t.value, types: t.types, preferred: t.preferred, label: t.label, e164: e164,
        }
    };
    let typed = |all: Vec<TypedValue>| {
        let object = |t: TypedValue| {
            object! { value: t.value, types: t.types, preferred: t.preferred, label: t.label }
        };
        all.into_iter().map(object).collect::<Vec<_>>()
    };
    let address = |a: etui::contacts::PostalAddress| {
        object! {
            street: a.street, locality: a.locality, region: a.region,
            code: a.code, country: a.country, types: a.types, label: a.label,
        }
    };
    let photo = card.photo().map(|photo| {
        let (media_type, bytes, uri) = match photo {
            Photo::Inline { media_type, bytes } => (media_type, Some(bytes.len()), None),
            Photo::Uri(uri) => (None, None, Some(uri)),
        };
        object! { media_type: media_type, bytes: bytes, uri: uri }
    });
    let property = |(group, name, value): (Option<&str>, &str, String)| {
        object! { group: group.map(str::to_owned), name: name.to_owned(), value: value }
    };
    Ok(object! {
        id: contact.id.0,
        // UID, or the derived identity.
        uid: &contact.uid,
        // Version of the content, 32 hexadecimal digits.
        etag: contact.etag.to_string(),
        // Version of the vCard: `2.1`, `3.0` or `4.0`.
        version: card.version().to_string(),
        name: card.display_name(),
        // The N property.
        name_parts: object! {
            family: name.family, given: name.given, additional: name.additional,
            prefix: name.prefix, suffix: name.suffix,
        },
        nicknames: card.nicknames(),
        // The first organisation's name.
        organization: card.organization().map(|o| o.name),
        organizations: organizations
            .map(|o| object! { name: o.name, units: o.units })
            .collect::<Vec<_>>(),
        title: card.title().map(str::to_owned),
        // Preferred phone numbers and addresses are first.
        phones: card.phones().into_iter().map(phone).collect::<Vec<_>>(),
        emails: typed(card.emails()),
        urls: typed(card.urls()),
        addresses: card.addresses().into_iter().map(address).collect::<Vec<_>>(),
        birthday: card.birthday().map(|date| date.to_string()),
        categories: card.categories(),
        note: card.note(),
        // The first photo, without its bytes.
        photo: photo,
        // Every property, in the vCard's order.
        properties: card.all_properties().map(property).collect::<Vec<_>>(),
    })
}
