//! `org.etui.Store1`: the store.

use std::os::fd::OwnedFd;

use etui::CollectionKind;
use etui::calendar::CalendarObject;
use etui::contacts::Card;
use zbus::{OwnedObjectPath, interface};

use crate::collection_object::kind_name;
use crate::direct;
use crate::error::{ErrorKind, StoreError};
use crate::options::{CallOptions, OptionArgument};
use crate::registry::{collection_path, refresh_objects};
use crate::service::{Endpoint, Service};

/// The capabilities of this version. Programs test these, not the version.
const FEATURES: &[&str] = &["descriptors", "direct", "external-ids", "import", "views"];

/// The object of the store on one connection.
pub(crate) struct StoreObject {
    pub(crate) endpoint: Endpoint,
}

/// A collection as a short answer: name, object, kind.
type WireCollection = (String, OwnedObjectPath, String);

#[interface(name = "org.etui.Store1")]
impl StoreObject {
    /// The version of the program.
    #[zbus(property(emits_changed_signal = "const"))]
    fn version(&self) -> String {
        env!("CARGO_PKG_VERSION").to_owned()
    }

    /// The capabilities of the service: `descriptors`, `direct`, `external-ids`, `import`, `views`.
    #[zbus(property(emits_changed_signal = "const"))]
    fn features(&self) -> Vec<String> {
        FEATURES.iter().map(|name| (*name).to_owned()).collect()
    }

    /// The locale whose collation orders the lists (BCP 47).
    #[zbus(property(emits_changed_signal = "const"))]
    fn locale(&self) -> Result<String, StoreError> {
        self.endpoint
            .answer(|service| Ok(service.store().locale()?))
    }

    /// The region that completes national phone numbers (ISO 3166-1), or an empty text.
    #[zbus(property(emits_changed_signal = "const"))]
    fn region(&self) -> Result<String, StoreError> {
        self.endpoint.answer(|service| {
            let region = service.store().region()?;
            Ok(region.map(|r| r.code().to_owned()).unwrap_or_default())
        })
    }

    /// True if the store can only be read.
    #[zbus(property(emits_changed_signal = "const"))]
    fn read_only(&self) -> bool {
        self.endpoint.service.store().is_read_only()
    }

    /// Returns the collections of a kind (`contacts`, `calendar`, or an empty text for all), the
    /// default one of a kind first: name, object, kind.
    #[zbus(out_args("collections"))]
    async fn collections(&self, kind: String) -> Result<Vec<WireCollection>, StoreError> {
        let kinds = match kind.as_str() {
            "" => vec![CollectionKind::Contacts, CollectionKind::Calendar],
            name => vec![parse_kind(name)?],
        };
        refresh_objects(&self.endpoint).await?;
        let list = move |service: &Service| {
            let mut listed = Vec::new();
            for kind in kinds {
                for (id, name) in service.collections(kind)? {
                    let path = OwnedObjectPath::try_from(collection_path(id))?;
                    listed.push((name, path, kind_name(kind).to_owned()));
                }
            }
            Ok(listed)
        };
        self.endpoint.answer_on_worker(list).await
    }

    /// Creates a collection. Option `external_id s`: a text that finds it again after it was
    /// renamed, unique within its kind.
    #[zbus(out_args("collection"))]
    async fn create_collection(
        &self,
        kind: String,
        name: String,
        options: OptionArgument,
    ) -> Result<OwnedObjectPath, StoreError> {
        let kind = parse_kind(&kind)?;
        let mut options = CallOptions::new(options);
        let external_id = options.take_text("external_id")?;
        options.finish()?;
        let create = move |service: &Service| {
            let store = service.store();
            let id = match (kind, &external_id) {
                (CollectionKind::Contacts, None) => store.create_collection::<Card>(&name)?.id(),
                (_, None) => store.create_collection::<CalendarObject>(&name)?.id(),
                (CollectionKind::Contacts, Some(external)) => store
                    .create_collection_with_external_id::<Card>(&name, external)?
                    .id(),
                (_, Some(external)) => store
                    .create_collection_with_external_id::<CalendarObject>(&name, external)?
                    .id(),
            };
            Ok(OwnedObjectPath::try_from(collection_path(id))?)
        };
        let path = self.endpoint.answer_on_worker(create).await?;
        refresh_objects(&self.endpoint).await?;
        Ok(path)
    }

    /// Restores the collection of this name that was removed last, with its records.
    #[zbus(out_args("collection"))]
    async fn restore_collection(
        &self,
        kind: String,
        name: String,
    ) -> Result<OwnedObjectPath, StoreError> {
        let kind = parse_kind(&kind)?;
        let restore = move |service: &Service| {
            let store = service.store();
            let id = match kind {
                CollectionKind::Contacts => {
                    store.restore_collection::<Card>(&name)?;
                    store.collection::<Card>(Some(&name))?.id()
                }
                _ => {
                    store.restore_collection::<CalendarObject>(&name)?;
                    store.collection::<CalendarObject>(Some(&name))?.id()
                }
            };
            Ok(OwnedObjectPath::try_from(collection_path(id))?)
        };
        let path = self.endpoint.answer_on_worker(restore).await?;
        refresh_objects(&self.endpoint).await?;
        Ok(path)
    }

    /// Returns a token of the present state, for ChangesSince of every collection.
    #[zbus(out_args("token"))]
    fn token(&self) -> Result<String, StoreError> {
        self.endpoint
            .answer(|service| Ok(service.store().token()?.to_string()))
    }

    /// Returns one end of a socket pair: a private D-Bus connection (the client authenticates, there
    /// is no `Hello`) to the same objects, at a third of the time. Views and jobs belong to the
    /// connection that opened them. No options.
    #[zbus(out_args("socket"))]
    async fn direct(&self, options: OptionArgument) -> Result<zbus::OwnedFd, StoreError> {
        CallOptions::expect_none(options)?;
        self.endpoint.answer(|_| Ok(()))?;
        refresh_objects(&self.endpoint).await?;
        let socket = direct::open_peer(&self.endpoint.service)?;
        Ok(OwnedFd::from(socket).into())
    }
}

/// Parses the name of a kind.
fn parse_kind(name: &str) -> Result<CollectionKind, StoreError> {
    match name {
        "contacts" => Ok(CollectionKind::Contacts),
        "calendar" => Ok(CollectionKind::Calendar),
        _ => Err(StoreError::new(
            ErrorKind::BadArgument,
            format!("no kind is named \"{name}\"; kinds are contacts and calendar"),
        )),
    }
}
