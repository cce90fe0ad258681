//! Switching on: the store takes over what the stock server has, and its place.

use etui::Store;
use zbus::Connection;

use super::look::{BATCH, Copies, Look};
use super::merge::Side;
use super::names::HeldNames;
use super::other_store::{refuse_other_file, refuse_other_owner, refuse_other_service};
use super::plan::{PlannedSource, sources_of_store};
use super::programs::{holding_programs, restart_programs};
use super::state::{Phase, SwitchLock, SwitchState};
use super::stock_side::StockSide;
use super::store_side::{StoreSide, Text};
use super::{
    OnProgress, Progress, Step, SwitchError, SwitchOptions, SwitchReport, call_object, has_systemd,
    reload_bus,
};
use crate::calendar::exchange::series_from_stock;
use crate::server::bus_names::{BOOK_FACTORY, BOOK_NAME, CALENDAR_FACTORY, CALENDAR_NAME};
use crate::sources::SourceKind;
use crate::stock::Helpers;

/// Switches on.
///
/// # Errors
/// [`SwitchError::Conflicts`] if both sides changed a record and no side is preferred; any error of
/// the bus, the stock server, the store and the files. What was done is undone then.
pub fn switch_on(
    options: &SwitchOptions,
    progress: OnProgress<'_>,
) -> Result<SwitchReport, SwitchError> {
    zbus::block_on(run(options, progress))
}

async fn run(
    options: &SwitchOptions,
    progress: OnProgress<'_>,
) -> Result<SwitchReport, SwitchError> {
    let _lock = SwitchLock::take(&options.store, &options.dirs.data)?;
    let connection = Connection::session().await?;
    refuse_other_file(options)?;
    refuse_other_service(options, &connection).await?;
    let state = SwitchState::read(&options.store)?;
    let mut state = state.unwrap_or_else(|| SwitchState::new(options.lasting));
    let files = options.dirs.service_files()?;
    if state.phase == Phase::On && files.len() >= 2 {
        return stay_on(options, &connection, state).await;
    }
    let sources = sources_of_store(&connection).await?;
    let mut store_options = options.options.clone();
    store_options.create = true;
    let store = Store::open_with(&options.store, &store_options)?;

    let mut programs = holding_programs(&connection).await?;
    let names = HeldNames::take(&connection).await?;
    progress(Progress::Done(Step::NamesHeld));
    let mut exchange = TakeOver {
        options,
        connection: &connection,
        store: &store,
        undo: Vec::new(),
        made: Vec::new(),
    };
    let before = state.clone();
    let done = exchange.run(sources.clone(), &mut state, progress).await;
    let mut report = match done {
        Ok(report) => report,
        Err(error) => {
            // The error of the step counts; the journal lets the command be repeated if undoing
            // fails too.
            if let Err(undo) = exchange.undo(&before).await {
                tracing::error!("not everything could be undone: {undo}");
            }
            names.release().await?;
            return Err(error);
        }
    };
    names.release().await?;
    if let Err(error) = check_service(options, &connection, &store, &sources).await {
        options.dirs.remove_files()?;
        state.phase = Phase::Off;
        state.write(&options.store)?;
        reload_bus(&connection).await?;
        // Ends the service, so that the stock server is started by the next call.
        HeldNames::take(&connection).await?.release().await?;
        return Err(error);
    }
    progress(Progress::Done(Step::Served));
    restart_programs(&connection, &mut programs).await?;
    report.programs = programs;
    Ok(report)
}

/// Moves the files if the service is to last longer, or shorter, than now.
async fn stay_on(
    options: &SwitchOptions,
    connection: &Connection,
    mut state: SwitchState,
) -> Result<SwitchReport, SwitchError> {
    let with_systemd = has_systemd(connection).await?;
    options.dirs.write_files(
        options.lasting,
        &options.store,
        &options.command,
        with_systemd,
    )?;
    reload_bus(connection).await?;
    state.lasting = options.lasting;
    state.write(&options.store)?;
    Ok(SwitchReport {
        already: true,
        ..SwitchReport::default()
    })
}

