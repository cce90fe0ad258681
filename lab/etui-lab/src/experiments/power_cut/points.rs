//! Points of a recorded run at which the power fails, and the states that a device may have then.
//!
//! ```text
//! log     W W F W W* W M W     W write, W* with forced unit access, F flush, M acknowledgement
//!         └durable┘ ? * ?   ^ the cut: both `?` may be there, in part, or not
//! ```
//!
//! A device that keeps its promise has all that was written before the last flush that returned,
//! and all that was written with forced unit access. Of everything else any sectors may be there:
//! requests are done in any order, and each may be torn.

use std::fmt;
use std::io;

use etui_testkit::rng::SplitMix64;

use crate::device::{BlockDisk, DeviceEvent};

/// Whether the device keeps writes that it reported as durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FlushMode {
    Honoured,
    /// It ignores flushes and forced unit access, and loses any of its latest writes.
    Dropped,
}

/// The number of writes that a device which ignores flushes still has in its cache.
const DROPPING_CACHE: usize = 64;

/// A moment at which the power fails.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CutPoint {
    /// Its number, from 1.
    pub number: u64,
    /// The events before it.
    pub position: usize,
    /// Which of the writes in doubt are there.
    pub survivors: Survivors,
    /// Seed of those that are drawn.
    seed: u64,
}

/// Which of the writes in doubt reached the medium.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Survivors {
    All,
    None,
    /// The first ones: the device did them in order. Of the next one the first units.
    First,
    /// Each with this chance of a thousand.
    Writes(u32),
    /// Each unit of each with this chance of a thousand.
    Sectors(u32),
}

impl fmt::Display for CutPoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            number,
            position,
            survivors,
            ..
        } = self;
        write!(f, "point {number} (after {position} events, {survivors:?})")
    }
}

/// The log's acknowledgements: position after the mark, and the number of the save.
pub fn list_marks(log: &[DeviceEvent]) -> Vec<(usize, u64)> {
    let marks = log.iter().enumerate().filter_map(|(at, event)| {
        let DeviceEvent::Mark(mark) = event else {
            return None;
        };
        let number = mark.first_chunk::<8>()?;
        Some((at + 1, u64::from_le_bytes(*number)))
    });
    marks.collect()
}

/// Draws points of a log, spread evenly over it: right after acknowledgements, right before
/// flushes, and anywhere.
pub fn draw_points(log: &[DeviceEvent], count: u64, seed: u64) -> Vec<CutPoint> {
    let length = log.len() as u64;
    let points = (0..count).map(|index| {
        let mut rng = SplitMix64::stream(seed, index);
        let bound = |at: u64| {
            usize::try_from(u128::from(length) * u128::from(at) / u128::from(count.max(1)))
        };
        let from = bound(index).unwrap_or(0);
        let to = bound(index + 1).unwrap_or(0).max(from + 1).min(log.len());
        // The position after an event: 1 is after the first.
        let among = |wanted: &dyn Fn(usize) -> bool| -> Vec<usize> {
            (from + 1..=to)
                .filter(|&position| wanted(position))
                .collect()
        };
        let after_mark = |position: usize| {
            position
                .checked_sub(1)
                .and_then(|at| log.get(at))
                .is_some_and(|event| matches!(event, DeviceEvent::Mark(_)))
        };
        let before_flush = |position: usize| {
            log.get(position)
                .is_some_and(|event| *event == DeviceEvent::Flush)
        };
        let mut positions = match rng.below(8) {
            0..3 => among(&after_mark),
            3..6 => among(&before_flush),
            _ => Vec::new(),
        };
        if positions.is_empty() {
            positions = (from..=to).collect();
        }
        let position = rng.pick(&positions);
        let survivors = match rng.below(10) {
            0 => Survivors::All,
            1 | 2 => Survivors::None,
            3 | 4 => Survivors::First,
            5..8 => Survivors::Writes(100 + rng.below(800)),
            _ => Survivors::Sectors(100 + rng.below(800)),
        };
        CutPoint {
            number: index + 1,
            position,
            survivors,
            seed: rng.next_u64(),
        }
    });
    points.collect()
}

/// Returns the number of events that are durable as a whole at a position.
pub fn durable_length(log: &[DeviceEvent], position: usize, flushes: FlushMode) -> usize {
    let before = &log[..position.min(log.len())];
    match flushes {
        FlushMode::Honoured => {
            let flush = before
                .iter()
                .rposition(|event| *event == DeviceEvent::Flush);
            flush.map_or(0, |at| at + 1)
        }
        FlushMode::Dropped => {
            let writes = before.iter().enumerate().rev();
            let mut writes = writes.filter(|(_, event)| is_write(event));
            writes.nth(DROPPING_CACHE - 1).map_or(0, |(at, _)| at)
        }
    }
}

