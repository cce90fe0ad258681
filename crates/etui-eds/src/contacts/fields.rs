//! The fields of a contact: their names, and the properties that their values come from.

use etui::contacts::Card;

use super::properties::typed_properties;

/// The fields that a book supports. The place in this list, from 1, is the field's number.
pub(super) const SUPPORTED_FIELDS: &str = "\
    id file_as book_uid full_name given_name family_name nickname email_1 email_2 email_3 email_4 \
    mailer address_label_home address_label_work address_label_other assistant_phone \
    business_phone business_phone_2 business_fax callback_phone car_phone company_phone home_phone \
    home_phone_2 home_fax isdn_phone mobile_phone other_phone other_fax pager primary_phone radio \
    telex tty org org_unit office title role manager assistant homepage_url blog_url categories \
    caluri fburl icscalendar video_url spouse note \
    im_aim_home_1 im_aim_home_2 im_aim_home_3 im_aim_work_1 im_aim_work_2 im_aim_work_3 \
    im_groupwise_home_1 im_groupwise_home_2 im_groupwise_home_3 im_groupwise_work_1 \
    im_groupwise_work_2 im_groupwise_work_3 \
    im_jabber_home_1 im_jabber_home_2 im_jabber_home_3 im_jabber_work_1 im_jabber_work_2 \
    im_jabber_work_3 \
    im_yahoo_home_1 im_yahoo_home_2 im_yahoo_home_3 im_yahoo_work_1 im_yahoo_work_2 \
    im_yahoo_work_3 \
    im_msn_home_1 im_msn_home_2 im_msn_home_3 im_msn_work_1 im_msn_work_2 im_msn_work_3 \
    im_icq_home_1 im_icq_home_2 im_icq_home_3 im_icq_work_1 im_icq_work_2 im_icq_work_3 \
    Rev name_or_org address address_home address_work address_other category_list photo logo name \
    email im_aim im_groupwise im_jabber im_yahoo im_msn im_icq wants_html list \
    list_show_addresses birth_date anniversary x509Cert pgpCert \
    im_gadugadu_home_1 im_gadugadu_home_2 im_gadugadu_home_3 im_gadugadu_work_1 \
    im_gadugadu_work_2 im_gadugadu_work_3 im_gadugadu geo phone \
    im_skype_home_1 im_skype_home_2 im_skype_home_3 im_skype_work_1 im_skype_work_2 \
    im_skype_work_3 im_skype sip \
    im_google_talk_home_1 im_google_talk_home_2 im_google_talk_home_3 im_google_talk_work_1 \
    im_google_talk_work_2 im_google_talk_work_3 im_google_talk im_twitter \
    im_matrix_home_1 im_matrix_home_2 im_matrix_home_3 im_matrix_work_1 im_matrix_work_2 \
    im_matrix_work_3 im_matrix";

/// Returns the names of the supported fields.
pub(super) fn supported_fields() -> Vec<String> {
    SUPPORTED_FIELDS
        .split_whitespace()
        .map(str::to_owned)
        .collect()
}

