//! Resources: records by the names that clients of a sync server gave them (CardDAV, CalDAV).
//!
//! A *resource* is a record of an address book or a calendar under a name, the last segment of its
//! URL. A client chooses the name when it creates the resource; a record that came another way has a
//! computed name, `etui-ID.vcf` or `etui-ID.ics`. The name stays with the record, also in the trash.
//!
//! ```
//! use etui::Store;
//! use etui::resource::{ResourceChanges, ResourceCondition};
//!
//! # let dir = tempfile::tempdir()?;
//! # let store = Store::open(dir.path().join("personal.etui"))?;
//! let contacts = store.contacts()?;
//! let card = b"BEGIN:VCARD\r\nVERSION:3.0\r\nUID:ada\r\nN:Lovelace;Ada;;;\r\nFN:Ada Lovelace\r\nEND:VCARD\r\n";
//! let saved = contacts.put_resource("ada.vcf", card, &ResourceCondition::IfAbsent)?;
//! assert_eq!(contacts.resource("ada.vcf")?.expect("it was put").bytes, card);
//!
//! let token = contacts.collection_token()?;
//! contacts.remove_resource("ada.vcf", &ResourceCondition::IfMatch(vec![saved.tag]))?;
//! match contacts.resource_changes(Some(&token), None)? {
//!     ResourceChanges::Since { changes, .. } => {
//!         assert_eq!((changes[0].name.as_str(), changes[0].tag), ("ada.vcf", None));
//!     }
//!     ResourceChanges::Resynchronise => { /* list all */ }
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! ```text
//! resource  (collection, name) -> record, released     made at the first put
//!
//! name -> record    the row that is not released; else the id in a computed name
//! record -> name    its row that is not released; else computed
//! ```
//!
//! A record that gets another name releases the one before. The row stays until it is older than the
//! change log, so that the name is reported as removed.

mod changes;
mod condition;
mod kind;
mod move_resource;
mod name;
mod names;
mod properties;
mod read;
mod seq;
#[cfg(test)]
mod tests;
mod write;

pub use crate::resource_tag::{InvalidResourceTag, ResourceTag};
pub use changes::{ResourceChange, ResourceChanges};
pub use condition::ResourceCondition;
pub(crate) use kind::ParsedResource;
pub use kind::Resource;
pub(crate) use name::check_name;
pub(crate) use names::check_names;
pub(crate) use properties::set as set_properties;
pub use properties::{CollectionProperty, MAX_PROPERTY_BYTES};
pub use read::{ListedResource, ResourceKey, StoredResource};
pub(crate) use read::{find_record, read_resource};
pub use write::SavedResource;
pub(crate) use write::uid_taken;
