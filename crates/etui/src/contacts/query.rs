//! [`Query`]: contacts by filter, order and page, with the columns to show.
//!
//! ```
//! use etui::Store;
//! use etui::contacts::{Card, Column, Query};
//!
//! # let dir = tempfile::tempdir()?;
//! # let store = Store::open(dir.path().join("personal.etui"))?;
//! let contacts = store.contacts()?;
//! # for (n, name) in ["Ada Lovelace", "Alan Turing", "Grace Hopper"].iter().enumerate() {
//! #     contacts.save(&Card::parse(format!("BEGIN:VCARD\nUID:{n}\nFN:{name}\nEND:VCARD\n"))?)?;
//! # }
//! // A page of the list, as a screen shows it.
//! let page = contacts.query(&Query::all().limit(2).columns(Column::Name | Column::Email))?;
//! assert_eq!(page.iter().map(|row| row.name()).collect::<Vec<_>>(), ["Ada Lovelace", "Alan Turing"]);
//!
//! // The next one, from where that one ended, whatever was saved meanwhile.
//! let next = page.next().expect("there are more").clone();
//! let page = contacts.query(&Query::all().limit(2).after(next))?;
//! assert_eq!(page.iter().map(|row| row.name()).collect::<Vec<_>>(), ["Grace Hopper"]);
//!
//! // How a search is answered.
//! let search = Query::new("name:tur*".parse()?);
//! println!("{}", contacts.explain(&search)?);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use etui_vcard::{PostalAddress, TypedValue};

use super::{Card, Field, Summary};
use crate::search::query::{self, ColumnValues, RowBuffer, SearchableRecord, columns};

/// A query for contacts.
pub type Query = query::Query<Column>;

/// The columns that a query shows.
pub type Columns = query::Columns<Column>;

/// Contacts with the columns asked for.
pub type Rows = query::Rows<Column>;

/// One contact of [`Rows`].
pub type Row<'r> = query::Row<'r, Column>;

/// A contact as lists show it, read without its vCard.
pub type ListEntry = query::ListEntry<Summary>;

columns! {
    /// A column of contacts.
    pub enum Column, list: "name", text: Card {
        /// The display name.
        Name = "name",
        /// The first organisation.
        Organization = "org",
        /// The preferred phone number, else the first, as written.
        Phone = "phone",
        /// The preferred e-mail address, else the first, as written.
        Email = "email",
        /// The UID.
        Uid = "uid",
        /// The ETag, as 32 hexadecimal digits.
        ETag = "etag",
        /// The family name.
        Family = "family",
        /// The given name and additional names.
        Given = "given",
        /// All nicknames.
        Nicknames = "nick" [many],
        /// All phone numbers, as written.
        Phones = "phones" [many],
        /// All e-mail addresses, as written.
        Emails = "emails" [many],
        /// All categories.
        Categories = "categories" [many],
        /// The notes.
        Note = "note",
        /// All postal addresses, each in one line.
        Addresses = "address" [many],
        /// The cities of all postal addresses.
        Cities = "city" [many],
        /// The birthday: `1815-12-10`, or without a part that is not known: `--12-10`.
        Birthday = "birthday",
        /// The vCard.
        Card = "card",
    }
}

impl<'r> Row<'r> {
    /// Returns the display name.
    pub fn name(&self) -> &'r str {
        self.get(Column::Name)
    }

    /// Returns the vCard, byte for byte. It is empty if it was not asked for.
    pub fn card(&self) -> &'r [u8] {
        self.value_bytes(Column::Card)
    }
}

impl SearchableRecord for Card {
    type Field = Field;
    type Column = Column;
    type Summary = Summary;

    fn summary_decoder() -> impl FnMut(&[u8]) -> Summary {
        Summary::decode
    }
}

impl ColumnValues for Column {
    type Field = Field;
    type Parsed = Card;

    fn parse_text(text: &[u8]) -> Option<Card> {
        Card::parse(text.to_vec()).ok()
    }

    fn push_value(self, card: &Card, rows: &mut RowBuffer) {
        let typed = |all: Vec<TypedValue>| all.into_iter().map(|t| t.value);
        match self {
            Self::Family => rows.push(card.name().family.as_bytes()),
            Self::Given => {
                let name = card.name();
                let given = format!("{} {}", name.given, name.additional);
                rows.push(given.trim().as_bytes());
            }
            Self::Nicknames => rows.push_list(card.nicknames()),
            Self::Phones => rows.push_list(typed(card.phones())),
            Self::Emails => rows.push_list(typed(card.emails())),
            Self::Categories => rows.push_list(card.categories()),
            Self::Addresses => rows.push_list(card.addresses().iter().map(PostalAddress::to_line)),
            Self::Cities => rows.push_list(card.addresses().into_iter().map(|a| a.locality)),
            Self::Birthday => {
                let date = card.birthday().map(|date| date.to_string());
                rows.push(date.unwrap_or_default().as_bytes());
            }
            Self::Note => rows.push(card.note().unwrap_or_default().as_bytes()),
            // Those are read from the summary or the row, without the card.
            Self::Name
            | Self::Organization
            | Self::Phone
            | Self::Email
            | Self::Uid
            | Self::ETag
            | Self::Card => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_named_in_their_order() {
        for (i, (name, column)) in Column::NAMES.iter().enumerate() {
            assert_eq!(*column as usize, i);
            assert_eq!(name.parse(), Ok(*column));
            assert_eq!(column.name(), *name);
        }
        assert!(
            "colour"
                .parse::<Column>()
                .unwrap_err()
                .to_string()
                .contains("note")
        );
    }
}
