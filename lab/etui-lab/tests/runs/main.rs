//! Running experiments: to the end, stopped, killed, and with results that disagree.
//!
//! A run starts its own program again as a worker, so this program is both: with a command of
//! the laboratory it is one over the experiments of [`experiments`], otherwise the tests.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod crowd;
mod experiments;
mod planted;
mod scenes;
mod virtual_machine;

use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};

fn main() -> ExitCode {
    let lab = ["run", "worker", "guest", "compare", "report", "list"];
    if std::env::args()
        .nth(1)
        .is_some_and(|first| lab.contains(&&*first))
    {
        return etui_lab::cli::main(&experiments::all());
    }
    let mut trials: Vec<Trial> = Vec::new();
    let mut add = |name: &str, test: fn()| {
        trials.push(Trial::test(name, move || {
            test();
            Ok(())
        }));
    };
    add(
        "a_run_goes_to_its_end_and_is_not_made_twice",
        scenes::to_the_end,
    );
    add(
        "what_differs_in_its_answer_does_not_count",
        scenes::disagreement,
    );
    add(
        "an_arm_that_dies_does_not_take_the_others_with_it",
        scenes::death,
    );
    add(
        "a_group_that_cannot_be_made_ready_does_not_stop_the_others",
        scenes::unready,
    );
    add("what_cannot_run_is_told_with_its_reason", scenes::not_here);
    add(
        "other_settings_do_not_mix_with_old_results",
        scenes::other_settings,
    );
    add(
        "a_part_that_was_run_first_is_made_whole",
        scenes::a_part_first,
    );
    add("a_stopped_run_goes_on_and_leaves_nothing", scenes::stopped);
    add("a_killed_run_goes_on_and_leaves_nothing", scenes::killed);
    add("a_file_has_one_run_at_a_time", crowd::two_at_once);
    add("a_reader_that_leaves_is_no_error", crowd::a_closed_pipe);
    add(
        "a_run_is_stopped_while_it_gets_ready",
        crowd::stopped_while_it_gets_ready,
    );
    add(
        "arms_run_in_a_virtual_machine_as_on_the_host",
        virtual_machine::to_the_end,
    );
    add(
        "a_killed_run_leaves_no_virtual_machine",
        virtual_machine::killed,
    );
    add("mistaken_commands_say_what_there_is", scenes::mistaken);
    add(
        "a_planted_regression_is_found_and_noise_is_not",
        planted::found,
    );
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}
