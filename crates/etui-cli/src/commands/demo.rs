//! `etui demo`: what a person does with an address book and a calendar, each with its time.

use std::hint::black_box;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use etui::calendar::time::{Date, TimeZone};
use etui::calendar::{Calendar, Occurrence};
use etui::contacts::{Card, Contacts, Filter, ListEntry, Paging};
use etui::import::{ImportEvent, ImportReport};
use etui::{CollectionKind, Condition, Error, Store};
use etui_testkit::calendars::{self, Span};
use etui_testkit::{fixtures, people};

use super::import::summary;
use crate::app::{App, make_parent};
use crate::errors::{Failure, Result};
use crate::output::json::StepObject;
use crate::output::{Progress, Style, count, duration, one_line, plural, shown, size};

const EXAMPLES: &str = "\
Examples:
  etui demo
  etui demo --people 100000
  etui demo --keep demo.etui                 then: etui --store demo.etui contacts list

Nothing is left behind unless --keep is given. Your own store is not touched.";

/// Show what etui does, on an address book and a calendar made up for it
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Keep the store of the demo at this path
    #[arg(long, value_name = "PATH")]
    keep: Option<PathBuf>,
    /// How many people to make up
    #[arg(long, value_name = "N", default_value_t = 12_800,
          value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    people: u64,
}

/// Which people are made up.
const SEED: u64 = 7;
/// The one among them who is looked for, or one before.
const SOMEBODY: u64 = 4_640;
/// 6 June 2022, in days since 1970-01-01.
const SOME_MONDAY: i64 = 19_149;
/// Fast reads are done this often, and the median is told.
const RUNS: usize = 9;

/// One calendar entry is made up for so many people.
const PEOPLE_AN_ENTRY: u64 = 4;

/// Terminals narrower than this get results on lines of their own.
const ROOMY: usize = 90;

/// Shows it all.
pub fn run(app: &mut App, args: &Args) -> Result<()> {
    let temporary;
    let path = match &args.keep {
        Some(path) if path.exists() => {
            return Err(Error::Exists { path: path.clone() }.into());
        }
        Some(path) => {
            make_parent(path)?;
            path.clone()
        }
        None => {
            temporary = tempfile::Builder::new()
                .prefix("etui-demo-")
                .tempdir()
                .map_err(|e| Failure::named_io("a temporary directory", e))?;
            remove_when_interrupted(temporary.path().to_owned())?;
            temporary.path().join("demo.etui")
        }
    };
    let mut options = app.options();
    // The same everywhere, whatever the environment's locale.
    options.locale = Some("en".to_owned());
    options.region = Some("DE".to_owned());
    options.merge_substrings = false;
    let store = Store::open_with(&path, &options)?;
    let book = store.contacts()?;
    let calendar = store.calendar()?;
    let mut demo = Demo {
        app,
        book: &book,
        calendar: &calendar,
    };
    demo.fill(args.people)?;
    store.merge_index()?;
    demo.find(args.people)?;
    demo.browse()?;
    demo.change(args.people)?;
    demo.plan(args.people.div_ceil(PEOPLE_AN_ENTRY))?;
    let bytes = store.stats()?.file_bytes;
    let kept = format!(
        "{} and {}",
        plural(book.count()?, "contact"),
        plural(calendar.count()?, "calendar entry")
    );
    store.close()?;
    farewell(app, &path, args.keep.is_some(), &kept, bytes)
}

/// Leaves nothing behind also after Ctrl-C.
fn remove_when_interrupted(directory: PathBuf) -> Result<()> {
    ctrlc::set_handler(move || {
        // What cannot be removed now, nobody is left to be told of.
        let _ = std::fs::remove_dir_all(&directory);
        // 128 + SIGINT, as shells have it.
        std::process::exit(130);
    })
    .map_err(|e| Failure::Other(e.to_string()))
}

