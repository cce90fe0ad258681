//! [`Context`]: a request with all that it needs, and the collections that it finds.

use etui::RemovedCollection;
use etui::calendar::time::TimeZone;
use etui::record::{Collection, Reader};
use etui::resource::StoredResource;
use etui::store::CollectionKey;
use etui::{CollectionId, Snapshot, Store};
use http::{Request, StatusCode};

use crate::failure::{Failure, Refusal, Result};
use crate::kind::DavKind;
use crate::path::{BadPath, Target, collection_href};
use crate::property::CollectionNode;
use crate::query::{View, view_for_others};
use crate::session::{DavOptions, Outcome, Session, SharedCollection};
use crate::xml::{Element, Limits, Namespace, XmlError};

/// A request and its session.
pub(crate) struct Context<'a> {
    pub(crate) store: &'a Store,
    pub(crate) session: Session<'a>,
    pub(crate) options: &'a DavOptions,
    pub(crate) request: &'a Request<Vec<u8>>,
}

/// A collection, and the segment by which it was found. Answers have it in their hrefs.
pub(crate) struct FoundCollection<'a, R> {
    /// The store with its records: that of its owner.
    pub(crate) store: &'a Store,
    pub(crate) collection: Collection<R>,
    pub(crate) segment: String,
    pub(crate) href: String,
    /// Whether the device may change its records.
    pub(crate) may_write: bool,
    /// How it came to the user, if it is that of another person.
    pub(crate) shared: Option<SharedWith<'a, R>>,
}

/// The user's side of a collection of another person.
pub(crate) struct SharedWith<'a, R> {
    /// The reference, with the name, the colour and the properties that the user gave it.
    pub(crate) reference: Collection<R>,
    /// The root of the owner.
    pub(crate) owner_root: &'a str,
}

impl<R> Clone for SharedWith<'_, R> {
    fn clone(&self) -> Self {
        Self {
            reference: self.reference.clone(),
            owner_root: self.owner_root,
        }
    }
}

impl<R: DavKind> FoundCollection<'_, R> {
    /// Returns the id of the collection in the user's store: its own, or that of the reference.
    pub(crate) fn id(&self) -> CollectionId {
        match &self.shared {
            Some(shared) => shared.reference.id(),
            None => self.collection.id(),
        }
    }

    /// Returns the part of a resource that the user may read.
    pub(crate) fn view(&self, bytes: &[u8]) -> View {
        match self.shared {
            Some(_) => view_for_others(bytes),
            None => View::Whole,
        }
    }

    /// Returns a resource as the user may read it; `None`: it is not there for the user.
    pub(crate) fn seen(&self, mut stored: StoredResource) -> Option<StoredResource> {
        match self.view(&stored.bytes) {
            View::Whole => Some(stored),
            View::Part(part) => {
                stored.bytes = part;
                Some(stored)
            }
            View::Hidden => None,
        }
    }

    /// Returns a reader of this collection.
    pub(crate) fn reader(&self, snapshot: &Snapshot) -> Result<Reader<R>> {
        Ok(snapshot.collection::<R>(CollectionKey::Id(self.collection.id()))?)
    }
}

impl<'a> Context<'a> {
    /// Returns the body as XML; `None` if there is none.
    pub(crate) fn xml(&self) -> Result<Option<Element>> {
        let body = self.request.body();
        let limits = Limits {
            max_bytes: self.options.max_xml,
            ..Limits::default()
        };
        match Element::parse(body, &limits) {
            Ok(root) => Ok(Some(root)),
            Err(XmlError::Empty) if body.trim_ascii().is_empty() => Ok(None),
            Err(error) => {
                let status = match error {
                    XmlError::TooLong(_) => StatusCode::PAYLOAD_TOO_LARGE,
                    _ => StatusCode::BAD_REQUEST,
                };
                Err(Refusal::new(status, error.to_string()).into())
            }
        }
    }

    /// Returns the body as XML.
    pub(crate) fn required_xml(&self) -> Result<Element> {
        let missing = || Refusal::bad_request(XmlError::Empty.to_string());
        Ok(self.xml()?.ok_or_else(missing)?)
    }

