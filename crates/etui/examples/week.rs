//! A calendar's week: events and a series, the occurrences of a week, the next of a kind, free/busy.
//!
//! `cargo run --example week`

use std::error::Error;
use std::path::Path;

use etui::Store;
use etui::calendar::Draft;
use etui::calendar::time::{CalendarTime, Date, TimeZone};
use etui::calendar::zones::TimeZoneResolver;

fn main() -> Result<(), Box<dyn Error>> {
    let dir = tempfile::tempdir()?;
    for line in run(&dir.path().join("personal.etui"))? {
        println!("{line}");
    }
    Ok(())
}

/// Returns the lines to print.
fn run(path: &Path) -> Result<Vec<String>, Box<dyn Error>> {
    let mut lines = Vec::new();
    let store = Store::open(path)?;
    let calendar = store.calendar()?;

    let here = TimeZone::named("Europe/Berlin").ok_or("no such zone")?;
    let monday = Date::new(2026, 11, 23).ok_or("no such day")?;
    let at = |days, hour| {
        let time = monday
            .plus_days(days)
            .at(hour, 0, 0)
            .ok_or("no such time")?;
        Ok::<_, Box<dyn Error>>(CalendarTime::Zoned(time, here.clone()))
    };
    let zones = TimeZoneResolver::new();
    calendar.save_many(&[
        Draft::event("Jour fixe")
            .start(at(0, 9)?)
            .duration("PT45M".parse()?)
            .rule("FREQ=WEEKLY;BYDAY=MO,TH".parse()?)
            .make(&zones)?,
        Draft::event("Dentist")
            .start(at(2, 16)?)
            .duration("PT30M".parse()?)
            .make(&zones)?,
        Draft::event("Fair")
            .start(CalendarTime::Date(monday.plus_days(5)))
            .make(&zones)?,
    ])?;

    // The occurrences of one week, as this time zone sees it.
    let week = here.to_utc(monday.midnight())..here.to_utc(monday.plus_days(7).midnight());
    for one in calendar.between(week.clone(), &here)? {
        let start = here.to_local(one.during.start);
        let (hour, minute, _) = start.hms();
        lines.push(format!(
            "{} {hour:02}:{minute:02} {}",
            start.date(),
            one.title
        ));
    }

    // "When is my next dentist?"
    if let Some(next) = calendar.next_occurrence(&"dentist".parse()?, week.start, &here)? {
        lines.push(format!(
            "next {}: {}",
            next.title,
            here.to_local(next.during.start).date()
        ));
    }

    // For others: busy or not.
    lines.push(format!(
        "{} busy periods",
        calendar.free_busy(week, &here)?.len()
    ));
    store.close()?;
    Ok(lines)
}

#[test]
fn prints_what_it_promises() {
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(
        run(&dir.path().join("personal.etui")).unwrap(),
        [
            "20261123 09:00 Jour fixe",
            "20261125 16:00 Dentist",
            "20261126 09:00 Jour fixe",
            "20261128 00:00 Fair",
            "next Dentist: 20261125",
            "4 busy periods",
        ]
    );
}