fn farewell(app: &mut App, path: &Path, is_kept: bool, kept: &str, bytes: u64) -> Result<()> {
    let path = path.display().to_string();
    let path = shown(&path);
    app.out.say("")?;
    let size = size(bytes);
    app.out.say(if is_kept {
        format!(
            "{kept} are kept in one file of {size}: {path}\n\
             Look around: etui --store {path} contacts list"
        )
    } else {
        format!("{kept} were kept in one file of {size}, which is gone again.")
    })?;
    app.out.say("")?;
    app.out.say("Now your own:")?;
    app.out
        .say("  etui import contacts.vcf      a file that your phone or address book exports")?;
    app.out
        .say("  etui import calendar.ics      a file that your calendar exports")?;
    app.out.say("  etui contacts find ann")?;
    app.out.say("  etui calendar agenda week")?;
    app.out.say("  etui contacts --help")
}

struct Demo<'a, 's> {
    app: &'a mut App,
    book: &'a Contacts<'s>,
    calendar: &'a Calendar<'s>,
}

impl Demo<'_, '_> {
    fn heading(&mut self, text: &str) -> Result<()> {
        let text = self.app.out.styled(Style::Bold, text).into_owned();
        self.app.out.say(text)
    }

    /// Tells of one thing that was done: what, what came of it, how long it took.
    fn step(&mut self, what: &str, result: &str, time: Duration) -> Result<()> {
        let out = &mut self.app.out;
        if out.json {
            return out.object(&StepObject {
                step: what,
                result,
                micros: time.as_nanos() as f64 / 1e3,
            });
        }
        let time = format!("{:>7}", duration(time));
        let result = one_line(result);
        if out.width().is_some_and(|w| w < ROOMY) {
            let line = out.fit(&format!("  {time}  {what}"));
            out.say(line)?;
            let line = out.fit(&format!("  {:7}    {result}", ""));
            out.say(line)?;
        } else {
            let line = out.fit(&format!("  {time}  {}  {result}", pad(what, 48)));
            out.say(line.trim_end())?;
        }
        // What was just done is seen while the next thing is on its way.
        if out.terminal { out.flush() } else { Ok(()) }
    }

    /// Brings in the made-up people, and the sample exports with their broken pieces.
    fn fill(&mut self, number: u64) -> Result<()> {
        self.heading(&format!(
            "Bringing in {} and {}",
            plural(number, "made-up contact"),
            plural(fixtures::ALL.len() as u64, "sample export")
        ))?;
        let mut vcards = Vec::new();
        people::write_vcf(&mut vcards, SEED, number)
            .map_err(|e| Failure::named_io("made-up contacts", e))?;
        let mut progress = Progress::of_bytes(&self.app.out, "people", Some(vcards.len() as u64));
        let begun = Instant::now();
        let report = self.book.import(vcards.as_slice(), &mut |event| {
            if let ImportEvent::Progress { bytes, records } = event {
                progress.set(bytes, plural(records, "contact"));
            }
            ControlFlow::Continue(())
        })?;
        drop(progress);
        let time = begun.elapsed();
        self.step("import made-up people", &summary(&report), time)?;
        self.samples()
    }

    fn samples(&mut self) -> Result<()> {
        let mut all = ImportReport::default();
        let mut refusals = Vec::new();
        let begun = Instant::now();
        for sample in fixtures::ALL {
            let report = self.book.import(sample.bytes, &mut |event| {
                if let ImportEvent::Refused(refused) = event {
                    // LocalNow the advice that follows is of no use.
                    let reason = refused.reason.split(';').next().unwrap_or_default();
                    refusals.push(format!("{}:{}: {reason}", sample.name, refused.line));
                }
                ControlFlow::Continue(())
            })?;
            all.added += report.added;
            all.changed += report.changed;
            all.unchanged += report.unchanged;
            all.refused += report.refused;
            all.bytes += report.bytes;
        }
        let time = begun.elapsed();
        self.step(
            "import exports as phones and programs write them",
            &summary(&all),
            time,
        )?;
        if refusals.is_empty() {
            return Ok(());
        }
        let (was, they) = match refusals.len() {
            1 => ("piece of these was", "It is"),
            _ => ("pieces of these were", "They are"),
        };
        self.app.out.say(format!(
            "  {} {was} refused, everything around went in. {they} broken on purpose:",
            refusals.len()
        ))?;
        for refusal in &refusals {
            let line = self.app.out.fit(&format!("    {}", one_line(refusal)));
            self.app.out.say(line)?;
        }
        Ok(())
    }

