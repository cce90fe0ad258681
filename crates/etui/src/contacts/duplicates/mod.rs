//! Contacts that are probably the same person.
//!
//! Comparing all pairs would be quadratic. Pairs are made only of contacts that share a *candidate
//! key*: their name, a phone number, an e-mail address, or a word of their name at one organisation.
//! The keys are the folded values that are stored beside each card, so no card is parsed for this
//! step. A key that many contacts share (the number of a switchboard) makes no pairs by itself; such
//! contacts are paired if they share their name as well, each with the first one. The number of
//! pairs is thus linear in the number of contacts.
//!
//! Each pair gets a score from 0 to 100 from equal and contradicting values (`score`).

mod score;

use std::collections::{BTreeSet, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};

use etui_contentline::lines::ContentLines;

use self::score::{ComparedContact, score_pair};
use super::{Card, PartialDate, Reader};
use crate::error::Result;
use crate::record::ReadState;
use crate::record::keys::{Key, Keys, PhoneParts};
use crate::search::query::record_reader::RecordsById;
use crate::types::RecordId;

/// The score from which on a pair is likely one person.
pub const LIKELY_DUPLICATE: u8 = 50;

/// Most contacts that share a key and are paired with each other.
const MAX_GROUP: usize = 16;
/// Shortest word of a name that makes a key together with the organisation.
const MIN_WORD: usize = 3;
/// Candidates that are read at once.
const BATCH: usize = 512;

/// Two contacts that are perhaps one person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DuplicatePair {
    /// The contact that was added first.
    pub first: RecordId,
    /// The other one.
    pub second: RecordId,
    /// How likely they are one person: 0 to 100. [`LIKELY_DUPLICATE`] is a sensible minimum.
    pub score: u8,
    /// Reasons of the score.
    pub reasons: Vec<DuplicateReason>,
}

/// Equal or contradicting values of two contacts.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DuplicateReason {
    /// The names have the same words, whatever their order, case and accents.
    SameName,
    /// One name has the words of the other, but for a typing mistake, initials or further words.
    SimilarName,
    /// The same phone number, in E.164 form if its country is known.
    SamePhone(String),
    /// The same e-mail address, folded.
    SameEmail(String),
    /// The same birthday, perhaps without a year in one of them.
    SameBirthday,
    /// The same organisation, with a similar name.
    SameOrganization,
    /// Different names. Lowers the score.
    DifferentName,
    /// Different birthdays. Lowers the score.
    DifferentBirthday,
}

impl Reader {
    /// Returns the pairs of contacts that are perhaps one person, with at least this score, the
    /// likeliest first. Contacts of other address books are not compared.
    ///
    /// The cost is a scan of the contacts' search keys, and reading the candidates; no more pairs are
    /// made than a few for each contact.
    ///
    /// ```
    /// # use etui::{Store, contacts::{Card, DuplicateReason, LIKELY_DUPLICATE}};
    /// # let dir = tempfile::tempdir()?;
    /// # let store = Store::open(dir.path().join("personal.etui"))?;
    /// let contacts = store.contacts()?;
    /// for (uid, name) in [("1", "Ada Lovelace"), ("2", "Lovelace\\, Ada"), ("3", "Alan Turing")] {
    ///     contacts.save(&Card::parse(format!("BEGIN:VCARD\nUID:{uid}\nFN:{name}\nEND:VCARD\n"))?)?;
    /// }
    /// let pairs = contacts.duplicates(LIKELY_DUPLICATE)?;
    /// assert_eq!(pairs.len(), 1);
    /// assert_eq!(pairs[0].reasons, [DuplicateReason::SameName]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Any read error.
    pub fn duplicates(&self, min_score: u8) -> Result<Vec<DuplicatePair>> {
        self.read_ordered(|r| r.duplicates(min_score))
    }
}

