//! Study 4: Evolution Data Server's address book.
//!
//! - [`books`]: the works beyond those of every [`backends`], as each product does them;
//! - [`indexes`]: the cost of each index to a save;
//! - [`queries`]: the queries, in each product's syntax;
//! - [`report`]: the declared report.

mod books;
mod indexes;
mod queries;
mod report;
#[cfg(test)]
mod tests;

use std::fs;
use std::path::{Path, PathBuf};

use etui::contacts::Card;
use etui_testkit::people::{Version, person};

use self::books::{ContactBackend, PlainBook};
use super::about::AboutText;
use super::backends::etui::{EtuiBackend, arm_options};
use super::backends::own::OwnBackend;
use super::backends::server::{AkonadiBackend, EdsBackend};
use super::backends::{
    self, ArmSpec, BackendKind, MEMORY_WORK, PINNED_WORK, ReadPass, SCREEN, StoreBackend as _,
    fill, is_product, rounds,
};
use crate::error::Error;
use crate::peers::akonadi;
use crate::peers::eds::{self, Server, TimedAnswer};
use crate::peers::plain::PlainRows;
use crate::stacks::HERE;
use crate::{
    Arm, ArmGroup, ArmRole, ArmSettings, Experiment, ExperimentInfo, LabContext, Recorder,
    ReportSpec, Results, RunCase, RunPlan, Study,
};

pub struct Phonebook;

/// The book of people that is used.
const SEED: u64 = 4;
/// The name of the server's book.
const BOOK: &str = "lab";
/// Files of a group: the contacts, and a store that etui filled.
const CARDS: &str = "cards.vcf";
const FILLED_ETUI: &str = "filled.etui";

/// The works of this experiment, beside those of [`indexes`].
const BOOK_WORK: &str = "book";
const SERVERS_WORK: &str = "servers";
const SERVERS_MEMORY_WORK: &str = "servers, memory";
/// The largest book of [`SERVERS_WORK`], quick and full: Akonadi's agent writes a file for each
/// contact, some hundred a second.
const SERVERS_LARGEST: [u64; 2] = [800, 3_200];

/// The arms, as found first.
const ARMS: [ArmSpec<'static>; 10] = {
    use ArmRole::{AllCures, AsFound, Cure, Etui, Peer, Variant};
    [
        (report::DBUS, AsFound, "product=eds way=dbus setup=shipped"),
        (report::TUNED, Cure, "product=eds way=dbus setup=tuned"),
        (report::DIRECT, Cure, "product=eds way=direct setup=shipped"),
        (
            report::DIRECT_TUNED,
            AllCures,
            "product=eds way=direct setup=tuned",
        ),
        (
            report::DURABLE,
            Peer,
            "product=eds way=dbus setup=shipped durable",
        ),
        (report::PLAIN, Peer, "product=plain"),
        (report::PLAIN_REDO, Variant, "product=plain redo"),
        (report::ETUI, Etui, "product=etui"),
        (report::SYSTEM_VFS, Variant, "product=etui system-vfs"),
        (report::DEFERRED, Variant, "product=etui deferred"),
    ]
};

/// The arms of clients, on one core.
const CLIENTS: [ArmSpec<'static>; 4] = {
    use ArmRole::{AsFound, Cure, Variant};
    [
        (report::DBUS, AsFound, "product=eds way=dbus setup=shipped"),
        (report::DIRECT, Cure, "product=eds way=direct setup=shipped"),
        (
            report::AS_EDS,
            Variant,
            "product=eds way=dbus setup=shipped by-etui",
        ),
        (report::OWN, Variant, "product=own"),
    ]
};

/// The arms of servers, and etui.
const SERVERS: [ArmSpec<'static>; 4] = {
    use ArmRole::{AsFound, Etui, Peer};
    [
        (report::DBUS, AsFound, "product=eds way=dbus setup=shipped"),
        (
            report::DURABLE,
            Peer,
            "product=eds way=dbus setup=shipped durable",
        ),
        (report::AKONADI, Peer, "product=akonadi"),
        (report::ETUI, Etui, "product=etui"),
    ]
};

