//! Study 4: Evolution Data Server's address book.
//!
//! - [`books`]: the works, as each product does them;
//! - [`queries`]: what is searched for, in each product's words;
//! - [`through`]: arms whose SQLite goes through the VFS `etui`;
//! - [`trace`]: what a save writes, watched from outside;
//! - [`show`]: what the results mean.

mod books;
mod queries;
mod show;
#[cfg(test)]
mod tests;
mod through;
mod trace;

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use etui::Durability;
use etui_testkit::people::{Version, person};
use etui_vfs::Vfs;

use self::books::{BATCH, Book, EdsBook, Etui, PlainBook};
use self::trace::Trace;
use crate::error::Error;
use crate::measure::process::Memory;
use crate::peers::eds::{self, Answer, Session, Setup, Way};
use crate::peers::plain::{Parts, Plain, Rows};
use crate::stacks::HERE;
use crate::{
    About, Arm, Case, Experiment, Found, Group, Lab, Meter, NotRun, Parameter, Plan, Presentation,
    Results, Role, Settings, Study, redo, stats,
};

/// The experiment.
pub struct Phonebook;

/// The book of people that is used.
const SEED: u64 = 4;
/// Contacts on a screen, and fetched at once.
const SCREEN: u64 = 50;
/// A work that takes longer is not repeated within a run.
const LONG: Duration = Duration::from_millis(150);
/// The name of the server's book.
const BOOK: &str = "lab";

/// The works of this experiment.
const BOOK_WORK: &str = "book";
const MEMORY_WORK: &str = "memory";
const INDEX_WORK: &str = "index-costs";
const INDEX_REDO_WORK: &str = "index-costs, etui-vfs";

impl Experiment for Phonebook {
    fn about(&self) -> About {
        About {
            name: "phonebook",
            title: "Address books: behind a server, read directly, in process",
            study: Some(Study::AddressBook),
            question: "What does it cost to save, fetch and find contacts, and where does the \
                       time go: the way between processes, missing indexes, or the store itself?",
            method: "A book is filled in batches of 3,200, read in every way, and saved into \
                     singly. Evolution Data Server runs in a private session (its own D-Bus and \
                     directories) and is driven by a small C client through libebook, which \
                     keeps the time of each call. It is shown as shipped (no summary setup), \
                     with every index it offers (beginnings and ends of names, e-mail and \
                     phone; phone numbers), and made durable (its saves; it reads as shipped). Direct means that the client \
                     reads the database in its own process; saves go through D-Bus all the \
                     same. As shipped it is not durable when a save returns: its SQLite VFS \
                     answers xSync at once and syncs up to five seconds later. Made durable, a \
                     small preloaded library keeps that VFS from becoming the default one, so \
                     that SQLite's own VFS syncs before the reply. Durability is compared three \
                     ways: as shipped with etui deferred, durable with etui, as shipped with \
                     etui. The study's older interface (EBook) is gone from the server. \
                     Plain SQLite is there twice: by itself, and, unmodified, through etui's \
                     VFS, where a save is durable by one record of what changed in a redo log.",
            same_answer: "After the fill every arm names all contacts: UIDs and names must be \
                          the same set. So must each query's contacts (and their UIDs alone), the 50 fetched by UID \
                          one by one and at once, and the number of contacts after the saves. \
                          What the products mean by a beginning or an end differs (whole names \
                          or words, numbers as written or their digits), so the queries are \
                          ones on whose answers they agree for these people; the order of the \
                          first screen is each product's own, and its number alone is compared.",
            found: FOUND,
            parameters: &[
                Parameter {
                    name: "sizes",
                    about: "contacts in the book",
                    quick: &[50, 800, 3_200, 12_800],
                    full: &[50, 100, 200, 400, 800, 1_600, 3_200, 6_400, 12_800],
                },
                Parameter {
                    name: "saves",
                    about: "contacts saved singly into the filled book",
                    quick: &[60],
                    full: &[200],
                },
            ],
        }
    }

