//! `etui export --palm`: contacts, events, to-dos or memos as a Palm database.

use std::io::Write;

use clap::ValueEnum;
use etui::calendar::CalendarObject;
use etui::calendar::time::Timestamp;
use etui::contacts::Card;
use etui_palm::{Added, DatabaseKind, DatabaseWriter, RecordError};
use etui_program::output::{OutputWriter, one_line, pluralize};
use etui_program::{App, Failure, Result};

use super::{ExportArgs, for_each_record, report_written, select_records};
use crate::commands::export_target::{ExportTarget, write_failure};
use crate::commands::import::PalmCharset;

/// A database on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PalmDatabase {
    /// Contacts: AddressDB
    Address,
    /// Events: DatebookDB
    Datebook,
    /// To-dos: ToDoDB
    Todo,
    /// Journal entries: MemoDB
    Memo,
}

impl PalmDatabase {
    fn kind(self) -> DatabaseKind {
        match self {
            Self::Address => DatabaseKind::Addresses,
            Self::Datebook => DatabaseKind::Appointments,
            Self::Todo => DatabaseKind::Tasks,
            Self::Memo => DatabaseKind::Memos,
        }
    }

    /// Returns true if its records are contacts.
    pub fn is_contacts(self) -> bool {
        self == Self::Address
    }

    /// Returns the noun for one of its records.
    fn noun(self) -> &'static str {
        match self {
            Self::Address => "contact",
            Self::Datebook => "appointment",
            Self::Todo => "to-do",
            Self::Memo => "memo",
        }
    }
}

/// Exports the selected records as a Palm database.
pub fn export_database(app: &mut App, args: &ExportArgs, database: PalmDatabase) -> Result<()> {
    let charset = args.palm_charset.unwrap_or(PalmCharset::Cp1252);
    let store = app.open_to_read()?;
    let snapshot = store.snapshot()?;
    let zone = app.out.time_zone();
    let mut writer = DatabaseWriter::new(database.kind(), charset.into());
    let mut refused = 0;
    let mut report =
        |out: &mut OutputWriter, title: String, added: std::result::Result<Added, RecordError>| {
            match added {
                Ok(added) if added.notes.is_empty() => {}
                Ok(added) => {
                    let notes = added.notes.join("; ");
                    out.write_error_line(&one_line(&format!("{title}: lost or changed: {notes}")));
                }
                Err(error) => {
                    refused += 1;
                    out.write_error_line(&one_line(&format!("{title}: left out: {error}")));
                }
            }
        };
    if database.is_contacts() {
        let all = select_records::<Card>(app, &snapshot, &args.filter)?;
        for_each_record(&all, |_, id, text| {
            let card = Card::parse(text)?;
            let added = writer.add_card(&card);
            report(
                &mut app.out,
                format!("{id} ({})", card.display_name()),
                added,
            );
            Ok(())
        })?;
    } else {
        app.calendar.clone_from(&args.calendar);
        let all = select_records::<CalendarObject>(app, &snapshot, &args.filter)?;
        for_each_record(&all, |calendar, id, _| {
            let stored = calendar.get(id)?;
            let record = stored
                .map(|stored| calendar.record(&stored.uid))
                .transpose()?;
            let Some((_, object)) = record.flatten() else {
                return Ok(());
            };
            let added = writer.add_object(&object, &zone);
            let title = object.master().summary.clone().unwrap_or_default();
            report(&mut app.out, format!("{id} ({title})"), added);
            Ok(())
        })?;
    }
    let path = args.path();
    let written = writer.len() as u64;
    let file = writer.finish(palm_time(&zone));
    let mut target = ExportTarget::open(&mut app.out, path, args.force)?;
    target
        .write_all(&file)
        .map_err(|e| write_failure(path, e))?;
    target.commit()?;
    report_written(app, path, &pluralize(written, database.noun()))?;
    match refused {
        0 => Ok(()),
        1 => Err(Failure::Refused(
            "1 record was left out; the rest was written".to_owned(),
        )),
        n => Err(Failure::Refused(format!(
            "{n} records were left out; the rest was written"
        ))),
    }
}

/// Returns the local time in seconds since 1904, as a Palm has it.
fn palm_time(zone: &etui::calendar::time::TimeZone) -> u32 {
    const FROM_1904_TO_1970: i64 = 2_082_844_800;
    let now = zone.to_local(Timestamp::from(std::time::SystemTime::now()));
    u32::try_from(now.seconds() + FROM_1904_TO_1970).unwrap_or(u32::MAX)
}
