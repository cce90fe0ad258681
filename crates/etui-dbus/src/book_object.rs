//! `org.etui.AddressBook1`: the calls that only address books have.

use etui::CollectionId;
use std::collections::HashMap;

use etui::contacts::{
    Card, Column, Contact, Contacts, DuplicatePair, DuplicateReason, Filter, LIKELY_DUPLICATE,
    Photo, Query,
};
use etui::record::{Collection, Reader};
use etui::store::CollectionKey;
use etui::text::phone::{MatchType, PhoneNumber, Region};
use etui::{Condition, RecordId};
use etui_contentline::charset::to_utf8;
use zbus::interface;

use crate::collection::SavedRow;
use crate::collection_object::check_array;
use crate::descriptor::sealed_file;
use crate::error::{ErrorKind, StoreError};
use crate::options::{CallOptions, ListPage, OptionArgument};
use crate::rows::{ArrayRows, ColumnList, WireRow, without_nul};
use crate::service::{Endpoint, Service};
use crate::typed_collection::{parse_conditions, saved_row};

/// Pairs of duplicates of an answer if no limit is given.
const MAX_PAIRS: u64 = 1_000;
/// Lines that a merge reports as not taken.
const MAX_LEFT_OUT: usize = 1_000;

/// A pair of duplicates: two UIDs, the score, the reasons.
type WirePair = (String, String, u32, Vec<String>);

/// The further calls of an address book.
pub(crate) struct BookObject {
    pub(crate) endpoint: Endpoint,
    pub(crate) id: CollectionId,
}

impl BookObject {
    async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Collection<Card>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let id = self.id;
        let work =
            move |service: &Service| work(&service.store().collection(CollectionKey::Id(id))?);
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
        let strength = parse_strength(&strength)?;
        self.run(move |book| contacts_with_phone(book, number, strength, &columns))
            .await
    }

    /// As ByPhone, with a number that was dialled or received in `region` (ISO 3166-1, such as `DE`)
    /// and not in the store's: a phone abroad, a second card.
    #[zbus(out_args("contacts"))]
    async fn by_phone_in(
        &self,
        number: String,
        strength: String,
        region: String,
        columns: Vec<String>,
    ) -> Result<Vec<WireRow>, StoreError> {
        let strength = parse_strength(&strength)?;
        let Some(region) = Region::parse(&region) else {
            let message = format!("no region is named \"{region}\"; write it like DE or GB");
            return Err(StoreError::new(ErrorKind::BadArgument, message));
        };
        let parsed = PhoneNumber::parse(&number, Some(region));
        let international = parsed.and_then(|number| {
            let e164 = number.e164()?;
            Some(match number.extension() {
                Some(extension) => format!("tel:{e164};ext={extension}"),
                None => e164,
            })
        });
        // Short and service codes have no international form.
        let number = international.unwrap_or(number);
        self.run(move |book| contacts_with_phone(book, number, strength, &columns))
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
            let media_type = media_type.unwrap_or_default();
            let file = sealed_file(&bytes)?;
            Ok((file.into(), without_nul(media_type.into()).into_owned()))
        })
        .await
    }

    /// Returns pairs of contacts that are perhaps one person, the likeliest first: their UIDs, the
    /// score (0 to 100), and the reasons, such as `same-phone +442079460018`. `score` is the least;
    /// 0 stands for 50, from which on they likely are. `count` is the number of all such pairs. Options
    /// `limit t` (default 1,000), `offset t`; each call compares the whole book.
    #[zbus(out_args("pairs", "count"))]
    async fn duplicates(
        &self,
        score: u32,
        options: OptionArgument,
    ) -> Result<(Vec<WirePair>, u64), StoreError> {
        let page = ListPage::parse_up_to(options, MAX_PAIRS)?;
        let score = match score {
            0 => LIKELY_DUPLICATE,
            // No pair has more than 100.
            score => u8::try_from(score).unwrap_or(u8::MAX),
        };
        let id = self.id;
        let find = move |service: &Service| {
            let snapshot = service.store().snapshot()?;
            let book = snapshot.collection::<Card>(CollectionKey::Id(id))?;
            let pairs = book.duplicates(score)?;
            let count = pairs.len() as u64;
            let pairs = wire_pairs(&book, &page.of(pairs))?;
            let size = |pair: &WirePair| {
                let reasons: usize = pair.3.iter().map(|reason| reason.len() + 8).sum();
                32 + pair.0.len() + pair.1.len() + reasons
            };
            check_array(pairs.iter().map(size).sum())?;
            Ok((pairs, count))
        };
        self.endpoint.answer_on_worker(find).await
    }

    /// Returns the card that Merge would save, and the lines of the others that it would not take.
    /// Nothing is written.
    #[zbus(out_args("card", "left_out"))]
    async fn preview_merge(&self, uids: Vec<String>) -> Result<(String, Vec<String>), StoreError> {
        let contacts = uids.into_iter().map(|uid| (uid, String::new())).collect();
        self.run(move |book| {
            let contacts = read_contacts(book, contacts)?;
            let merged = book.preview_merge(&contacts)?;
            let (card, left_out) = (merged.card.text(), left_out_lines(merged.left_out));
            let lines: usize = left_out.iter().map(|line| line.len() + 8).sum();
            check_array(card.len() + lines)?;
            Ok((without_nul(to_utf8(card)).into_owned(), left_out))
        })
        .await
    }

    /// Merges contacts into the first of them: UIDs, each with the ETag that it must have, or an empty
    /// text. The first keeps its UID, the others are removed, and contacts that name them (groups,
    /// relations) name the first. Returns its id, UID and ETag, and the lines of the others that it
    /// did not take (the first thousand). Restore of all UIDs undoes it, as does Undo of the step.
    /// No options.
    #[zbus(out_args("saved", "left_out"))]
    async fn merge(
        &self,
        contacts: Vec<(String, String)>,
        options: OptionArgument,
    ) -> Result<(SavedRow, Vec<String>), StoreError> {
        CallOptions::expect_none(options)?;
        let id = self.id;
        let merge = move |service: &Service| {
            let book = &service.store().collection::<Card>(CollectionKey::Id(id))?;
            let contacts = read_contacts(book, contacts)?;
            let uid = contacts.first().map(|first| first.uid.clone());
            let done = book.merge(&contacts)?;
            let mut left_out = left_out_lines(done.merged.left_out);
            // It is done: the answer must not be too large to be sent.
            left_out.truncate(MAX_LEFT_OUT);
            Ok((saved_row(done.saved, uid.unwrap_or_default()), left_out))
        };
        self.endpoint.change("Merge", merge).await
    }
}