    /// Fails for a device that may only read.
    pub(crate) fn expect_may_write(&self) -> Result<()> {
        match self.session.may_write {
            true => Ok(()),
            false => Err(Refusal::forbidden(match self.store.is_read_only() {
                true => "the store is open for reading only",
                false => "this device may only read",
            })
            .with(Namespace::Dav, "need-privileges")
            .about(self.request.uri().path().to_owned())
            .into()),
        }
    }

    /// Fails for a device that may not change the records of a collection.
    pub(crate) fn expect_may_write_to<R: DavKind>(
        &self,
        found: &FoundCollection<'_, R>,
    ) -> Result<()> {
        self.expect_may_write()?;
        match found.may_write {
            true => Ok(()),
            false => Err(Refusal::forbidden(match found.shared {
                Some(_) => "its owner lets others read it, or this device may only read it",
                None => "this device may only read this collection",
            })
            .with(Namespace::Dav, "need-privileges")
            .about(self.request.uri().path().to_owned())
            .into()),
        }
    }

    /// Parses an href of the request.
    pub(crate) fn target(&self, href: &str) -> std::result::Result<Target, BadPath> {
        Target::parse_href(href, self.session.root)
    }

    /// Returns the collection that a segment of a path names, if the device sees it: the one with this number, or
    /// the one that a client made there.
    pub(crate) fn find<R: DavKind>(&self, segment: &str) -> Result<Option<FoundCollection<'a, R>>> {
        let id = parse_id(segment);
        let mut shared = self.session.shared.iter();
        if let Some(shared) = shared.find(|one| Some(one.reference.id) == id) {
            return self.find_shared(shared);
        }
        let key = match parse_id(segment) {
            Some(id) => CollectionKey::Id(id),
            None => CollectionKey::Segment(segment),
        };
        let found = match self.store.collection::<R>(key) {
            Err(etui::Error::NoCollection { .. }) => None,
            found => Some(found?),
        };
        let found = found.filter(|found| self.session.may_see(found.id()));
        Ok(found.map(|collection| self.located(collection, segment.to_owned())))
    }

    /// Returns a collection of another person, if it is of this kind and the device sees it.
    fn find_shared<R: DavKind>(
        &self,
        shared: &SharedCollection<'a>,
    ) -> Result<Option<FoundCollection<'a, R>>> {
        let id = shared.reference.id;
        if shared.reference.kind != R::KIND || !self.session.may_see(id) {
            return Ok(None);
        }
        let collection = CollectionKey::Id(shared.reference.collection);
        let collection = match shared.store.collection::<R>(collection) {
            // The owner has removed it.
            Err(etui::Error::NoCollection { .. }) => return Ok(None),
            found => found?,
        };
        let reference = match self.store.collection::<R>(CollectionKey::Reference(id)) {
            // Removed since the request began.
            Err(etui::Error::NoCollection { .. }) => return Ok(None),
            found => found?,
        };
        let segment = id.to_string();
        Ok(Some(FoundCollection {
            store: shared.store,
            collection,
            href: collection_href(self.session.root, R::HOME, &segment),
            segment,
            may_write: shared.may_write
                && self.session.may_write_to(id)
                && !shared.store.is_read_only(),
            shared: Some(SharedWith {
                reference,
                owner_root: shared.owner_root,
            }),
        }))
    }

    /// Returns the id of the removed collection that a segment of a path named, if the device saw it.
    pub(crate) fn find_removed<R: DavKind>(&self, segment: &str) -> Result<Option<CollectionId>> {
        let id = parse_id(segment);
        let is_it = |removed: &RemovedCollection| match id {
            Some(id) => removed.id == id,
            None => removed.segment.as_deref() == Some(segment),
        };
        let removed = self.store.collections::<R>().removed()?;
        let found = removed
            .into_iter()
            .find(is_it)
            .map(|collection| collection.id);
        Ok(found.filter(|id| self.session.may_see(*id)))
    }

    /// Returns the collection that a segment of a path names, and notes it as that of the request; or
    /// the refusal of the request.
    pub(crate) fn expect<R: DavKind>(
        &self,
        segment: &str,
        outcome: &mut Outcome,
    ) -> Result<FoundCollection<'a, R>> {
        let found = self.find(segment)?;
        let found = found.ok_or_else(|| Failure::Refused(Refusal::not_found()))?;
        outcome.collection = Some(found.id());
        Ok(found)
    }

    /// Returns the collections of a kind that the device sees, the default one first, those of others last.
    pub(crate) fn collections<R: DavKind>(&self) -> Result<Vec<FoundCollection<'a, R>>> {
        let mut all = Vec::new();
        for name in self.store.collections::<R>().names()? {
            let collection = match self.store.collection::<R>(&name) {
                // Renamed or removed meanwhile.
                Err(etui::Error::NoCollection { .. }) => continue,
                found => found?,
            };
            if self.session.may_see(collection.id()) {
                let segment = self.segment_of(&collection)?;
                all.push(self.located(collection, segment));
            }
        }
        for shared in self.session.shared {
            all.extend(self.find_shared(shared)?);
        }
        Ok(all)
    }

    /// Returns the segment under which a collection is listed: the one that a client chose, else the number. After a
    /// removal and a restoration, the chosen one may be that of a later collection.
    fn segment_of<R: DavKind>(&self, collection: &Collection<R>) -> Result<String> {
        if let Some(segment) = collection.segment()?.filter(|one| is_segment(one)) {
            let found = self.find::<R>(&segment)?;
            if found.is_some_and(|found| found.collection.id() == collection.id()) {
                return Ok(segment);
            }
        }
        Ok(collection.id().to_string())
    }

    fn located<R: DavKind>(
        &self,
        collection: Collection<R>,
        segment: String,
    ) -> FoundCollection<'a, R> {
        FoundCollection {
            store: self.store,
            href: collection_href(self.session.root, R::HOME, &segment),
            may_write: self.session.may_write_to(collection.id()),
            collection,
            segment,
            shared: None,
        }
    }

    /// Returns the properties of a collection.
    pub(crate) fn node<R: DavKind>(&self, found: &FoundCollection<'a, R>) -> CollectionNode<'a, R> {
        CollectionNode::new(self.session, self.options, found)
    }

    /// Returns the time zone of dates and floating times in a collection: that of its properties, else
    /// the system's.
    pub(crate) fn zone<R: DavKind>(&self, found: &FoundCollection<'a, R>) -> Result<TimeZone> {
        let zone = self.node(found).time_zone()?;
        Ok(zone.unwrap_or_else(TimeZone::system))
    }
}

