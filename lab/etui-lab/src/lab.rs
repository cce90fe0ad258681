//! Machine and settings as known to an experiment while it plans.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::error::Error;
use crate::experiment::{ExperimentInfo, Parameter};
use crate::stacks;

/// The machine and the settings, for planning.
#[derive(Debug, Clone)]
pub struct LabContext {
    quick: bool,
    values: BTreeMap<String, Vec<u64>>,
}

impl LabContext {
    /// For an experiment: its own values, quick or full, overridden by the settings.
    pub fn new(
        about: &ExperimentInfo,
        quick: bool,
        set: &BTreeMap<String, Vec<u64>>,
    ) -> Result<Self, Error> {
        let mut values = BTreeMap::new();
        for parameter in about.parameters {
            let own = if quick {
                parameter.quick
            } else {
                parameter.full
            };
            let value = set
                .get(parameter.name)
                .cloned()
                .unwrap_or_else(|| own.to_vec());
            if value.is_empty() {
                return Err(Error::Usage(format!("`{}` has no value", parameter.name)));
            }
            for &value in &value {
                check_range(parameter, value)?;
            }
            values.insert(parameter.name.to_owned(), value);
        }
        Ok(Self { quick, values })
    }

    /// Whether this is a quick run.
    pub fn quick(&self) -> bool {
        self.quick
    }

    /// Whether it runs as root.
    pub fn root(&self) -> bool {
        rustix::process::geteuid().is_root()
    }

    /// The values of a parameter of the experiment; none if it has no such parameter.
    pub fn values(&self, name: &str) -> &[u64] {
        self.values.get(name).map_or(&[], Vec::as_slice)
    }

    /// The first value of a parameter; 0 if there is none.
    pub fn value(&self, name: &str) -> u64 {
        self.values(name).first().copied().unwrap_or(0)
    }

    /// All parameters.
    pub fn parameters(&self) -> &BTreeMap<String, Vec<u64>> {
        &self.values
    }

    /// Checks that a stack is available here; the error has the reason and the remedy.
    pub fn stack(&self, name: &str) -> Result<(), String> {
        stacks::check_available(name)
    }

    /// Where a command is, if it is installed.
    pub fn tool(&self, name: &str) -> Option<PathBuf> {
        crate::machine::find_tool(name)
    }
}

/// Refuses values that give an empty experiment, or fill the disk: 0 where
/// the experiment's own values have none, and a thousand times the largest of them.
fn check_range(parameter: &Parameter, value: u64) -> Result<(), Error> {
    let own = || parameter.quick.iter().chain(parameter.full).copied();
    let least = own().min().unwrap_or(0).min(1);
    let most = own().max().unwrap_or(0).max(1_000).saturating_mul(1_000);
    if (least..=most).contains(&value) {
        return Ok(());
    }
    Err(Error::Usage(format!(
        "`{}` is {value}: {least} to {most} can be had",
        parameter.name
    )))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_end_well_is_refused() {
        let parameter = Parameter {
            name: "sizes",
            about: "",
            quick: &[50],
            full: &[50, 12_800],
        };
        assert!(check_range(&parameter, 1).is_ok());
        assert!(check_range(&parameter, 12_800_000).is_ok());
        let refused = check_range(&parameter, 0).unwrap_err().to_string();
        assert_eq!(refused, "`sizes` is 0: 1 to 12800000 can be had");
        assert!(check_range(&parameter, u64::MAX).is_err());
        let switch = Parameter {
            quick: &[0],
            full: &[0],
            ..parameter
        };
        assert!(check_range(&switch, 0).is_ok());
    }
}
