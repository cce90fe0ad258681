//! [`LabelledCards`]: the names of a vCard file's groups as labels of their members.
//!
//! ```text
//! UID:2                                        UID:1
//! FN:Crew                                      FN:Ada
//! X-ADDRESSBOOKSERVER-KIND:group               CATEGORIES:Crew
//! X-ADDRESSBOOKSERVER-MEMBER:urn:uuid:1
//! ```
//!
//! The groups stay contacts. A label that was removed from a member does not come back with the group: a
//! membership that the stored group has already gives a label only to members that are new or have it.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fs::File;
use std::io::{self, Read};

use etui::contacts::{Card, Contacts, MAX_CARD};
use etui::import::{CardReader, ImportCard, Refused};
use etui::record::RecordKind;
use etui_contentline::split::{SplitItem, Splitter};
use etui_contentline::stream::record_excerpt;
use etui_program::{Failure, Result};
use etui_tables::FieldCount;

use super::ImportSource;

/// A label of a member.
struct GroupLabel {
    name: String,
    /// The stored group has the member.
    is_stored: bool,
}

/// The cards of a text that has groups.
pub struct LabelledCards<'a> {
    cards: Splitter<File>,
    book: &'a Contacts,
    labels: HashMap<String, Vec<GroupLabel>>,
    /// The number of contacts that each label was given to.
    given: BTreeMap<String, u64>,
}

impl<'a> LabelledCards<'a> {
    /// Opens the cards of a source, if it is a file that has groups with members: what comes from a pipe is
    /// read once.
    pub fn open(source: &mut ImportSource, book: &'a Contacts) -> Result<Option<Self>> {
        let failed = |e| Failure::named_io(source.name.as_str(), e);
        let Some(path) = &source.file else {
            return Ok(None);
        };
        let open = || File::open(path).map_err(failed);
        if !has_members(open()?).map_err(failed)? {
            return Ok(None);
        }
        let cards = |file| Splitter::new(file, "VCARD").max_record(MAX_CARD);
        let mut labels = HashMap::new();
        for item in cards(open()?) {
            if let SplitItem::Record(record) = item.map_err(failed)?
                && let Ok(card) = Card::parse(record.bytes)
                && is_group(&card)
            {
                add_group(&mut labels, &card, book)?;
            }
        }
        if labels.is_empty() {
            return Ok(None);
        }
        Ok(Some(Self {
            cards: cards(open()?),
            book,
            labels,
            given: BTreeMap::new(),
        }))
    }

    /// The labels that were given, and the number of contacts of each.
    pub fn given(&self) -> Vec<FieldCount> {
        let given = self.given.iter().map(|(name, records)| FieldCount {
            name: name.clone(),
            records: *records,
        });
        given.collect()
    }

    /// Adds the labels of a card. One without a UID is identified by its content, and stays as it is.
    fn label(&mut self, card: &mut Card) -> io::Result<()> {
        let Some(uid) = card.uid().map(member_key).filter(|_| !is_group(card)) else {
            return Ok(());
        };
        let addresses = card.emails().into_iter();
        let addresses = addresses.map(|email| format!("mailto:{}", email.value.to_lowercase()));
        let keys: HashSet<String> = addresses.chain([uid]).collect();
        let found: Vec<&GroupLabel> = keys
            .iter()
            .filter_map(|key| self.labels.get(key))
            .flatten()
            .collect();
        if found.is_empty() {
            return Ok(());
        }
        let stored = self.book.get(&card.identity()).map_err(io::Error::other)?;
        let stored = stored.and_then(|stored| stored.card().ok());
        let categories =
            |card: Card| -> HashSet<String> { card.categories().into_iter().collect() };
        let (own, stored) = (categories(card.clone()), stored.map(categories));
        let is_new = |label: &&GroupLabel| {
            let stored = stored.as_ref();
            let is_kept = !label.is_stored || stored.is_none_or(|all| all.contains(&label.name));
            is_kept && !own.contains(&label.name)
        };
        let found = found.into_iter().filter(is_new);
        let names: BTreeSet<&str> = found.map(|label| label.name.as_str()).collect();
        card.add_categories(names.iter().copied())
            .map_err(io::Error::other)?;
        for name in names {
            *self.given.entry(name.to_owned()).or_default() += 1;
        }
        Ok(())
    }
}

