//! [`DeferredWrites`]: bytes that were written and have not reached the file yet.

use std::collections::BTreeMap;

/// Parts of a file by offset. They do not overlap, but may be adjacent.
#[derive(Debug, Default)]
pub(crate) struct DeferredWrites {
    pieces: BTreeMap<u64, Vec<u8>>,
    bytes: usize,
}

impl DeferredWrites {
    /// Returns true if there are no deferred bytes.
    pub fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// Returns the number of deferred bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns the end of the last part, or 0.
    pub fn end(&self) -> u64 {
        self.pieces
            .last_key_value()
            .map_or(0, |(at, piece)| at.saturating_add(piece.len() as u64))
    }

    /// Stores bytes, replacing earlier ones.
    pub fn write(&mut self, offset: u64, data: &[u8]) {
        let end = offset.saturating_add(data.len() as u64);
        self.remove_range(offset, end);
        self.bytes = self.bytes.saturating_add(data.len());
        // A journal is written in small consecutive parts; they are merged.
        if let Some((at, piece)) = self.pieces.range_mut(..offset).next_back()
            && at.saturating_add(piece.len() as u64) == offset
        {
            piece.extend_from_slice(data);
            return;
        }
        self.pieces.insert(offset, data.to_vec());
    }

    /// Discards everything from an offset on.
    pub fn truncate(&mut self, size: u64) {
        self.remove_range(size, u64::MAX);
    }

    /// Removes a range.
    fn remove_range(&mut self, begin: u64, end: u64) {
        while let Some((&at, piece)) = self.pieces.range(..end).next_back() {
            if at.saturating_add(piece.len() as u64) <= begin {
                return;
            }
            let Some(mut piece) = self.pieces.remove(&at) else {
                return;
            };
            self.bytes = self.bytes.saturating_sub(piece.len());
            let after = usize::try_from(end.saturating_sub(at)).unwrap_or(usize::MAX);
            if after < piece.len() {
                let tail = piece.split_off(after);
                self.bytes = self.bytes.saturating_add(tail.len());
                self.pieces.insert(end, tail);
            }
            let before = usize::try_from(begin.saturating_sub(at)).unwrap_or(usize::MAX);
            piece.truncate(before);
            if !piece.is_empty() {
                self.bytes = self.bytes.saturating_add(piece.len());
                self.pieces.insert(at, piece);
            }
        }
    }

    /// Copies the deferred bytes of a range over bytes that were read from the file.
    pub fn copy_onto(&self, offset: u64, to: &mut [u8]) {
        let end = offset.saturating_add(to.len() as u64);
        for (&at, piece) in self.pieces.range(..end).rev() {
            let piece_end = at.saturating_add(piece.len() as u64);
            if piece_end <= offset {
                break;
            }
            let from = offset.max(at);
            let length = (end.min(piece_end) - from) as usize;
            let (source, target) = ((from - at) as usize, (from - offset) as usize);
            if let (Some(target), Some(source)) = (
                to.get_mut(target..target + length),
                piece.get(source..source + length),
            ) {
                target.copy_from_slice(source);
            }
        }
    }

    /// Returns true if the whole range is deferred.
    pub fn covers_range(&self, offset: u64, length: usize) -> bool {
        let mut need = offset.saturating_add(length as u64);
        for (&at, piece) in self.pieces.range(..need).rev() {
            if at.saturating_add(piece.len() as u64) < need {
                return false;
            }
            if at <= offset {
                return true;
            }
            need = at;
        }
        false
    }

    /// Returns the bytes, sorted and merged into as few runs as possible.
    pub fn merged_runs(&self) -> Vec<(u64, Vec<u8>)> {
        let mut runs: Vec<(u64, Vec<u8>)> = Vec::new();
        for (&at, piece) in &self.pieces {
            match runs.last_mut() {
                Some((begin, run)) if begin.saturating_add(run.len() as u64) == at => {
                    run.extend_from_slice(piece);
                }
                _ => runs.push((at, piece.clone())),
            }
        }
        runs
    }

    /// Discards everything.
    pub fn clear(&mut self) {
        self.pieces.clear();
        self.bytes = 0;
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::DeferredWrites;

    #[test]
    fn agrees_with_a_plain_array() {
        let mut state = 11_u64;
        let mut next = |bound: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % bound
        };
        let mut pending = DeferredWrites::default();
        let mut plain: Vec<Option<u8>> = vec![None; 400];
        for step in 0..5_000_u32 {
            match next(20) {
                0 => {
                    let size = next(400) as usize;
                    pending.truncate(size as u64);
                    plain[size..].fill(None);
                }
                1 => {
                    let runs = pending.merged_runs();
                    let mut from_runs = vec![None; 400];
                    for (at, run) in &runs {
                        for (n, byte) in run.iter().enumerate() {
                            from_runs[*at as usize + n] = Some(*byte);
                        }
                    }
                    assert_eq!(from_runs, plain, "step {step}");
                    let begins = (0..400)
                        .filter(|n| plain[*n].is_some() && (*n == 0 || plain[n - 1].is_none()))
                        .count();
                    assert_eq!(runs.len(), begins);
                }
                _ => {
                    let at = next(370) as usize;
                    let data: Vec<u8> = (0..=next(29)).map(|_| next(256) as u8).collect();
                    pending.write(at as u64, &data);
                    for (n, byte) in data.iter().enumerate() {
                        plain[at + n] = Some(*byte);
                    }
                }
            }
            assert_eq!(pending.bytes(), plain.iter().flatten().count());
            let end = plain.iter().rposition(Option::is_some).map_or(0, |n| n + 1);
            assert_eq!(pending.end(), end as u64);
            let (at, length) = (next(380) as usize, 1 + next(20) as usize);
            let mut read = vec![0xee; length];
            pending.copy_onto(at as u64, &mut read);
            let wanted: Vec<u8> = plain[at..at + length]
                .iter()
                .map(|b| b.unwrap_or(0xee))
                .collect();
            assert_eq!(read, wanted);
            let all = plain[at..at + length].iter().all(Option::is_some);
            assert_eq!(pending.covers_range(at as u64, length), all);
        }
    }
}
