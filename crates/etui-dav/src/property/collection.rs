//! Properties of a collection: an address book or a calendar.

use std::cell::OnceCell;

use etui::calendar::time::TimeZone;
use etui::calendar::zones::TimeZoneResolver;
use etui::record::Collection;
use etui::store::CollectionKey;
use etui::{CollectionId, Store, SyncToken};

use super::dead::{DeadValue, parse_clark_name};
use super::tree::{Node, common_value, privileges, reports};
use super::{Name, Value};
use crate::context::{FoundCollection, SharedWith};
use crate::failure::Result;
use crate::kind::{COMPONENTS, DavKind};
use crate::path::{Home, principal_href};
use crate::query::{COLLATIONS, zone_of_object};
use crate::session::{DavOptions, Session};
use crate::xml::{Element, Namespace};

/// Media types and versions of calendar data.
const CALENDAR_DATA: &[(&str, &str)] = &[("text/calendar", "2.0")];

/// Versions of cards: 3.0 alone, because Apple's programs fail on 4.0, and others write the version that is advertised.
const ADDRESS_DATA: &[(&str, &str)] = &[("text/vcard", "3.0")];

/// Names of properties of any collection; those of `allprop` are the first two.
const NAMES: &[(Namespace, &str)] = &[
    (Namespace::Dav, "resourcetype"),
    (Namespace::Dav, "displayname"),
    (Namespace::Dav, "current-user-principal"),
    (Namespace::Dav, "current-user-privilege-set"),
    (Namespace::Dav, "owner"),
    (Namespace::Dav, "principal-collection-set"),
    (Namespace::Dav, "supported-report-set"),
    (Namespace::Dav, "sync-token"),
    (Namespace::CalendarServer, "getctag"),
];

/// Further ones of an address book.
const ADDRESS_BOOK_NAMES: &[(Namespace, &str)] = &[
    (Namespace::CardDav, "supported-address-data"),
    (Namespace::CardDav, "supported-collation-set"),
    (Namespace::CardDav, "max-resource-size"),
];

/// Further ones of a calendar.
const CALENDAR_NAMES: &[(Namespace, &str)] = &[
    (Namespace::CalDav, "supported-calendar-component-set"),
    (Namespace::CalDav, "supported-calendar-data"),
    (Namespace::CalDav, "supported-collation-set"),
    (Namespace::CalDav, "max-resource-size"),
];

/// The names of all properties of collections that the server computes or interprets.
#[cfg(test)]
pub(super) fn all_names() -> impl Iterator<Item = (Namespace, &'static str)> {
    let all = NAMES.iter().chain(ADDRESS_BOOK_NAMES).chain(CALENDAR_NAMES);
    all.cloned()
}

/// The name of the property with the calendar's colour.
pub(crate) const COLOR: (Namespace, &str) = (Namespace::Apple, "calendar-color");

/// The name of the property with the components that a calendar takes.
pub(crate) const COMPONENT_SET: (Namespace, &str) =
    (Namespace::CalDav, "supported-calendar-component-set");

/// A collection and its properties.
pub(crate) struct CollectionNode<'s, R> {
    store: &'s Store,
    may_write: bool,
    shared: Option<SharedWith<'s, R>>,
    session: Session<'s>,
    options: &'s DavOptions,
    pub(crate) collection: Collection<R>,
    href: String,
    token: OnceCell<String>,
    kept: OnceCell<Vec<(Name, String)>>,
}

impl<'s, R: DavKind> CollectionNode<'s, R> {
    pub(crate) fn new(
        session: Session<'s>,
        options: &'s DavOptions,
        found: &FoundCollection<'s, R>,
    ) -> Self {
        Self {
            store: found.store,
            may_write: found.may_write,
            shared: found.shared.clone(),
            session,
            options,
            collection: found.collection.clone(),
            href: found.href.clone(),
            token: OnceCell::new(),
            kept: OnceCell::new(),
        }
    }

    /// Sets the token, for an answer that lists the resources of the same state.
    pub(crate) fn with_token(self, token: &SyncToken) -> Self {
        // It is the first one.
        let _ = self.token.set(token_text(self.collection.id(), token));
        self
    }

    /// Returns the token of the latest change.
    fn token(&self) -> Result<&str> {
        if let Some(token) = self.token.get() {
            return Ok(token);
        }
        let snapshot = self.store.snapshot()?;
        let reader = snapshot.collection::<R>(CollectionKey::Id(self.collection.id()))?;
        let token = token_text(self.collection.id(), &reader.collection_token()?);
        Ok(self.token.get_or_init(|| token))
    }

