//! The laboratory: experiments on how storage serves personal data, run on the reader's own
//! machine as found, with each cure, and with etui.
//!
//! An [`Experiment`] is one file. The command `etui-lab` is [`cli::main`] over the list of
//! [`experiments`]; a program of one's own is the same over another list.

mod arms;
pub mod cli;
mod compare;
mod device;
pub mod doctor;
mod error;
mod experiment;
pub mod experiments;
mod first_screen;
mod lab;
pub mod machine;
pub mod measure;
mod output;
pub mod peers;

mod recorder;
mod redo;
pub mod report;
pub mod results;
mod runner;
mod spec;
pub mod stacks;
pub mod stats;
mod vm;

pub use arms::{Arm, ArmGroup, ArmRole, ArmSettings, MeasurePass, NotRun, RunCase};
pub use error::Error;
pub use experiment::{
    ArmMeaning, Experiment, ExperimentInfo, Parameter, PublishedResult, RunPlan, Study,
};
pub use lab::LabContext;
pub use recorder::{Recorder, RunLocation};
pub use report::content::{
    Advice, AdviceFigure, BetterWhen, Chart, ChartKind, ChartPoint, ChartSeries, ExperimentReport,
    FindingStatus, Loss, Table, TableCell, TableColumn, TableRow, Unit, Verdict,
};
pub use results::{Figure, GroupKey, Results};
pub use spec::{
    AdviceSpec, ChartAxis, ChartSpec, ColumnAxis, Conclusion, Measure, Per, PublishedRow,
    ReportSpec, TableSpec, Threshold, ThresholdKind,
};
