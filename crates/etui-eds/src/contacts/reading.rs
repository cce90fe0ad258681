//! Reading contacts: one by its UID, and those that match a query.

use etui::RecordId;
use etui::contacts::{Card, Column, Contact, Field, Filter, MatchMode, Query, SortOrder};

use super::book::Book;
use super::candidates::Candidates;
use super::fold::fold_text;
use super::outgoing::{OutgoingCard, write_outgoing};
use super::query::ContactQuery;
use super::reduced::PropertyNames;
use super::words::Member;
use super::writing::no_contact;
use crate::error::{EdsError, EdsResult};
use crate::server::text_array::TextArray;

/// A stored contact that matches a query.
pub(super) struct Match<'m> {
    /// Its id in the store.
    pub(super) id: RecordId,
    /// Its text as stored.
    pub(super) text: &'m [u8],
    /// Its UID, if it is known without parsing the text.
    pub(super) uid: Option<&'m str>,
}

impl Book {
    /// Returns a contact as clients get it.
    pub(super) fn contact(&self, uid: &str) -> EdsResult<OutgoingCard> {
        let found = self.opened_contacts().get(uid);
        let found = found.map_err(|e| EdsError::of_book(&e))?;
        let contact = found.ok_or_else(|| no_contact(uid))?;
        Ok(self.outgoing(&contact))
    }

    /// Writes a stored contact for clients.
    pub(super) fn outgoing(&self, contact: &Contact) -> OutgoingCard {
        let record_uid = || contact.uid.clone();
        let find = &|uid: &str| self.member(uid);
        write_outgoing(&contact.text, record_uid, &self.pictures, find)
    }

    /// Finds a member of a group by its UID; `None` if it has no e-mail address.
    pub(super) fn member(&self, uid: &str) -> Option<Member> {
        let contacts = self.opened_contacts();
        // A UID may be a URN itself, which the group's value is then.
        let found = contacts.get(uid).ok()?;
        let found = found.or_else(|| contacts.get(&format!("urn:uuid:{uid}")).ok()?)?;
        let card = found.card().ok()?;
        let address = card.property("EMAIL");
        Some(Member {
            uid: found.uid,
            name: card.display_name(),
            address: address.filter(|address| !address.is_empty())?,
        })
    }

    /// Returns the cards that match a query, as clients get them.
    pub(super) fn matching_cards(&self, query: &ContactQuery) -> EdsResult<Vec<String>> {
        let mut cards = TextArray::default();
        self.for_each_match(query, |found| {
            let record_uid = || self.uid_of_match(&found);
            let find = &|uid: &str| self.member(uid);
            cards.push(write_outgoing(found.text, record_uid, &self.pictures, find).text);
        })?;
        cards.finish()
    }

    /// Returns the UIDs of the contacts that match a query.
    pub(super) fn matching_uids(&self, query: &ContactQuery) -> EdsResult<Vec<String>> {
        let mut uids = TextArray::default();
        self.for_each_match(query, |found| uids.push(self.uid_of_match(&found)))?;
        uids.finish()
    }

    /// Returns the UID of a match.
    pub(super) fn uid_of_match(&self, found: &Match<'_>) -> String {
        if let Some(uid) = found.uid {
            return uid.to_owned();
        }
        let parsed = PropertyNames::uid_alone().parse_card(found.text);
        match parsed.as_ref().and_then(Card::uid) {
            Some(uid) => uid.to_owned(),
            // The text has none: the record has one that was made of its content.
            None => {
                let record = self.contacts().ok().and_then(|c| c.get(found.id).ok()?);
                record.map(|record| record.uid).unwrap_or_default()
            }
        }
    }

    /// Calls `visit` with each contact that matches a query.
    pub(super) fn for_each_match(
        &self,
        query: &ContactQuery,
        mut visit: impl FnMut(Match<'_>),
    ) -> EdsResult<()> {
        let contacts = self.contacts()?;
        let is_exact = matches!(query, ContactQuery::All) || query.is_of_uids();
        let names = query.property_names();
        let mut consider = |id, uid: Option<&str>, text: &[u8]| {
            if is_exact {
                return visit(Match { id, text, uid });
            }
            match query.matches_plain(text) {
                Some(true) => return visit(Match { id, text, uid }),
                Some(false) => return,
                None => {}
            }
            if let Some(card) = names.parse_card(text) {
                let own_uid = uid.or(card.uid()).unwrap_or_default();
                if query.matches(own_uid, &card) {
                    let uid = Some(own_uid).filter(|uid| !uid.is_empty());
                    visit(Match { id, text, uid });
                }
            }
        };
        let read = match Candidates::of(query) {
            Candidates::All => contacts.for_each(|id, text| {
                consider(id, None, text);
                Ok(())
            }),
            Candidates::Uids(uids) => contacts.get_many(&uids).map(|found| {
                for contact in found.into_iter().flatten() {
                    consider(contact.id, Some(&contact.uid), &contact.text);
                }
            }),
            Candidates::Filter(filter) => {
                let query = Query::new(filter)
                    .sort(SortOrder::Unordered)
                    .columns(Column::Uid | Column::Card);
                contacts.query(&query).map(|rows| {
                    for row in rows.iter() {
                        consider(row.id(), Some(row.get(Column::Uid)), row.card());
                    }
                })
            }
        };
        read.map_err(|e| EdsError::of_book(&e))
    }

    /// Whether a contact has one of the e-mail addresses in the text, a mail header's list.
    pub(super) fn contains_email(&self, text: &str) -> EdsResult<bool> {
        let contacts = self.contacts()?;
        for address in addresses(text) {
            let wanted = fold_text(&address).into_owned();
            let query = Query::new(Filter::text(Field::Email, MatchMode::Words, &address))
                .columns(Column::Emails);
            let rows = contacts.query(&query);
            let rows = rows.map_err(|e| EdsError::of_book(&e))?;
            let mut values = rows.iter().flat_map(|row| row.values(Column::Emails));
            if values.any(|value| fold_text(value) == wanted) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// The addresses of a mail header's list: `Ada <ada@example.org>, "B, C" <b@example.org>, d@x`.
fn addresses(text: &str) -> Vec<String> {
    let (mut parts, mut part) = (Vec::new(), String::new());
    let (mut quoted, mut escaped) = (false, false);
    for c in text.chars() {
        match c {
            ',' | ';' if !quoted => parts.push(std::mem::take(&mut part)),
            _ => {
                quoted ^= c == '"' && !escaped;
                part.push(c);
            }
        }
        escaped = c == '\\' && !escaped;
    }
    parts.push(part);
    let in_brackets = |part: &str| {
        let inside = part.rsplit_once('<').map(|(_, inside)| inside);
        let inside = inside.map_or(part, |inside| inside.split('>').next().unwrap_or(inside));
        inside.trim().to_owned()
    };
    let addresses = parts.iter().map(|part| in_brackets(part));
    addresses.filter(|address| !address.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_taken_out_of_a_header() {
        assert_eq!(
            addresses("Ada <ada@x.org>, \"B, <C>\" <b@x.org>,, d@x.org "),
            ["ada@x.org", "b@x.org", "d@x.org"]
        );
        assert!(addresses(" ").is_empty());
    }
}