    /// Returns the properties that clients have set, with their names; of a shared collection those of the owner that
    /// the user has not set.
    pub(crate) fn kept(&self) -> Result<&[(Name, String)]> {
        if let Some(kept) = self.kept.get() {
            return Ok(kept);
        }
        let mut kept: Vec<(Name, String)> = Vec::new();
        let own = self.shared.iter().map(|shared| &shared.reference);
        for collection in own.chain([&self.collection]) {
            for property in collection.properties()? {
                if let Some(name) = parse_clark_name(&property.name)
                    && kept.iter().all(|(known, _)| *known != name)
                {
                    kept.push((name, property.value));
                }
            }
        }
        Ok(self.kept.get_or_init(|| kept))
    }

    /// Returns the name that the user sees.
    fn shown_name(&self) -> &str {
        match &self.shared {
            Some(shared) => shared.reference.name(),
            None => self.collection.name(),
        }
    }

    fn kept_value(&self, name: &Name) -> Result<Option<Value<'static>>> {
        let found = self.kept()?.iter().find(|(one, _)| one == name);
        Ok(found.map(|(_, value)| DeadValue::read(value)))
    }

    /// Returns the components that a calendar takes, in capitals.
    pub(crate) fn components(&self) -> Result<Vec<String>> {
        let (ns, name) = COMPONENT_SET;
        Ok(match self.kept_value(&Name::new(ns, name))? {
            Some(Value::Whole(set)) => component_names(&set),
            _ => COMPONENTS.iter().map(|name| (*name).to_owned()).collect(),
        })
    }

    /// Returns the time zone of `calendar-timezone` (RFC 4791 section 5.2.2), else of `calendar-timezone-id` (RFC 7809
    /// section 5.2).
    pub(crate) fn time_zone(&self) -> Result<Option<TimeZone>> {
        let text = |name| -> Result<Option<String>> {
            let value = self.kept_value(&Name::new(Namespace::CalDav, name))?;
            Ok(match value {
                Some(Value::Text(text)) => Some(text.into_owned()),
                Some(Value::Whole(element)) => Some(element.text),
                _ => None,
            })
        };
        let defined = text("calendar-timezone")?.and_then(|object| zone_of_object(&object));
        if defined.is_some() {
            return Ok(defined);
        }
        let id = text("calendar-timezone-id")?;
        Ok(id.and_then(|id| TimeZoneResolver::new().resolve(id.trim())))
    }

    /// Returns the colour of a calendar.
    fn color(&self) -> Result<Option<Value<'static>>> {
        if R::HOME != Home::Calendars {
            return Ok(None);
        }
        // That of the user, else that of the owner.
        let own = self.shared.iter().map(|shared| &shared.reference);
        let mut colors = own.chain([&self.collection]).map(R::color);
        let Some(color) = colors.find_map(etui::Result::transpose).transpose()? else {
            return Ok(None);
        };
        // The element that was set, unless another program has set another colour since.
        let kept = self.kept_value(&Name::new(COLOR.0, COLOR.1))?;
        let text = match &kept {
            Some(Value::Text(text)) => text,
            Some(Value::Whole(element)) => element.text.as_str(),
            _ => "",
        };
        if text.trim().parse() == Ok(color) {
            return Ok(kept);
        }
        // Apple's programs write eight digits, with the opacity; others take both.
        Ok(Some(Value::Text(format!("{color}ff").into())))
    }

    fn further_names() -> &'static [(Namespace, &'static str)] {
        match R::HOME {
            Home::AddressBooks => ADDRESS_BOOK_NAMES,
            Home::Calendars => CALENDAR_NAMES,
        }
    }

    /// Returns a property of the kind.
    fn kind_value(&self, name: &str) -> Result<Option<Value<'static>>> {
        let data_types = |element: &'static str, types: &[(&str, &str)]| {
            let all = types.iter().map(|(media_type, version)| Element {
                attributes: vec![
                    ("content-type".to_owned(), (*media_type).to_owned()),
                    ("version".to_owned(), (*version).to_owned()),
                ],
                ..Element::new(R::NS, element)
            });
            Value::Children(all.collect())
        };
        let is_calendar = R::HOME == Home::Calendars;
        Ok(Some(match name {
            "supported-address-data" if !is_calendar => {
                data_types("address-data-type", ADDRESS_DATA)
            }
            "supported-calendar-data" if is_calendar => data_types("calendar-data", CALENDAR_DATA),
            "supported-calendar-component-set" if is_calendar => {
                let all = self.components()?.into_iter().map(|name| Element {
                    attributes: vec![("name".to_owned(), name)],
                    ..Element::new(Namespace::CalDav, "comp")
                });
                Value::Children(all.collect())
            }
            "supported-collation-set" => {
                let all = COLLATIONS.iter().map(|name| Element {
                    text: (*name).to_owned(),
                    ..Element::new(R::NS, "supported-collation")
                });
                Value::Children(all.collect())
            }
            "max-resource-size" => Value::Text(self.options.max_resource.to_string().into()),
            _ => return Ok(None),
        }))
    }
}

