//! Study 4: Evolution Data Server's address book.
//!
//! - [`books`]: the works beyond those of every [`backends`](super::shelf), as each product does them;
//! - [`queries`]: the queries, in each product's syntax;
//! - [`report`]: the declared report.

mod books;
mod queries;
mod report;
#[cfg(test)]
mod tests;

use std::fs;
use std::path::Path;
use std::time::Instant;

use etui::Durability;
use etui::contacts::Card;
use etui_testkit::people::{Version, person};
use etui_vfs::Vfs;

use self::books::{ContactBackend, PlainBook};
use super::backends::StoreBackend as _;
use super::backends::eds::EdsBackend;
use super::backends::etui::{EtuiBackend, store_options};
use super::backends::{self, fill, record, rounds, vfs_variants};
use crate::error::Error;
use crate::peers::eds::{self, EdsSession, Setup, TimedAnswer, Way};
use crate::peers::plain::{IndexParts, PlainContacts, PlainRows};
use crate::stacks::HERE;
use crate::{
    Arm, ArmGroup, ArmRole, ArmSettings, Experiment, ExperimentInfo, LabContext, NotRun, Parameter,
    PublishedResult, Recorder, ReportSpec, Results, RunCase, RunPlan, Study, redo,
};

/// The experiment.
pub struct Phonebook;

/// The book of people that is used.
const SEED: u64 = 4;
/// Contacts on a screen, and fetched at once.
const SCREEN: u64 = 50;
/// The name of the server's book.
const BOOK: &str = "lab";

/// The works of this experiment.
const BOOK_WORK: &str = "book";
const MEMORY_WORK: &str = "memory";
const INDEX_WORK: &str = "index-costs";
const INDEX_REDO_WORK: &str = "index-costs, etui-vfs";

