//! Selection of arms, stacks and repetitions from an experiment's plan.

use std::collections::BTreeSet;

use super::RunOptions;
use crate::error::Error;
use crate::experiment::RunPlan;
use crate::stacks;

/// More repetitions than anybody waits for.
const MOST_REPETITIONS: u32 = 10_000;

/// Leaves only the selected parts. A selection that matches nothing is refused: nothing to run
/// would look like nothing left to run.
pub fn narrow_plan<'a>(
    plans: impl IntoIterator<Item = &'a mut RunPlan>,
    options: &RunOptions,
) -> Result<(), Error> {
    let mut plans: Vec<&mut RunPlan> = plans.into_iter().collect();
    let there: BTreeSet<String> = narrow_groups(&plans)
        .map(|group| group.stack.clone())
        .collect();
    for stack in &options.stacks {
        if !there.contains(stack) && !is_reported(&plans, stack) {
            let reason = stacks::check_available(stack).err();
            return Err(Error::Usage(format!(
                "there is nothing to run on the stack `{stack}`{}; there is on: {}",
                reason.map_or_else(String::new, |reason| format!(" ({reason})")),
                list_names(&there)
            )));
        }
    }
    if !options.stacks.is_empty() {
        for plan in &mut plans {
            plan.groups
                .retain(|group| options.stacks.contains(&group.stack));
        }
    }
    let there: BTreeSet<String> = narrow_groups(&plans)
        .flat_map(|group| group.arms.iter().map(|arm| arm.name.clone()))
        .collect();
    for part in &options.arms {
        if !there.iter().any(|name| name.contains(part)) && !is_reported(&plans, part) {
            return Err(Error::Usage(format!(
                "no arm's name holds `{part}`; there are: {}",
                list_names(&there)
            )));
        }
    }
    for group in plans.iter_mut().flat_map(|plan| &mut plan.groups) {
        if !options.arms.is_empty() {
            group
                .arms
                .retain(|arm| options.arms.iter().any(|part| arm.name.contains(part)));
        }
        if let Some(repetitions) = options.repetitions {
            group.repetitions = repetitions;
        }
        if group.repetitions > MOST_REPETITIONS {
            return Err(Error::Usage(format!(
                "{} repetitions are too many: {MOST_REPETITIONS} at most",
                group.repetitions
            )));
        }
    }
    for plan in plans {
        plan.groups.retain(|group| !group.arms.is_empty());
    }
    Ok(())
}

fn narrow_groups<'a>(plans: &'a [&mut RunPlan]) -> impl Iterator<Item = &'a crate::ArmGroup> {
    plans.iter().flat_map(|plan| &plan.groups)
}

/// Returns true if the plan already reports that this cannot be run here.
fn is_reported(plans: &[&mut RunPlan], words: &str) -> bool {
    plans
        .iter()
        .flat_map(|plan| &plan.not_run)
        .any(|part| part.what.contains(words))
}

fn list_names(names: &BTreeSet<String>) -> String {
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    if names.is_empty() {
        "none".to_owned()
    } else {
        names.join(", ")
    }
}
