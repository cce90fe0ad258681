//! What other programs wrote through the view `contact`, with plain SQLite and no vCard parser.
//!
//! The view's triggers put every INSERT, UPDATE and DELETE into the table `inbox`; it is taken in
//! when a program next opens an address book. A vCard that cannot be kept stays in the inbox,
//! where `etui check` tells of it.

use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension};

use super::card::Card;
use crate::collection::prepared::Prepared;
use crate::collection::records::{self, Writing};
use crate::collection::{Condition, Deriving, Kind, names};
use crate::error::{Error, Result};

/// Takes in all that can be; inside a write transaction.
pub(crate) fn drain(conn: &Connection, with: &Deriving<'_>) -> Result<()> {
    Writing::run(conn, with.order, |writing| take_in(conn, writing, with))
}

fn take_in(conn: &Connection, writing: &mut Writing<'_>, with: &Deriving<'_>) -> Result<()> {
    let mut last = 0i64;
    loop {
        let next = conn
            .query_row(
                "SELECT id, book, uid, vcard FROM inbox WHERE id > ?1 AND problem IS NULL \
                 ORDER BY id LIMIT 1",
                [last],
                |r| {
                    Ok((
                        r.get::<_, i64>(0)?,
                        text(r.get_ref(1)?),
                        Some(r.get_ref(2)?)
                            .filter(|v| *v != ValueRef::Null)
                            .map(text),
                        r.get::<_, Option<Vec<u8>>>(3)?,
                    ))
                },
            )
            .optional()?;
        let Some((id, name, uid, vcard)) = next else {
            return Ok(());
        };
        last = id;
        let book = match names::named(conn, Kind::Contacts, &name) {
            Ok(book) => book.id,
            Err(error @ Error::NoCollection { .. }) => {
                set_aside(conn, id, &error)?;
                continue;
            }
            Err(e) => return Err(e),
        };
        let card = match vcard.map(Card::parse).transpose() {
            Ok(card) => card,
            Err(error) => {
                set_aside(conn, id, &error.into())?;
                continue;
            }
        };
        let saved_uid = match &card {
            Some(card) => {
                let mut one = Prepared::new(card, with);
                if let Some(uid) = &uid
                    && card.uid().is_none()
                {
                    one = one.known_as(uid);
                }
                one.put(conn, writing, book, Condition::Always)?;
                Some(one.uid().to_owned())
            }
            None => None,
        };
        // An UPDATE that gave the card another UID is a removal of the record it was.
        if let Some(uid) = uid
            && saved_uid.as_deref() != Some(&uid)
        {
            records::remove(conn, writing, book, &uid, Condition::Always)?;
        }
        conn.execute("DELETE FROM inbox WHERE id = ?1", [id])?;
    }
}

/// Text that another program wrote, which need not be UTF-8.
fn text(value: ValueRef<'_>) -> String {
    String::from_utf8_lossy(value.as_bytes().unwrap_or_default()).into_owned()
}

/// Notes why an entry cannot be taken in; it stays.
fn set_aside(conn: &Connection, id: i64, error: &Error) -> Result<()> {
    tracing::warn!(id, %error, "left in the inbox");
    conn.execute(
        "UPDATE inbox SET problem = ?2 WHERE id = ?1",
        (id, error.to_string()),
    )?;
    Ok(())
}
