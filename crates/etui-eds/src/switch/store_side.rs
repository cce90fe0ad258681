//! [`StoreSide`]: a source as the store has it.

use etui::calendar::zones::{TimeZoneDefinition, TimeZoneResolver};
use etui::calendar::{Calendar, CalendarObject};
use etui::contacts::{Card, Contacts};
use etui::record::{Collection, RecordKind};
use etui::{ETag, Store};

use super::SwitchError;
use super::stock_side::StockSide;
use crate::calendar::exchange::canonical_series;
use crate::collections::{adopt_collection, find_collection};
use crate::contacts::exchange::{canonical_card, card_for_stock};
use crate::sources::{Source, SourceKind};

/// The collection of a source.
pub(super) enum StoreSide {
    Book(Contacts),
    Calendar(Calendar),
}

/// A stored record: its ETag and text.
pub(super) type Stored = (ETag, Vec<u8>);

/// A record: its UID and text.
pub(super) type Text = (String, Vec<u8>);

/// A record for the stock server.
pub(super) struct Outgoing {
    pub(super) uid: String,
    /// The components or the card.
    pub(super) record: String,
    /// The calendar object with the components and their time zones; empty for cards.
    pub(super) object: String,
}

impl StoreSide {
    /// Returns the collection of a source; makes it if it is new.
    pub(super) fn adopt(store: &Store, kind: SourceKind, source: &Source) -> etui::Result<Self> {
        Ok(match kind {
            SourceKind::AddressBook => Self::Book(adopt_collection(store, kind, source)?),
            _ => Self::Calendar(adopt_collection(store, kind, source)?),
        })
    }

    /// Returns the collection of a source, if there is one.
    pub(super) fn find(
        store: &Store,
        kind: SourceKind,
        source_uid: &str,
    ) -> etui::Result<Option<Self>> {
        Ok(match kind {
            SourceKind::AddressBook => find_collection(store, kind, source_uid)?.map(Self::Book),
            _ => find_collection(store, kind, source_uid)?.map(Self::Calendar),
        })
    }

    /// Returns the name of the collection.
    pub(super) fn name(&self) -> String {
        match self {
            Self::Book(contacts) => contacts.name().to_owned(),
            Self::Calendar(calendar) => calendar.name().to_owned(),
        }
    }

    /// Calls `visit` with UID, ETag and text of every record.
    pub(super) fn for_each(&self, visit: impl FnMut(&str, ETag, &[u8])) -> etui::Result<()> {
        match self {
            Self::Book(contacts) => for_each(contacts, visit),
            Self::Calendar(calendar) => for_each(calendar, visit),
        }
    }

    /// Returns records with their ETags, in the order of `uids`.
    pub(super) fn get(&self, uids: &[String]) -> etui::Result<Vec<Option<Stored>>> {
        match self {
            Self::Book(contacts) => get(contacts, uids),
            Self::Calendar(calendar) => get(calendar, uids),
        }
    }

    /// Saves records in one transaction. Time zones that nobody else knows come from `zones`.
    pub(super) async fn save(
        &self,
        records: Vec<Text>,
        zones: Option<&StockSide>,
    ) -> Result<(), SwitchError> {
        match self {
            Self::Book(contacts) => {
                let cards: Result<Vec<Card>, _> = records
                    .into_iter()
                    .map(|(_, text)| Card::parse(text).map_err(etui::Error::from))
                    .collect();
                contacts.save_many(&cards?)?;
            }
            Self::Calendar(calendar) => {
                let mut objects = Vec::with_capacity(records.len());
                for (_, text) in records {
                    objects.push(parse_object(calendar, text, zones).await?);
                }
                calendar.save_many(&objects)?;
            }
        }
        Ok(())
    }

    /// Removes records in one transaction.
    pub(super) fn remove(&self, uids: &[String]) -> etui::Result<()> {
        match self {
            Self::Book(contacts) => contacts.remove_many(uids).map(|_| ()),
            Self::Calendar(calendar) => calendar.remove_many(uids).map(|_| ()),
        }
    }

    /// Brings removed records back.
    pub(super) fn restore(&self, uids: &[String]) -> etui::Result<()> {
        match self {
            Self::Book(contacts) => contacts.restore_many(uids).map(|_| ()),
            Self::Calendar(calendar) => calendar.restore_many(uids).map(|_| ()),
        }
    }

