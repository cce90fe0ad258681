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

use crate::device::{BlockDisk, DeviceEvent, SECTOR_BYTES};

/// Whether the device keeps what it said was durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FlushMode {
    /// It does.
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
    /// All.
    All,
    /// None.
    None,
    /// The first ones: the device did them in order. Of the next one the first sectors.
    First,
    /// Each with this chance of a thousand.
    Writes(u32),
    /// Each sector of each with this chance of a thousand.
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
/// the cut. Returns the number of writes in doubt.
pub fn apply_survivors(
    log: &[DeviceEvent],
    point: &CutPoint,
    flushes: FlushMode,
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
        let sectors = |keep: &mut dyn FnMut(u64) -> bool| apply_sectors(event, disk, keep);
        if !in_doubt(event) {
            sectors(&mut |_| true)?;
            continue;
        }
        match point.survivors {
            Survivors::All => sectors(&mut |_| true)?,
            Survivors::None => {}
            Survivors::First if nth < first => sectors(&mut |_| true)?,
            Survivors::First if nth == first => {
                let whole = event_bytes(event) / SECTOR_BYTES;
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
    disk: &dyn BlockDisk,
    keep: &mut dyn FnMut(u64) -> bool,
) -> io::Result<()> {
    let sectors = event_bytes(event) / SECTOR_BYTES;
    let mut kept: Vec<std::ops::Range<u64>> = Vec::new();
    for sector in (0..sectors).filter(|&sector| keep(sector)) {
        match kept.last_mut() {
            Some(run) if run.end == sector => run.end += 1,
            _ => kept.push(sector..sector + 1),
        }
    }
    for run in kept {
        let (from, to) = (run.start * SECTOR_BYTES, run.end * SECTOR_BYTES);
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
mod tests {
    use std::collections::BTreeSet;
    use std::sync::Arc;

    use super::*;
    use crate::device::{FileDisk, OverlayDisk};

    const SECTORS: u64 = 24;

    /// A log of writes that can be told apart: a sector holds the number of its event.
    fn random_log(rng: &mut SplitMix64, length: usize) -> Vec<DeviceEvent> {
        let events = (0..length).map(|at| {
            let offset = u64::from(rng.below(20)) * SECTOR_BYTES;
            let sectors = u64::from(1 + rng.below(4));
            let force_unit_access = rng.chance(100);
            match rng.below(10) {
                0..5 => DeviceEvent::Write {
                    offset,
                    data: vec![at as u8 + 1; (sectors * SECTOR_BYTES) as usize].into(),
                    force_unit_access,
                },
                5 => DeviceEvent::Zero {
                    offset,
                    length: sectors * SECTOR_BYTES,
                    force_unit_access,
                },
                6 | 7 => DeviceEvent::Flush,
                _ => DeviceEvent::Mark((at as u64).to_le_bytes().into()),
            }
        });
        events.collect()
    }

    fn sectors_of(event: &DeviceEvent) -> Option<(std::ops::Range<u64>, u8, bool)> {
        let (offset, bytes, value, forced) = match event {
            DeviceEvent::Write {
                offset,
                data,
                force_unit_access,
            } => (*offset, data.len() as u64, data[0], *force_unit_access),
            DeviceEvent::Zero {
                offset,
                length,
                force_unit_access,
            } => (*offset, *length, 0, *force_unit_access),
            _ => return None,
        };
        let first = offset / SECTOR_BYTES;
        Some((first..first + bytes / SECTOR_BYTES, value, forced))
    }

    /// The contents that each sector may have: after its last durable write, that of any later one.
    fn allowed(log: &[DeviceEvent], position: usize) -> Vec<BTreeSet<u8>> {
        let flushed = log[..position]
            .iter()
            .rposition(|event| *event == DeviceEvent::Flush)
            .unwrap_or(0);
        let mut sectors = vec![BTreeSet::from([0]); SECTORS as usize];
        for (at, event) in log[..position].iter().enumerate() {
            let Some((range, value, forced)) = sectors_of(event) else {
                continue;
            };
            for sector in range {
                let may = &mut sectors[sector as usize];
                if at < flushed || forced {
                    may.clear();
                }
                may.insert(value);
            }
        }
        sectors
    }

    fn state_at(
        log: &[DeviceEvent],
        point: &CutPoint,
        flushes: FlushMode,
        base: &Arc<dyn BlockDisk>,
    ) -> Vec<u8> {
        let disk = OverlayDisk::new(base.clone());
        let durable = durable_length(log, point.position, flushes);
        apply_events(&log[..durable], &disk).unwrap();
        apply_survivors(log, point, flushes, &disk).unwrap();
        let mut data = vec![0; (SECTORS * SECTOR_BYTES) as usize];
        disk.read_at(0, &mut data).unwrap();
        let sectors = data.chunks(SECTOR_BYTES as usize);
        let values = sectors.map(|sector| {
            assert!(
                sector.iter().all(|byte| *byte == sector[0]),
                "a torn sector"
            );
            sector[0]
        });
        values.collect()
    }

    /// Every state is one that the device may have; all kinds of them occur; a device that drops
    /// flushes has others, too.
    #[test]
    fn states_are_those_that_a_device_may_have() {
        let dir = tempfile::tempdir().unwrap();
        let base = FileDisk::create(&dir.path().join("base"), SECTORS * SECTOR_BYTES).unwrap();
        let base: Arc<dyn BlockDisk> = Arc::new(base);
        let mut kinds = BTreeSet::new();
        let (mut mixed, mut broken) = (0, 0);
        for seed in 0..60 {
            let log = random_log(&mut SplitMix64::new(seed), 200);
            let points = draw_points(&log, 40, seed);
            assert_eq!(
                points,
                draw_points(&log, 40, seed),
                "a seed gives its points"
            );
            for point in &points {
                let may = allowed(&log, point.position);
                let agrees = |state: &[u8]| {
                    state
                        .iter()
                        .zip(&may)
                        .all(|(value, may)| may.contains(value))
                };
                let state = state_at(&log, point, FlushMode::Honoured, &base);
                assert!(agrees(&state), "seed {seed}, {point:?}");
                kinds.insert(
                    format!("{:?}", point.survivors)
                        .chars()
                        .take(3)
                        .collect::<String>(),
                );
                let all = CutPoint {
                    survivors: Survivors::All,
                    ..point.clone()
                };
                let none = CutPoint {
                    survivors: Survivors::None,
                    ..point.clone()
                };
                let ends = [all, none].map(|one| state_at(&log, &one, FlushMode::Honoured, &base));
                mixed += usize::from(!ends.contains(&state));
                let dropped = state_at(&log, point, FlushMode::Dropped, &base);
                broken += usize::from(!agrees(&dropped));
            }
        }
        assert_eq!(kinds.len(), 5, "{kinds:?}");
        assert!(mixed > 200, "{mixed}");
        assert!(broken > 1_000, "{broken}");
    }

    #[test]
    fn points_are_spread_over_the_log_and_follow_acknowledgements() {
        let log = random_log(&mut SplitMix64::new(1), 250);
        let points = draw_points(&log, 25, 9);
        assert!(points.iter().map(|point| point.number).eq(1..=25));
        for (index, point) in points.iter().enumerate() {
            assert!((index * 10..=index * 10 + 10).contains(&point.position));
        }
        let marks = list_marks(&log);
        assert!(
            marks
                .iter()
                .all(|(position, number)| *position as u64 == number + 1)
        );
        let after = |point: &&CutPoint| marks.iter().any(|(at, _)| *at == point.position);
        assert!(points.iter().filter(after).count() >= 8);
        assert_eq!(draw_points(&[], 2, 1).len(), 2);
    }
}
