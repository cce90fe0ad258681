//! [`Trials`]: a workload repeated under several setups in turn, compared within each round.

use std::time::Duration;

use serde::Serialize;

use super::replay::{Bench, IoCounts, Prepared, Replayed};
use super::setup::Setup;
use super::workload::Workload;
use crate::error::Error;
use crate::stats;

/// A workload repeated under one setup.
#[derive(Debug, Clone, Serialize)]
pub struct Trial {
    pub setup: Setup,
    /// Transactions a second, the median of the rounds.
    pub rate: f64,
    /// That of the setup as found, in the same rounds.
    pub found_rate: f64,
    /// The first divided by the second.
    pub ratio: f64,
    /// The lowest and the highest ratio within a round.
    pub ratio_range: [f64; 2],
    /// It writes a fifth less than the setup as found, and flushes no more. This repeats exactly.
    pub fewer_writes: bool,
    /// I/O of all transactions.
    pub io: IoCounts,
    pub transactions: u64,
    pub failed: u64,
    pub first_failure: Option<String>,
    /// It changed as many rows as the setup as found.
    pub same_answer: bool,
    /// Bytes of the database file before.
    pub file_bytes: u64,
    /// Transactions a second in each round.
    #[serde(skip)]
    pub rates: Vec<f64>,
}

/// A gain from which a change is worth making: below, runs of the same setup differ as much.
pub const WORTHWHILE: f64 = 1.1;

impl Trial {
    /// Returns true if the change is worth making: it is faster in every round; or it writes less,
    /// and was not clearly slower in every round.
    pub fn is_worthwhile(&self) -> bool {
        let [low, high] = self.ratio_range;
        let faster = self.ratio >= WORTHWHILE && low > 1.0;
        self.same_answer && (faster || (self.fewer_writes && high > 0.9))
    }

    /// Returns this trial compared with another one of the same rounds, instead of the setup as found.
    pub fn compared_with(&self, base: &Self) -> Self {
        let pairs = self.rates.iter().zip(&base.rates);
        let ratios: Vec<f64> = pairs
            .filter(|(_, base)| **base > 0.0)
            .map(|(rate, base)| rate / base)
            .collect();
        let bound = |part| stats::quantile(&ratios, part).unwrap_or(0.0);
        Self {
            found_rate: base.rate,
            ratio: match base.rate > 0.0 {
                true => self.rate / base.rate,
                false => 0.0,
            },
            ratio_range: [bound(0.0), bound(1.0)],
            fewer_writes: self.transactions == base.transactions
                && self.io.writes * 5 <= base.io.writes * 4
                && self.io.flushes <= base.io.flushes,
            ..self.clone()
        }
    }
}

/// Repeats a workload in rounds.
pub struct Trials<'a, 'b> {
    pub bench: &'a mut Bench<'b>,
    pub workload: &'a Workload,
    /// Its first transactions, which are repeated.
    pub count: usize,
    /// No repetition takes longer.
    pub limit: Duration,
    pub rounds: usize,
}

impl Trials<'_, '_> {
    /// Repeats the workload under each setup; the first is the one as found. `step` is called before
    /// each repetition.
    pub fn run(&mut self, setups: &[Setup], step: &mut dyn FnMut()) -> Result<Vec<Trial>, Error> {
        let mut prepared = Vec::new();
        for setup in setups {
            prepared.push(self.bench.prepare(setup)?);
        }
        let done = self.rounds(&prepared, step);
        let sizes: Vec<u64> = prepared.iter().map(Prepared::bytes).collect();
        prepared.iter().for_each(|one| self.bench.discard(one));
        let runs = done?;
        let base = runs.first().cloned().unwrap_or_default();
        let trials = setups.iter().zip(&runs).zip(sizes);
        Ok(trials
            .map(|((setup, runs), bytes)| summarise(setup, runs, &base, bytes))
            .collect())
    }

    fn rounds(
        &self,
        prepared: &[Prepared],
        step: &mut dyn FnMut(),
    ) -> Result<Vec<Vec<Replayed>>, Error> {
        let mut runs = vec![Vec::new(); prepared.len()];
        for round in 0..self.rounds {
            // Alternately forwards and backwards, so that drift affects all alike.
            let order: Vec<usize> = match round % 2 {
                0 => (0..prepared.len()).collect(),
                _ => (0..prepared.len()).rev().collect(),
            };
            for at in order {
                step();
                if let (Some(one), Some(runs)) = (prepared.get(at), runs.get_mut(at)) {
                    let (workload, count) = (self.workload, self.count);
                    runs.push(self.bench.replay(one, workload, count, self.limit)?);
                }
            }
        }
        Ok(runs)
    }
}

fn summarise(setup: &Setup, runs: &[Replayed], base: &[Replayed], file_bytes: u64) -> Trial {
    let of_base = describe_runs(setup, base, file_bytes);
    let base = base.last().cloned().unwrap_or_default();
    let last = runs.last().cloned().unwrap_or_default();
    Trial {
        // One that was cut short has changed less.
        same_answer: last.changes == base.changes || last.transactions != base.transactions,
        ..describe_runs(setup, runs, file_bytes).compared_with(&of_base)
    }
}

/// Summarises runs that are compared with nothing yet.
fn describe_runs(setup: &Setup, runs: &[Replayed], file_bytes: u64) -> Trial {
    let rates: Vec<f64> = runs.iter().map(Replayed::rate).collect();
    let last = runs.last().cloned().unwrap_or_default();
    Trial {
        setup: setup.clone(),
        rate: stats::median(&rates).unwrap_or(0.0),
        found_rate: 0.0,
        ratio: 0.0,
        ratio_range: [0.0; 2],
        fewer_writes: false,
        io: last.io,
        transactions: last.transactions,
        failed: last.failed,
        first_failure: last.first_failure,
        same_answer: true,
        file_bytes,
        rates,
    }
}