/// Returns true if an event changes the device.
pub fn is_write(event: &DeviceEvent) -> bool {
    matches!(event, DeviceEvent::Write { .. } | DeviceEvent::Zero { .. })
}

/// Writes events to a disk, whole.
pub fn apply_events(events: &[DeviceEvent], disk: &dyn BlockDisk) -> io::Result<()> {
    events.iter().try_for_each(|event| match event {
        DeviceEvent::Write { offset, data, .. } => disk.write_at(*offset, data),
        DeviceEvent::Zero { offset, length, .. } => disk.zero_at(*offset, *length),
        DeviceEvent::Flush | DeviceEvent::Mark(_) => Ok(()),
    })
}

/// Writes to a disk, which has the [durable](durable_length) events, those in doubt that survive
/// the cut. A write is torn between units of `tear_unit` bytes. Returns the number of writes in doubt.
pub fn apply_survivors(
    log: &[DeviceEvent],
    point: &CutPoint,
    flushes: FlushMode,
    tear_unit: u64,
    disk: &dyn BlockDisk,
) -> io::Result<usize> {
    let durable = durable_length(log, point.position, flushes);
    let events = &log[durable..point.position.min(log.len())];
    let in_doubt = |event: &DeviceEvent| {
        let forced = match event {
            DeviceEvent::Write {
                force_unit_access, ..
            }
            | DeviceEvent::Zero {
                force_unit_access, ..
            } => *force_unit_access,
            DeviceEvent::Flush | DeviceEvent::Mark(_) => return false,
        };
        !(forced && flushes == FlushMode::Honoured)
    };
    let count = events.iter().filter(|event| in_doubt(event)).count();
    let mut rng = SplitMix64::new(point.seed);
    let first = rng.below(u32::try_from(count + 1).unwrap_or(u32::MAX)) as usize;
    let mut nth = 0;
    for event in events {
        let sectors =
            |keep: &mut dyn FnMut(u64) -> bool| apply_sectors(event, tear_unit, disk, keep);
        if !in_doubt(event) {
            sectors(&mut |_| true)?;
            continue;
        }
        match point.survivors {
            Survivors::All => sectors(&mut |_| true)?,
            Survivors::None => {}
            Survivors::First if nth < first => sectors(&mut |_| true)?,
            Survivors::First if nth == first => {
                let whole = event_bytes(event).div_ceil(tear_unit);
                let kept = rng.below(u32::try_from(whole).unwrap_or(u32::MAX));
                sectors(&mut |sector| sector < u64::from(kept))?;
            }
            Survivors::First => {}
            Survivors::Writes(chance) => {
                if rng.chance(chance) {
                    sectors(&mut |_| true)?;
                }
            }
            Survivors::Sectors(chance) => sectors(&mut |_| rng.chance(chance))?,
        }
        nth += 1;
    }
    Ok(count)
}

fn event_bytes(event: &DeviceEvent) -> u64 {
    match event {
        DeviceEvent::Write { data, .. } => data.len() as u64,
        DeviceEvent::Zero { length, .. } => *length,
        DeviceEvent::Flush | DeviceEvent::Mark(_) => 0,
    }
}

/// Writes the sectors of an event that are kept; runs of them at once.
fn apply_sectors(
    event: &DeviceEvent,
    tear_unit: u64,
    disk: &dyn BlockDisk,
    keep: &mut dyn FnMut(u64) -> bool,
) -> io::Result<()> {
    let bytes = event_bytes(event);
    let sectors = bytes.div_ceil(tear_unit);
    let mut kept: Vec<std::ops::Range<u64>> = Vec::new();
    for sector in (0..sectors).filter(|&sector| keep(sector)) {
        match kept.last_mut() {
            Some(run) if run.end == sector => run.end += 1,
            _ => kept.push(sector..sector + 1),
        }
    }
    for run in kept {
        let (from, to) = (run.start * tear_unit, (run.end * tear_unit).min(bytes));
        match event {
            DeviceEvent::Write { offset, data, .. } => {
                disk.write_at(offset + from, &data[from as usize..to as usize])?;
            }
            DeviceEvent::Zero { offset, .. } => disk.zero_at(offset + from, to - from)?,
            DeviceEvent::Flush | DeviceEvent::Mark(_) => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
