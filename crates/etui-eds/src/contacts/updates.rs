//! [`follow_book`]: one follower of the store for each opened book.
//!
//! The follower waits on the descriptor of a library view of all contacts, reads each changed
//! contact once, and reports it to the views and cursors of all clients. It sees the saves of this
//! process and of others.

use std::io;
use std::sync::Arc;

use super::address_book::announce_revision;
use super::book::Book;
use super::outgoing::revision_of;
use super::reduced::PropertyNames;
use super::view::{RecordUpdate, UpdatedCard};
use crate::error::{EdsError, EdsResult, OTHER};
use crate::server::guard::answer_on_worker;
use crate::server::wakeup::Wakeup;
use etui::contacts::{Filter, ViewChanges};
use etui::{ChangeKind, RecordId};

/// Changes up to this number are read on the bus's thread.
const FEW_CHANGES: usize = 16;
/// This many changed contacts are read and sent at once.
const MAX_UPDATES: usize = 256;

/// Follows a book until the process ends.
pub(super) async fn follow_book(book: Arc<Book>) {
    if let Err(error) = follow(&book).await {
        tracing::error!("{}: changes are not followed: {error}", book.source.uid);
    }
    book.told.tell(i64::MAX);
}

async fn follow(book: &Arc<Book>) -> EdsResult<()> {
    let contacts = book.contacts()?;
    let store_error = |e: etui::Error| EdsError::of_book(&e);
    let io_error = |e: io::Error| EdsError::new(OTHER, e.to_string());
    let mut view = contacts.view(&Filter::All).map_err(store_error)?;
    let wakeup = Wakeup::new(view.descriptor().map_err(store_error)?).map_err(io_error)?;
    loop {
        wakeup.wait().await.map_err(io_error)?;
        let seq = book.server.store.token().map_err(store_error)?.seq;
        let changed: Vec<(RecordId, String)> = match view.changes().map_err(store_error)? {
            ViewChanges::Since(changes) => {
                if let Some(latest) = changes.iter().map(|change| change.number).max()
                    && book.advance_revision(latest)
                {
                    announce_revision(book).await;
                }
                let removed = changes.iter().filter(|c| c.kind == ChangeKind::Removed);
                tracing::debug!("{} changes, {} removals", changes.len(), removed.count());
                changes.into_iter().map(|c| (c.id, c.uid)).collect()
            }
            ViewChanges::Reset => {
                // The log does not reach back to the view's position, as after a restored backup.
                book.refresh_revision()?;
                announce_revision(book).await;
                let book = book.clone();
                answer_on_worker(move || read_all_ids(&book)).await?
            }
        };
        for changed in changed.chunks(MAX_UPDATES) {
            send_changes(book, changed).await?;
        }
        book.told.tell(seq);
        let cursors = book.cursors().clone();
        for cursor in cursors {
            cursor.announce_changes().await;
        }
    }
}

async fn send_changes(book: &Arc<Book>, changed: &[(RecordId, String)]) -> EdsResult<()> {
    let views = book.views().clone();
    if views.is_empty() {
        return Ok(());
    }
    let updates = if changed.len() <= FEW_CHANGES {
        read_updates(book, changed)?
    } else {
        let (book, changed) = (book.clone(), changed.to_vec());
        answer_on_worker(move || read_updates(&book, &changed)).await?
    };
    let updates = Arc::new(updates);
    for view in views {
        view.send_updates(&updates).await;
    }
    Ok(())
}

fn read_updates(book: &Book, changed: &[(RecordId, String)]) -> EdsResult<Vec<RecordUpdate>> {
    let uids: Vec<&str> = changed.iter().map(|(_, uid)| uid.as_str()).collect();
    let found = book.contacts()?.get_many(&uids);
    let found = found.map_err(|e| EdsError::of_book(&e))?;
    let updates = changed.iter().zip(found).map(|((id, uid), contact)| {
        let card = contact.and_then(|contact| {
            let card = PropertyNames::default().parse_card(&contact.text)?;
            Some(UpdatedCard {
                outgoing: book.outgoing(&contact).text,
                revision: revision_of(&contact.text, &card),
                card,
            })
        });
        RecordUpdate {
            id: *id,
            uid: uid.clone(),
            card,
        }
    });
    Ok(updates.collect())
}

fn read_all_ids(book: &Book) -> EdsResult<Vec<(RecordId, String)>> {
    let mut all = Vec::new();
    book.for_each_match(&super::query::ContactQuery::All, |found| {
        all.push((found.id, book.uid_of_match(&found)));
    })?;
    Ok(all)
}
