//! Tests of the laboratory but for those of its runner, which are the program `runs`.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

// The comparisons are benches; their tests run here.
#[path = "../../benches/comparisons/mod.rs"]
#[allow(dead_code, unused_imports)]
mod comparisons;
mod doctor;
mod example;
mod media_sync;
mod power_cut;
mod report;
mod small_studies;