impl Experiment for Phonebook {
    fn experiment_info(&self) -> ExperimentInfo {
        static ABOUT: AboutText = AboutText::new(include_str!("phonebook.md"));
        ABOUT.info("phonebook", Some(Study::AddressBook))
    }

    fn plan_run(&self, lab: &LabContext) -> Result<RunPlan, Error> {
        let mut plan = RunPlan::default();
        plan.skip(
            "arm QtContacts",
            "the only engine that Debian packages keeps contacts in memory: nothing is stored \
             that could be compared",
        );
        backends::plan_sizes::<ContactKind>(lab, &mut plan, BOOK_WORK, &ARMS, &CLIENTS);
        let Some(largest) = plan.groups.iter().rfind(|group| group.counted).cloned() else {
            return Ok(plan);
        };
        plan_servers(lab, &mut plan);
        indexes::plan_indexes(lab, &mut plan, &largest);
        Ok(plan)
    }

    fn set_up(&self, group: &ArmGroup, dir: &Path) -> Result<(), Error> {
        let count = backends::count_records(group)?;
        let file = write_cards(count, dir)?;
        backends::build_client::<ContactKind>(group, dir)?;
        // A store that etui filled: where the rows of plain SQLite come from.
        let filled = dir.join(FILLED_ETUI);
        EtuiBackend::create_filled(&filled, books::read_cards(&file)?)?;
        if group
            .arms
            .iter()
            .any(|arm| is_product(&arm.settings, "plain"))
        {
            let rows = PlainRows::read(&filled)?;
            let mut plain = PlainBook::new(&dir.join("filled.plain"), rows, count, None)?;
            fill(&mut plain, count)?;
            plain.close()?;
        }
        Ok(())
    }

    fn run_case(&self, case: &RunCase, recorder: &mut Recorder) -> Result<(), Error> {
        match case.work.as_str() {
            BOOK_WORK | MEMORY_WORK | PINNED_WORK => {
                backends::run_arm::<ContactKind>(case, recorder)
            }
            SERVERS_WORK => backends::run_arm::<ContactKind>(case, recorder),
            SERVERS_MEMORY_WORK => backends::measure_memory::<ContactKind>(case, recorder),
            work if indexes::WORKS.contains(&work) => indexes::run_case(case, recorder),
            other => Err(Error::other(format!("phonebook knows no work `{other}`"))),
        }
    }

    fn report_spec(&self, results: &Results) -> ReportSpec {
        report::report_spec(results)
    }
}

/// Plans the operations that Akonadi has too, beside other servers and etui.
fn plan_servers(lab: &LabContext, plan: &mut RunPlan) {
    if let Err(reason) = akonadi::check() {
        return plan.skip("arm Akonadi", reason);
    }
    let [quick, full] = SERVERS_LARGEST;
    let most = if lab.quick() { quick } else { full };
    let sizes = lab.values("sizes").iter().copied();
    let Some(size) = sizes.filter(|size| *size <= most).max() else {
        return plan.skip(
            "arm Akonadi",
            format!("it is measured with at most {most} contacts: --set sizes={most}"),
        );
    };
    let has_eds = eds::available(Server::AddressBook).is_ok();
    let arms = SERVERS.into_iter().map(|(name, role, settings)| {
        Arm::new(name, role, settings).with("saves", lab.value("saves"))
    });
    let arms: Vec<Arm> = arms
        .filter(|arm| has_eds || !is_product(&arm.settings, "eds"))
        .collect();
    for (work, repetitions) in [(SERVERS_WORK, 3), (SERVERS_MEMORY_WORK, 1)] {
        let mut arms = arms.clone();
        // Made durable the server takes as much memory.
        arms.retain(|arm| work == SERVERS_WORK || !arm.settings.is("durable"));
        plan.groups.push(ArmGroup {
            repetitions,
            counted: work == SERVERS_WORK,
            seconds: 3.0 + size as f64 / 200.0,
            ..ArmGroup::new(work, HERE, size, arms)
        });
    }
}