/// Parses the name of a comparison of phone numbers.
fn parse_strength(name: &str) -> Result<MatchType, StoreError> {
    match name {
        "exact" => Ok(MatchType::Exact),
        "national" => Ok(MatchType::Nsn),
        "short" => Ok(MatchType::ShortNsn),
        _ => {
            let message =
                format!("no comparison is named \"{name}\"; there are exact, national and short");
            Err(StoreError::new(ErrorKind::BadArgument, message))
        }
    }
}

/// Returns the contacts with a phone number.
fn contacts_with_phone(
    book: &Contacts,
    number: String,
    strength: MatchType,
    columns: &[String],
) -> Result<Vec<WireRow>, StoreError> {
    let columns = ColumnList::<Card>::parse(columns)?;
    let query =
        Query::new(Filter::phone(number, strength)).columns(columns.set_with(&[Column::ETag]));
    let mut found = ArrayRows::default();
    for row in book.query(&query)?.iter() {
        found.push(columns.wire_row(row))?;
    }
    Ok(found.rows)
}

/// Reads contacts in the order of their UIDs.
fn read_contacts(
    book: &Contacts,
    contacts: Vec<(String, String)>,
) -> Result<Vec<Contact>, StoreError> {
    let asked = parse_conditions(contacts)?;
    let uids: Vec<&str> = asked.iter().map(|(uid, _)| uid.as_str()).collect();
    let found = book.get_many(&uids)?.into_iter();
    let contacts = found.zip(&asked).map(|(found, (uid, condition))| {
        let found = found.ok_or_else(|| {
            let message = format!("there is no record with UID \"{uid}\"");
            StoreError::new(ErrorKind::NotFound, message)
        })?;
        match condition {
            Condition::IfMatch(etag) if *etag != found.etag => {
                let message = format!("\"{uid}\" was changed meanwhile; nothing was merged");
                let now = found.etag.to_string();
                Err(StoreError::new(
                    ErrorKind::Conflict(uid.clone(), now),
                    message,
                ))
            }
            _ => Ok(found),
        }
    });
    contacts.collect()
}

fn left_out_lines(lines: Vec<String>) -> Vec<String> {
    let lines = lines.into_iter();
    lines
        .map(|line| without_nul(line.into()).into_owned())
        .collect()
}

/// Returns pairs of contacts by their UIDs.
fn wire_pairs(book: &Reader<Card>, pairs: &[DuplicatePair]) -> Result<Vec<WirePair>, StoreError> {
    let mut ids: Vec<RecordId> = pairs.iter().flat_map(|p| [p.first, p.second]).collect();
    ids.sort_unstable();
    ids.dedup();
    let rows = book.rows(ids.iter().copied(), Column::Uid)?;
    let uids: HashMap<RecordId, &str> = rows
        .iter()
        .map(|row| (row.id(), row.get(Column::Uid)))
        .collect();
    let text = |text: &str| without_nul(text.into()).into_owned();
    let listed = pairs.iter().filter_map(|pair| {
        let (first, second) = (uids.get(&pair.first)?, uids.get(&pair.second)?);
        let reasons = pair.reasons.iter().map(|reason| text(&reason_text(reason)));
        let score = u32::from(pair.score);
        Some((text(first), text(second), score, reasons.collect()))
    });
    Ok(listed.collect())
}

/// Returns a reason as it is sent: its name, and the value that both have.
fn reason_text(reason: &DuplicateReason) -> String {
    match reason {
        DuplicateReason::SameName => "same-name".to_owned(),
        DuplicateReason::SimilarName => "similar-name".to_owned(),
        DuplicateReason::SamePhone(number) => format!("same-phone {number}"),
        DuplicateReason::SameEmail(address) => format!("same-email {address}"),
        DuplicateReason::SameBirthday => "same-birthday".to_owned(),
        DuplicateReason::SameOrganization => "same-organization".to_owned(),
        DuplicateReason::DifferentName => "different-name".to_owned(),
        DuplicateReason::DifferentBirthday => "different-birthday".to_owned(),
        _ => "other".to_owned(),
    }
}