    fn plan(&self, lab: &Lab) -> Result<Plan, Error> {
        let mut plan = Plan::default();
        let eds = eds::available();
        if let Err(reason) = &eds {
            plan.not_run.push(NotRun {
                what: "arms of Evolution Data Server".to_owned(),
                reason: reason.clone(),
            });
        }
        plan.not_run.push(NotRun {
            what: "arm QtContacts".to_owned(),
            reason: "the only engine that Debian packages keeps contacts in memory: nothing is \
                     stored that could be compared"
                .to_owned(),
        });
        let saves = lab.value("saves");
        let repetitions = if lab.quick() { 3 } else { 5 };
        let mut sizes = lab.values("sizes").to_vec();
        sizes.sort_unstable();
        let Some(largest) = sizes.last().copied() else {
            return Ok(plan);
        };
        let group = |work: &str, size: u64, counted: bool, arms: Vec<Arm>| Group {
            work: work.to_owned(),
            stack: HERE.to_owned(),
            size,
            repetitions,
            counted,
            seconds: 1.0 + size as f64 / 3_000.0,
            arms,
            ..Group::default()
        };
        let with_eds = |arms: Vec<Arm>| -> Vec<Arm> {
            let there = |arm: &Arm| eds.is_ok() || !is_product(arm, "eds");
            arms.into_iter().filter(there).collect()
        };
        for size in &sizes {
            let arms = with_eds(arms(saves));
            plan.groups
                .push(group(BOOK_WORK, *size, *size == largest, arms));
        }
        let mut arms = with_eds(arms(saves));
        arms.retain(|arm| reads_are_its_own(&arm.settings));
        plan.groups.push(Group {
            repetitions: 1,
            ..group(MEMORY_WORK, largest, false, arms)
        });
        for (work, redo) in [(INDEX_WORK, false), (INDEX_REDO_WORK, true)] {
            let arms = Parts::ALL.map(|parts| {
                let settings = Settings::new()
                    .with("parts", parts.name())
                    .with("saves", saves)
                    .with("redo", redo);
                let name = match parts {
                    Parts::Record => parts.name().to_owned(),
                    _ => format!("+ {}", parts.name()),
                };
                Arm::new(name, Role::Peer, settings)
            });
            plan.groups.push(group(work, largest, false, arms.to_vec()));
        }
        Ok(plan)
    }

    fn furnish(&self, group: &Group, dir: &Path) -> Result<(), Error> {
        let saves = group
            .arms
            .first()
            .map_or(Ok(0), |arm| saves(&arm.settings))?;
        let count = group.size + if group.work == MEMORY_WORK { 0 } else { saves };
        let file = dir.join("cards.vcf");
        let text: String = (0..count)
            .map(|index| person(SEED, index).to_vcard(Version::V3))
            .collect();
        fs::write(&file, text).map_err(|e| Error::file(&file, e))?;
        if group.arms.iter().any(|arm| is_product(arm, "eds")) {
            eds::build(dir)?;
        }
        // A store that etui filled: where the rows of plain SQLite come from.
        let mut book = Etui::new(
            &dir.join("filled.etui"),
            Durability::Deferred,
            books::cards(&file)?,
        )?;
        fill(&mut book, count)?;
        book.merge()?;
        book.close()?;
        if group.arms.iter().any(|arm| is_product(arm, "plain")) {
            let rows = Rows::read(&dir.join("filled.etui"))?;
            let plain = Plain::create(&dir.join("filled.plain"), Parts::Gram, None)?;
            plain.save(&rows, 0..rows.len(), true)?;
            plain.close()?;
        }
        Ok(())
    }

    fn run(&self, case: &Case, meter: &mut Meter) -> Result<(), Error> {
        match case.work.as_str() {
            BOOK_WORK => book(case, meter),
            MEMORY_WORK => memory(case, meter),
            INDEX_WORK | INDEX_REDO_WORK => index_costs(case, meter),
            other => Err(Error::other(format!("phonebook knows no work `{other}`"))),
        }
    }

    fn present(&self, results: &Results) -> Presentation {
        show::present(results)
    }
}

fn is_product(arm: &Arm, name: &str) -> bool {
    arm.settings
        .text("product")
        .is_ok_and(|product| product == name)
}

fn saves(settings: &Settings) -> Result<u64, Error> {
    settings.number("saves")
}

/// The arms, as found first.
fn arms(saves: u64) -> Vec<Arm> {
    let eds = |way: Way, setup: Setup| {
        Settings::new()
            .with("product", "eds")
            .with("way", way.word())
            .with("setup", setup.word())
            .with("saves", saves)
    };
    let own = |product: &str| {
        Settings::new()
            .with("product", product)
            .with("saves", saves)
    };
    vec![
        Arm::new(show::DBUS, Role::AsFound, eds(Way::Dbus, Setup::Shipped)),
        Arm::new(show::TUNED, Role::Cure, eds(Way::Dbus, Setup::Tuned)),
        Arm::new(show::DIRECT, Role::Cure, eds(Way::Direct, Setup::Shipped)),
        Arm::new(
            show::DIRECT_TUNED,
            Role::AllCures,
            eds(Way::Direct, Setup::Tuned),
        ),
        Arm::new(
            show::DURABLE,
            Role::Peer,
            eds(Way::Dbus, Setup::Shipped).with("durable", true),
        ),
        Arm::new(show::PLAIN, Role::Peer, own("plain")),
        Arm::new(
            show::PLAIN_REDO,
            Role::Peer,
            own("plain").with("redo", true),
        ),
        Arm::new(show::ETUI, Role::Etui, own("etui")),
        Arm::new(
            show::DEFERRED,
            Role::Etui,
            own("etui").with("deferred", true),
        ),
    ]
}