/// Returns true if a client can choose a segment for a collection. A number it cannot: it names the collection with
/// this id.
pub(crate) fn is_segment(id: &str) -> bool {
    !id.is_empty() && id != "." && id != ".." && !id.contains(['/', '\0']) && parse_id(id).is_none()
}

/// Parses the id of a collection, as it is written in a path.
fn parse_id(segment: &str) -> Option<CollectionId> {
    let is_plain = segment.bytes().all(|b| b.is_ascii_digit()) && !segment.starts_with('0');
    segment.parse().ok().filter(|_| is_plain).map(CollectionId)
}

/// Calls a function for the kind of a home: `for_kind!(home, function(arguments))`.
macro_rules! for_kind {
    ($home:expr, $function:ident ( $($argument:expr),* $(,)? )) => {
        match $home {
            $crate::path::Home::AddressBooks => $function::<etui::contacts::Card>($($argument),*),
            $crate::path::Home::Calendars => $function::<etui::calendar::CalendarObject>($($argument),*),
        }
    };
}
pub(crate) use for_kind;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_no_name() {
        for name in ["work", "01", "1a", "-1", "99999999999999999999", "a b"] {
            assert!(is_segment(name), "{name}");
        }
        for name in ["", "7", "..", ".", "a/b"] {
            assert!(!is_segment(name), "{name}");
        }
    }
}