    fn find(&mut self, number: u64) -> Result<()> {
        let somebody = somebody(number);
        self.app.out.say("")?;
        self.heading("Finding")?;
        self.look("as one types: an", "name:an*")?;
        self.look("one letter more: ann", "name:ann*")?;
        self.look("without the accent: muller finds Müller", "name:muller")?;
        self.look("in the middle of a word: berg", "*berg*")?;
        if let Some((_, phone)) = somebody.phones.first() {
            let digits: String = phone.chars().filter(char::is_ascii_digit).collect();
            let end = &digits[digits.len().saturating_sub(7)..];
            self.look(
                &format!("who is calling? the number ends in {end}"),
                &format!("phone:*{end}"),
            )?;
        }
        let domain = somebody
            .emails
            .first()
            .and_then(|(_, e)| e.split('@').nth(1))
            .unwrap_or("example.org");
        self.look(
            &format!("everybody at {domain}"),
            &format!("email:*@{domain}"),
        )?;
        self.look(
            "both at once: anna at example.org",
            "name:anna email:*@example.org",
        )
    }

    fn look(&mut self, what: &str, text: &str) -> Result<()> {
        let filter: Filter = text.parse()?;
        let (found, time) = median(|| self.book.find(&filter))?;
        self.step(what, &names(&found), time)
    }

    fn browse(&mut self) -> Result<()> {
        self.app.out.say("")?;
        self.heading("Browsing")?;
        let (first, time) = median(|| self.book.list(Paging::first(50)))?;
        self.step("the first 50 in the list", &names_of_page(&first), time)?;
        let middle = Paging {
            offset: self.book.count()? / 2,
            limit: 50,
        };
        let (page, time) = median(|| self.book.list(middle))?;
        let what = format!("scroll: 50 from number {} on", count(middle.offset + 1));
        self.step(&what, &names_of_page(&page), time)
    }

    fn change(&mut self, number: u64) -> Result<()> {
        self.app.out.say("")?;
        self.heading("Changing one; when a change is done, it survives a power cut")?;
        let text = somebody(number).to_text();
        let uid = Card::parse(text)?.identity().into_owned();
        let (shown, time) = median(|| match self.book.get(&uid)? {
            Some(contact) => Ok((contact.card()?, contact.etag)),
            None => Err(Error::NoRecord {
                kind: CollectionKind::Contacts,
                uid: uid.clone(),
            }),
        })?;
        let (card, etag) = shown;
        self.step("show one", &who(&card), time)?;

        let mut edited = card;
        edited.set("TEL", "+49 30 23125 789")?;
        let (_, time) = once(|| self.book.save_if(&edited, Condition::IfMatch(etag)))?;
        self.step("change the phone number", &who(&edited), time)?;
        let (_, time) = once(|| self.book.restore(&uid))?;
        self.step("undo", &self.now(&uid)?, time)?;
        let (_, time) = once(|| self.book.remove(&uid))?;
        self.step("remove", &self.now(&uid)?, time)?;
        let (_, time) = once(|| self.book.restore(&uid))?;
        self.step("bring back", &self.now(&uid)?, time)
    }

