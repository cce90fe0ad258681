//! `org.etui.AddressBook1`: the calls that only address books have.

use std::io::{Seek, SeekFrom, Write};

use etui::RecordId;
use etui::contacts::{Card, Column, Field, Filter, Photo, Query};
use etui::record::Collection;
use etui::search::filter::FieldSet;
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};
use zbus::interface;

use crate::error::{ErrorKind, StoreError};
use crate::rows::{ArrayRows, ColumnList, WireRow, without_nul};
use crate::service::{Endpoint, Service};

/// The further calls of an address book.
pub(crate) struct BookObject {
    pub(crate) endpoint: Endpoint,
    pub(crate) id: i64,
}

impl BookObject {
    async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Collection<'_, Card>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let id = self.id;
        let work = move |service: &Service| work(&service.store().collection_by_id(id)?);
        self.endpoint.answer_on_worker(work).await
    }
}

#[interface(name = "org.etui.AddressBook1")]
impl BookObject {
    /// Returns the letters of the list, each with the position of its first name.
    #[zbus(out_args("letters"))]
    async fn letters(&self) -> Result<Vec<(String, u64)>, StoreError> {
        self.run(|book| {
            let letters = book.letters()?.into_iter();
            Ok(letters.map(|l| (l.label, l.position)).collect())
        })
        .await
    }

    /// Returns the position of a contact in the list, from 0.
    #[zbus(out_args("position"))]
    async fn position(&self, id: u64) -> Result<u64, StoreError> {
        self.run(move |book| {
            let position = book.position(RecordId(id.cast_signed()))?;
            position.ok_or_else(|| {
                let message = format!("there is no record with id {id}");
                StoreError::new(ErrorKind::NotFound, message)
            })
        })
        .await
    }

    /// Returns the contacts with a phone number. `strength`: `exact` (the same number, national ones
    /// completed by the store's region), `national` (the same national number) or `short` (the
    /// same last digits).
    #[zbus(out_args("contacts"))]
    async fn by_phone(
        &self,
        number: String,
        strength: String,
        columns: Vec<String>,
    ) -> Result<Vec<WireRow>, StoreError> {
        self.run(move |book| {
            let name = match strength.as_str() {
                "exact" => "phone",
                "national" => "phone.national",
                "short" => "phone.short",
                _ => {
                    let message = format!(
                        "no comparison is named \"{strength}\"; there are exact, national and short"
                    );
                    return Err(StoreError::new(ErrorKind::BadArgument, message));
                }
            };
            let Some((.., strength)) = Field::PHONES.iter().find(|(known, ..)| *known == name)
            else {
                return Err(StoreError::new(
                    ErrorKind::BadArgument,
                    "no such comparison",
                ));
            };
            let columns = ColumnList::<Card>::parse(&columns)?;
            let query = Query::new(Filter::phone(number, *strength))
                .columns(columns.set_with(&[Column::ETag]));
            let mut found = ArrayRows::default();
            for row in book.query(&query)?.iter() {
                found.push(columns.wire_row(row))?;
            }
            Ok(found.rows)
        })
        .await
    }

    /// Returns a contact's picture as a sealed descriptor, and its media type. If the card has the
    /// URI of a picture instead, the content is that URI and the type `text/uri-list`.
    #[zbus(out_args("file", "type"))]
    async fn photo(&self, uid: String) -> Result<(zbus::OwnedFd, String), StoreError> {
        self.run(move |book| {
            let photo = match book.get(&uid)? {
                Some(contact) => contact.card().map_err(etui::Error::from)?.photo(),
                None => None,
            };
            let (bytes, media_type) = match photo {
                Some(Photo::Inline { media_type, bytes }) => (bytes, media_type),
                Some(Photo::Uri(uri)) => (uri.into_bytes(), Some("text/uri-list".to_owned())),
                _ => {
                    let message = format!("there is no contact \"{uid}\" with a picture");
                    return Err(StoreError::new(ErrorKind::NotFound, message));
                }
            };
            let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
            let mut file = std::fs::File::from(
                memfd_create("etui-photo", flags).map_err(std::io::Error::from)?,
            );
            file.write_all(&bytes)?;
            file.seek(SeekFrom::Start(0))?;
            let seals = SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL;
            fcntl_add_seals(&file, seals).map_err(std::io::Error::from)?;
            let media_type = media_type.unwrap_or_default();
            let file = std::os::fd::OwnedFd::from(file);
            Ok((file.into(), without_nul(media_type.into()).into_owned()))
        })
        .await
    }
}