impl<R: DavKind> Node for CollectionNode<'_, R> {
    fn href(&self) -> String {
        self.href.clone()
    }

    fn names(&self) -> Result<(Vec<Name>, usize)> {
        let live = NAMES.iter().chain(Self::further_names());
        let mut names: Vec<Name> = live
            .map(|(ns, name)| Name::new(ns.clone(), *name))
            .collect();
        if self.color()?.is_some() {
            names.push(Name::new(COLOR.0, COLOR.1));
        }
        // Those that clients have set are in `allprop` (RFC 4918 section 9.1), but not the ones of CalDAV and CardDAV.
        let mut in_all = 2;
        for (name, _) in self.kept()? {
            if names.contains(name) {
                continue;
            }
            let is_in_all = matches!(name.ns, Namespace::Other(_));
            let at = if is_in_all { in_all } else { names.len() };
            names.insert(at, name.clone());
            in_all += usize::from(is_in_all);
        }
        Ok((names, in_all))
    }

    fn value(&self, name: &Name) -> Result<Option<Value<'_>>> {
        if let Some(shared) = &self.shared
            && (&name.ns, name.local.as_str()) == (&Namespace::Dav, "owner")
        {
            return Ok(Some(Value::href(principal_href(shared.owner_root))));
        }
        if let Some(value) = common_value(&self.session, name) {
            return Ok(Some(value));
        }
        if name.ns == R::NS
            && let Some(value) = self.kind_value(&name.local)?
        {
            return Ok(Some(value));
        }
        Ok(match (&name.ns, name.local.as_str()) {
            (Namespace::Dav, "resourcetype") => {
                let (ns, of) = R::COLLECTION_TYPE;
                Some(Value::Children(vec![
                    Element::new(Namespace::Dav, "collection"),
                    Element::new(ns, of),
                ]))
            }
            (Namespace::Dav, "displayname") => Some(Value::Text(self.shown_name().into())),
            (Namespace::Dav, "sync-token") | (Namespace::CalendarServer, "getctag") => {
                Some(Value::Text(self.token()?.into()))
            }
            (Namespace::Dav, "current-user-privilege-set") => {
                Some(privileges(match self.may_write {
                    true => &[
                        "read",
                        "read-current-user-privilege-set",
                        "write",
                        "write-properties",
                        "write-content",
                        "bind",
                        "unbind",
                    ],
                    false => &["read", "read-current-user-privilege-set"],
                }))
            }
            (Namespace::Dav, "supported-report-set") => Some(reports(match R::HOME {
                Home::AddressBooks => &[
                    (Namespace::Dav, "sync-collection"),
                    (Namespace::CardDav, "addressbook-multiget"),
                    (Namespace::CardDav, "addressbook-query"),
                ],
                Home::Calendars => &[
                    (Namespace::Dav, "sync-collection"),
                    (Namespace::CalDav, "calendar-multiget"),
                    (Namespace::CalDav, "calendar-query"),
                    (Namespace::CalDav, "free-busy-query"),
                ],
            })),
            (Namespace::Apple, "calendar-color") if R::HOME == Home::Calendars => self.color()?,
            _ => self.kept_value(name)?,
        })
    }
}

/// Returns the names of the components in a `supported-calendar-component-set`, in capitals.
pub(crate) fn component_names(set: &Element) -> Vec<String> {
    set.children_named(&Namespace::CalDav, "comp")
        .filter_map(|comp| comp.attribute("name"))
        .map(str::to_ascii_uppercase)
        .collect()
}

/// Returns the token of a collection as a URI (RFC 6578 section 3.2).
pub(crate) fn token_text(collection: CollectionId, token: &SyncToken) -> String {
    format!("data:,{collection}/{token}")
}

/// Parses a token of [`token_text`]; `None` for that of another collection, which may have been at this path
/// before.
pub(crate) fn parse_token(collection: CollectionId, text: &str) -> Option<SyncToken> {
    let (of, token) = text.trim().strip_prefix("data:,")?.split_once('/')?;
    (of.parse() == Ok(collection.0)).then_some(())?;
    token.parse().ok()
}