    /// Brings in a made-up calendar, and looks at a week of it.
    fn plan(&mut self, number: u64) -> Result<()> {
        self.app.out.say("")?;
        self.heading(&format!(
            "A calendar of {}",
            plural(number, "made-up entry")
        ))?;
        let mut text = Vec::new();
        calendars::write_ics(&mut text, SEED, Span::USUAL, number)
            .map_err(|e| Failure::named_io("made-up entries", e))?;
        let calendar = self.calendar;
        let (report, time) =
            once(|| calendar.import(text.as_slice(), &mut |_| ControlFlow::Continue(())))?;
        self.step("import a calendar of eleven years", &summary(&report), time)?;

        // The same everywhere, as the data is.
        let zone = TimeZone::UTC;
        let day = Date::from_days(SOME_MONDAY).midnight();
        let at = |days: i64| zone.to_utc(day.plus_seconds(days * 86_400));
        let (week, time) = median(|| calendar.between(at(0)..at(7), &zone))?;
        self.step("what is on from 6 to 12 June 2022", &titles(&week), time)?;
        let far = at(30_000)..at(30_007);
        let (week, time) = median(|| calendar.between(far.clone(), &zone))?;
        self.step(
            "a week in 2104: what recurs without end",
            &titles(&week),
            time,
        )?;
        let (alarms, time) = median(|| calendar.alarms(at(0), 10, &zone))?;
        let first = alarms.first().map_or("none", |alarm| alarm.title.as_str());
        let text = format!("{}, the first for {first}", count(alarms.len() as u64));
        self.step("the next 10 alarms", &text, time)?;
        let (busy, time) = median(|| calendar.free_busy(at(0)..at(7), &zone))?;
        let text = format!("taken in {}", plural(busy.len() as u64, "block"));
        self.step("free or busy that week", &text, time)
    }

    /// The contact as it is now, in a few words.
    fn now(&self, uid: &str) -> Result<String> {
        match self.book.get(uid)? {
            Some(contact) => Ok(who(&contact.card()?)),
            None => Ok("in the trash".to_owned()),
        }
    }
}

/// Somebody with a phone and an e-mail address.
fn somebody(number: u64) -> people::Person {
    let last = SOMEBODY.min(number - 1);
    (0..=last)
        .rev()
        .map(|index| people::person(SEED, index))
        .find(|p| !p.phones.is_empty() && !p.emails.is_empty())
        .unwrap_or_else(|| people::person(SEED, last))
}

fn who(card: &Card) -> String {
    let phones = card.phones();
    let phone = phones.first().map_or("no phone", |p| p.value.as_str());
    format!("{}, {phone}", card.display_name())
}

/// `57: Anna Meyer, Jan Meyer, ...`
fn names(found: &[ListEntry]) -> String {
    some_of(
        found.iter().map(|e| e.summary.name.as_str()).collect(),
        "nobody",
    )
}

/// `12: Jour fixe, Lunch, ...`
fn titles(found: &[Occurrence]) -> String {
    some_of(found.iter().map(|o| &*o.title).collect(), "nothing")
}

/// How many there are, and the first two; `nobody` for none.
fn some_of(all: Vec<&str>, nobody: &str) -> String {
    let mut some = all.clone();
    some.dedup();
    some.truncate(2);
    let more = if all.len() > some.len() { ", …" } else { "" };
    match all.len() {
        0 => nobody.to_owned(),
        n => format!("{}: {}{more}", count(n as u64), some.join(", ")),
    }
}

/// `Anna Meyer … Jan Meyer`
fn names_of_page(page: &[ListEntry]) -> String {
    match page {
        [] => "nobody".to_owned(),
        [only] => only.summary.name.clone(),
        [first, .., last] => format!("{} … {}", first.summary.name, last.summary.name),
    }
}

fn pad(text: &str, width: usize) -> String {
    let missing = width.saturating_sub(text.chars().count());
    format!("{text}{:missing$}", "")
}

fn once<T>(mut work: impl FnMut() -> etui::Result<T>) -> Result<(T, Duration)> {
    let begun = Instant::now();
    let result = work()?;
    Ok((result, begun.elapsed()))
}

/// The result, and the median time of [`RUNS`].
fn median<T>(mut work: impl FnMut() -> etui::Result<T>) -> Result<(T, Duration)> {
    let (mut result, first) = once(&mut work)?;
    let mut times = [first; RUNS];
    for time in &mut times[1..] {
        (result, *time) = once(|| black_box(work()))?;
    }
    times.sort_unstable();
    Ok((result, times[RUNS / 2]))
}
