//! Prints the instances of the next seven days of an iCalendar file.
//!
//! `cargo run -p etui-ical --example agenda -- FILE.ics`

use std::error::Error;
use std::fs::File;
use std::time::SystemTime;

use etui_ical::CalendarObject;
use etui_ical::ics::{ComponentGrouper, ObjectPiece, ObjectReader};
use etui_ical::time::{TimeZone, Timestamp};
use etui_ical::zones::{TimeZoneDefinition, TimeZoneResolver};

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("usage: agenda FILE.ics")?;
    let (mut zones, mut grouper) = (TimeZoneResolver::new(), ComponentGrouper::new());
    let mut groups = Vec::new();
    for piece in ObjectReader::new(File::open(path)?) {
        match piece? {
            ObjectPiece::Text(_) => {}
            ObjectPiece::Zone(zone) => zones.define(&TimeZoneDefinition::parse(&zone.bytes)),
            ObjectPiece::Component(component) => groups.extend(grouper.push(component).0),
            ObjectPiece::Refused(rejected) => {
                eprintln!("line {}: {}", rejected.line, rejected.reason);
            }
        }
    }
    groups.extend(grouper.finish());

    let here = TimeZone::system();
    let now = Timestamp::from(SystemTime::now());
    let week = now..now.plus_seconds(7 * 86_400);
    let mut agenda = Vec::new();
    for group in groups {
        let object = CalendarObject::parse(group.text(), &zones)?;
        let title = object.master().summary.clone().unwrap_or_default();
        for instance in object.recurrence_set().between(week.clone(), &here) {
            agenda.push((instance.during.start, title.clone()));
        }
    }
    agenda.sort();
    for (start, title) in agenda {
        println!("{}  {title}", here.to_local(start));
    }
    Ok(())
}
