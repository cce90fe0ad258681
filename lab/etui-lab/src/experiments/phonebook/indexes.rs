//! The cost of each index to a save: one more index in each arm.

use std::fs;
use std::time::Instant;

use etui::contacts::Card;
use etui_vfs::Vfs;
use strum::VariantArray;

use super::super::backends::etui::{EtuiBackend, arm_options};
use super::super::backends::{self, StoreBackend as _, fill};
use super::super::common::{count_phase, register_variant};
use super::{BOOK, CARDS, ContactKind, FILLED_ETUI, books};
use crate::error::Error;
use crate::measure::pinned::run_pinned;
use crate::peers::eds::{self, INDEX_STEPS, Server};
use crate::peers::plain::{IndexParts, PlainContacts, PlainRows};
use crate::{Arm, ArmGroup, ArmRole, LabContext, Recorder, RunCase, RunPlan, redo};

/// Plain SQLite with etui's rows, and etui with all its indexes.
pub const PLAIN: &str = "index-costs";
/// The same through etui's VFS.
pub const PLAIN_REDO: &str = "index-costs, etui-vfs";
/// Evolution Data Server.
pub const SERVER: &str = "index-costs, EDS";
/// All of them.
pub const WORKS: [&str; 3] = [PLAIN, PLAIN_REDO, SERVER];

/// The arm of etui itself.
pub const ETUI: &str = "etui, all its indexes";
/// The largest book of a quick run with the server.
const SERVER_LARGEST: u64 = 3_200;

/// Plans them at the largest size.
pub fn plan_indexes(lab: &LabContext, plan: &mut RunPlan, largest: &ArmGroup) {
    let saves = lab.value("saves");
    let mut push = |work: &str, size: u64, arms: Vec<Arm>| {
        let arms = arms.into_iter().map(|arm| arm.with("saves", saves));
        plan.groups.push(ArmGroup {
            work: work.to_owned(),
            size,
            counted: work == SERVER,
            arms: arms.collect(),
            ..largest.clone()
        });
    };
    for (work, redo) in [(PLAIN, false), (PLAIN_REDO, true)] {
        let arms = IndexParts::VARIANTS.iter().map(|parts| {
            let name = match parts {
                IndexParts::Record => parts.to_string(),
                _ => format!("+ {parts}"),
            };
            let arm = Arm::new(name, ArmRole::Peer, "").with("parts", parts.to_string());
            arm.with("redo", redo)
        });
        let vfs = if redo { "etui-vfs" } else { "system-vfs" };
        let etui = Arm::new(ETUI, ArmRole::Etui, "product=etui").with(vfs, true);
        push(work, largest.size, arms.chain([etui]).collect());
    }
    // Its absence is reported with the other arms.
    if eds::available(Server::AddressBook).is_ok() {
        let sizes = lab.values("sizes").iter().copied();
        let fitting = sizes.filter(|size| !lab.quick() || *size <= SERVER_LARGEST);
        let size = fitting.max().unwrap_or(largest.size);
        let arms = (0..).zip(INDEX_STEPS).map(|(step, name): (u64, _)| {
            let arm = Arm::new(name, ArmRole::Peer, "product=eds way=dbus");
            arm.with("setup", step.to_string())
        });
        push(SERVER, size, arms.collect());
    }
}

pub fn run_case(case: &RunCase, recorder: &mut Recorder) -> Result<(), Error> {
    if case.work == SERVER {
        // Client, bus and server on one core: times are processor time.
        run_pinned(|_| server_costs(case, recorder))
    } else if backends::is_product(&case.settings, "etui") {
        etui_costs(case, recorder)
    } else {
        plain_costs(case, recorder)
    }
}

/// The fill and single saves by the server, with the indexes of an arm's step.
fn server_costs(case: &RunCase, recorder: &mut Recorder) -> Result<(), Error> {
    backends::measure_saves::<ContactKind>(case, recorder)?;
    let book = recorder.dir().join("ToFill/data/evolution/addressbook");
    let database = book.join(BOOK).join("contacts.db");
    let length = fs::metadata(&database).map_err(|e| Error::file(&database, e))?;
    recorder.record("fill/database_bytes", length.len() as f64);
    Ok(())
}

/// The fill and single saves by etui. Substrings are written at the end of the fill, as by plain
/// SQLite.
fn etui_costs(case: &RunCase, recorder: &mut Recorder) -> Result<(), Error> {
    let saves = case.settings.number("saves")?;
    let cards = books::read_cards(&recorder.shared().join(CARDS))?;
    let path = recorder.dir().join("book.etui");
    let mut etui = EtuiBackend::<Card>::new(&path, arm_options(&case.settings), cards)?;
    recorder.phase("fill", || {
        fill(&mut etui, case.size)?;
        etui.merge_index()
    })?;
    // As for plain SQLite: no save writes back what the fill left in the log.
    etui.close()?;
    etui.open()?;
    let before = etui.vfs_counters()?;
    let saved = recorder.phase("saves", || etui.save_each(case.size, saves))?;
    if let (Some(before), Some(after)) = (before, etui.vfs_counters()?) {
        redo::record_counters(recorder, "saves", &after.since(&before));
    }
    backends::record(recorder, "save_one", &saved);
    recorder.answer(etui.fetch_all()?.count.to_le_bytes());
    etui.close()?;
    let pages = rusqlite::Connection::open(&path)?
        .query_row("PRAGMA page_count", [], |row| row.get::<_, i64>(0))?;
    recorder.record("fill/pages", pages as f64);
    Ok(())
}

/// The fill and single saves by plain SQLite, an index more in each arm.
fn plain_costs(case: &RunCase, recorder: &mut Recorder) -> Result<(), Error> {
    let name = case.settings.text("parts")?;
    let parts = name.parse::<IndexParts>();
    let parts = parts.map_err(|_| Error::other(format!("the schema has no part `{name}`")))?;
    let saves = case.settings.number("saves")? as usize;
    let rows = PlainRows::read(&recorder.shared().join(FILLED_ETUI))?;
    let filled = rows.count().saturating_sub(saves);
    let vfs = register_variant(&case.settings)?;
    let vfs_name = vfs.as_ref().map(Vfs::name);
    let path = recorder.dir().join("book.db");
    let plain = PlainContacts::create(&path, parts, vfs_name)?;
    recorder.phase("fill", || plain.save(&rows, 0..filled, true))?;
    recorder.record("fill/pages", plain.pages()? as f64);
    // No save writes back the pages that the fill left in the log.
    plain.close()?;
    let plain = PlainContacts::open(&path, parts, vfs_name)?;
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
