//! `etui demo`: typical operations on generated data, with their times.

mod media;

use std::hint::black_box;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use etui::calendar::time::{Date, TimeZone};
use etui::calendar::{Calendar, Occurrence};
use etui::contacts::{Card, Contacts, Filter, ListEntry, Paging};
use etui::import::{ImportEvent, ImportReport};
use etui::record::RecordKind;
use etui::{CollectionKind, Condition, Error, Store};
use etui_program::output::{
    ProgressReporter, Style, escape_text, format_count, format_duration, format_size, object,
    one_line, pluralize,
};
use etui_program::{App, Failure, Result, create_parent_dir};
use etui_testkit::calendars::{self, Span};
use etui_testkit::{fixtures, people};

use super::import::{add_report, summarize_report};

const EXAMPLES: &str = "\
Examples:
  etui demo
  etui demo --people 100000
  etui demo --keep demo.etui                 then: etui --store demo.etui contacts list

The demo removes its store unless --keep is given. Your own store is not touched.";

/// Try etui on generated contacts, a calendar and music
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct DemoArgs {
    /// Keep the store at this path
    #[arg(long, value_name = "PATH")]
    keep: Option<PathBuf>,
    /// Number of contacts to generate
    #[arg(long, value_name = "N", default_value_t = 12_800,
          value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    people: u64,
}

const NEXT_STEPS: &str = "
Next, your own data:
  etui import contacts.vcf      an export of your phone or address book
  etui import calendar.ics      an export of your calendar
  etui contacts find ann
  etui calendar agenda week
  etui media scan ~/Music       then: etui media albums
  etui contacts --help";

/// Seed of the generator.
const SEED: u64 = 7;
/// Index of the person that the demo searches and changes, or an earlier one.
const SAMPLE_PERSON: u64 = 4_640;
/// 6 June 2022, in days since 1970-01-01.
const SAMPLE_MONDAY: i64 = 19_149;
/// Runs of a fast read; the median is shown.
const READ_RUNS: usize = 9;

/// Generated people per calendar entry.
const PEOPLE_PER_ENTRY: u64 = 4;

/// Narrower terminals get results on separate lines.
const MIN_ONE_LINE_WIDTH: usize = 90;

pub fn run_demo(app: &mut App, args: &DemoArgs) -> Result<()> {
    let temporary = tempfile::Builder::new()
        .prefix("etui-demo-")
        .tempdir()
        .map_err(|e| Failure::named_io("a temporary directory", e))?;
    let path = match &args.keep {
        Some(path) if path.exists() => {
            return Err(Error::Exists(path.clone()).into());
        }
        Some(path) => {
            create_parent_dir(path)?;
            path.clone()
        }
        None => temporary.path().join("demo.etui"),
    };
    remove_when_interrupted(temporary.path().to_owned())?;
    let mut options = app.store_options();
    options.create = true;
    // A fixed locale, so that the output is the same everywhere.
    options.locale = Some("en".to_owned());
    options.region = Some("DE".to_owned());
    options.merge_substrings = false;
    let store = Store::open_with(&path, &options)?;
    let book = store.contacts()?;
    let calendar = store.calendar()?;
    let mut demo = DemoRun {
        app,
        book: &book,
        calendar: &calendar,
    };
    demo.import_people(args.people)?;
    store.maintenance().merge_index()?;
    demo.show_searches(args.people)?;
    demo.show_browsing()?;
    demo.show_changes(args.people)?;
    demo.show_calendar(args.people.div_ceil(PEOPLE_PER_ENTRY))?;
    demo.show_media(temporary.path())?;
    let bytes = store.maintenance().stats()?.file_bytes;
    let kept = format!(
        "{} and {}",
        pluralize(book.count()?, "contact"),
        pluralize(calendar.count()?, "calendar entry")
    );
    store.close()?;
    write_summary(app, &path, args.keep.is_some(), &kept, bytes)
}

/// Removes the directory on Ctrl-C.
fn remove_when_interrupted(directory: PathBuf) -> Result<()> {
    ctrlc::set_handler(move || {
        // The process ends, so an error cannot be reported.
        let _ = std::fs::remove_dir_all(&directory);
        // 128 + SIGINT, the convention of shells.
        std::process::exit(130);
    })
    .map_err(|e| Failure::Other(e.to_string()))
}