/// The arm's book, empty and open; through a VFS, if it is plain SQLite's and one is named.
fn empty_book(case: &Case, meter: &Meter, vfs: Option<&str>) -> Result<Box<dyn Book>, Error> {
    let settings = &case.settings;
    let cards = meter.shared().join("cards.vcf");
    let filled = meter.shared().join("filled.etui");
    match settings.text("product")? {
        "etui" => {
            let durability = if settings.is("deferred") {
                Durability::Deferred
            } else {
                Durability::Full
            };
            let path = meter.dir().join("book.etui");
            Ok(Box::new(Etui::new(
                &path,
                durability,
                books::cards(&cards)?,
            )?))
        }
        "plain" => {
            let path = meter.dir().join("book.db");
            Ok(Box::new(PlainBook::new(
                &path,
                Rows::read(&filled)?,
                case.size,
                vfs,
            )?))
        }
        _ => {
            let (way, setup) = eds_settings(settings)?;
            let session = session(case, meter, "eds")?;
            let mut book = EdsBook::new(session, BOOK, way, Some(&cards))?;
            book.create(setup)?;
            book.open()?;
            Ok(Box::new(book))
        }
    }
}

fn eds_settings(settings: &Settings) -> Result<(Way, Setup), Error> {
    let way = match settings.text("way")? {
        "direct" => Way::Direct,
        _ => Way::Dbus,
    };
    let setup = match settings.text("setup")? {
        "tuned" => Setup::Tuned,
        _ => Setup::Shipped,
    };
    Ok((way, setup))
}

fn session(case: &Case, meter: &Meter, name: &str) -> Result<Session, Error> {
    eds::available().map_err(Error::not_run)?;
    let built = eds::build(meter.shared())?;
    let dir = meter.dir().join(name);
    fs::create_dir_all(&dir).map_err(|e| Error::file(&dir, e))?;
    Session::start(&dir, &built, case.settings.is("durable"))
}

/// Fills a book in batches; the time of all of them.
fn fill(book: &mut dyn Book, count: u64) -> Result<f64, Error> {
    let mut ns = 0.0;
    for from in (0..count).step_by(BATCH as usize) {
        let answer = book.batch(from, (count - from).min(BATCH))?;
        ns += answer.ns.iter().sum::<f64>();
    }
    Ok(ns)
}

/// Does a work several times, fewer if it takes long; all times in one answer, the rest of the
/// last.
fn rounds(times: u64, mut work: impl FnMut() -> Result<Answer, Error>) -> Result<Answer, Error> {
    let begun = Instant::now();
    let mut answer = work()?;
    for _ in 1..times {
        if begun.elapsed() > LONG {
            break;
        }
        let next = work()?;
        answer.ns.extend(next.ns);
    }
    Ok(answer)
}

/// Records a work's time: the median of its calls.
fn record(meter: &mut Meter, name: &str, answer: &Answer) {
    if let (false, Some(median)) = (meter.counts(), stats::median(&answer.ns)) {
        meter.record(&format!("{name}/wall_ns"), median);
    }
}

/// Everything but memory: fills a book, reads it in every way, saves into it singly.
fn book(case: &Case, meter: &mut Meter) -> Result<(), Error> {
    let saves = saves(&case.settings)?;
    let vfs = through::of(&case.settings)?;
    let mut book = empty_book(case, meter, vfs.as_ref().map(Vfs::name))?;

    let filled = fill(book.as_mut(), case.size)?;
    if !meter.counts() {
        meter.record("fill/wall_ns", filled);
    }
    reads(case, meter, book.as_mut())?;

    if meter.counts() {
        let watched = Trace::attach(book.writer()?, &meter.dir().join("trace"), meter.dir());
        match &vfs {
            Some(vfs) => through::saves(meter, vfs, book.as_mut(), case.size, saves)?,
            None => drop(book.singles(case.size, saves)?),
        }
        if let Some(watched) = watched {
            let written = watched.end()?;
            let each = |count: u64| count as f64 / saves as f64;
            meter.record("save_one/file_writes", each(written.writes));
            meter.record("save_one/file_write_bytes", each(written.bytes));
            meter.record("save_one/flushes", each(written.flushes));
        }
    } else {
        let saved = book.singles(case.size, saves)?;
        record(meter, "save_one", &saved);
        let mean = saved.ns.iter().sum::<f64>() / saved.ns.len().max(1) as f64;
        meter.record("save_one_mean/wall_ns", mean);
    }
    meter.answer(book.all()?.count.to_le_bytes());
    Ok(())
}

