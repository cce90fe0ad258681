//! Refusals of writes, and the texts that are kept of them.

use etui::store::RefusedText;
use etui::{CollectionId, Error};
use etui_contentline::lines::ContentLines;
use etui_contentline::values::{property_value, unescape_text};
use http::StatusCode;

use crate::context::{Context, FoundCollection};
use crate::failure::{Failure, Refusal, Result};
use crate::kind::DavKind;
use crate::path::resource_href;
use crate::query::View;
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

/// Returns the refusal for an error of saving these bytes. Those that are not iCalendar at all have a condition of
/// their own (RFC 4791 section 5.3.2.1).
pub(super) fn refusal_of_text<R: DavKind>(error: Error, collection: &str, bytes: &[u8]) -> Failure {
    match error {
        Error::NotOneObject { .. } if !is_icalendar(bytes) => Refusal::forbidden(error.to_string())
            .with(R::NS, R::VALID_DATA)
            .into(),
        error => refusal_of::<R>(error, collection),
    }
}

/// Returns true if a calendar object begins and ends in a text.
fn is_icalendar(text: &[u8]) -> bool {
    let has = |name: &str| {
        ContentLines::new(text).any(|line| {
            line.name_is(name)
                && property_value(&line)
                    .trim()
                    .eq_ignore_ascii_case("VCALENDAR")
        })
    };
    has("BEGIN") && has("END")
}

/// Fails if a device may not change a resource, because of its collection, or because its user may not read all of it.
pub(super) fn expect_open<R: DavKind>(
    context: &Context<'_>,
    found: &FoundCollection<'_, R>,
    name: &str,
) -> Result<()> {
    context.expect_may_write_to(found)?;
    if found.shared.is_none() {
        return Ok(());
    }
    let stored = found.collection.resource(name)?;
    match stored.is_none_or(|stored| found.view(&stored.bytes) == View::Whole) {
        true => Ok(()),
        false => Err(Refusal::forbidden(
            "it is private or confidential; its owner alone may change it",
        )
        .with(Namespace::Dav, "need-privileges")
        .about(resource_href(&found.href, name))
        .into()),
    }
}

/// A text that a client wants to save.
pub(super) struct Attempt<'a, 'c, R> {
    context: &'a Context<'c>,
    collection: CollectionId,
    /// The collection; `None` if it was removed.
    live: Option<&'a FoundCollection<'c, R>>,
    name: &'a str,
    bytes: &'a [u8],
}

impl<'a, 'c, R: DavKind> Attempt<'a, 'c, R> {
    pub(super) fn new(
        context: &'a Context<'c>,
        found: &'a FoundCollection<'c, R>,
        name: &'a str,
        bytes: &'a [u8],
    ) -> Self {
        Self {
            live: Some(found),
            ..Self::of_removed(context, found.id(), name, bytes)
        }
    }

    /// Returns the attempt to save something in a removed collection.
    pub(super) fn of_removed(
        context: &'a Context<'c>,
        collection: CollectionId,
        name: &'a str,
        bytes: &'a [u8],
    ) -> Self {
        Self {
            context,
            collection,
            live: None,
            name,
            bytes,
        }
    }

    /// Keeps the text before it is refused, because a client may drop it then. If it cannot be kept, the
    /// answer is a server error: a client keeps its edit when a server fails.
    pub(super) fn keep(&self, failure: Failure) -> Failure {
        let Failure::Refused(refusal) = &failure else {
            return failure;
        };
        if !refusal.status.is_client_error() {
            return failure;
        }
        match self.keep_text(refusal) {
            Ok(()) => failure,
            Err(Error::DiskFull(_)) => failed(StatusCode::INSUFFICIENT_STORAGE, refusal),
            Err(_) => failed(StatusCode::SERVICE_UNAVAILABLE, refusal),
        }
    }

    fn keep_text(&self, refusal: &Refusal) -> etui::Result<()> {
        let uid = uid_of(self.bytes);
        let stored = self
            .live
            .map(|live| live.collection.resource(self.name))
            .transpose()?;
        let stored = stored.flatten();
        // A client repeats a request whose answer was lost: nothing is lost with this text.
        if stored
            .as_ref()
            .is_some_and(|stored| stored.bytes == self.bytes)
        {
            return Ok(());
        }
        // The detail is for the client's maker: with a name out of a URL, and what to do.
        let reason = match (refusal.status, &stored) {
            (StatusCode::PRECONDITION_FAILED, Some(_)) => "it was changed meanwhile",
            (StatusCode::PRECONDITION_FAILED, None) => "it was removed meanwhile",
            _ => refusal.detail.as_str(),
        };
        self.context.store.refused().keep(&RefusedText {
            collection: self.collection,
            name: self.name,
            // A record of another store has no number in this one.
            record: stored
                .filter(|_| self.live.is_some_and(|live| live.shared.is_none()))
                .map(|stored| stored.id),
            uid: uid.as_deref(),
            text: self.bytes,
            device: self.context.session.device,
            reason,
        })?;
        Ok(())
    }
}

fn failed(status: StatusCode, refusal: &Refusal) -> Failure {
    let detail = format!(
        "a refused text cannot be kept; it was refused: {}",
        refusal.detail
    );
    Refusal::new(status, detail).into()
}

/// Returns the UID in a text, which may be anything.
fn uid_of(text: &[u8]) -> Option<String> {
    let line = ContentLines::new(text).find(|line| line.name_is("UID"))?;
    let uid = unescape_text(property_value(&line).trim());
    (!uid.is_empty()).then_some(uid)
}