struct TakeOver<'a> {
    options: &'a SwitchOptions,
    connection: &'a Connection,
    store: &'a Store,
    undo: Vec<Undo>,
    /// Sources whose collections were made.
    made: Vec<PlannedSource>,
}

/// How a copied batch is taken back.
struct Undo {
    source: PlannedSource,
    created: Vec<String>,
    changed: Vec<Text>,
    removed: Vec<String>,
}

impl TakeOver<'_> {
    async fn run(
        &mut self,
        sources: Vec<PlannedSource>,
        state: &mut SwitchState,
        progress: OnProgress<'_>,
    ) -> Result<SwitchReport, SwitchError> {
        let prefer = self.options.prefer;
        let helpers = Helpers::new(self.connection.clone());
        let pictures = self.options.dirs.data.join("evolution");
        let mut looks = Vec::new();
        for planned in sources {
            let kind = planned.kind;
            let stock =
                StockSide::open(&helpers, self.connection, kind, &planned.source, &pictures);
            let stock = stock.await?;
            looks.push(Look::read(planned, stock, self.store, state, progress).await?);
        }
        let conflicts: Vec<String> = looks
            .iter()
            .flat_map(|look| look.conflicts(prefer))
            .collect();
        if !conflicts.is_empty() {
            return Err(SwitchError::Conflicts { records: conflicts });
        }
        progress(Progress::Done(Step::Compared));

        state.phase = Phase::TakingOver;
        state.lasting = self.options.lasting;
        state.write(&self.options.store)?;
        progress(Progress::Done(Step::StateWritten));

        let mut report = SwitchReport::default();
        for look in &mut looks {
            let copies = look.changed_by(Side::Stock, prefer);
            self.take_over(look, &copies, progress).await?;
            let side = StoreSide::adopt(self.store, look.planned.kind, &look.planned.source)?;
            report
                .collections
                .push(look.report(&copies, side.count()?, Some(side.name())));
        }
        progress(Progress::Done(Step::Copied));

        state.phase = Phase::On;
        state.prefer = None;
        state.collections = looks.iter().map(|look| look.to_state(prefer)).collect();
        state.write(&self.options.store)?;
        progress(Progress::Done(Step::StateUpdated));

        let with_systemd = has_systemd(self.connection).await?;
        let SwitchOptions {
            dirs,
            store,
            command,
            lasting,
            ..
        } = self.options;
        dirs.write_files(*lasting, store, command, with_systemd)?;
        reload_bus(self.connection).await?;
        progress(Progress::Done(Step::FilesChanged));
        Ok(report)
    }

    /// Copies a source's records into the store, reads them back and compares.
    async fn take_over(
        &mut self,
        look: &mut Look,
        copies: &Copies,
        progress: OnProgress<'_>,
    ) -> Result<(), SwitchError> {
        let planned = look.planned.clone();
        if StoreSide::find(self.store, planned.kind, &planned.uid)?.is_none() {
            self.made.push(planned.clone());
        }
        let side = StoreSide::adopt(self.store, planned.kind, &planned.source)?;
        let uids = copies.written();
        for (number, batch) in uids.chunks(BATCH).enumerate() {
            progress(Progress::Records {
                source: &planned.label,
                done: number * BATCH,
                total: uids.len(),
            });
            let mut texts: Vec<Text> = Vec::with_capacity(batch.len());
            for uid in batch {
                let text = look.stock.text(uid).await?.ok_or_else(|| {
                    SwitchError::Refused(format!(
                        "\"{uid}\" of \"{}\" vanished from the stock server",
                        planned.label
                    ))
                })?;
                texts.push((uid.clone(), text));
            }
            self.note_undo(&side, &planned, batch)?;
            side.save(texts.clone(), Some(&look.stock)).await?;
            for ((uid, text), saved) in texts.iter().zip(side.get(batch)?) {
                let etag = match saved {
                    Some((etag, saved)) if saved == *text => etag,
                    _ => return Err(not_read_back(uid, &planned)),
                };
                let stock = look.now.get(uid).and_then(|now| now.stock.clone());
                look.set_equal(uid, stock.unwrap_or_default(), etag.to_string());
            }
        }
        if !copies.removed.is_empty() {
            self.undo.push(Undo {
                source: planned,
                created: Vec::new(),
                changed: Vec::new(),
                removed: copies.removed.clone(),
            });
            side.remove(&copies.removed)?;
        }
        for uid in &copies.removed {
            look.set_removed(uid);
        }
        Ok(())
    }

    fn note_undo(
        &mut self,
        side: &StoreSide,
        source: &PlannedSource,
        batch: &[String],
    ) -> Result<(), SwitchError> {
        let mut undo = Undo {
            source: source.clone(),
            created: Vec::new(),
            changed: Vec::new(),
            removed: Vec::new(),
        };
        for (uid, before) in batch.iter().zip(side.get(batch)?) {
            match before {
                Some((_, text)) => undo.changed.push((uid.clone(), text)),
                None => undo.created.push(uid.clone()),
            }
        }
        self.undo.push(undo);
        Ok(())
    }

    /// Takes everything back, the last step first.
    async fn undo(&mut self, before: &SwitchState) -> Result<(), SwitchError> {
        self.options.dirs.remove_files()?;
        reload_bus(self.connection).await?;
        while let Some(undo) = self.undo.pop() {
            let source = &undo.source;
            let Some(side) = StoreSide::find(self.store, source.kind, &source.uid)? else {
                continue;
            };
            side.restore(&undo.removed)?;
            side.remove(&undo.created)?;
            side.save(undo.changed, None).await?;
        }
        for source in self.made.drain(..) {
            if let Some(side) = StoreSide::find(self.store, source.kind, &source.uid)?
                && side.count()? == 0
            {
                side.remove_collection(self.store)?;
            }
        }
        match before.phase {
            Phase::Off if before.collections.is_empty() => SwitchState::remove(&self.options.store),
            _ => before.write(&self.options.store),
        }
    }
}

