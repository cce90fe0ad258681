//! Address books.
//!
//! | module | |
//! |---|---|
//! | `address_book`, `cursor` | the objects on the bus |
//! | `book`, `reading`, `writing` | a collection of the store as an address book |
//! | `query`, `candidates`, `fields`, `fold`, `phone`, `reduced` | queries and how they compare |
//! | `view`, `updates` | views, and the follower that sends them changes |
//! | `cursor_list` | the sorted list of a cursor |
//! | `outgoing`, `incoming`, `words`, `pictures`, `properties` | cards as clients get and send them |
//! | `exchange` | cards from the stock server and back to it |

mod address_book;
mod book;
mod candidates;
mod cursor;
mod cursor_list;
pub(crate) mod exchange;
mod fields;
mod fold;
mod incoming;
mod outgoing;
mod phone;
mod pictures;
mod plain_values;
mod properties;
mod query;
mod reading;
mod reduced;
mod updates;
mod view;
mod words;
mod writing;

use std::sync::Arc;

use etui::contacts::Card;

use crate::error::EdsResult;
use crate::server::guard::answer_on_worker;
use crate::server::shared::Server;
use crate::sources::Source;

/// Returns whether a contact matches a query of Evolution Data Server.
///
/// # Errors
/// [`INVALID_QUERY`](crate::error::INVALID_QUERY) if the text is not a query.
pub fn query_matches(query: &str, uid: &str, card: &Card) -> EdsResult<bool> {
    Ok(query::ContactQuery::parse(query)?.matches(uid, card))
}

/// Registers the object of a local address book and returns its path.
pub(crate) async fn register_book(server: &Arc<Server>, source: Source) -> EdsResult<String> {
    let path = server.new_path("Subprocess");
    let (shared, book_path) = (server.clone(), path.clone());
    let book = answer_on_worker(move || book::Book::open(shared, source, book_path)).await?;
    let book = Arc::new(book);
    let objects = server.connection.object_server();
    let object = server.guard(address_book::AddressBook(book.clone()));
    objects.at(path.as_str(), object).await?;
    zruntime::spawn(updates::follow_book(book)).detach();
    Ok(path)
}
