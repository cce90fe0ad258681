//! The laboratory: experiments on how storage serves personal data, run on the reader's own
//! machine as found, with each cure, and with etui.
//!
//! An [`Experiment`] is one file. The command `etui-lab` is [`cli::main`] over the list of
//! [`experiments`]; a program of one's own is the same over another list.

pub mod cli;
pub mod compare;
mod error;
mod experiment;
pub mod experiments;
mod first_screen;
mod lab;
pub mod machine;
pub mod measure;
mod meter;
pub mod peers;
mod present;
mod redo;
pub mod report;
pub mod results;
pub mod runner;
mod say;
pub mod stacks;
pub mod stats;

pub use error::Error;
pub use experiment::{
    About, Arm, Case, Experiment, Found, Group, NotRun, Parameter, Pass, Plan, Role, Settings,
    Study,
};
pub use lab::Lab;
pub use meter::{Meter, Place};
pub use present::{
    Better, Cell, Chart, ChartKind, Column, Presentation, Row, Series, Shown, Table, Unit, Verdict,
};
pub use results::{Figure, GroupKey, Results};