fn write_summary(app: &mut App, path: &Path, is_kept: bool, kept: &str, bytes: u64) -> Result<()> {
    let path = path.display().to_string();
    let path = escape_text(&path);
    app.out.status("")?;
    let size = format_size(bytes);
    app.out.status(if is_kept {
        format!(
            "{kept} are kept in one file of {size}: {path}\n\
             Look around: etui --store {path} contacts list"
        )
    } else {
        format!("{kept} were stored in one file of {size}, now removed.")
    })?;
    app.out.status(profile_note(env!("ETUI_PROFILE")))?;
    app.out.status(NEXT_STEPS)
}

/// Returns the sentence that says which build the times are of: cargo's profile `dist` is the program
/// for use, others are for a first try or for tests.
fn profile_note(profile: &str) -> String {
    match profile {
        "dist" => "The times are those of the optimised program (profile dist).".to_owned(),
        other => format!(
            "The times are those of a quick build (profile {other}). The optimised program, which is\n\
             faster, takes longer to build: \
             cargo install --locked --profile dist --path crates/etui-cli"
        ),
    }
}

struct DemoRun<'a> {
    app: &'a mut App,
    book: &'a Contacts,
    calendar: &'a Calendar,
}

impl DemoRun<'_> {
    /// Writes a heading after an empty line.
    fn write_section(&mut self, text: &str) -> Result<()> {
        self.app.out.status("")?;
        self.write_heading(text)
    }

    fn write_heading(&mut self, text: &str) -> Result<()> {
        let text = self.app.out.with_style(Style::Bold, text).into_owned();
        self.app.out.status(text)
    }

    /// Writes a step with its result and time.
    fn write_step(&mut self, what: &str, result: &str, time: Duration) -> Result<()> {
        let out = &mut self.app.out;
        if out.json {
            let micros = time.as_nanos() as f64 / 1e3;
            return out.write_json(&object! {
                step: what, result: result, micros: micros, profile: env!("ETUI_PROFILE"),
            });
        }
        let time = format!("{:>7}", format_duration(time));
        let result = one_line(result);
        if out.width().is_some_and(|w| w < MIN_ONE_LINE_WIDTH) {
            let line = out.fit_width(&format!("  {time}  {what}"));
            out.status(line)?;
            let line = out.fit_width(&format!("  {:7}    {result}", ""));
            out.status(line)?;
        } else {
            let line = out.fit_width(&format!("  {time}  {}  {result}", pad_to(what, 48)));
            out.status(line.trim_end())?;
        }
        // Show this step while the next one runs.
        match out.terminal {
            true => out.flush_output(),
            false => Ok(()),
        }
    }

    /// Imports generated people, and sample exports with broken records.
    fn import_people(&mut self, number: u64) -> Result<()> {
        self.write_heading(&format!(
            "Importing {} and {}",
            pluralize(number, "generated contact"),
            pluralize(fixtures::ALL.len() as u64, "sample export")
        ))?;
        let mut vcards = Vec::new();
        people::write_vcf(&mut vcards, SEED, number)
            .map_err(|e| Failure::named_io("generated contacts", e))?;
        let mut progress =
            ProgressReporter::for_bytes(&self.app.out, "people", Some(vcards.len() as u64));
        let begun = Instant::now();
        let report = self.book.import(vcards.as_slice(), &mut |event| {
            if let ImportEvent::Progress { bytes, records } = event {
                progress.set_position(bytes, pluralize(records, "contact"));
            }
            ControlFlow::Continue(())
        })?;
        drop(progress);
        let (time, result) = (begun.elapsed(), summarize_report(&report));
        self.write_step("import generated contacts", &result, time)?;
        self.import_samples()
    }

    fn import_samples(&mut self) -> Result<()> {
        let mut all = ImportReport::default();
        let mut refusals = Vec::new();
        let begun = Instant::now();
        for sample in fixtures::ALL {
            let report = self.book.import(sample.bytes, &mut |event| {
                if let ImportEvent::Refused(refused) = event {
                    // Here the advice that follows is of no use.
                    let reason = refused.reason.split(';').next().unwrap_or_default();
                    refusals.push(format!("{}:{}: {reason}", sample.name, refused.line));
                }
                ControlFlow::Continue(())
            })?;
            add_report(&mut all, &report);
        }
        let (time, result) = (begun.elapsed(), summarize_report(&all));
        self.write_step("import exports of phones and programs", &result, time)?;
        if refusals.is_empty() {
            return Ok(());
        }
        let (was, they) = match refusals.len() {
            1 => ("piece of input was", "It is"),
            _ => ("pieces of input were", "They are"),
        };
        self.app.out.status(format!(
            "  {} {was} rejected, the rest was imported. {they} broken on purpose:",
            refusals.len()
        ))?;
        for refusal in &refusals {
            let line = format!("    {}", one_line(refusal));
            self.app.out.status(self.app.out.fit_width(&line))?;
        }
        Ok(())
    }

    fn show_searches(&mut self, number: u64) -> Result<()> {
        let person = sample_person(number);
        self.write_section("Searching")?;
        self.run_search("search as you type: an", "name:an*")?;
        self.run_search("one more letter: ann", "name:ann*")?;
        self.run_search("ignoring accents: muller finds Müller", "name:muller")?;
        self.run_search("in the middle of a word: berg", "*berg*")?;
        if let Some((_, phone)) = person.phones.first() {
            let digits: String = phone.chars().filter(char::is_ascii_digit).collect();
            let end = &digits[digits.len().saturating_sub(7)..];
            let what = format!("caller ID: the number ends in {end}");
            self.run_search(&what, &format!("phone:*{end}"))?;
        }
        let email = person.emails.first();
        let domain = email.and_then(|(_, address)| address.split('@').nth(1));
        let domain = domain.unwrap_or("example.org");
        let what = format!("all addresses at {domain}");
        self.run_search(&what, &format!("email:*@{domain}"))?;
        let filter = "name:anna email:*@example.org";
        self.run_search("two fields: anna at example.org", filter)
    }

    fn run_search(&mut self, what: &str, text: &str) -> Result<()> {
        let filter: Filter = text.parse()?;
        let (found, time) = time_median(|| self.book.find(&filter))?;
        self.write_step(what, &describe_matches(&found), time)
    }

    fn show_browsing(&mut self) -> Result<()> {
        self.write_section("Browsing")?;
        let (first, time) = time_median(|| self.book.list(Paging::first(50)))?;
        self.write_step("the first page of 50", &describe_page(&first), time)?;
        let middle = Paging {
            offset: self.book.count()? / 2,
            limit: 50,
        };
        let (page, time) = time_median(|| self.book.list(middle))?;
        let number = format_count(middle.offset + 1);
        let what = format!("a page of 50 from number {number}");
        self.write_step(&what, &describe_page(&page), time)
    }

    fn show_changes(&mut self, number: u64) -> Result<()> {
        self.write_section("Changing a contact (every change survives a power cut)")?;
        let text = sample_person(number).to_text();
        let uid = Card::parse(text)?.identity().into_owned();
        let (shown, time) = time_median(|| match self.book.get(&uid)? {
            Some(contact) => Ok((contact.card()?, contact.etag)),
            None => Err(Error::NoRecord {
                kind: CollectionKind::Contacts,
                uid: uid.clone(),
            }),
        })?;
        let (card, etag) = shown;
        self.write_step("read it", &describe_card(&card), time)?;

        let mut edited = card;
        edited.set("TEL", "+49 30 23125 789")?;
        let (_, time) = time_once(|| self.book.save((&edited, Condition::IfMatch(etag))))?;
        self.write_step("change the phone number", &describe_card(&edited), time)?;
        let (_, time) = time_once(|| self.book.restore(&uid))?;
        self.write_step("undo", &self.current_state(&uid)?, time)?;
        let (_, time) = time_once(|| self.book.remove(&uid))?;
        self.write_step("remove", &self.current_state(&uid)?, time)?;
        let (_, time) = time_once(|| self.book.restore(&uid))?;
        self.write_step("restore", &self.current_state(&uid)?, time)
    }

    /// Imports a generated calendar and reads a week of it.
    fn show_calendar(&mut self, number: u64) -> Result<()> {
        self.write_section(&format!(
            "A calendar of {}",
            pluralize(number, "generated entry")
        ))?;
        let mut text = Vec::new();
        calendars::write_ics(&mut text, SEED, Span::USUAL, number)
            .map_err(|e| Failure::named_io("generated entries", e))?;
        let calendar = self.calendar;
        let (report, time) =
            time_once(|| calendar.import(text.as_slice(), &mut |_| ControlFlow::Continue(())))?;
        let result = summarize_report(&report);
        self.write_step("import a calendar of eleven years", &result, time)?;

        // A fixed zone, so that the output is the same everywhere.
        let zone = TimeZone::UTC;
        let day = Date::from_days(SAMPLE_MONDAY).midnight();
        let at = |days: i64| zone.to_utc(day.plus_seconds(days * 86_400));
        let (week, time) = time_median(|| calendar.between(at(0)..at(7), &zone))?;
        let result = describe_occurrences(&week);
        self.write_step("agenda of 6 to 12 June 2022", &result, time)?;
        let far = at(30_000)..at(30_007);
        let (week, time) = time_median(|| calendar.between(far.clone(), &zone))?;
        let result = describe_occurrences(&week);
        self.write_step("agenda of a week in 2104", &result, time)?;
        let (alarms, time) = time_median(|| calendar.alarms(at(0), 10, &zone))?;
        let first = alarms
            .alarms
            .first()
            .map_or("none", |alarm| alarm.title.as_str());
        let text = format!(
            "{}, first: {first}",
            format_count(alarms.alarms.len() as u64)
        );
        self.write_step("the next 10 alarms", &text, time)?;
        let (busy, time) = time_median(|| calendar.free_busy(at(0)..at(7), &zone))?;
        let text = format!("busy in {}", pluralize(busy.len() as u64, "block"));
        self.write_step("free/busy of the week", &text, time)
    }

    fn current_state(&self, uid: &str) -> Result<String> {
        match self.book.get(uid)? {
            Some(contact) => Ok(describe_card(&contact.card()?)),
            None => Ok("in the trash".to_owned()),
        }
    }
}

