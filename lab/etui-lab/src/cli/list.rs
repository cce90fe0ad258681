//! `etui lab list`: which experiments there are.

use std::collections::BTreeMap;
use std::process::ExitCode;

use serde_json::json;

use crate::error::Error;
use crate::experiment::Experiment;
use crate::lab::LabContext;
use crate::output;

/// List the experiments, their questions, and parts that cannot be run here
#[derive(Debug, clap::Args)]
pub struct ListArgs {
    /// Write JSON, one object a line
    #[arg(long)]
    json: bool,
}

impl ListArgs {
    /// Prints the list.
    pub fn run(&self, experiments: &[&'static dyn Experiment]) -> Result<ExitCode, Error> {
        for experiment in experiments {
            let about = experiment.experiment_info();
            let plan = experiment.plan_run(&LabContext::new(&about, true, &BTreeMap::new())?)?;
            if self.json {
                let parameters: BTreeMap<_, _> = about
                    .parameters
                    .iter()
                    .map(|p| {
                        (
                            p.name,
                            json!({"about": p.about, "quick": p.quick, "full": p.full}),
                        )
                    })
                    .collect();
                output::print_line(format_args!(
                    "{}",
                    json!({
                        "name": about.name,
                        "title": about.title,
                        "study": about.study.map(|study| study.source()),
                        "question": about.question,
                        "parameters": parameters,
                        "not_run": plan.not_run,
                    })
                ))?;
                continue;
            }
            output::print_line(format_args!("{:16}{}", about.name, about.title))?;
            if let Some(study) = about.study {
                output::print_line(format_args!("{:16}study: {}", "", study.source()))?;
            }
            output::print_line(format_args!("{:16}{}", "", about.question))?;
            for parameter in about.parameters {
                output::print_line(format_args!(
                    "{:16}--set {}={}  {}",
                    "",
                    parameter.name,
                    format_values(parameter.full),
                    parameter.about
                ))?;
            }
            for part in &plan.not_run {
                output::print_line(format_args!(
                    "{:16}not here: {}: {}",
                    "", part.what, part.reason
                ))?;
            }
            output::print_line("")?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn format_values(values: &[u64]) -> String {
    let words: Vec<String> = values.iter().map(u64::to_string).collect();
    words.join(",")
}
