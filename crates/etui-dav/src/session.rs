//! [`Session`]: the device that asks; [`DavOptions`]: limits; [`Outcome`]: a summary for the log.

use std::collections::HashSet;

use etui::store::Reference;
use etui::{CollectionId, Store};

/// The device that sends a request, and its rights. The caller has authenticated it.
#[derive(Debug, Clone, Copy)]
pub struct Session<'a> {
    /// The device's name, which is kept with a refused version.
    pub device: &'a str,
    /// Whether it may change anything.
    pub may_write: bool,
    /// The ids of the collections that it sees ([`Reader::id`](etui::record::Reader::id)); `None`: all, and it may
    /// create further ones.
    pub sees: Option<&'a HashSet<CollectionId>>,
    /// The ids of those that it may read and not change; `None`: there are none.
    pub reads: Option<&'a HashSet<CollectionId>>,
    /// The user, whose name is the principal's display name.
    pub user: &'a str,
    /// The path of the root: `/dav/`, or `/dav/ada/` for one of several users. It begins and ends with a
    /// slash, and is percent-encoded.
    pub root: &'a str,
    /// The collections of other people that the user may use. A request that names one of them needs that one, and
    /// a listing of a home all of them ([`concerns`](crate::concerns)).
    pub shared: &'a [SharedCollection<'a>],
}

impl Session<'_> {
    pub(crate) fn may_see(&self, collection: CollectionId) -> bool {
        self.sees.is_none_or(|sees| sees.contains(&collection))
    }

    /// Returns true if the device may change the records of a collection.
    pub(crate) fn may_write_to(&self, collection: CollectionId) -> bool {
        self.may_write
            && self.may_see(collection)
            && self.reads.is_none_or(|reads| !reads.contains(&collection))
    }
}

/// A collection of another person, which is in the homes of the user under the id of the reference. Its owner's store
/// has the records; the user's store has the name, the colour and the properties that the user gave it.
///
/// Entries that are private by their CLASS are not there for the user, and of confidential ones there are only the times
/// ([`view_for_others`](crate::query::view_for_others)).
#[derive(Clone, Copy)]
pub struct SharedCollection<'a> {
    /// The reference in the user's store.
    pub reference: &'a Reference,
    /// The store of the owner, which has been asked for the right to it.
    pub store: &'a Store,
    /// Whether the owner lets the user change it.
    pub may_write: bool,
    /// The root of the owner, such as `/dav/ada/`.
    pub owner_root: &'a str,
}

impl std::fmt::Debug for SharedCollection<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SharedCollection")
            .field("reference", self.reference)
            .field("may_write", &self.may_write)
            .finish_non_exhaustive()
    }
}

/// Limits of requests.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DavOptions {
    /// The size of a resource in bytes; 10 MiB. It is advertised as `max-resource-size`.
    pub max_resource: u64,
    /// The size of a request's XML in bytes; 16 MiB. Thunderbird names all resources in one request: 12,800 need
    /// 1.2 MB.
    pub max_xml: u64,
}

impl Default for DavOptions {
    fn default() -> Self {
        Self {
            max_resource: 10 * 1024 * 1024,
            max_xml: 16 * 1024 * 1024,
        }
    }
}

/// Kind and effect of a request, for a log, without names of records and paths.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Outcome {
    /// The status of the answer.
    pub status: u16,
    /// The kind of request: `PUT`, `PROPFIND`, or the name of a report such as `sync-collection`.
    pub kind: &'static str,
    /// The number of resources in the answer.
    pub read: u64,
    /// The number of resources that were saved.
    pub written: u64,
    /// The number of resources that were removed.
    pub removed: u64,
    /// The collection that the request was about ([`Reader::id`](etui::record::Reader::id)).
    pub collection: Option<CollectionId>,
    /// The error of the store, if the status is 500 or more. The answer does not have it.
    pub failure: Option<String>,
}

impl Outcome {
    pub(crate) fn new(kind: &'static str) -> Self {
        Self {
            status: 0,
            kind,
            read: 0,
            written: 0,
            removed: 0,
            collection: None,
            failure: None,
        }
    }
}
