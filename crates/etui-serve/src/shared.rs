//! [`OpenShared`]: the collections of other people that a user may use, with the stores of their owners.

use std::sync::Arc;

use etui::store::Reference;
use etui::{CollectionId, Error, Store};
use etui_dav::{SharedCollection, concerns};
use http::Request;

use crate::accounts::{Accounts, DAV_ROOT, LogInError, Login};

/// A collection of another person, and the store that has it.
pub struct OpenShared {
    /// The reference in the user's store.
    pub reference: Reference,
    /// The store of the owner.
    pub store: Arc<Store>,
    /// Whether the owner lets the user change it.
    pub may_write: bool,
    owner_root: String,
}

impl OpenShared {
    /// Returns it as a request sees it.
    pub fn as_seen(&self) -> SharedCollection<'_> {
        SharedCollection {
            reference: &self.reference,
            store: &self.store,
            may_write: self.may_write,
            owner_root: &self.owner_root,
        }
    }
}

impl Accounts {
    /// Returns the collections of others that a request needs. The right to each is looked up in the
    /// store of its owner; what the user's store says of it gives none.
    ///
    /// # Errors
    /// Any error of opening or reading a store: a client that was told that the collection is gone would drop its copy.
    pub fn shared_with<B>(
        &self,
        login: &Login,
        request: &Request<B>,
    ) -> Result<Vec<OpenShared>, LogInError> {
        // A store that is served alone has no other people around it.
        if !self.has_users() {
            return Ok(Vec::new());
        }
        let mut all = Vec::new();
        for reference in login.store.sharing().references()? {
            if concerns(request, &login.root, reference.id) {
                all.extend(self.open_shared(&login.user, reference)?);
            }
        }
        Ok(all)
    }

    /// Returns a collection of another person; `None` if its owner does not share it.
    fn open_shared(
        &self,
        user: &str,
        reference: Reference,
    ) -> Result<Option<OpenShared>, LogInError> {
        let store = match self.store_of_user(&reference.owner) {
            Err(LogInError::Store(Error::NoStore(_))) => return Ok(None),
            store => store?,
        };
        let is_it = |collection: CollectionId, person: &str| {
            (collection, person) == (reference.collection, user)
        };
        let grants = store.sharing().grants()?;
        let grant = grants.iter().find(|one| is_it(one.collection, &one.person));
        Ok(grant.map(|grant| OpenShared {
            store: Arc::clone(&store),
            may_write: grant.may_write,
            owner_root: format!("{DAV_ROOT}{}/", reference.owner),
            reference,
        }))
    }
}
