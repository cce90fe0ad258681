//! [`DatabaseWriter`]: cards and calendar objects into a Palm file.

use std::collections::HashSet;

use etui_ical::CalendarObject;
use etui_ical::time::TimeZone;
use etui_vcard::Card;

use crate::address::CUSTOM_FIELDS;
use crate::app_info::{AppInfo, fit_name};
use crate::appointment::Appointment;
use crate::code_page::CodePage;
use crate::contact::vcard_to_address;
use crate::database::{Database, DatabaseRecord, MAX_RECORDS};
use crate::error::RecordError;
use crate::event::object_to_appointments;
use crate::kind::{DATA, DatabaseKind};
use crate::outgoing::Outgoing;
use crate::task::Task;
use crate::text::Encoded;
use crate::todo::{object_to_memos, object_to_tasks};
use crate::uid::unique_id;

/// Collects the records of a new database.
///
/// ```
/// use etui_palm::{CodePage, DatabaseKind, DatabaseWriter, read_database};
/// use etui_vcard::Card;
///
/// let card = Card::parse("BEGIN:VCARD\nVERSION:4.0\nFN:Ada Lovelace\nBDAY:18151210\nEND:VCARD\n")?;
/// let mut writer = DatabaseWriter::new(DatabaseKind::Addresses, CodePage::Windows1252);
/// let added = writer.add_card(&card)?;
/// assert_eq!(added.notes, ["BDAY: 18151210"]);
/// let read = read_database(&writer.finish(0), None)?;
/// assert_eq!(read.records, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct DatabaseWriter {
    kind: DatabaseKind,
    page: CodePage,
    info: AppInfo,
    has_label: [bool; CUSTOM_FIELDS],
    records: Vec<(SortKey, DatabaseRecord)>,
    used_ids: HashSet<u32>,
}

/// Sort order of the records of a Palm application.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct SortKey {
    rank: i64,
    texts: Vec<String>,
}

impl SortKey {
    /// Sorts by texts without regard to case.
    fn of_texts<'a>(texts: impl IntoIterator<Item = &'a str>) -> Self {
        let texts = texts.into_iter().map(str::to_lowercase);
        Self {
            rank: 0,
            texts: texts.collect(),
        }
    }

    /// Sorts repeating appointments first, the others by their start; whole days before times.
    fn of_appointment(appointment: &Appointment) -> Self {
        let minutes = appointment.times.map_or(-1, |(start, _)| {
            i64::from(start.hour) * 60 + i64::from(start.minute)
        });
        let start = i64::from(appointment.date.days()) * 24 * 60 + minutes;
        Self {
            rank: if appointment.repeat.is_some() {
                i64::MIN
            } else {
                start
            },
            texts: Vec::new(),
        }
    }

    /// Sorts by priority, then by due date; those without one are last.
    fn of_task(task: &Task) -> Self {
        const DAYS: i64 = 1 << 20;
        let due = task.due.map_or(DAYS - 1, |due| due.days().into());
        Self {
            rank: i64::from(task.priority) * DAYS + due,
            texts: Vec::new(),
        }
    }
}

/// The result of adding a card or an object.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Added {
    /// Number of records that were written for it. None if it is of another kind.
    pub records: usize,
    /// What a Palm has no place for, and what is written in another form: an item for each.
    pub notes: Vec<String>,
}

impl DatabaseWriter {
    /// Creates an empty database.
    pub fn new(kind: DatabaseKind, page: CodePage) -> Self {
        Self {
            kind,
            page,
            info: AppInfo::default(),
            has_label: [false; CUSTOM_FIELDS],
            records: Vec::new(),
            used_ids: HashSet::new(),
        }
    }

    /// Returns the number of records.
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// Returns true if there is no record.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// Adds a card to AddressDB; another database takes none.
    ///
    /// # Errors
    /// [`RecordError::Full`].
    pub fn add_card(&mut self, card: &Card) -> Result<Added, RecordError> {
        let mut added = Added::default();
        if self.kind != DatabaseKind::Addresses {
            return Ok(added);
        }
        let outgoing = vcard_to_address(card);
        for (at, label) in outgoing.labels.iter().enumerate() {
            let is_used = outgoing
                .contact
                .record
                .custom
                .get(at)
                .is_some_and(|text| !text.is_empty());
            if is_used {
                self.add_label(at, label, &mut added.notes);
            }
        }
        let address = &outgoing.contact.record;
        let names = [&address.last, &address.first, &address.company];
        let names = names.into_iter().filter(|name| !name.is_empty());
        let key = SortKey::of_texts(names.map(String::as_str));
        let encoded = address.encode(self.page);
        self.add(outgoing.contact, encoded, key, &mut added)?;
        Ok(added)
    }

