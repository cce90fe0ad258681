//! Descriptions of experiments, written in Markdown beside their code: [`AboutText`].
//!
//! ```text
//! # Title
//! ## Question, ## Method, ## Same answer      a paragraph each, on one line
//! ## Published results                        finding, mitigation, figure
//! ## Parameters                               name, meaning, values of a quick and of a full run
//! ```

use std::sync::OnceLock;

use crate::{ExperimentInfo, Parameter, PublishedResult, Study};

/// Description of an experiment.
#[derive(Debug)]
pub struct AboutText {
    text: &'static str,
    tables: OnceLock<(Vec<PublishedResult>, Vec<Parameter>)>,
}

impl AboutText {
    /// A description in Markdown.
    pub const fn new(text: &'static str) -> Self {
        let tables = OnceLock::new();
        Self { text, tables }
    }

    /// Returns the parsed description.
    pub fn info(&'static self, name: &'static str, study: Option<Study>) -> ExperimentInfo {
        let (found, parameters) = self.tables.get_or_init(|| {
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
            (found.collect(), parameters.collect())
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
            found,
            parameters,
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
    #[test]
    fn every_description_is_complete() {
        for experiment in super::super::all_experiments() {
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
