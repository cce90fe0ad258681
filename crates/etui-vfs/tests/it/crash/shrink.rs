//! [`shrink`]: reduces a failing history to the steps that still fail.

use std::time::{Duration, Instant};

use crate::crash::steps::Step;

/// Removes steps, first many at once and then one by one, while `fails` still reports an error.
/// Ends when nothing more can be removed or the time is up.
pub fn shrink(
    steps: &[Step],
    wrong: String,
    time: Duration,
    mut fails: impl FnMut(&[Step]) -> Option<String>,
) -> (Vec<Step>, String) {
    let (mut steps, mut wrong) = (steps.to_vec(), wrong);
    let begun = Instant::now();
    let mut size = steps.len() / 2;
    while size > 0 {
        let mut at = 0;
        let before = steps.len();
        while at < steps.len() && begun.elapsed() < time {
            let mut fewer = steps.clone();
            fewer.drain(at..(at + size).min(steps.len()));
            match fails(&fewer) {
                Some(still) => (steps, wrong) = (fewer, still),
                None => at += size,
            }
        }
        if begun.elapsed() >= time {
            break;
        }
        if size > 1 || steps.len() == before {
            size /= 2;
        }
    }
    (steps, wrong)
}

/// Returns the steps as code, one per line.
pub fn listing(steps: &[Step]) -> String {
    steps.iter().map(|step| format!("  {step:?},\n")).collect()
}