/// Writes the cards to be saved into a group's directory; their file.
pub(super) fn write_cards(count: u64, dir: &Path) -> Result<PathBuf, Error> {
    let file = dir.join(CARDS);
    let text: String = (0..count)
        .map(|index| person(SEED, index).to_vcard(Version::V3))
        .collect();
    fs::write(&file, text).map_err(|e| Error::file(&file, e))?;
    Ok(file)
}

/// Contacts in an address book.
pub(super) struct ContactKind;

impl BackendKind for ContactKind {
    type Backend = dyn ContactBackend;
    const SERVER: Server = Server::AddressBook;
    const RECORDS: &'static str = CARDS;

    fn commands(settings: &ArmSettings) -> Result<[Vec<&str>; 2], Error> {
        let create = vec!["create", BOOK, settings.text("setup")?];
        Ok([create, vec!["connect", BOOK, settings.text("way")?]])
    }

    fn of_server(backend: EdsBackend) -> Box<Self::Backend> {
        Box::new(backend)
    }

    fn of_akonadi(backend: AkonadiBackend) -> Result<Box<Self::Backend>, Error> {
        Ok(Box::new(backend))
    }

    fn open_local(
        case: &RunCase,
        shared: &Path,
        path: &Path,
        vfs: Option<&str>,
        to_save: bool,
    ) -> Result<Box<Self::Backend>, Error> {
        if is_product(&case.settings, "plain") {
            let rows = to_save.then(|| PlainRows::read(&shared.join(FILLED_ETUI)));
            let rows = rows.transpose()?.unwrap_or_default();
            return Ok(Box::new(PlainBook::new(path, rows, case.size, vfs)?));
        }
        if is_product(&case.settings, "own") {
            let texts = to_save.then(|| books::read_texts(&shared.join(CARDS)));
            let texts = texts.transpose()?.unwrap_or_default();
            return Ok(Box::new(OwnBackend::<Card>::start(path, texts)?));
        }
        let cards = to_save.then(|| books::read_cards(&shared.join(CARDS)));
        let cards: Vec<Card> = cards.transpose()?.unwrap_or_default();
        Ok(Box::new(EtuiBackend::new(
            path,
            arm_options(&case.settings),
            cards,
        )?))
    }

    fn read_records(
        case: &RunCase,
        pass: &mut ReadPass<'_>,
        book: &mut Self::Backend,
    ) -> Result<(), Error> {
        let (few, some, many) = (pass.times(3), pass.times(5), pass.times(10));
        // Spread over the book.
        let uids: Vec<String> = (0..SCREEN.min(case.size))
            .map(|n| person(SEED, n * 37 % case.size).uid)
            .collect();
        pass.read_common(book, &uids)?;
        if case.work == SERVERS_WORK {
            return pass.reopen(book);
        }
        let partial = rounds(few, || book.fetch_partial())?;
        pass.record_answer("partial", &backends::counted(partial.ns, partial.count));
        pass.record_answer("screen", &book.first_screen(many, SCREEN)?);
        for (name, answer) in book.own_requests(many, SCREEN)? {
            pass.record(name, &answer);
        }
        for query in queries::all_queries() {
            if case.size <= query.largest {
                let found = rounds(some, || book.find_cards(1, &query))?;
                pass.record_answer(query.name, &found);
                let uids = rounds(some, || book.find_uids(1, &query))?;
                pass.record_answer(&format!("{}_which", query.name), &uids);
            }
        }
        pass.reopen(book)
    }

    fn look(book: &mut Self::Backend) -> Result<TimedAnswer, Error> {
        book.first_screen(1, SCREEN)
    }
}