impl ReadState<'_, Card> {
    /// See [`Reader::duplicates`].
    pub(crate) fn duplicates(&self, min_score: u8) -> Result<Vec<DuplicatePair>> {
        self.explain_errors(|| {
            let mut candidates = Candidates::default();
            self.each_key(|id, keys| candidates.add_contact(id, keys))?;
            let crowded = candidates.make_pairs();
            if !crowded.is_empty() {
                let mut combined = CandidateKeys::default();
                self.each_key(|id, keys| {
                    if crowded.contains(&id) {
                        combined.add_combinations(id, keys);
                    }
                })?;
                candidates.pair_with_first(combined);
            }
            self.score_candidates(candidates, min_score)
        })
    }

    /// Visits the ids and search keys of all contacts.
    fn each_key(&self, mut visit: impl FnMut(i64, &[u8])) -> Result<()> {
        let mut statement = self.conn.prepare_cached(
            "SELECT id, keys FROM record NOT INDEXED \
             WHERE collection = ?1 AND removed_at IS NULL ORDER BY id",
        )?;
        let mut rows = statement.query([self.collection])?;
        while let Some(row) = rows.next()? {
            visit(row.get(0)?, row.get_ref(1)?.as_blob().unwrap_or_default());
        }
        Ok(())
    }

    fn score_candidates(
        &self,
        candidates: Candidates,
        min_score: u8,
    ) -> Result<Vec<DuplicatePair>> {
        let mut found = Vec::new();
        let mut read = RecordsById::new(self.conn, self.collection, "r.keys, r.text");
        for pairs in candidates.pairs.chunks(BATCH) {
            let ids: BTreeSet<i64> = pairs.iter().flat_map(|&(a, b)| [a, b]).collect();
            let ids: Vec<i64> = ids.into_iter().collect();
            let mut contacts: HashMap<i64, ComparedContact> = HashMap::with_capacity(ids.len());
            read.each_row(&ids, |row| {
                let keys = row.get_ref(1)?.as_blob().unwrap_or_default();
                let birthday = birthday_in(row.get_ref(2)?.as_blob().unwrap_or_default());
                contacts.insert(row.get(0)?, ComparedContact::new(keys, birthday));
                Ok(())
            })?;
            for (first, second) in pairs {
                let (Some(a), Some(b)) = (contacts.get(first), contacts.get(second)) else {
                    continue;
                };
                let (score, reasons) = score_pair(a, b, &candidates.sharers);
                if score >= min_score && !reasons.is_empty() {
                    found.push(DuplicatePair {
                        first: RecordId(*first),
                        second: RecordId(*second),
                        score,
                        reasons,
                    });
                }
            }
        }
        found.sort_by_key(|pair| (u8::MAX - pair.score, pair.first, pair.second));
        Ok(found)
    }
}

/// Returns the birthday of a card. Only a card that has one is parsed.
fn birthday_in(text: &[u8]) -> Option<PartialDate> {
    // Parsing a card takes longer than looking for the property.
    ContentLines::new(text).find(|line| line.name_is("BDAY"))?;
    Card::parse(text).ok()?.birthday()
}

/// A candidate key as it is compared: equal values have equal hashes, and pairs are checked again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct KeyHash(u64);

impl KeyHash {
    pub(super) fn of(value: &impl Hash) -> Self {
        let mut hasher = DefaultHasher::new();
        value.hash(&mut hasher);
        Self(hasher.finish())
    }

    pub(super) fn phone(digits: &[u8], extension: &[u8]) -> Self {
        Self::of(&("phone", digits, extension))
    }

    pub(super) fn email(address: &[u8]) -> Self {
        Self::of(&("email", address))
    }

    pub(super) fn name(words: &[&[u8]]) -> Self {
        Self::of(&("name", words))
    }
}

/// Keys with the contacts that have them.
#[derive(Debug, Default)]
struct CandidateKeys(Vec<(KeyHash, i64)>);

