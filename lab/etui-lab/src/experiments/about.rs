//! Descriptions of experiments, written in Markdown beside their code: [`AboutText`].
//!
//! ```text
//! # Title
//! ## Question, ## Method, ## Same answer      a paragraph each, on one line
//! ## Published results                        finding, mitigation, figure
//! ## Arms                                     name, meaning
//! ## Parameters                               name, meaning, values of a quick and of a full run
//! ```

use std::sync::OnceLock;

use crate::{ArmMeaning, ExperimentInfo, Parameter, PublishedResult, Study};

#[derive(Debug)]
struct AboutTables {
    found: Vec<PublishedResult>,
    arms: Vec<ArmMeaning>,
    parameters: Vec<Parameter>,
}

/// Description of an experiment.
#[derive(Debug)]
pub struct AboutText {
    text: &'static str,
    tables: OnceLock<AboutTables>,
}

impl AboutText {
    /// A description in Markdown.
    pub const fn new(text: &'static str) -> Self {
        let tables = OnceLock::new();
        Self { text, tables }
    }

    /// Returns the parsed description.
    pub fn info(&'static self, name: &'static str, study: Option<Study>) -> ExperimentInfo {
        let tables = self.tables.get_or_init(|| {
            let found = self.rows("Published results");
            let found = found.map(|[finding, cure, figure]| PublishedResult {
                finding,
                cure,
                figure,
            });
            let parameters = self.rows("Parameters");
            let parameters = parameters.map(|[name, about, quick, full]| Parameter {
                name,
                about,
                quick: parse_values(quick),
                full: parse_values(full),
            });
            let arms = self.rows("Arms");
            let arms = arms.map(|[name, about]| ArmMeaning { name, about });
            AboutTables {
                found: found.collect(),
                arms: arms.collect(),
                parameters: parameters.collect(),
            }
        });
        ExperimentInfo {
            name,
            title: self
                .text
                .lines()
                .next()
                .unwrap_or_default()
                .trim_start_matches("# "),
            study,
            question: self.section("Question"),
            method: self.section("Method"),
            same_answer: self.section("Same answer"),
            found: &tables.found,
            arms: &tables.arms,
            parameters: &tables.parameters,
        }
    }

    fn section(&self, heading: &str) -> &'static str {
        let mut sections = self.text.split("\n## ");
        let section = sections.find_map(|section| section.strip_prefix(heading));
        section.unwrap_or_default().trim()
    }

    /// Returns the rows of a table, without its heading and the rule below that.
    fn rows<const N: usize>(&self, heading: &str) -> impl Iterator<Item = [&'static str; N]> {
        self.section(heading).lines().skip(2).map(|line| {
            let mut cells = line.trim_matches('|').split('|').map(str::trim);
            std::array::from_fn(|_| cells.next().unwrap_or_default())
        })
    }
}

