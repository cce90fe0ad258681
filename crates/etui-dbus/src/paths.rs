//! The paths of objects, all but those of imports below the store's.

use etui::CollectionId;
use zbus::ObjectPath;

use crate::error::{ErrorKind, StoreError};

/// The path of the store's object.
pub const STORE_PATH: &str = "/org/etui/Store1";

/// The path of the media library's object.
pub(crate) const MEDIA_PATH: &str = "/org/etui/Store1/media";

/// The path below which views are. It has an object manager of its own, so that the store's does not
/// announce the views of one client to all others.
pub(crate) const VIEWS_PATH: &str = "/org/etui/Store1/view";

/// The path below which collections are.
const COLLECTIONS_PATH: &str = "/org/etui/Store1/collection";

/// Returns the path of a collection's object. Ids are not reused, so neither are paths.
pub(crate) fn collection_path(id: CollectionId) -> String {
    format!("{COLLECTIONS_PATH}/{id}")
}

/// Returns the path of a view.
pub(crate) fn view_path(number: u64) -> String {
    format!("{VIEWS_PATH}/{number}")
}

/// Returns the id of the collection with this path.
pub(crate) fn collection_id(path: &ObjectPath<'_>) -> Result<CollectionId, StoreError> {
    let number = path.as_str().strip_prefix(COLLECTIONS_PATH);
    let number = number.and_then(|rest| Some(CollectionId(rest.strip_prefix('/')?.parse().ok()?)));
    number.ok_or_else(|| {
        let message = format!("\"{path}\" is no collection; Collections lists their objects");
        StoreError::new(ErrorKind::BadArgument, message)
    })
}
