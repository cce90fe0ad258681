//! Parts that experiments share: stores of people, copies of shared files, SQLite through a VFS,
//! and the recording of times and counters.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use etui::contacts::Card;
use etui::{Options, Store};
use etui_lab_io::instrumented::{InstrumentedOptions, InstrumentedVfs};
use etui_testkit::people::People;
use etui_vfs::Vfs;
use rusqlite::types::FromSql;
use rusqlite::{Connection, OpenFlags, Params};

use crate::device::DeviceModel;
use crate::{ArmSettings, Error, Recorder, Results, redo, stats};

/// Options that do not depend on the environment.
pub fn people_options() -> Options {
    let mut options = Options::default();
    options.locale = Some("de".to_owned());
    options.region = Some("DE".to_owned());
    options
}

/// Returns people from a seed, as cards.
pub fn make_cards(seed: u64, count: u64) -> Result<Vec<Card>, Error> {
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    let texts = People::new(seed).take(count);
    texts.map(|text| Ok(Card::parse(text)?)).collect()
}

/// Creates a store with these people, saved as one batch.
pub fn fill_store(path: &Path, options: &Options, people: &[Card]) -> Result<Store, Error> {
    let store = Store::open_with(path, options)?;
    store.contacts()?.save_many(people)?;
    store.maintenance().merge_index()?;
    Ok(store)
}

/// Copies a file of the group into the run's own directory; returns the copy's path.
pub fn copy_shared(recorder: &Recorder, from: &str, to: &str) -> Result<PathBuf, Error> {
    let (from, to) = (recorder.shared().join(from), recorder.dir().join(to));
    std::fs::copy(&from, &to).map_err(|e| Error::file(&from, e))?;
    Ok(to)
}

/// Returns the model of the device below a stack of a run, if it has one.
pub fn device_model(results: &Results, stack: &str) -> Option<DeviceModel> {
    let described = results.stacks.get(stack)?.get("device model")?;
    DeviceModel::by_name(described.split_whitespace().next()?)
}

/// Records the median and the upper quantiles of times in nanoseconds.
pub fn record_quantiles(recorder: &mut Recorder, phase: &str, times: &[f64]) {
    for (name, part) in [("p50_ns", 0.5), ("p99_ns", 0.99), ("max_ns", 1.0)] {
        if let Some(time) = stats::quantile(times, part) {
            recorder.record(&format!("{phase}/{name}"), time);
        }
    }
}

/// Does work and records the counters of the VFS `etui` for it, if there is one.
pub fn count_phase(
    recorder: &mut Recorder,
    phase: &str,
    vfs: Option<&Vfs>,
    work: impl FnOnce(&mut Recorder) -> Result<(), Error>,
) -> Result<(), Error> {
    let before = vfs.map(Vfs::counters);
    work(recorder)?;
    if let (Some(vfs), Some(before)) = (vfs, before) {
        redo::record_counters(recorder, phase, &vfs.counters().since(&before));
    }
    Ok(())
}

/// The VFS `etui` of an arm that asks for it.
pub fn register_variant(settings: &ArmSettings) -> Result<Option<Vfs>, Error> {
    let wanted = settings.is("redo").then(redo::vfs_options);
    wanted
        .map(|options| redo::register_vfs(options, Duration::ZERO))
        .transpose()
}

/// The VFS of an arm: SQLite's own with counters of its calls, etui's, or etui's above the first.
#[derive(Debug)]
pub struct ArmVfs {
    /// SQLite's own, instrumented.
    pub counting: Option<InstrumentedVfs>,
    /// The VFS `etui`.
    pub etui: Option<Vfs>,
}

impl ArmVfs {
    /// Registers them. `flush_delay` is for the VFS `etui` alone. A process can register a name
    /// once only.
    pub fn register(
        counting: Option<InstrumentedOptions>,
        etui: Option<etui_vfs::Options>,
        flush_delay: Duration,
    ) -> Result<Self, Error> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let counting = counting
            .map(|options| InstrumentedVfs::register(&format!("counting-{number}"), options))
            .transpose()?;
        let etui = match (etui, &counting) {
            (None, _) => None,
            (Some(options), None) => Some(redo::register_vfs(options, flush_delay)?),
            (Some(options), Some(base)) => {
                let name = format!("above-counting-{number}");
                Some(etui_vfs::register_above(&name, base.name(), options)?)
            }
        };
        Ok(Self { counting, etui })
    }

    /// The name to open databases with.
    pub fn name(&self) -> Option<&str> {
        let etui = self.etui.as_ref().map(Vfs::name);
        etui.or_else(|| self.counting.as_ref().map(InstrumentedVfs::name))
    }
}

/// Opens a database; through a VFS, if one is named.
pub fn open_database(path: &Path, vfs: Option<&str>) -> Result<Connection, Error> {
    let flags = OpenFlags::default();
    Ok(match vfs {
        Some(vfs) => Connection::open_with_flags_and_vfs(path, flags, vfs)?,
        None => Connection::open(path)?,
    })
}

/// Returns the first column of all rows of a query.
pub fn select_column<T: FromSql>(
    db: &Connection,
    query: &str,
    parameters: impl Params,
) -> Result<Vec<T>, Error> {
    let mut statement = db.prepare_cached(query)?;
    let rows = statement.query_map(parameters, |row| row.get(0))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}
