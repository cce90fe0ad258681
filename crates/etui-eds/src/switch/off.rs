//! Switching off: the stock server gets back what changed, and its place.

use etui::Store;
use zbus::Connection;

use super::look::{BATCH, Copies, Look};
use super::merge::Side;
use super::names::HeldNames;
use super::other_store::{refuse_other_file, refuse_other_service};
use super::plan::{PlannedSource, sources_of_store};
use super::programs::{holding_programs, restart_programs};
use super::service_lock::ServiceLock;
use super::state::{Phase, SwitchLock, SwitchState};
use super::stock_side::StockSide;
use super::store_side::{StoreSide, digest};
use super::{OnProgress, Progress, Step, SwitchError, SwitchOptions, SwitchReport, reload_bus};
use crate::stock::Helpers;

/// Switches off. The store keeps its copy.
///
/// # Errors
/// [`SwitchError::Conflicts`] if both sides changed a record and no side is preferred; any error of
/// the bus, the stock server, the store and the files. The store goes on serving then, and the
/// command can be repeated.
pub fn switch_off(
    options: &SwitchOptions,
    progress: OnProgress<'_>,
) -> Result<SwitchReport, SwitchError> {
    zbus::block_on(run(options, progress))
}

async fn run(
    options: &SwitchOptions,
    progress: OnProgress<'_>,
) -> Result<SwitchReport, SwitchError> {
    let state = SwitchState::read(&options.store)?;
    refuse_other_file(options)?;
    let has_files = !options.dirs.service_files()?.is_empty();
    let is_off = state.as_ref().is_none_or(|state| state.phase == Phase::Off);
    if is_off && !has_files {
        return Ok(SwitchReport {
            already: true,
            ..SwitchReport::default()
        });
    }
    let _lock = SwitchLock::take(&options.store, &options.dirs.data)?;
    let connection = Connection::session().await?;
    refuse_other_service(options, &connection).await?;
    let mut state = state.unwrap_or_else(|| SwitchState::new(options.lasting));
    let sources = sources_of_store(&connection).await?;
    let store = Store::open_with(&options.store, &options.options)?;

    let mut programs = holding_programs(&connection).await?;
    let names = HeldNames::take(&connection).await?;
    // Those of other sessions write to the store too; new ones wait.
    let done = match ServiceLock::end_services(&options.store).await {
        Ok(_ended) => {
            progress(Progress::Done(Step::NamesHeld));
            give_back(options, &connection, &store, sources, &mut state, progress).await
        }
        Err(error) => Err(error),
    };
    names.release().await?;
    let mut report = done?;
    progress(Progress::Done(Step::Served));
    restart_programs(&connection, &mut programs).await?;
    report.programs = programs;
    Ok(report)
}

async fn give_back(
    options: &SwitchOptions,
    connection: &Connection,
    store: &Store,
    sources: Vec<PlannedSource>,
    state: &mut SwitchState,
    progress: OnProgress<'_>,
) -> Result<SwitchReport, SwitchError> {
    let helpers = Helpers::new(connection.clone());
    let pictures = options.dirs.data.join("evolution");
    // What the stock server has in other words after an earlier attempt is not its own change.
    let resumed = (state.phase == Phase::GivingBack).then(|| state.prefer.unwrap_or(Side::Store));
    let prefer = options.prefer.or(resumed);
    let mut looks = Vec::new();
    for planned in sources {
        let kind = planned.kind;
        let stock = StockSide::open(&helpers, connection, kind, &planned.source, &pictures);
        let stock = stock.await?;
        looks.push(Look::read(planned, stock, store, state, progress).await?);
    }
    let conflicts: Vec<String> = looks
        .iter()
        .flat_map(|look| look.conflicts(prefer))
        .collect();
    if !conflicts.is_empty() {
        return Err(SwitchError::Conflicts { records: conflicts });
    }
    progress(Progress::Done(Step::Compared));

    state.phase = Phase::GivingBack;
    state.prefer = prefer;
    state.write(&options.store)?;
    progress(Progress::Done(Step::StateWritten));

    let mut report = SwitchReport::default();
    for look in &mut looks {
        let copies = look.changed_by(Side::Store, prefer);
        give_back_source(look, &copies, store, progress).await?;
        let records = look.stock.uids().await?.len();
        let side = StoreSide::find(store, look.planned.kind, &look.planned.uid)?;
        let collection = side.map(|side| side.name());
        report
            .collections
            .push(look.report(&copies, records as u64, collection));
    }
    progress(Progress::Done(Step::Copied));

    options.dirs.remove_files()?;
    reload_bus(connection).await?;
    progress(Progress::Done(Step::FilesChanged));

    state.phase = Phase::Off;
    state.prefer = None;
    state.collections = looks.iter().map(|look| look.to_state(prefer)).collect();
    state.write(&options.store)?;
    progress(Progress::Done(Step::StateUpdated));
    Ok(report)
}

/// Copies a source's changes to the stock server, reads them back and compares.
async fn give_back_source(
    look: &mut Look,
    copies: &Copies,
    store: &Store,
    progress: OnProgress<'_>,
) -> Result<(), SwitchError> {
    let kind = look.planned.kind;
    let Some(side) = StoreSide::find(store, kind, &look.planned.uid)? else {
        return Ok(());
    };
    let uids = copies.written();
    if !uids.is_empty() {
        for zone in side.zones()? {
            look.stock.add_zone(&zone).await?;
        }
    }
    for (number, batch) in uids.chunks(BATCH).enumerate() {
        progress(Progress::Records {
            source: &look.planned.label,
            done: number * BATCH,
            total: uids.len(),
        });
        let rewritten = look.stock.save(&side.for_stock(batch)?).await?;
        look.rewritten.extend(rewritten);
        for (uid, stored) in batch.iter().zip(side.get(batch)?) {
            let text = look.stock.text(uid).await?;
            if let (Some(text), Some((etag, _))) = (text, stored) {
                look.set_equal(uid, digest(kind, &text), etag.to_string());
            }
        }
    }
    look.stock.remove(&copies.removed).await?;
    for uid in &copies.removed {
        look.set_removed(uid);
    }
    Ok(())
}
