//! `etui lab run` and `etui lab studies`: measuring.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::builder::NonEmptyStringValueParser;

use super::report;
use crate::error::Error;
use crate::experiment::Experiment;
use crate::output;
use crate::runner::{self, ArmSettings, RunOptions};

/// Where results go unless said otherwise.
const RESULTS: &str = "etui-lab-results";

/// Options of both commands.
#[derive(Debug, clap::Args)]
struct CommonArgs {
    /// The results file [default: etui-lab-results/NAME.jsonl]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Repeat existing runs; the old results are kept as FILE.old
    #[arg(long)]
    fresh: bool,
    /// Set a parameter of an experiment, e.g. --set sizes=50,800 (see `list`)
    #[arg(long, value_name = "NAME=N,N...")]
    set: Vec<String>,
    /// Only on these stacks, e.g. here, ram, ext4
    #[arg(long, value_name = "STACK", value_parser = NonEmptyStringValueParser::new())]
    stack: Vec<String>,
    /// Only arms whose names hold this
    #[arg(long, value_name = "WORDS", value_parser = NonEmptyStringValueParser::new())]
    arm: Vec<String>,
    /// How often to time each arm
    #[arg(long, value_name = "N")]
    repetitions: Option<u32>,
    /// Show no progress and no tables
    #[arg(long, short)]
    quiet: bool,
    /// Write no report beside the results
    #[arg(long)]
    no_report: bool,
}

/// Repeat all five studies, quickly, and write the report
#[derive(Debug, clap::Args)]
pub struct StudiesArgs {
    #[command(flatten)]
    common: CommonArgs,
    /// All sizes and more repetitions, instead of the quick ones; takes an hour or so
    #[arg(long)]
    full: bool,
}

/// Run experiments by name, in full
#[derive(Debug, clap::Args)]
pub struct RunArgs {
    /// The experiments (see `list`)
    #[arg(required = true, value_name = "NAME")]
    names: Vec<String>,
    #[command(flatten)]
    common: CommonArgs,
    /// The quick sizes and repetitions, as `studies` has them
    #[arg(long)]
    quick: bool,
}

impl StudiesArgs {
    /// Runs every experiment that repeats a study.
    pub fn run(&self, experiments: &[&'static dyn Experiment]) -> Result<ExitCode, Error> {
        let mut studies: Vec<_> = experiments
            .iter()
            .copied()
            .filter(|experiment| experiment.experiment_info().study.is_some())
            .collect();
        studies.sort_by_key(|experiment| experiment.experiment_info().study);
        measure_experiments(
            &studies,
            &self.common,
            !self.full,
            "studies",
            report::show_verdicts,
        )
    }
}

impl RunArgs {
    /// Runs the experiments asked for.
    pub fn run(&self, experiments: &[&'static dyn Experiment]) -> Result<ExitCode, Error> {
        let chosen = super::select_experiments(experiments, &self.names)?;
        let name = match self.names.as_slice() {
            [one] => one.as_str(),
            _ => "run",
        };
        measure_experiments(&chosen, &self.common, self.quick, name, report::show_report)
    }
}

fn measure_experiments(
    experiments: &[&'static dyn Experiment],
    common: &CommonArgs,
    quick: bool,
    name: &str,
    show: impl FnOnce(&Path, &[&'static dyn Experiment]) -> Result<(), Error>,
) -> Result<ExitCode, Error> {
    let file = common
        .out
        .clone()
        .unwrap_or_else(|| Path::new(RESULTS).join(format!("{name}.jsonl")));
    report::check_name(&file)?;
    let shown = !common.quiet;
    let options = RunOptions {
        quick,
        set: parse_settings(experiments, &common.set)?,
        file: file.clone(),
        fresh: common.fresh,
        stacks: common.stack.clone(),
        arms: common.arm.clone(),
        repetitions: common.repetitions,
        progress: shown && std::io::stderr().is_terminal(),
    };
    let outcome = runner::run_experiments(experiments, &options, &super::on_stop()?)?;
    if shown {
        show(&file, experiments)?;
        if outcome.made == 0 && outcome.failed == 0 {
            output::print_line(format_args!(
                "Nothing was left to measure; --fresh measures again."
            ))?;
        }
    }
    if !common.no_report {
        for written in report::write_report(&file, experiments)? {
            if shown {
                output::print_line(format_args!("{}", written.display()))?;
            }
        }
    }
    if outcome.failed > 0 {
        output::print_error(format_args!(
            "{} failed; the report lists them. The same command tries them again.",
            if outcome.failed == 1 {
                "1 run".to_owned()
            } else {
                format!("{} runs", outcome.failed)
            }
        ));
        return Ok(ExitCode::from(3));
    }
    Ok(ExitCode::SUCCESS)
}

/// Reads `--set NAME=N,N`: for every experiment that has a parameter of the name.
fn parse_settings(
    experiments: &[&'static dyn Experiment],
    set: &[String],
) -> Result<ArmSettings, Error> {
    let mut settings = ArmSettings::new();
    for words in set {
        let (name, values) = words
            .split_once('=')
            .ok_or_else(|| Error::Usage(format!("`--set {words}` should be NAME=N,N...")))?;
        let values: Vec<u64> = values
            .split(',')
            .map(|value| {
                value.trim().parse().map_err(|_| {
                    Error::Usage(format!("`--set {words}`: `{value}` is no whole number"))
                })
            })
            .collect::<Result<_, _>>()?;
        let mut known = Vec::new();
        let mut taken = false;
        for about in experiments
            .iter()
            .map(|experiment| experiment.experiment_info())
        {
            known.extend(about.parameters.iter().map(|p| p.name));
            if about.parameters.iter().any(|p| p.name == name) {
                taken = true;
                settings
                    .entry(about.name.to_owned())
                    .or_default()
                    .insert(name.to_owned(), values.clone());
            }
        }
        if !taken {
            known.sort_unstable();
            known.dedup();
            return Err(Error::Usage(format!(
                "no parameter is called `{name}`; there are: {}",
                known.join(", ")
            )));
        }
    }
    Ok(settings)
}
