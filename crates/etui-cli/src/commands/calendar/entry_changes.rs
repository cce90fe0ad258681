//! [`EntryChanges`]: changes of an entry, as the options of `etui calendar edit` and the fields of a form
//! name them.

use etui::RecordId;
use etui::calendar::CalendarObject;
use etui::calendar::recurrence::Instance;
use etui::calendar::time::{Duration, Timestamp};
use etui::calendar::zones::TimeZoneResolver;
use etui_program::{Failure, Result};

use super::property::{EntryAssignment, parse_assignment, parse_title};
use super::record::check_understood;
use super::reschedule::{CountFrom, NO_START, reschedule};
use super::single::single_of;
use super::time_args::{TimeArgs, notes_of_time, offset_before_start};
use crate::commands::records::property::{PropertyRemoval, parse_removal};
use etui_when::{LocalNow, parse_duration};

// Flattened into the arguments of `edit`.
#[derive(Debug, Default, clap::Args)]
pub struct EntryChanges {
    /// Title
    #[arg(long, value_name = "TEXT", value_parser = parse_title)]
    pub title: Option<String>,
    #[command(flatten)]
    pub time: TimeArgs,
    /// Location
    #[arg(long, value_name = "TEXT")]
    pub place: Option<String>,
    /// Description
    #[arg(long, value_name = "TEXT")]
    pub notes: Option<String>,
    /// Replace all categories
    #[arg(long, value_name = "NAME")]
    pub category: Vec<String>,
    /// Replace all alarms by one this long before the start: 10m, 1d, 0m, or none
    #[arg(long, value_name = "DURATION", value_parser = parse_alarm)]
    pub alarm: Vec<Option<Duration>>,
    /// Change or add a property
    #[arg(long, value_name = "PROP=VALUE", value_parser = parse_assignment)]
    pub set: Vec<EntryAssignment>,
    /// Remove all properties of this name, or those with this value
    #[arg(long, value_name = "PROP[=VALUE]", value_parser = parse_removal::<CalendarObject>)]
    pub remove: Vec<PropertyRemoval>,
}

/// A series of which one time was changed.
pub struct ChangedInstance {
    pub record: CalendarObject,
    /// The time that was changed, as an object of its own.
    pub one: CalendarObject,
    /// What was moved beside the start.
    pub notes: Vec<String>,
}

impl EntryChanges {
    pub fn is_empty(&self) -> bool {
        let texts = [&self.title, &self.place, &self.notes];
        texts.into_iter().all(Option::is_none)
            && self.time.is_empty()
            && self.category.is_empty()
            && self.alarm.is_empty()
            && self.set.is_empty()
            && self.remove.is_empty()
    }

    /// Applies the changes to the master component of a record. With a number, a property that is removed must
    /// be there. Returns notes of what was moved beside the start, and of the new time.
    pub fn apply(
        &self,
        record: &mut CalendarObject,
        number: Option<RecordId>,
        count_from: CountFrom,
        here: &LocalNow,
        zones: &TimeZoneResolver,
    ) -> Result<Vec<String>> {
        let at = record.master_index();
        for removal in &self.remove {
            let removed = record.remove(at, &removal.name, removal.value.as_deref(), zones)?;
            if let Some(number) = number {
                removal.check_removed::<CalendarObject>(number, removed)?;
            }
        }
        let title = self.title.iter().map(|text| ("SUMMARY", text));
        let place = self.place.iter().map(|text| ("LOCATION", text));
        let notes = self.notes.iter().map(|text| ("DESCRIPTION", text));
        for (name, text) in title.chain(place).chain(notes) {
            record.set(at, name, text, zones)?;
        }
        if !self.category.is_empty() {
            record.remove(at, "CATEGORIES", None, zones)?;
            record.set(at, "CATEGORIES", &self.category.join(","), zones)?;
        }
        for assignment in &self.set {
            assignment.apply(record, at, zones)?;
        }
        let mut notes = Vec::new();
        if !self.time.is_empty() {
            let start = record.master().start.clone();
            notes = reschedule(record, at, &self.time, count_from, here, zones)?;
            let had_times =
                start.is_some_and(|at| here.zone.to_local(at.at(&here.zone)) < here.now);
            if let (Some(number), true) = (number, self.time.start.is_some() && had_times)
                && count_from == CountFrom::Entry
                && record.master().recurs()
            {
                notes.push(format!(
                    "Its past times were moved, too; for the later ones only: etui calendar edit {number} \
                     --from DAY"
                ));
            }
            let main = record.master();
            if self.time.start.is_some() || self.time.due.is_some() {
                let changed = main.start.as_ref().or(main.due.as_ref());
                notes.extend(
                    changed
                        .into_iter()
                        .flat_map(|time| notes_of_time(time, here)),
                );
            }
            let at = record.master_index();
            let sequence = record.master().sequence.saturating_add(1);
            record.set(at, "SEQUENCE", &sequence.to_string(), zones)?;
        }
        if !self.alarm.is_empty() {
            let at = record.master_index();
            let main = record.master();
            let before: Vec<Duration> = self.alarm.iter().copied().flatten().collect();
            if before.len() != self.alarm.len() && self.alarm.len() > 1 {
                return Err(Failure::usage(
                    "--alarm none cannot be combined with another --alarm",
                ));
            }
            if !before.is_empty() && main.start.is_none() && main.due.is_none() {
                return Err(Failure::usage(NO_START));
            }
            let after = before.into_iter().map(offset_before_start);
            record.set_alarms(at, &after.collect::<Result<Vec<_>>>()?, zones)?;
        }
        Ok(notes)
    }

    /// Applies the changes to one time of a series.
    pub fn apply_to_instance(
        &self,
        before: &CalendarObject,
        instance: &Instance,
        number: Option<RecordId>,
        here: &LocalNow,
        zones: &TimeZoneResolver,
    ) -> Result<ChangedInstance> {
        let mut one = single_of(before, instance, zones)?;
        let notes = self.apply(&mut one, number, CountFrom::OneTime, here, zones)?;
        let mut record = before.clone();
        record.replace_components(&one, zones)?;
        finish_change(&mut record, before, zones)?;
        Ok(ChangedInstance { record, one, notes })
    }
}

/// Parses the value of `--alarm`.
fn parse_alarm(text: &str) -> std::result::Result<Option<Duration>, String> {
    match text {
        "none" => Ok(None),
        text => parse_duration(text)
            .map(Some)
            .map_err(|error| format!("{error}, or none")),
    }
}

/// Sets the time of the change, and checks that the text is still understood.
pub fn finish_change(
    record: &mut CalendarObject,
    before: &CalendarObject,
    zones: &TimeZoneResolver,
) -> Result<()> {
    let now = Timestamp::from(std::time::SystemTime::now()).to_string();
    record.set(record.master_index(), "LAST-MODIFIED", &now, zones)?;
    check_understood(record, Some(before))
}