    /// Removes the collection itself.
    pub(super) fn remove_collection(&self, store: &Store) -> etui::Result<()> {
        match self {
            Self::Book(contacts) => store.collections::<Card>().remove(contacts.name()),
            Self::Calendar(calendar) => store
                .collections::<CalendarObject>()
                .remove(calendar.name()),
        }
        .map(|_| ())
    }

    /// The number of records.
    pub(super) fn count(&self) -> etui::Result<u64> {
        match self {
            Self::Book(contacts) => contacts.count(),
            Self::Calendar(calendar) => calendar.count(),
        }
    }

    /// Returns records as the stock server takes them.
    pub(super) fn for_stock(&self, uids: &[String]) -> Result<Vec<Outgoing>, SwitchError> {
        let mut outgoing = Vec::with_capacity(uids.len());
        match self {
            Self::Book(contacts) => {
                for stored in contacts.get_many(uids)?.into_iter().flatten() {
                    outgoing.push(Outgoing {
                        record: card_for_stock(&stored.text, &stored.uid)?,
                        object: String::new(),
                        uid: stored.uid,
                    });
                }
            }
            Self::Calendar(calendar) => {
                for stored in calendar.get_many(uids)?.into_iter().flatten() {
                    let mut object = Vec::new();
                    calendar.export(&mut object, Some(&[stored.id]))?;
                    outgoing.push(Outgoing {
                        uid: stored.uid,
                        record: String::from_utf8_lossy(&stored.text).into_owned(),
                        object: String::from_utf8_lossy(&object).into_owned(),
                    });
                }
            }
        }
        Ok(outgoing)
    }

    /// Returns the definitions of the time zones that were added to a calendar.
    pub(super) fn zones(&self) -> etui::Result<Vec<String>> {
        let Self::Calendar(calendar) = self else {
            return Ok(Vec::new());
        };
        let mut zones = Vec::new();
        for name in calendar.zone_names()? {
            let zone = calendar.zone(&name)?;
            zones.extend(zone.map(|text| String::from_utf8_lossy(&text).into_owned()));
        }
        Ok(zones)
    }
}

/// Parses a record. A time zone that its calendar does not know is taken over with it.
async fn parse_object(
    calendar: &Calendar,
    text: Vec<u8>,
    zones: Option<&StockSide>,
) -> Result<CalendarObject, SwitchError> {
    let parse = |text: Vec<u8>, zones: &TimeZoneResolver| {
        CalendarObject::parse(text, zones).map_err(etui::Error::from)
    };
    let mut resolver = calendar.zone_resolver()?;
    let object = parse(text, &resolver)?;
    let unknown = object.unresolved_tzids();
    if unknown.is_empty() {
        return Ok(object);
    }
    for tzid in unknown {
        if let Some(stock) = zones
            && let Some(definition) = stock.zone(&tzid).await
        {
            calendar.add_zone(definition.as_bytes())?;
            resolver.define(&TimeZoneDefinition::parse(definition.as_bytes()));
        }
    }
    Ok(parse(object.into_text(), &resolver)?)
}

fn for_each<R: RecordKind>(
    collection: &Collection<R>,
    mut visit: impl FnMut(&str, ETag, &[u8]),
) -> etui::Result<()> {
    let mut ids = Vec::new();
    collection.for_each(|id, _| {
        ids.push(id);
        Ok(())
    })?;
    for id in ids {
        if let Some(stored) = collection.get(id)? {
            visit(&stored.uid, stored.etag, &stored.text);
        }
    }
    Ok(())
}

fn get<R: RecordKind>(
    collection: &Collection<R>,
    uids: &[String],
) -> etui::Result<Vec<Option<Stored>>> {
    let found = collection.get_many(uids)?.into_iter();
    Ok(found
        .map(|stored| stored.map(|stored| (stored.etag, stored.text)))
        .collect())
}

/// The digest of a record's content: equal texts have it in common in whatever way they are
/// written.
pub(super) fn digest(kind: SourceKind, text: &[u8]) -> String {
    let lines = match kind {
        SourceKind::AddressBook => canonical_card(text),
        _ => canonical_series(text),
    };
    let hash = blake3::hash(lines.join("\n").as_bytes());
    hash.to_hex()[..32].to_owned()
}
