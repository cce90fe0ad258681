//! Study 4: Evolution Data Server's address book.
//!
//! - [`books`]: the works beyond those of every [`backends`], as each product does them;
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

use etui::contacts::Card;
use etui_testkit::people::{Version, person};
use etui_vfs::Vfs;

use self::books::{ContactBackend, PlainBook};
use super::about::AboutText;
use super::backends::eds::EdsBackend;
use super::backends::etui::{EtuiBackend, arm_options};
use super::backends::own::OwnBackend;
use super::backends::{
    self, ArmSpec, BackendKind, MEMORY_WORK, PINNED_WORK, ReadPass, SCREEN, StoreBackend as _,
    fill, is_product, rounds,
};
use super::common::{count_phase, register_variant};
use crate::error::Error;
use crate::peers::eds::{Server, TimedAnswer};
use crate::peers::plain::{IndexParts, PlainContacts, PlainRows};
use crate::{
    Arm, ArmGroup, ArmRole, ArmSettings, Experiment, ExperimentInfo, LabContext, Recorder,
    ReportSpec, Results, RunCase, RunPlan, Study,
};

/// The experiment.
pub struct Phonebook;

/// The book of people that is used.
const SEED: u64 = 4;
/// The name of the server's book.
const BOOK: &str = "lab";
/// Files of a group: the contacts, and a store that etui filled.
const CARDS: &str = "cards.vcf";
const FILLED_ETUI: &str = "filled.etui";

/// The works of this experiment.
const BOOK_WORK: &str = "book";
const INDEX_WORK: &str = "index-costs";
const INDEX_REDO_WORK: &str = "index-costs, etui-vfs";

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
        for (work, redo) in [(INDEX_WORK, false), (INDEX_REDO_WORK, true)] {
            let arms = IndexParts::ALL.map(|parts| {
                let name = match parts {
                    IndexParts::Record => parts.name().to_owned(),
                    _ => format!("+ {}", parts.name()),
                };
                let arm = Arm::new(name, ArmRole::Peer, "").with("parts", parts.name());
                arm.with("saves", lab.value("saves")).with("redo", redo)
            });
            plan.groups.push(ArmGroup {
                work: work.to_owned(),
                counted: false,
                arms: arms.to_vec(),
                ..largest.clone()
            });
        }
        Ok(plan)
    }

    fn set_up(&self, group: &ArmGroup, dir: &Path) -> Result<(), Error> {
        let count = backends::count_records(group)?;
        let file = dir.join(CARDS);
        let text: String = (0..count)
            .map(|index| person(SEED, index).to_vcard(Version::V3))
            .collect();
        fs::write(&file, text).map_err(|e| Error::file(&file, e))?;
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
            INDEX_WORK | INDEX_REDO_WORK => index_costs(case, recorder),
            other => Err(Error::other(format!("phonebook knows no work `{other}`"))),
        }
    }

    fn report_spec(&self, results: &Results) -> ReportSpec {
        report::report_spec(results)
    }
}

/// Contacts in an address book.
struct ContactKind;

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

/// The fill and single saves by plain SQLite, an index more in each arm.
fn index_costs(case: &RunCase, recorder: &mut Recorder) -> Result<(), Error> {
    let name = case.settings.text("parts")?;
    let parts = IndexParts::ALL
        .into_iter()
        .find(|parts| parts.name() == name)
        .ok_or_else(|| Error::other(format!("the schema has no part `{name}`")))?;
    let saves = case.settings.number("saves")? as usize;
    let rows = PlainRows::read(&recorder.shared().join(FILLED_ETUI))?;
    let filled = rows.count().saturating_sub(saves);
    let vfs = register_variant(&case.settings)?;
    let vfs_name = vfs.as_ref().map(Vfs::name);
    let plain = PlainContacts::create(&recorder.dir().join("book.db"), parts, vfs_name)?;
    recorder.phase("fill", || plain.save(&rows, 0..filled, true))?;
    recorder.record("fill/pages", plain.pages()? as f64);
    let mut ns = Vec::new();
    count_phase(recorder, "saves", vfs.as_ref(), |recorder| {
        recorder.phase("saves", || {
            for at in filled..rows.count() {
                let begun = Instant::now();
                plain.save(&rows, at..at + 1, false)?;
                ns.push(begun.elapsed().as_nanos() as f64);
            }
            Ok(())
        })
    })?;
    backends::record(recorder, "save_one", &backends::counted(ns, 0));
    recorder.answer((plain.all()?.len() as u64).to_le_bytes());
    plain.close()
}