    /// Adds the events of an object to DatebookDB, its to-dos to ToDoDB or its journal entries to
    /// MemoDB, with the local times of `zone`.
    ///
    /// # Errors
    /// [`RecordError`]: none of its components can be a record, or the database is full. If only
    /// some cannot be records, the others are added and the reasons are among the notes.
    pub fn add_object(
        &mut self,
        object: &CalendarObject,
        zone: &TimeZone,
    ) -> Result<Added, RecordError> {
        let mut added = Added::default();
        let mut refused = Vec::new();
        match self.kind {
            DatabaseKind::Addresses => {}
            DatabaseKind::Appointments => {
                for outgoing in object_to_appointments(object, zone) {
                    let encoded = outgoing.and_then(|outgoing| {
                        let encoded = outgoing.record.encode(self.page)?;
                        Ok((outgoing, encoded))
                    });
                    match encoded {
                        Ok((outgoing, encoded)) => {
                            let key = SortKey::of_appointment(&outgoing.record);
                            self.add(outgoing, encoded, key, &mut added)?;
                        }
                        Err(error) => refused.push(error),
                    }
                }
            }
            DatabaseKind::Tasks => {
                for outgoing in object_to_tasks(object, zone) {
                    let encoded = outgoing.record.encode(self.page);
                    let key = SortKey::of_task(&outgoing.record);
                    self.add(outgoing, encoded, key, &mut added)?;
                }
            }
            DatabaseKind::Memos => {
                for outgoing in object_to_memos(object) {
                    let encoded = outgoing.record.encode(self.page);
                    let key = SortKey::of_texts([outgoing.record.title()]);
                    self.add(outgoing, encoded, key, &mut added)?;
                }
            }
        }
        let mut refused = refused.into_iter();
        if added.records == 0
            && let Some(error) = refused.next()
        {
            return Err(error);
        }
        added
            .notes
            .extend(refused.map(|error| format!("left out: {error}")));
        Ok(added)
    }

    fn add<T>(
        &mut self,
        outgoing: Outgoing<T>,
        encoded: Encoded,
        key: SortKey,
        added: &mut Added,
    ) -> Result<(), RecordError> {
        if self.records.len() >= MAX_RECORDS {
            return Err(RecordError::Full);
        }
        added.notes.extend(outgoing.notes);
        added.notes.extend(encoded.notes);
        let category = outgoing
            .category
            .map_or(0, |name| self.add_category(&name, &mut added.notes));
        let secret = if outgoing.is_secret {
            DatabaseRecord::SECRET
        } else {
            0
        };
        let kept_id = outgoing.uid.and_then(|uid| unique_id(self.kind, &uid));
        let kept_id = kept_id.filter(|id| self.used_ids.insert(*id));
        let record = DatabaseRecord {
            attributes: secret | category,
            unique_id: kept_id.unwrap_or(0),
            data: encoded.data,
        };
        self.records.push((key, record));
        added.records += 1;
        Ok(())
    }

    /// Returns the index of a category.
    fn add_category(&mut self, name: &str, notes: &mut Vec<String>) -> u8 {
        let short = fit_name(name, self.page);
        let index = match short.is_empty() {
            true => None,
            false => self.info.add_category(&short),
        };
        match index {
            None => notes.push(format!("CATEGORIES: {name} (a Palm has 15 categories)")),
            Some(_) if short != name => {
                notes.push(format!("CATEGORIES: {name} (written as {short})"));
            }
            Some(_) => {}
        }
        index
            .and_then(|index| u8::try_from(index).ok())
            .unwrap_or(0)
    }

    /// Sets the label of a custom field; the first card with the field decides.
    fn add_label(&mut self, at: usize, label: &str, notes: &mut Vec<String>) {
        let short = fit_name(label, self.page);
        let places = (
            self.has_label.get_mut(at),
            self.info.custom_labels.get_mut(at),
        );
        let (Some(has_label), Some(place)) = places else {
            return;
        };
        if !*has_label {
            *has_label = true;
            place.clone_from(&short);
        }
        if *place != label {
            let number = at + 1;
            let written = match place.is_empty() {
                true => format!("Custom {number}"),
                false => place.clone(),
            };
            notes.push(format!(
                "label {label} of custom field {number} (written as {written})"
            ));
        }
    }

    /// Returns the file. `now` is the time of creation, in seconds since 1904-01-01 of local time.
    pub fn finish(mut self, now: u32) -> Vec<u8> {
        self.records.sort_by(|(a, _), (b, _)| a.cmp(b));
        let mut database = Database::new(self.kind.name(), DATA, self.kind.creator());
        (database.created, database.modified) = (now, now);
        let mut next = 1;
        for (_, mut record) in self.records {
            if record.unique_id == 0 {
                while !self.used_ids.insert(next) {
                    next += 1;
                }
                record.unique_id = next;
            }
            database.records.push(record);
        }
        let highest = self.used_ids.iter().max().copied().unwrap_or(0);
        database.unique_id_seed = highest.saturating_add(1) & 0x00FF_FFFF;
        database.app_info = Some(self.info.encode(self.kind, self.page));
        database.to_bytes()
    }
}
