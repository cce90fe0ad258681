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

/// The tables of a description.
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
    use crate::{ArmRole, LabContext, Results};

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

    /// A description that explains arms explains all of them.
    #[test]
    fn every_arm_is_explained() {
        let mut explained = 0;
        each_arm(|info, arm, _| {
            if !info.arms.is_empty() {
                assert_ne!(info.arm_meaning(arm), "", "{}: `{arm}`", info.name);
                explained += 1;
            }
        });
        assert!(explained > 100);
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