impl CardReader for LabelledCards<'_> {
    fn next_card(&mut self) -> io::Result<Option<std::result::Result<ImportCard, Refused>>> {
        let record = match self.cards.next().transpose()? {
            None => return Ok(None),
            Some(SplitItem::Rejected(rejection)) => return Ok(Some(Err((&rejection).into()))),
            Some(SplitItem::Record(record)) => record,
        };
        let (line, last_line) = (record.line, record.last_line);
        let excerpt = record_excerpt(&record.bytes);
        Ok(Some(match Card::parse(record.bytes) {
            Ok(mut card) => {
                self.label(&mut card)?;
                Ok(ImportCard {
                    card,
                    line,
                    last_line,
                    warnings: Vec::new(),
                })
            }
            Err(error) => Err(Refused {
                line,
                last_line,
                reason: error.to_string(),
                excerpt,
            }),
        }))
    }

    fn bytes_read(&self) -> u64 {
        self.cards.bytes_read()
    }
}

/// Returns true if a text has the name of the property of members: a search that is cheaper than parsing
/// every card. Zero bytes are skipped, for UTF-16.
fn has_members(mut text: impl Read) -> io::Result<bool> {
    const NAME: &[u8] = b"MEMBER";
    let mut block = vec![0; 64 << 10];
    let mut matched = 0;
    loop {
        let read = match text.read(&mut block) {
            Ok(0) => return Ok(false),
            Ok(read) => read,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            Err(e) => return Err(e),
        };
        for byte in block.iter().take(read).filter(|byte| **byte != 0) {
            // Only the fourth letter repeats the first: M-E-M.
            matched = match byte.to_ascii_uppercase() {
                upper if NAME.get(matched) == Some(&upper) => matched + 1,
                b'E' if matched == 3 => 2,
                b'M' => 1,
                _ => 0,
            };
            if matched == NAME.len() {
                return Ok(true);
            }
        }
    }
}

fn is_group(card: &Card) -> bool {
    let mut kinds = ["KIND", "X-ADDRESSBOOKSERVER-KIND"].iter();
    kinds.any(|name| {
        let kind = card.property(name);
        kind.is_some_and(|kind| kind.trim().eq_ignore_ascii_case("group"))
    })
}

fn members_of(card: &Card) -> HashSet<String> {
    let members = card.all_properties().filter(|(_, name, _)| {
        let mut names = ["MEMBER", "X-ADDRESSBOOKSERVER-MEMBER"].iter();
        names.any(|known| known.eq_ignore_ascii_case(name))
    });
    members.map(|(_, _, value)| member_key(&value)).collect()
}

/// Returns the form of a UID that is compared: in any case, with or without `urn:uuid:`.
fn member_key(uid: &str) -> String {
    let uid = uid.trim().to_lowercase();
    uid.strip_prefix("urn:uuid:").unwrap_or(&uid).to_owned()
}

fn add_group(
    labels: &mut HashMap<String, Vec<GroupLabel>>,
    group: &Card,
    book: &Contacts,
) -> Result<()> {
    let name = group.display_name().trim().to_owned();
    if name.is_empty() {
        return Ok(());
    }
    let stored = book.get(&group.identity())?;
    let stored = stored.and_then(|stored| stored.card().ok());
    let stored = stored.as_ref().map(members_of).unwrap_or_default();
    for member in members_of(group) {
        let is_stored = stored.contains(&member);
        let name = name.clone();
        let known = labels.entry(member).or_default();
        known.push(GroupLabel { name, is_stored });
    }
    Ok(())
}