fn not_read_back(uid: &str, source: &PlannedSource) -> SwitchError {
    SwitchError::Refused(format!(
        "\"{uid}\" of \"{}\" did not come back from the store as it was saved",
        source.label
    ))
}

/// Opens every source as a program does, and compares the numbers of records.
async fn check_service(
    options: &SwitchOptions,
    connection: &Connection,
    store: &Store,
    sources: &[PlannedSource],
) -> Result<(), SwitchError> {
    for source in sources {
        let (bus_name, factory, interface, method) = match source.kind {
            SourceKind::AddressBook => (
                BOOK_NAME,
                BOOK_FACTORY,
                "org.gnome.evolution.dataserver.AddressBook",
                "OpenAddressBook",
            ),
            kind => (
                CALENDAR_NAME,
                CALENDAR_FACTORY,
                "org.gnome.evolution.dataserver.Calendar",
                match kind {
                    SourceKind::TaskList => "OpenTaskList",
                    SourceKind::MemoList => "OpenMemoList",
                    _ => "OpenCalendar",
                },
            ),
        };
        let factory_interface = format!("{interface}Factory");
        let uid = source.uid.as_str();
        let (path, owner): (String, String) = call_object(
            connection,
            bus_name,
            factory,
            &factory_interface,
            method,
            &(uid,),
        )
        .await?;
        refuse_other_owner(options, connection, bus_name).await?;
        let call = |method, query: &'static str| {
            let (connection, owner, path) = (connection.clone(), owner.clone(), path.clone());
            async move {
                let body = (query,);
                call_object::<_, Vec<String>>(&connection, &owner, &path, interface, method, &body)
                    .await
            }
        };
        let served = match source.kind {
            SourceKind::AddressBook => call("GetContactListUids", "").await?.len(),
            _ => series_from_stock(&call("GetObjectList", "#t").await?).len(),
        };
        let _: () = call_object(connection, &owner, &path, interface, "Close", &()).await?;
        let kept = match StoreSide::find(store, source.kind, uid)? {
            Some(side) => side.count()?,
            None => 0,
        };
        if served as u64 != kept {
            return Err(SwitchError::Refused(format!(
                "the service shows {served} of {kept} records of \"{}\"",
                source.label
            )));
        }
    }
    Ok(())
}
