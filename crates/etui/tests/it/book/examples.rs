// Written by tests/it/book.rs from docs/src; compiled, not run.
#![allow(dead_code, unused, clippy::all)]

use etui::Store;
use etui::contacts::Card;

fn stop_was_pressed() -> bool {
    false
}

fn examples() -> Result<(), Box<dyn std::error::Error>> {
let store = Store::open("personal.etui")?;
let cards: Vec<Card> = Vec::new();

{ // library.md
let contacts = store.contacts()?;
use etui::{Durability, Options, Store};

let store = Store::open("personal.etui")?;             // created if it does not exist

let mut options = Options::default();                  // more fields may come: no struct literal
options.durability = Durability::Deferred;
options.create = false;                                // Error::NoStore if it does not exist
let store = Store::open_with("personal.etui", &options)?;


{ // library.md
let contacts = store.contacts()?;
use etui::contacts::{Card, NewProperty};

let card = Card::parse(std::fs::read("ada.vcf")?)?;    // exactly one vCard
let saved = contacts.save(&card)?;                     // added, changed or unchanged
println!("{} {} {:?}", saved.id, saved.etag, saved.outcome);

let mut card = Card::new("Bo Example")?;               // vCard 4.0 with a UID of its own
card.set("N", "Example;Bo")?;
card.add(&NewProperty {
    name: "EMAIL".into(),
    types: vec!["work".into()],
    value: "bo@example.org".into(),
})?;
contacts.save(&card)?;


{ // library.md
let contacts = store.contacts()?;
contacts.save_many(&cards)?;                           // all of them or, on an error, none


{ // library.md
let contacts = store.contacts()?;
use etui::{Condition, Error};

let Some(contact) = contacts.get("bo-1")? else { return Ok(()) };
let mut card = contact.card()?;
card.set("TEL", "+49 30 23125 001")?;
match contacts.save((&card, Condition::IfMatch(contact.etag))) {
    Ok(_) => {}
    Err(Error::Conflict { .. }) => { /* read it again, apply the change again */ }
    Err(other) => return Err(other.into()),
}


{ // library.md
let contacts = store.contacts()?;
let saved = contacts.save_each(cards.iter().map(|card| (card, Condition::IfAbsent)))?;
for (card, result) in cards.iter().zip(saved) {
    if let Err(conflict) = result {
        eprintln!("{}: {conflict}", card.display_name());
    }
}


{ // library.md
let contacts = store.contacts()?;
let one = contacts.get("bo-1")?;                       // Option<Contact>
let some = contacts.get_many(&["bo-1", "ada-1"])?;     // in the order asked, None where absent
let by_number = contacts.get(etui::RecordId(17))?;

let all = contacts.all()?;                             // every vCard in one buffer
for (id, vcard) in all.iter() {
    println!("{id}: {} bytes", vcard.len());
}


{ // library.md
let contacts = store.contacts()?;
use etui::contacts::{Column, Paging, Query};

let count = contacts.count()?;                         // the length of the scroll bar
for letter in contacts.letters()? {                    // where A, B, C, ... begin
    println!("{} {}", letter.label, letter.position);
}
let screen = contacts.query(&Query::all().offset(9_000).limit(50))?;    // the page at a position
for row in screen.iter() {
    println!("{:>6}  {}  {}", row.id(), row.name(), row.get(Column::Phone));
}
let at = contacts.position(screen.ids()[0])?;          // Some(9000): the position of a contact


{ // library.md
let contacts = store.contacts()?;
use etui::contacts::{Paging, ThumbnailSize};

let page = contacts.list(Paging::first(50))?;
let ids: Vec<_> = page.iter().map(|entry| entry.id).collect();
contacts.each_photo(ThumbnailSize::Small, &ids, |jpeg| {
    println!("{} bytes", jpeg.map_or(0, <[u8]>::len));  // None: no photo in the card
})?;


{ // library.md
let contacts = store.contacts()?;
use etui::contacts::{Column, Query, SortOrder};

let query = Query::new("org:verlag -email:*".parse()?)
    .sort(SortOrder::AddedReversed)                         // the most recently added first
    .columns(Column::Name | Column::Phones)
    .limit(50);
let page = contacts.query(&query)?;
for row in page.iter() {
    let phones: Vec<&str> = row.values(Column::Phones).collect();
    println!("{} {phones:?}", row.name());
}

// The next page, from the end of this one, unaffected by saves in between.
if let Some(next) = page.next() {
    let page = contacts.query(&query.after(next.clone()))?;
}


{ // library.md
let contacts = store.contacts()?;
let plan = contacts.explain(&Query::new("name:tur*".parse()?))?;
println!("{plan}");                                    // access path, candidates, rechecks


{ // library.md
let contacts = store.contacts()?;
use etui::contacts::{Field, Filter, MatchMode};
use etui::text::phone::MatchType;

let typed: Filter = "name:mül* -email:*@example.org".parse()?;   // user input
let found = contacts.find(&typed)?;

let built = Filter::text(Field::Name, MatchMode::Prefix, "mül")
    .and(Filter::text(Field::Email, MatchMode::Suffix, "@example.org").not());
assert_eq!(typed, built);

let caller = contacts.find(&Filter::phone("+49 30 23125 001", MatchType::Exact))?;
let page = contacts.find_page(&typed, Paging::first(50))?;


{ // library.md
let contacts = store.contacts()?;
let filter: Filter = "mullr".parse()?;
let mut found = contacts.query(&Query::ranked(filter.clone()))?;
if found.is_empty() && let Some(corrected) = contacts.correct(&filter)? {
    println!("nothing for mullr; results for {corrected}");
    found = contacts.query(&Query::ranked(corrected.filter))?;
}


{ // library.md
let contacts = store.contacts()?;
use std::ops::ControlFlow;
use etui::import::ImportEvent;

let file = std::fs::File::open("contacts.vcf")?;
let report = contacts.import(file, &mut |event| {
    match event {
        ImportEvent::Progress { bytes, records } => eprintln!("{bytes} bytes, {records} contacts"),
        ImportEvent::Indexing => eprintln!("all read; writing lists and index"),
        ImportEvent::Saved { records } => eprintln!("{records} contacts are saved"),
        ImportEvent::Refused(what) | ImportEvent::Warned(what) => {
            eprintln!("line {}: {}", what.line, what.reason);
        }
    }
    if stop_was_pressed() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
})?;
println!("{} added, {} changed, {} refused", report.added, report.changed, report.refused);


{ // library.md
let contacts = store.contacts()?;
use etui::calendar::time::{Date, CalendarTime, TimeZone};
use etui::calendar::zones::TimeZoneResolver;
use etui::calendar::{CalendarObject, Draft, Query};

let calendar = store.calendar()?;                      // every store has one
let work = store.collections::<CalendarObject>().create("Work")?;    // more: collection, collections

let berlin = TimeZone::named("Europe/Berlin").ok_or("no such zone")?;
let monday = Date::new(2026, 11, 23).and_then(|day| day.at(9, 0, 0)).ok_or("no such time")?;
let record = Draft::event("Jour fixe")
    .start(CalendarTime::Zoned(monday, berlin))
    .duration("PT45M".parse()?)
    .rule("FREQ=WEEKLY;BYDAY=MO,TH".parse()?)
    .location("Room 4")
    .alarm("-PT10M".parse()?)
    .make(&TimeZoneResolver::new())?;
let saved = calendar.save(&record)?;

for entry in calendar.find(&"title:jour* kind:event".parse()?)? {
    println!("{} {:?} {}", entry.id, entry.summary.start, entry.summary.title);
}
let todos = calendar.query(&Query::new("kind:todo".parse()?).limit(50))?;


{ // library.md
let contacts = store.contacts()?;
use etui::calendar::time::Timestamp;

let here = TimeZone::system();
let first = Date::new(2026, 11, 23).ok_or("no such day")?;
let week = here.to_utc(first.midnight())..here.to_utc(first.plus_days(7).midnight());
for one in calendar.between(week.clone(), &here)? {    // by start; includes earlier events that last into it
    println!("{} {}", here.to_local(one.during.start), one.title);
}
for busy in calendar.free_busy(week, &here)? {         // merged busy periods
    println!("{} to {}", busy.during.start, busy.during.end);
}
let now = Timestamp::from(std::time::SystemTime::now());
for alarm in calendar.alarms(now, 10, &here)?.alarms { // the next ten
    println!("{} {}", alarm.at, alarm.title);
}


{ // library.md
let contacts = store.contacts()?;
if let Some((stored, mut record)) = calendar.record("1")? {
    let zones = calendar.zones(stored.id)?;
    let at = record.master_index();                         // the master component
    record.set(at, "LOCATION", "Room 5", &zones)?;
    calendar.save((&record, Condition::IfMatch(stored.etag)))?;
}


{ // library.md
let contacts = store.contacts()?;
if let Some((stored, mut record)) = calendar.record("1")? {
    let zones = calendar.zones(stored.id)?;
    let at = record.instance_id("20261203T090000").ok_or("no time")?;   // a RECURRENCE-ID
    let one = record.instance(&at, &zones)?;               // that instance as an object of one component
    let parts = record.split_at(&at, None, &zones)?;       // parts.before, parts.after with a UID of its own
    record.exclude_instance(&at, &zones)?;                 // an EXDATE
    record.end_before(&at, &zones)?;                       // COUNT or UNTIL; later dates and overrides go
}


{ // library.md
let contacts = store.contacts()?;
use etui::calendar::CalendarObject;

calendar.add_zone(&std::fs::read("lab-time.ics")?)?;   // one VTIMEZONE
let record = CalendarObject::parse(std::fs::read("event.ics")?, &calendar.zone_resolver()?)?;


{ // library.md
let contacts = store.contacts()?;
let file = std::fs::File::open("calendar.ics")?;
let report = calendar.import(file, &mut |_| ControlFlow::Continue(()))?;
println!("{} added, {} refused", report.added, report.refused);
calendar.export(&mut std::fs::File::create("copy.ics")?, None)?;


{ // library.md
let contacts = store.contacts()?;
use etui::ChangeKind;
use etui::contacts::{Paging, ViewChanges};

let mut view = contacts.view(&"name:ann*".parse()?)?;

// The first screen now, the rest later: both consistent with the changes.
let first = view.load(Paging::first(50))?;
let rest = view.load(Paging { offset: 50, limit: 1_000_000 })?;
// Changes to the first 50 meanwhile are in `rest.changes`.

while let Some(changes) = view.wait(None)? {
    match changes {
        ViewChanges::Since(changes) => for change in changes {
            match change.kind {
                ChangeKind::Added => println!("+ {}", change.summary.name),
                ChangeKind::Changed => println!("~ {} {:?}", change.summary.name, change.fields),
                ChangeKind::Removed => println!("- {}", change.uid),
            }
        },
        ViewChanges::Reset => drop(view.load(Paging::ALL)?),     // show everything again
    }
}


{ // library.md
let contacts = store.contacts()?;
let snapshot = store.snapshot()?;
let contacts = snapshot.contacts()?;                   // a Reader: the same reading methods
let count = contacts.count()?;
contacts.for_each(|id, vcard| {                        // one card in memory at a time
    println!("{id}: {} bytes", vcard.len());
    Ok(())
})?;


{ // library.md
let contacts = store.contacts()?;
use etui::{ChangeKind, Changes, SyncToken};

let token = store.token()?;
let text = token.to_string();                          // store it with your program's data

// ... later, perhaps in another process ...
let token: SyncToken = text.parse()?;
let snapshot = store.snapshot()?;
match snapshot.contacts()?.changes_since(&token)? {
    Changes::Since(changes) => {
        for change in changes {
            match change.kind {
                ChangeKind::Added | ChangeKind::Changed => println!("+ {}", change.uid),
                ChangeKind::Removed => println!("- {}", change.uid),
            }
        }
    }
    Changes::Resynchronise => { /* read all */ }
}


{ // library.md
let contacts = store.contacts()?;
let contacts = store.contacts()?;                      // the default address book
let work = store.collections::<Card>().create("Work")?;
let work = store.collection::<Card>("Work")?;          // Error::NoCollection lists the existing ones
let calendar = store.calendar()?;                      // the default calendar; see Calendars below

store.collections::<Card>().rename("Work", "Job")?;           // handles, views and tokens stay valid
store.collections::<Card>().remove("Job")?;                   // with its contacts, in one transaction
store.collections::<Card>().restore("Job")?;                  // and back, within 30 days

let removed = store.collections::<Card>().removed()?;          // the latest first; several may have one name
if let Some(first) = removed.last() {                  // its records, removed, kept_until
    store.collections::<Card>().restore_as(first, "Old job")?;  // this one, under another name
}


{ // library.md
let contacts = store.contacts()?;
use etui::store::{CollectionKey, NewCollection};

let new = NewCollection { external_id: Some("carddav-17"), ..NewCollection::from("Work") };
let work = store.collections::<Card>().create(new)?;
let work = store.collection::<Card>(CollectionKey::ExternalId("carddav-17"))?;
store.contacts()?.set_external_id(Some("carddav-1"))?; // None clears it
let id = store.contacts()?.external_id()?;


{ // library.md
let contacts = store.contacts()?;
let versions = contacts.history("ada")?;
for version in &versions {
    println!("{} {:?} {:?}", version.number, version.at, version.kind);
}
if let Some(before) = versions.get(1) {
    let contact = contacts.read_version(before)?;                // None: no longer kept
    contacts.bring_back(before)?;                                // `restore` undoes it
}


{ // library.md
let contacts = store.contacts()?;
use etui::contacts::{Contacts, View};

struct App {
    view: View,
    contacts: Contacts,                       // Media and Calendar alike
    store: Store,
}

let contacts = store.contacts()?;
let view = contacts.view(&"*".parse()?)?;
let follower = std::thread::spawn(move || { let mut view = view; view.wait(None).map(|_| ()) });


{ // library.md
let contacts = store.contacts()?;
use etui::store::SqlValue;

let kind = SqlValue::from("contacts");
let found = store.sql("SELECT uid, length(text) FROM item WHERE kind = ?1", &[kind])?;
for row in &found.rows {
    println!("{row:?}");
}


{ // library.md
let contacts = store.contacts()?;
use std::path::Path;

store.backup(Path::new("backup.etui"), &mut |done, all| eprintln!("{done} of {all} pages"))?;
Store::restore(Path::new("backup.etui"), Path::new("again.etui"), &mut |_, _| {})?;


{ // library.md
let contacts = store.contacts()?;
use etui::datebook::DateBook;

let mut book = DateBook::open(&calendar);
for index in 0..book.count()? {
    let taken = book.take(index)?;                     // Error::CheckedOut: it is taken already
    let mut record = taken.record()?;
    if record.master().location.as_deref() != Some("Room 4") {
        drop(taken);                                   // unchanged; costs nothing
        continue;
    }
    record.set(record.master_index(), "LOCATION", "Room 5", &calendar.zones(taken.stored().id)?)?;
    book.release_dirty(taken, record)?;                // visible in this date book at once
}
let synced = book.close()?;                            // durable and visible to all, in one commit
println!("{} saved, {} conflicts", synced.saved, synced.conflicts.len());


{ // library.md
let contacts = store.contacts()?;
use etui::resource::{ResourceChanges, ResourceCondition};

let calendar = store.calendar()?;
let (bytes, edited) = (std::fs::read("meeting.ics")?, std::fs::read("edited.ics")?);
let saved = calendar.put_resource("meeting.ics", &bytes, &ResourceCondition::IfAbsent)?;
let is_tag = ResourceCondition::IfMatch(vec![saved.tag]);        // its strong ETag
calendar.put_resource("meeting.ics", &edited, &is_tag)?;
let found = calendar.resource("meeting.ics")?;                   // the bytes as they were put

let snapshot = store.snapshot()?;
let reader = snapshot.calendar()?;
let mut names = Vec::new();
reader.for_each_resource(|entry| {                               // name, tag, record id
    names.push(entry.name.into_owned());
    Ok(())
})?;
reader.resources(&names, |index, found| { /* one at a time */ Ok(()) })?;
let token = reader.collection_token()?;

// ... later
match calendar.resource_changes(Some(&token), Some(100))? {
    ResourceChanges::Since { changes, token, is_complete } => { /* apply, keep the token, go on */ }
    ResourceChanges::Resynchronise => { /* list all */ }
}

}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}
Ok(())
}