impl CandidateKeys {
    /// Adds the keys of a contact that shares each single key with many: its name with each of its
    /// other values.
    fn add_combinations(&mut self, id: i64, keys: &[u8]) {
        let name = name_words(keys);
        if name.is_empty() {
            return;
        }
        for (key, value) in Keys(keys) {
            if matches!(key, Key::Phone | Key::Email | Key::Organization) {
                let value = match PhoneParts::parse(value).filter(|_| key == Key::Phone) {
                    Some(phone) => phone.digits,
                    None => value,
                };
                self.0.push((KeyHash::of(&(key as u8, &name, value)), id));
            }
        }
    }

    /// Calls `visit` with the contacts of each key that several have, in the order of ids.
    fn each_group(mut self, mut visit: impl FnMut(KeyHash, &[(KeyHash, i64)])) {
        self.0.sort_unstable();
        self.0.dedup();
        for group in self.0.chunk_by(|a, b| a.0 == b.0) {
            if let [(key, _), _, ..] = group {
                visit(*key, group);
            }
        }
    }
}

/// The candidate pairs of an address book.
#[derive(Debug, Default)]
struct Candidates {
    keys: CandidateKeys,
    /// Pairs in order, each once.
    pairs: Vec<(i64, i64)>,
    /// The number of contacts of each key that more than two have.
    sharers: HashMap<KeyHash, usize>,
}

impl Candidates {
    fn add_contact(&mut self, id: i64, keys: &[u8]) {
        let name = name_words(keys);
        if !name.is_empty() {
            self.keys.0.push((KeyHash::name(&name), id));
        }
        for (key, value) in Keys(keys) {
            match key {
                Key::Phone => {
                    if let Some(phone) = PhoneParts::parse(value) {
                        let key = KeyHash::phone(phone.digits, phone.extension);
                        self.keys.0.push((key, id));
                    }
                }
                Key::Email => self.keys.0.push((KeyHash::email(value), id)),
                Key::Organization => {
                    let words = name.iter().filter(|word| word.len() >= MIN_WORD);
                    let keys = words.map(|word| (KeyHash::of(&("org", value, word)), id));
                    self.keys.0.extend(keys);
                }
                _ => {}
            }
        }
    }

    /// Makes pairs of the contacts that share a key; returns those of keys that too many share.
    fn make_pairs(&mut self) -> BTreeSet<i64> {
        let mut crowded = BTreeSet::new();
        let (pairs, sharers) = (&mut self.pairs, &mut self.sharers);
        std::mem::take(&mut self.keys).each_group(|key, group| {
            // Keys that two contacts have need no count: `score_pair` takes them for those of two.
            if group.len() > 2 {
                sharers.insert(key, group.len());
            }
            if group.len() > MAX_GROUP {
                crowded.extend(group.iter().map(|&(_, id)| id));
                return;
            }
            for (at, &(_, first)) in group.iter().enumerate() {
                let later = group.iter().skip(at + 1);
                pairs.extend(later.map(|&(_, second)| (first, second)));
            }
        });
        self.sort_pairs();
        crowded
    }

    /// Pairs the contacts of each key with the first of them.
    fn pair_with_first(&mut self, keys: CandidateKeys) {
        let pairs = &mut self.pairs;
        keys.each_group(|_, group| {
            if let Some((&(_, first), others)) = group.split_first() {
                pairs.extend(others.iter().map(|&(_, second)| (first, second)));
            }
        });
        self.sort_pairs();
    }

    fn sort_pairs(&mut self) {
        // Sorted, so that the pairs of a batch share contacts.
        self.pairs.sort_unstable();
        self.pairs.dedup();
    }
}

/// Returns the words of the display name, in order.
fn name_words(keys: &[u8]) -> Vec<&[u8]> {
    let display = Keys(keys).find(|(key, _)| *key == Key::Display);
    let value = display.map_or(&b""[..], |(_, value)| value);
    let words = value.split(|&byte| byte == b' ');
    let mut words: Vec<&[u8]> = words.filter(|word| !word.is_empty()).collect();
    words.sort_unstable();
    words
}