/// Reads a book in every way. For the answer alone, and each once, in a counted run and by arms
/// that differ in their saves.
fn reads(case: &Case, meter: &mut Meter, book: &mut dyn Book) -> Result<(), Error> {
    let timed = !meter.counts() && reads_are_its_own(&case.settings);
    let times = |times: u64| if timed { times } else { 1 };
    let (few, some, many) = (times(3), times(5), times(10));
    let record = |meter: &mut Meter, name: &str, answer: &Answer| {
        if timed {
            record(meter, name, answer);
        }
    };

    let names = rounds(few, || book.names())?;
    record(meter, "names", &names);
    meter.answer(names.count.to_le_bytes());
    meter.answer(&names.digest);
    let all = rounds(few, || book.all())?;
    record(meter, "all", &all);
    meter.answer(all.count.to_le_bytes());
    let partial = rounds(few, || book.partial())?;
    record(meter, "partial", &partial);
    meter.answer(partial.count.to_le_bytes());

    // Spread over the book.
    let uids: Vec<String> = (0..SCREEN.min(case.size))
        .map(|n| person(SEED, n * 37 % case.size).uid)
        .collect();
    let one = book.get(few, &uids)?;
    record(meter, "get", &one);
    meter.answer(&one.digest);
    let at_once = book.many(many, &uids)?;
    record(meter, "get_many", &at_once);
    meter.answer(&at_once.digest);
    let screen = book.screen(many, SCREEN)?;
    record(meter, "screen", &screen);
    meter.answer(screen.count.to_le_bytes());
    for (name, answer) in book.own(many, SCREEN)? {
        record(meter, name, &answer);
    }

    for query in queries::all() {
        if case.size > query.largest {
            continue;
        }
        let found = rounds(some, || book.find(1, &query))?;
        record(meter, query.name, &found);
        meter.answer(&found.digest);
        let which = rounds(some, || book.which(1, &query))?;
        record(meter, &format!("{}_which", query.name), &which);
        meter.answer(which.count.to_le_bytes());
        meter.answer(&which.digest);
        if meter.counts() {
            meter.record(&format!("{}/hits", query.name), found.count as f64);
        }
    }

    let (mut opened, mut closed) = (Answer::default(), Answer::default());
    for _ in 0..some {
        closed.ns.extend(book.close()?.ns);
        opened.ns.extend(book.open()?.ns);
    }
    record(meter, "open", &opened);
    record(meter, "close", &closed);
    Ok(())
}

/// Made durable or deferred, an arm reads as the one that it is a variant of.
fn reads_are_its_own(settings: &Settings) -> bool {
    !settings.is("durable") && !settings.is("deferred")
}

/// Memory of all processes with an empty book, with the filled one opened, and with every
/// contact fetched, its name read, and kept.
fn memory(case: &Case, meter: &mut Meter) -> Result<(), Error> {
    let vfs = through::of(&case.settings)?;
    let vfs = vfs.as_ref().map(Vfs::name);
    let mut empty = opened(case, meter, false, vfs)?;
    empty.screen(1, SCREEN)?;
    empty.hold()?;
    let before = used(empty.as_ref())?;
    empty.close()?;
    drop(empty);
    let mut book = opened(case, meter, true, vfs)?;
    book.screen(1, SCREEN)?;
    let opened = used(book.as_ref())?;
    book.hold()?;
    let held = used(book.as_ref())?;
    for (label, memory) in [("empty", before), ("opened", opened), ("held", held)] {
        for (measure, value) in memory.measures() {
            meter.record(&format!("{label}/{measure}"), value);
        }
    }
    let names = book.names()?;
    meter.answer(names.count.to_le_bytes());
    meter.answer(&names.digest);
    Ok(())
}