impl Experiment for Phonebook {
    fn experiment_info(&self) -> ExperimentInfo {
        ExperimentInfo {
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

    fn plan_run(&self, lab: &LabContext) -> Result<RunPlan, Error> {
        let mut plan = RunPlan::default();
        let eds = eds::available(eds::Server::AddressBook);
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
        let group = |work: &str, size: u64, counted: bool, arms: Vec<Arm>| ArmGroup {
            work: work.to_owned(),
            stack: HERE.to_owned(),
            size,
            repetitions,
            counted,
            seconds: 1.0 + size as f64 / 3_000.0,
            arms,
            ..ArmGroup::default()
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
        plan.groups.push(ArmGroup {
            repetitions: 1,
            ..group(MEMORY_WORK, largest, false, arms)
        });
        for (work, redo) in [(INDEX_WORK, false), (INDEX_REDO_WORK, true)] {
            let arms = IndexParts::ALL.map(|parts| {
                let settings = ArmSettings::new()
                    .with("parts", parts.name())
                    .with("saves", saves)
                    .with("redo", redo);
                let name = match parts {
                    IndexParts::Record => parts.name().to_owned(),
                    _ => format!("+ {}", parts.name()),
                };
                Arm::new(name, ArmRole::Peer, settings)
            });
            plan.groups.push(group(work, largest, false, arms.to_vec()));
        }
        Ok(plan)
    }

    fn set_up(&self, group: &ArmGroup, dir: &Path) -> Result<(), Error> {
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
            eds::build(eds::Server::AddressBook, dir)?;
        }
        // A store that etui filled: where the rows of plain SQLite come from.
        let cards = books::read_cards(&file)?;
        let options = store_options(Durability::Deferred);
        let mut book = EtuiBackend::new(&dir.join("filled.etui"), options, cards)?;
        fill(&mut book, count)?;
        book.merge()?;
        book.close()?;
        if group.arms.iter().any(|arm| is_product(arm, "plain")) {
            let rows = PlainRows::read(&dir.join("filled.etui"))?;
            let plain = PlainContacts::create(&dir.join("filled.plain"), IndexParts::Gram, None)?;
            plain.save(&rows, 0..rows.len(), true)?;
            plain.close()?;
        }
        Ok(())
    }

    fn run_case(&self, case: &RunCase, recorder: &mut Recorder) -> Result<(), Error> {
        match case.work.as_str() {
            BOOK_WORK => book(case, recorder),
            MEMORY_WORK => memory(case, recorder),
            INDEX_WORK | INDEX_REDO_WORK => index_costs(case, recorder),
            other => Err(Error::other(format!("phonebook knows no work `{other}`"))),
        }
    }

    fn report_spec(&self, results: &Results) -> ReportSpec {
        report::report_spec(results)
    }
}

fn is_product(arm: &Arm, name: &str) -> bool {
    arm.settings
        .text("product")
        .is_ok_and(|product| product == name)
}

fn saves(settings: &ArmSettings) -> Result<u64, Error> {
    settings.number("saves")
}

/// The arms, as found first.
fn arms(saves: u64) -> Vec<Arm> {
    let eds = |way: Way, setup: Setup| {
        ArmSettings::new()
            .with("product", "eds")
            .with("way", way.word())
            .with("setup", setup.word())
            .with("saves", saves)
    };
    let own = |product: &str| {
        ArmSettings::new()
            .with("product", product)
            .with("saves", saves)
    };
    vec![
        Arm::new(
            report::DBUS,
            ArmRole::AsFound,
            eds(Way::Dbus, Setup::Shipped),
        ),
        Arm::new(report::TUNED, ArmRole::Cure, eds(Way::Dbus, Setup::Tuned)),
        Arm::new(
            report::DIRECT,
            ArmRole::Cure,
            eds(Way::Direct, Setup::Shipped),
        ),
        Arm::new(
            report::DIRECT_TUNED,
            ArmRole::AllCures,
            eds(Way::Direct, Setup::Tuned),
        ),
        Arm::new(
            report::DURABLE,
            ArmRole::Peer,
            eds(Way::Dbus, Setup::Shipped).with("durable", true),
        ),
        Arm::new(report::PLAIN, ArmRole::Peer, own("plain")),
        Arm::new(
            report::PLAIN_REDO,
            ArmRole::Peer,
            own("plain").with("redo", true),
        ),
        Arm::new(report::ETUI, ArmRole::Etui, own("etui")),
        Arm::new(
            report::DEFERRED,
            ArmRole::Etui,
            own("etui").with("deferred", true),
        ),
    ]
}

/// The arm's book, empty and open; through a VFS, if it is plain SQLite's and one is named.
fn empty_book(
    case: &RunCase,
    recorder: &Recorder,
    vfs: Option<&str>,
) -> Result<Box<dyn ContactBackend>, Error> {
    let settings = &case.settings;
    let cards = recorder.shared().join("cards.vcf");
    let filled = recorder.shared().join("filled.etui");
    match settings.text("product")? {
        "etui" => {
            let durability = if settings.is("deferred") {
                Durability::Deferred
            } else {
                Durability::Full
            };
            let path = recorder.dir().join("book.etui");
            let cards = books::read_cards(&cards)?;
            Ok(Box::new(EtuiBackend::new(
                &path,
                store_options(durability),
                cards,
            )?))
        }
        "plain" => {
            let path = recorder.dir().join("book.db");
            Ok(Box::new(PlainBook::new(
                &path,
                PlainRows::read(&filled)?,
                case.size,
                vfs,
            )?))
        }
        _ => {
            let (way, setup) = eds_settings(settings)?;
            let session = session(case, recorder, "eds")?;
            let mut book = EdsBackend::open(session, Some(&create(setup)), &connect(way))?;
            book.load(&cards)?;
            Ok(Box::new(book))
        }
    }
}

fn eds_settings(settings: &ArmSettings) -> Result<(Way, Setup), Error> {
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

/// The client's command that makes the book.
fn create(setup: Setup) -> [&'static str; 3] {
    ["create", BOOK, setup.word()]
}

/// The client's command that opens it.
fn connect(way: Way) -> [&'static str; 3] {
    ["connect", BOOK, way.word()]
}

fn session(case: &RunCase, recorder: &Recorder, name: &str) -> Result<EdsSession, Error> {
    eds::available(eds::Server::AddressBook).map_err(Error::not_run)?;
    let built = eds::build(eds::Server::AddressBook, recorder.shared())?;
    let dir = recorder.dir().join(name);
    fs::create_dir_all(&dir).map_err(|e| Error::file(&dir, e))?;
    EdsSession::start(&dir, &built, case.settings.is("durable"))
}

/// Everything but memory: fills a book, reads it in every way, saves into it singly.
fn book(case: &RunCase, recorder: &mut Recorder) -> Result<(), Error> {
    let saves = saves(&case.settings)?;
    let vfs = vfs_variants::register_variant(&case.settings)?;
    let mut book = empty_book(case, recorder, vfs.as_ref().map(Vfs::name))?;

    backends::fill_and_record(recorder, book.as_mut(), case.size)?;
    reads(case, recorder, book.as_mut())?;
    backends::save_singly(recorder, book.as_mut(), vfs.as_ref(), case.size, saves)
}

/// Reads a book in every way. For the answer alone, and each once, in a counted run and by arms
/// that differ in their saves.
fn reads(
    case: &RunCase,
    recorder: &mut Recorder,
    book: &mut dyn ContactBackend,
) -> Result<(), Error> {
    let timed = !recorder.counts() && reads_are_its_own(&case.settings);
    let times = |times: u64| if timed { times } else { 1 };
    let (few, some, many) = (times(3), times(5), times(10));
    let record = |recorder: &mut Recorder, name: &str, answer: &TimedAnswer| {
        if timed {
            record(recorder, name, answer);
        }
    };

    // Spread over the book.
    let uids: Vec<String> = (0..SCREEN.min(case.size))
        .map(|n| person(SEED, n * 37 % case.size).uid)
        .collect();
    backends::read(recorder, book, &uids, (few, many), timed)?;
    let partial = rounds(few, || book.fetch_partial())?;
    record(recorder, "partial", &partial);
    recorder.answer(partial.count.to_le_bytes());

    let screen = book.first_screen(many, SCREEN)?;
    record(recorder, "screen", &screen);
    recorder.answer(screen.count.to_le_bytes());
    for (name, answer) in book.own_requests(many, SCREEN)? {
        record(recorder, name, &answer);
    }

    for query in queries::all_queries() {
        if case.size > query.largest {
            continue;
        }
        let found = rounds(some, || book.find_cards(1, &query))?;
        record(recorder, query.name, &found);
        recorder.answer(&found.digest);
        let which = rounds(some, || book.find_uids(1, &query))?;
        record(recorder, &format!("{}_which", query.name), &which);
        recorder.answer(which.count.to_le_bytes());
        recorder.answer(&which.digest);
        if recorder.counts() {
            recorder.record(&format!("{}/hits", query.name), found.count as f64);
        }
    }

    backends::reopen(recorder, book, some, timed)
}

/// Made durable or deferred, an arm reads as the one that it is a variant of.
fn reads_are_its_own(settings: &ArmSettings) -> bool {
    !settings.is("durable") && !settings.is("deferred")
}

/// Memory of all processes with an empty book, with the filled one opened, and with every
/// contact fetched, its name read, and kept.
fn memory(case: &RunCase, recorder: &mut Recorder) -> Result<(), Error> {
    let vfs = vfs_variants::register_variant(&case.settings)?;
    let vfs = vfs.as_ref().map(Vfs::name);
    backends::memory(
        recorder,
        |recorder, filled| opened(case, recorder, filled, vfs),
        |book| book.first_screen(1, SCREEN),
    )
}

/// The arm's book in processes that did not fill it: empty or filled, and open.
fn opened(
    case: &RunCase,
    recorder: &Recorder,
    filled: bool,
    vfs: Option<&str>,
) -> Result<Box<dyn ContactBackend>, Error> {
    let name = if filled { "filled" } else { "empty" };
    let path = recorder.dir().join(name);
    let product = case.settings.text("product")?;
    if product != "eds" {
        if filled {
            let from = recorder.shared().join(format!("filled.{product}"));
            fs::copy(&from, &path).map_err(|e| Error::file(&path, e))?;
        }
        return Ok(match product {
            "etui" => {
                let options = store_options(Durability::Full);
                Box::new(EtuiBackend::<Card>::new(&path, options, Vec::new())?)
            }
            _ => Box::new(PlainBook::new(&path, PlainRows::default(), 0, vfs)?),
        });
    }
    let (way, setup) = eds_settings(&case.settings)?;
    if filled {
        fs::create_dir_all(&path).map_err(|e| Error::file(&path, e))?;
        let built = eds::build(eds::Server::AddressBook, recorder.shared())?;
        let cards = recorder.shared().join("cards.vcf");
        eds::fill_book(&path, &built, BOOK, setup, &cards)?;
    }
    let create = create(setup);
    let create: Option<&[&str]> = (!filled).then_some(&create);
    let session = session(case, recorder, name)?;
    Ok(Box::new(EdsBackend::open(session, create, &connect(way))?))
}

/// The fill and single saves by plain SQLite, an index more in each arm.
fn index_costs(case: &RunCase, recorder: &mut Recorder) -> Result<(), Error> {
    let name = case.settings.text("parts")?;
    let parts = IndexParts::ALL
        .into_iter()
        .find(|parts| parts.name() == name)
        .ok_or_else(|| Error::other(format!("the schema has no part `{name}`")))?;
    let saves = saves(&case.settings)? as usize;
    let rows = PlainRows::read(&recorder.shared().join("filled.etui"))?;
    let filled = rows.len().saturating_sub(saves);
    let vfs = vfs_variants::register_variant(&case.settings)?;
    let vfs_variants = vfs.as_ref().map(Vfs::name);
    let plain = PlainContacts::create(&recorder.dir().join("book.db"), parts, vfs_variants)?;
    recorder.phase("fill", || plain.save(&rows, 0..filled, true))?;
    recorder.record("fill/pages", plain.pages()? as f64);
    let mut saved = TimedAnswer::default();
    let before = vfs.as_ref().map(Vfs::counters);
    recorder.phase("saves", || {
        for at in filled..rows.len() {
            let begun = Instant::now();
            plain.save(&rows, at..at + 1, false)?;
            saved.ns.push(begun.elapsed().as_nanos() as f64);
        }
        Ok(())
    })?;
    if let (Some(vfs), Some(before)) = (&vfs, before) {
        redo::record_counters(recorder, "saves", &vfs.counters().since(&before));
    }
    record(recorder, "save_one", &saved);
    recorder.answer((plain.all()?.len() as u64).to_le_bytes());
    plain.close()
}

const FOUND: &[PublishedResult] = &[
    PublishedResult {
        finding: "saving one by one grows quickly: a transaction each",
        cure: "group commits",
        figure: "",
    },
    PublishedResult {
        finding: "saving in batches of 3,200",
        cure: "one transaction, cheap indexes",
        figure: "under 3 ms per contact up to 12,800 contacts",
    },
    PublishedResult {
        finding: "fetching all got slower from version to version",
        cure: "no needless parsing or copying",
        figure: "3.4: 133 % of 2.32's time, 225 % of Maemo 5's; 3.5 still 175 %; EBookClient \
                 20 % slower than EBook, 64 % slower than direct",
    },
    PublishedResult {
        finding: "fetching by UID, one by one",
        cure: "direct access; less round trips",
        figure: "3.9 ms through D-Bus in 3.5 (2.32 four times, Maemo 5 thirteen times faster), \
                 about 0.05 ms direct",
    },
    PublishedResult {
        finding: "fetching by UID in batches is impossible except by a disjunction query",
        cure: "a real batch call by UIDs",
        figure: "misses the 16 ms frame of a 60 fps list",
    },
    PublishedResult {
        finding: "partial contacts are not supported",
        cure: "fetch only the fields a list shows",
        figure: "",
    },
    PublishedResult {
        finding: "no working indexes for e-mail and phone",
        cure: "indexes for all: autocomplete needs prefixes, caller ID needs suffixes",
        figure: "direct takes under 60 % of D-Bus",
    },
    PublishedResult {
        finding: "memory per contact: client and server together cost more",
        cure: "one database; measure per contact",
        figure: "client-server +40 %; per contact +40 % in EDS 3+, direct only 55 % of that",
    },
    PublishedResult {
        finding: "indexes speed up queries and slow down saving",
        cure: "measure what each index costs a save",
        figure: "",
    },
];