/// Returns a person with a phone number and an e-mail address.
fn sample_person(number: u64) -> people::Person {
    let last = SAMPLE_PERSON.min(number - 1);
    (0..=last)
        .rev()
        .map(|index| people::person(SEED, index))
        .find(|p| !p.phones.is_empty() && !p.emails.is_empty())
        .unwrap_or_else(|| people::person(SEED, last))
}

fn describe_card(card: &Card) -> String {
    let phones = card.phones();
    let phone = phones.first().map_or("no phone", |p| p.value.as_str());
    format!("{}, {phone}", card.display_name())
}

/// Formats `57: Anna Meyer, Jan Meyer, ...`.
fn describe_matches(found: &[ListEntry]) -> String {
    let names = found.iter().map(|e| e.summary.name.as_str());
    count_and_first(names.collect(), "no match")
}

/// Formats `12: Jour fixe, Lunch, ...`.
fn describe_occurrences(found: &[Occurrence]) -> String {
    count_and_first(found.iter().map(|o| &*o.title).collect(), "nothing")
}

/// Formats the number of names and the first two; `none` if there are none.
fn count_and_first(mut all: Vec<&str>, none: &str) -> String {
    let number = all.len();
    all.dedup();
    all.truncate(2);
    let more = if number > all.len() { ", …" } else { "" };
    match number {
        0 => none.to_owned(),
        n => format!("{}: {}{more}", format_count(n as u64), all.join(", ")),
    }
}

/// Formats `Anna Meyer … Jan Meyer`.
fn describe_page(page: &[ListEntry]) -> String {
    match page {
        [] => "nobody".to_owned(),
        [only] => only.summary.name.clone(),
        [first, .., last] => format!("{} … {}", first.summary.name, last.summary.name),
    }
}

fn pad_to(text: &str, width: usize) -> String {
    let missing = width.saturating_sub(text.chars().count());
    format!("{text}{:missing$}", "")
}

fn time_once<T>(mut work: impl FnMut() -> etui::Result<T>) -> Result<(T, Duration)> {
    let begun = Instant::now();
    let result = work()?;
    Ok((result, begun.elapsed()))
}

/// Returns the result and the median time of [`READ_RUNS`].
fn time_median<T>(mut work: impl FnMut() -> etui::Result<T>) -> Result<(T, Duration)> {
    let (mut result, first) = time_once(&mut work)?;
    let mut times = [first; READ_RUNS];
    for time in &mut times[1..] {
        (result, *time) = time_once(|| black_box(work()))?;
    }
    times.sort_unstable();
    Ok((result, times[READ_RUNS / 2]))
}