/// A field of a contact, by the source of its values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ContactField {
    /// Any visible property.
    Any,
    /// The UID.
    Uid,
    /// The name under which a contact is filed.
    FileAs,
    /// Full, family, given and nick name.
    Names,
    /// The full name alone; cursors sort by it.
    FullName,
    /// A component of N.
    NamePart(usize),
    /// A component of ORG.
    OrganizationPart(usize),
    /// The name to file it under, else the full name, the organization or the first address.
    NameOrOrganization,
    /// The categories as one text.
    Categories,
    /// Every value of a property.
    Property(String),
    /// The n-th value of a property.
    Nth(&'static str, usize),
    /// The n-th value of a property that has all of these types.
    Typed(&'static str, &'static [&'static str], usize),
}

/// Fields whose values are those of one property.
const PROPERTIES: &[(&str, &str)] = &[
    ("Rev", "REV"),
    ("address", "ADR"),
    ("anniversary", "X-EVOLUTION-ANNIVERSARY"),
    ("assistant", "X-EVOLUTION-ASSISTANT"),
    ("birth_date", "BDAY"),
    ("blog_url", "X-EVOLUTION-BLOG-URL"),
    ("book_uid", "X-EVOLUTION-BOOK-UID"),
    ("calurl", "CALURI"),
    ("caluri", "CALURI"),
    ("category_list", "CATEGORIES"),
    ("email", "EMAIL"),
    ("fburl", "FBURL"),
    ("geo", "GEO"),
    ("homepage_url", "URL"),
    ("icscalendar", "ICSCALENDAR"),
    ("im_aim", "X-AIM"),
    ("im_gadugadu", "X-GADUGADU"),
    ("im_google_talk", "X-GOOGLE-TALK"),
    ("im_groupwise", "X-GROUPWISE"),
    ("im_icq", "X-ICQ"),
    ("im_jabber", "X-JABBER"),
    ("im_matrix", "X-MATRIX"),
    ("im_msn", "X-MSN"),
    ("im_skype", "X-SKYPE"),
    ("im_twitter", "X-TWITTER"),
    ("im_yahoo", "X-YAHOO"),
    ("list", "X-EVOLUTION-LIST"),
    ("list_show_addresses", "X-EVOLUTION-LIST-SHOW-ADDRESSES"),
    ("logo", "LOGO"),
    ("mailer", "MAILER"),
    ("manager", "X-EVOLUTION-MANAGER"),
    ("name", "N"),
    ("nickname", "NICKNAME"),
    ("note", "NOTE"),
    ("phone", "TEL"),
    ("photo", "PHOTO"),
    ("role", "ROLE"),
    ("sip", "X-SIP"),
    ("spouse", "X-EVOLUTION-SPOUSE"),
    ("title", "TITLE"),
    ("url", "URL"),
    ("video_url", "X-EVOLUTION-VIDEO-URL"),
    ("wants_html", "X-MOZILLA-HTML"),
];

/// Fields whose value is a property with certain types: name, property, types, place among them.
const TYPED: &[(&str, &str, &[&str], usize)] = &[
    ("address_home", "ADR", &["HOME"], 0),
    ("address_label_home", "LABEL", &["HOME"], 0),
    ("address_label_other", "LABEL", &["OTHER"], 0),
    ("address_label_work", "LABEL", &["WORK"], 0),
    ("address_other", "ADR", &["OTHER"], 0),
    ("address_work", "ADR", &["WORK"], 0),
    ("assistant_phone", "TEL", &["X-EVOLUTION-ASSISTANT"], 0),
    ("business_fax", "TEL", &["WORK", "FAX"], 0),
    ("business_phone", "TEL", &["WORK", "VOICE"], 0),
    ("business_phone_2", "TEL", &["WORK", "VOICE"], 1),
    ("callback_phone", "TEL", &["X-EVOLUTION-CALLBACK"], 0),
    ("car_phone", "TEL", &["CAR"], 0),
    ("company_phone", "TEL", &["X-EVOLUTION-COMPANY"], 0),
    ("home_fax", "TEL", &["HOME", "FAX"], 0),
    ("home_phone", "TEL", &["HOME", "VOICE"], 0),
    ("home_phone_2", "TEL", &["HOME", "VOICE"], 1),
    ("isdn_phone", "TEL", &["ISDN"], 0),
    ("mobile_phone", "TEL", &["CELL"], 0),
    ("other_fax", "TEL", &["FAX"], 0),
    ("other_phone", "TEL", &["VOICE"], 0),
    ("pager", "TEL", &["PAGER"], 0),
    ("pgpCert", "KEY", &["PGP"], 0),
    ("primary_phone", "TEL", &["PREF"], 0),
    ("radio", "TEL", &["X-EVOLUTION-RADIO"], 0),
    ("telex", "TEL", &["X-EVOLUTION-TELEX"], 0),
    ("tty", "TEL", &["X-EVOLUTION-TTYTDD"], 0),
    ("x509Cert", "KEY", &["X509"], 0),
];

impl ContactField {
    /// Returns the field of a name. A name that is no field is that of a property.
    pub(super) fn from_name(name: &str) -> Self {
        match name {
            "x-evolution-any-field" => return Self::Any,
            "id" => return Self::Uid,
            "file_as" => return Self::FileAs,
            "name_or_org" => return Self::NameOrOrganization,
            "full_name" => return Self::Names,
            "family_name" => return Self::NamePart(0),
            "given_name" => return Self::NamePart(1),
            "categories" => return Self::Categories,
            "org" => return Self::OrganizationPart(0),
            "org_unit" => return Self::OrganizationPart(1),
            "office" => return Self::OrganizationPart(2),
            _ => {}
        }
        if let Some((_, property)) = PROPERTIES.iter().find(|(field, _)| *field == name) {
            return Self::Property((*property).to_owned());
        }
        if let Some((_, property, types, place)) = TYPED.iter().find(|(field, ..)| *field == name) {
            return Self::Typed(property, types, *place);
        }
        if let Some(place) = name.strip_prefix("email_").and_then(place_from_digit) {
            return Self::Nth("EMAIL", place);
        }
        Self::messaging(name).unwrap_or_else(|| Self::Property(name.to_owned()))
    }

    /// `im_jabber_home_2`: the second of X-JABBER with the type HOME.
    fn messaging(name: &str) -> Option<Self> {
        let (service, digit) = name.rsplit_once('_')?;
        let (service, types): (_, &'static [&'static str]) =
            match (service.strip_suffix("_home"), service.strip_suffix("_work")) {
                (Some(service), _) => (service, &["HOME"]),
                (_, Some(service)) => (service, &["WORK"]),
                _ => return None,
            };
        let (_, property) = PROPERTIES
            .iter()
            .find(|(field, _)| *field == service && field.starts_with("im_"))?;
        Some(Self::Typed(property, types, place_from_digit(digit)?))
    }

    /// Whether the field's values are `TRUE` and `FALSE`.
    pub(super) fn is_boolean(&self) -> bool {
        const BOOLEAN: [&str; 3] = [
            "X-EVOLUTION-LIST",
            "X-EVOLUTION-LIST-SHOW-ADDRESSES",
            "X-MOZILLA-HTML",
        ];
        matches!(self, Self::Property(name) if BOOLEAN.contains(&name.as_str()))
    }

    /// Returns the field that a cursor sorts by; `None` for a field that is no single text.
    pub(super) fn sort_field(name: &str) -> Option<Self> {
        match name {
            "full_name" => Some(Self::FullName),
            "id" | "Rev" | "file_as" | "nickname" | "given_name" | "family_name" => {
                Some(Self::from_name(name))
            }
            _ => None,
        }
    }

    /// The properties that its values come from; `None` if they may come from any.
    pub(super) fn properties(&self) -> Option<Vec<String>> {
        let names: &[&str] = match self {
            Self::Any | Self::FileAs | Self::NameOrOrganization | Self::Categories => return None,
            Self::Uid => &[],
            Self::FullName => &["FN", "N"],
            Self::Names => &["FN", "N", "NICKNAME"],
            Self::NamePart(_) => &["N"],
            Self::OrganizationPart(_) => &["ORG"],
            Self::Property(name) => &[name.as_str()],
            Self::Nth(name, _) | Self::Typed(name, ..) => &[name],
        };
        Some(names.iter().map(|&name| name.to_owned()).collect())
    }

    /// Returns true if `test` is true of a value of the field. A part that is present but empty is
    /// a value; an absent one is none.
    pub(super) fn any_value(
        &self,
        uid: &str,
        card: &Card,
        test: &mut dyn FnMut(&str) -> bool,
    ) -> bool {
        match self {
            Self::Any => any_visible(card, test) || file_as(card).is_some_and(|v| test(&v)),
            Self::Uid => test(uid),
            Self::FileAs => file_as(card).is_some_and(|value| test(&value)),
            Self::NameOrOrganization => file_as(card)
                .or_else(|| card.properties("FN").into_iter().next())
                .or_else(|| full_name(card))
                .or_else(|| component(card, "ORG", 0))
                .or_else(|| card.properties("EMAIL").into_iter().next())
                .is_some_and(|value| test(&value)),
            Self::FullName => full_name(card).is_some_and(|value| test(&value)),
            Self::Names => {
                full_name(card).is_some_and(|value| test(&value))
                    || component(card, "N", 0).is_some_and(|value| test(&value))
                    || component(card, "N", 1).is_some_and(|value| test(&value))
                    || any_text(card, "NICKNAME", test)
            }
            Self::NamePart(part) => component(card, "N", *part).is_some_and(|v| test(&v)),
            Self::OrganizationPart(part) => {
                component(card, "ORG", *part).is_some_and(|value| test(&value))
            }
            Self::Categories => categories(card).is_some_and(|value| test(&value)),
            Self::Property(name) if name == "TEL" || name == "EMAIL" => any_text(card, name, test),
            Self::Property(name) if name == "CATEGORIES" => any_text(card, name, test),
            Self::Property(name) => {
                any_text(card, name, test) || card.properties(name).iter().any(|value| test(value))
            }
            Self::Nth(name, place) => {
                let values = card.properties(name);
                values.get(*place).is_some_and(|value| test(value))
            }
            Self::Typed(name, types, place) => typed_properties(card.text(), name)
                .filter(|property| types.iter().all(|wanted| property.has_type(wanted)))
                .nth(*place)
                .is_some_and(|property| test(&property.value)),
        }
    }

    /// Returns the first value of the field.
    pub(super) fn first_value(&self, uid: &str, card: &Card) -> Option<String> {
        let mut first = None;
        self.any_value(uid, card, &mut |value| {
            first = Some(value.to_owned());
            true
        });
        first
    }
}

fn place_from_digit(digit: &str) -> Option<usize> {
    digit.parse::<usize>().ok()?.checked_sub(1)
}

fn any_text(card: &Card, name: &str, test: &mut dyn FnMut(&str) -> bool) -> bool {
    let mut found = false;
    card.for_each_text(name, |text| found = found || test(text));
    found
}

/// The properties that a person sees. Those of messaging services are in [`PROPERTIES`].
const VISIBLE: &[&str] = &[
    "ADR",
    "CALURI",
    "CATEGORIES",
    "EMAIL",
    "FBURL",
    "FN",
    "ICSCALENDAR",
    "LABEL",
    "MAILER",
    "N",
    "NICKNAME",
    "NOTE",
    "ORG",
    "ROLE",
    "TEL",
    "TITLE",
    "URL",
    "X-EVOLUTION-ASSISTANT",
    "X-EVOLUTION-BLOG-URL",
    "X-EVOLUTION-MANAGER",
    "X-EVOLUTION-SPOUSE",
    "X-EVOLUTION-VIDEO-URL",
    "X-SIP",
];

fn is_visible(name: &str) -> bool {
    let messaging = |(field, property): &(&str, &str)| {
        field.starts_with("im_") && property.eq_ignore_ascii_case(name)
    };
    VISIBLE.iter().any(|known| known.eq_ignore_ascii_case(name)) || PROPERTIES.iter().any(messaging)
}

fn any_visible(card: &Card, test: &mut dyn FnMut(&str) -> bool) -> bool {
    let any = card.all_properties().any(|(_, name, value)| {
        is_visible(name)
            && (test(&value) || value.contains([';', ',']) && any_text(card, name, test))
    });
    any || categories(card).is_some_and(|value| test(&value))
}

/// The categories as one text.
fn categories(card: &Card) -> Option<String> {
    let categories = card.categories();
    (!categories.is_empty()).then(|| categories.join(","))
}

/// Returns a component of the first property `name`; `None` if the value has fewer.
fn component(card: &Card, name: &str, index: usize) -> Option<String> {
    let value = card.property(name)?;
    value
        .split(';')
        .nth(index)
        .map(|part| part.trim().to_owned())
}

fn full_name(card: &Card) -> Option<String> {
    card.property("FN").or_else(|| {
        let name = card.name();
        let parts = [
            name.prefix,
            name.given,
            name.additional,
            name.family,
            name.suffix,
        ];
        let parts: Vec<_> = parts.iter().filter(|part| !part.is_empty()).collect();
        let joined = parts
            .iter()
            .map(|part| part.as_str())
            .collect::<Vec<_>>()
            .join(" ");
        (!joined.is_empty()).then_some(joined)
    })
}

fn file_as(card: &Card) -> Option<String> {
    // An empty one counts as none.
    if let Some(value) = card.property("X-EVOLUTION-FILE-AS")
        && !value.is_empty()
    {
        return Some(value);
    }
    let name = card.name();
    match (name.family.as_str(), name.given.as_str()) {
        ("", "") => component(card, "ORG", 0).filter(|organization| !organization.is_empty()),
        (family, "") => Some(family.to_owned()),
        ("", given) => Some(given.to_owned()),
        (family, given) => Some(format!("{family}, {given}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_142_fields() {
        let fields = supported_fields();
        assert_eq!(fields.len(), 142);
        assert_eq!(fields[43], "categories");
        assert_eq!(fields[141], "im_matrix");
    }

    #[test]
    fn values_come_from_properties() {
        let card = Card::parse(
            "BEGIN:VCARD\nVERSION:3.0\nUID:u\nN:Lovelace;Ada;;;\nORG:Engines;;Room 4\n\
             TEL;TYPE=WORK,VOICE:1\nTEL;TYPE=VOICE;TYPE=WORK:2\nX-JABBER;TYPE=HOME:ada@x\n\
             EMAIL:a@x\nEMAIL:b@x\nEND:VCARD\n",
        )
        .unwrap();
        for (field, value) in [
            ("id", Some("u")),
            ("full_name", Some("Ada Lovelace")),
            ("file_as", Some("Lovelace, Ada")),
            ("org_unit", Some("")),
            ("office", Some("Room 4")),
            ("business_phone_2", Some("2")),
            ("home_phone", None),
            ("im_jabber_home_1", Some("ada@x")),
            ("im_jabber_work_1", None),
            ("email_2", Some("b@x")),
            ("nickname", None),
            ("N", Some("Lovelace")),
        ] {
            let found = ContactField::from_name(field).first_value("u", &card);
            assert_eq!(found.as_deref(), value, "{field}");
        }
    }
}
