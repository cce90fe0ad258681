//! A program is killed at a random moment: acknowledged saves are stored, a save under way
//! is stored as a whole or not at all, and the store opens at once.
//!
//! A child process writes and reports each step on its standard output, before the call and
//! after it returned; the parent kills it and compares the store with the reports, 20
//! times per test; 200 times with `ETUI_TEST_LONG=1`, or `ETUI_KILLS` times.

mod child;
mod collections;
mod counters;
mod kinds;
mod resources;
mod steps;