/// Returns the numbers of a list. Each description is parsed once, so its values are leaked once.
fn parse_values(list: &str) -> &'static [u64] {
    let values = list
        .split(',')
        .filter_map(|value| value.trim().parse().ok());
    values.collect::<Vec<u64>>().leak()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::collections::BTreeMap;

    use super::super::all_experiments;
    use crate::arms::MeasurePass;
    use crate::results::RunRecord;
    use crate::{ArmRole, Experiment, LabContext, Results, RunPlan};

    /// Calls `check` with each experiment's name and each planned arm: its name and role.
    fn each_arm(mut check: impl FnMut(&crate::ExperimentInfo, &str, ArmRole)) {
        for experiment in all_experiments() {
            let info = experiment.experiment_info();
            for quick in [true, false] {
                let lab = LabContext::new(&info, quick, &BTreeMap::new()).unwrap();
                for group in experiment.plan_run(&lab).unwrap().groups {
                    for arm in &group.arms {
                        check(&info, &arm.name, arm.role);
                    }
                }
            }
        }
    }

    #[test]
    fn every_arm_is_explained() {
        each_arm(|info, arm, _| {
            assert_ne!(info.arm_meaning(arm), "", "{}: `{arm}`", info.name);
        });
    }

    /// Returns results in which each arm has a smaller figure than the one before it, for all
    /// measures that the experiment's tables show.
    fn made_up_results(experiment: &dyn Experiment, plan: &RunPlan) -> Results {
        let mut results = Results::default();
        for group in &plan.groups {
            let runs = group.arms.iter().map(|arm| RunRecord {
                case: group.make_case("", arm, MeasurePass::Timed, 0),
                answer: String::new(),
                measures: BTreeMap::new(),
            });
            results.runs.extend(runs);
        }
        let tables = experiment.report_spec(&results).tables.into_iter();
        let measures = tables.flat_map(|table| table.measures);
        let keys: Vec<String> = measures.map(|measure| measure.key).collect();
        let keys = keys.iter().flat_map(|key| key.split_whitespace());
        let keys: Vec<&str> = keys.filter(|key| !["+", "-"].contains(key)).collect();
        let mut figure = 1e9;
        for run in &mut results.runs {
            figure *= 0.9;
            let figures = keys.iter().map(|key| ((*key).to_owned(), figure));
            run.measures = figures.collect();
        }
        results
    }

    /// Where all parts of an experiment can run, it advises to change something, or to leave it.
    #[test]
    fn every_experiment_has_advice_and_a_verdict() {
        for experiment in all_experiments() {
            let info = experiment.experiment_info();
            let lab = LabContext::new(&info, true, &BTreeMap::new()).unwrap();
            let plan = experiment.plan_run(&lab).unwrap();
            let verdict = experiment.present_results(&made_up_results(experiment, &plan));
            let verdict = verdict.verdict;
            if !plan.groups.is_empty() {
                assert_ne!(verdict.sentence, "", "{}", info.name);
            }
            if plan.not_run.is_empty() {
                assert!(!verdict.advice.is_empty(), "{}", info.name);
            }
            for advice in verdict.advice {
                let words = [&advice.change, &advice.gain, &advice.measured];
                assert!(words.iter().all(|words| !words.is_empty()), "{advice:?}");
            }
        }
    }

    /// What is etui's is neither a cure of a study nor another product.
    #[test]
    fn variants_of_etui_are_its_own() {
        each_arm(|info, arm, role| {
            if arm.contains("etui") && !arm.ends_with("etui's schema") {
                let own = matches!(role, ArmRole::Etui | ArmRole::Variant | ArmRole::Unsafe);
                assert!(own, "{}: `{arm}` is {role:?}", info.name);
            }
            // A save that is not durable is not etui's figure beside durable ones.
            if arm.contains("deferred") && info.arms.iter().any(|of| of.name == "etui") {
                assert_eq!(role, ArmRole::Variant, "{}: `{arm}`", info.name);
            }
        });
    }

    /// Sizes are in kB throughout: one figure in two units looks like two.
    #[test]
    fn sizes_have_one_unit() {
        let mut texts = Vec::new();
        for experiment in all_experiments() {
            let info = experiment.experiment_info();
            texts.extend([info.title, info.question, info.method].map(str::to_owned));
            texts.extend(info.arms.iter().map(|arm| arm.about.to_owned()));
            let spec = experiment.report_spec(&Results::default());
            for table in spec.tables {
                texts.extend(table.measures.into_iter().map(|measure| measure.title));
                texts.extend([table.title, table.caption]);
            }
        }
        for text in texts {
            assert!(!text.contains("KiB") && !text.contains("MiB"), "{text}");
        }
    }

    #[test]
    fn every_description_is_complete() {
        for experiment in all_experiments() {
            let info = experiment.experiment_info();
            let texts = [info.title, info.question, info.method, info.same_answer];
            assert!(texts.iter().all(|text| text.len() > 20), "{info:?}");
            assert_eq!(info.found.is_empty(), info.study.is_none(), "{}", info.name);
            assert!(!info.parameters.is_empty());
            for parameter in info.parameters {
                assert!(!parameter.name.is_empty() && !parameter.about.is_empty());
                assert!(!parameter.quick.is_empty() && !parameter.full.is_empty());
            }
        }
    }
}