/// The arm's book in processes that did not fill it: empty or filled, and open.
fn opened(
    case: &Case,
    meter: &Meter,
    filled: bool,
    vfs: Option<&str>,
) -> Result<Box<dyn Book>, Error> {
    let name = if filled { "filled" } else { "empty" };
    let path = meter.dir().join(name);
    let product = case.settings.text("product")?;
    if product != "eds" {
        if filled {
            let from = meter.shared().join(format!("filled.{product}"));
            fs::copy(&from, &path).map_err(|e| Error::file(&path, e))?;
        }
        return Ok(match product {
            "etui" => Box::new(Etui::new(&path, Durability::Full, Vec::new())?),
            _ => Box::new(PlainBook::new(&path, Rows::default(), 0, vfs)?),
        });
    }
    let (way, setup) = eds_settings(&case.settings)?;
    if filled {
        fs::create_dir_all(&path).map_err(|e| Error::file(&path, e))?;
        let built = eds::build(meter.shared())?;
        let cards = meter.shared().join("cards.vcf");
        eds::fill(&path, &built, BOOK, setup, &cards)?;
    }
    let mut book = EdsBook::new(session(case, meter, name)?, BOOK, way, None)?;
    if !filled {
        book.create(setup)?;
    }
    book.open()?;
    Ok(Box::new(book))
}

/// The memory of a book's processes together.
fn used(book: &dyn Book) -> Result<Memory, Error> {
    let mut sum = Memory::default();
    for pid in book.processes() {
        let memory = Memory::of(pid)?;
        sum.rss += memory.rss;
        sum.pss += memory.pss;
        sum.vms += memory.vms;
        sum.private_dirty += memory.private_dirty;
    }
    Ok(sum)
}

/// The fill and single saves by plain SQLite, an index more in each arm.
fn index_costs(case: &Case, meter: &mut Meter) -> Result<(), Error> {
    let name = case.settings.text("parts")?;
    let parts = Parts::ALL
        .into_iter()
        .find(|parts| parts.name() == name)
        .ok_or_else(|| Error::other(format!("the schema has no part `{name}`")))?;
    let saves = saves(&case.settings)? as usize;
    let rows = Rows::read(&meter.shared().join("filled.etui"))?;
    let filled = rows.len().saturating_sub(saves);
    let vfs = through::of(&case.settings)?;
    let through = vfs.as_ref().map(Vfs::name);
    let plain = Plain::create(&meter.dir().join("book.db"), parts, through)?;
    meter.phase("fill", || plain.save(&rows, 0..filled, true))?;
    meter.record("fill/pages", plain.pages()? as f64);
    let mut saved = Answer::default();
    let before = vfs.as_ref().map(Vfs::counters);
    meter.phase("saves", || {
        for at in filled..rows.len() {
            let begun = Instant::now();
            plain.save(&rows, at..at + 1, false)?;
            saved.ns.push(begun.elapsed().as_nanos() as f64);
        }
        Ok(())
    })?;
    if let (Some(vfs), Some(before)) = (&vfs, before) {
        redo::record(meter, "saves", &vfs.counters().since(&before));
    }
    record(meter, "save_one", &saved);
    meter.answer((plain.all()?.len() as u64).to_le_bytes());
    plain.close()
}

const FOUND: &[Found] = &[
    Found {
        finding: "saving one by one grows quickly: a transaction each",
        cure: "group commits",
        figure: "",
    },
    Found {
        finding: "saving in batches of 3,200",
        cure: "one transaction, cheap indexes",
        figure: "under 3 ms per contact up to 12,800 contacts",
    },
    Found {
        finding: "fetching all got slower from version to version",
        cure: "no needless parsing or copying",
        figure: "3.4: 133 % of 2.32's time, 225 % of Maemo 5's; 3.5 still 175 %; EBookClient \
                 20 % slower than EBook, 64 % slower than direct",
    },
    Found {
        finding: "fetching by UID, one by one",
        cure: "direct access; less round trips",
        figure: "3.9 ms through D-Bus in 3.5 (2.32 four times, Maemo 5 thirteen times faster), \
                 about 0.05 ms direct",
    },
    Found {
        finding: "fetching by UID in batches is impossible except by a disjunction query",
        cure: "a real batch call by UIDs",
        figure: "misses the 16 ms frame of a 60 fps list",
    },
    Found {
        finding: "partial contacts are not supported",
        cure: "fetch only the fields a list shows",
        figure: "",
    },
    Found {
        finding: "no working indexes for e-mail and phone",
        cure: "indexes for all: autocomplete needs prefixes, caller ID needs suffixes",
        figure: "direct takes under 60 % of D-Bus",
    },
    Found {
        finding: "memory per contact: client and server together cost more",
        cure: "one database; measure per contact",
        figure: "client-server +40 %; per contact +40 % in EDS 3+, direct only 55 % of that",
    },
    Found {
        finding: "indexes speed up queries and slow down saving",
        cure: "measure what each index costs a save",
        figure: "",
    },
];
