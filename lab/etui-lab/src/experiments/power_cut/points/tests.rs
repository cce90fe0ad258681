//! States of random records, against a model of each sector.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::*;
use crate::device::{FileDisk, OverlayDisk, SECTOR_BYTES};

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
    apply_survivors(log, point, flushes, SECTOR_BYTES, &disk).unwrap();
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
