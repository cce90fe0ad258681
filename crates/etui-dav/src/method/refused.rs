//! Refusals of writes, and the texts that are kept of them.

use etui::Error;
use etui::record::Collection;
use etui::store::RefusedText;
use etui_contentline::lines::ContentLines;
use etui_contentline::values::{property_value, unescape_text};
use http::StatusCode;

use crate::context::Context;
use crate::failure::{Failure, Refusal};
use crate::kind::DavKind;
use crate::path::resource_href;
use crate::xml::Namespace;

/// Returns the refusal for an error of a write to a collection with this href.
pub(super) fn refusal_of<R: DavKind>(error: Error, collection: &str) -> Failure {
    let detail = error.to_string();
    let refusal = match &error {
        Error::ConditionFailed { .. } => Refusal::new(StatusCode::PRECONDITION_FAILED, detail),
        // Not 409: DAVx5 drops the edit then, and says nothing (RFC 4791 section 5.3.2.1).
        Error::UidTaken { name, .. } => Refusal::forbidden(detail)
            .with(R::NS, "no-uid-conflict")
            .about(resource_href(collection, name)),
        Error::ReservedName(_) | Error::BadResourceName(_) => Refusal::forbidden(detail),
        Error::NotOneObject { .. } => {
            Refusal::forbidden(detail).with(Namespace::CalDav, "valid-calendar-object-resource")
        }
        Error::Card(_) | Error::Record(_) => Refusal::forbidden(detail).with(R::NS, R::VALID_DATA),
        Error::NoResource(_) => Refusal::not_found(),
        _ => return Failure::from(error),
    };
    refusal.into()
}

/// A text that a client wants to save.
pub(super) struct Attempt<'a, 'c, R> {
    pub(super) cx: &'a Context<'c>,
    pub(super) collection: &'a Collection<'c, R>,
    pub(super) name: &'a str,
    pub(super) bytes: &'a [u8],
}

impl<R: DavKind> Attempt<'_, '_, R> {
    /// Keeps the text before it is refused, because a client may drop it then. If it cannot be kept, that
    /// is the answer: a client keeps its edit when a server fails.
    pub(super) fn keep(&self, failure: Failure) -> Failure {
        let Failure::Refused(refusal) = &failure else {
            return failure;
        };
        if !refusal.status.is_client_error() {
            return failure;
        }
        match self.keep_text(&refusal.detail) {
            Ok(()) => failure,
            Err(error) => error.into(),
        }
    }

    fn keep_text(&self, reason: &str) -> etui::Result<()> {
        let uid = uid_of(self.bytes);
        let stored = self.collection.resource(self.name)?;
        self.cx.store.keep_refused(&RefusedText {
            collection: self.collection.id(),
            name: self.name,
            record: stored.map(|stored| stored.id),
            uid: uid.as_deref(),
            text: self.bytes,
            device: self.cx.session.device,
            reason,
        })?;
        Ok(())
    }
}

/// Returns the UID in a text, which may be anything.
fn uid_of(text: &[u8]) -> Option<String> {
    let line = ContentLines::new(text).find(|line| line.name_is("UID"))?;
    let uid = unescape_text(property_value(&line).trim());
    (!uid.is_empty()).then_some(uid)
}
