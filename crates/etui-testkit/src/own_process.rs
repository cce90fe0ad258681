//! Tests in processes of their own: one that must be alone in its process ([`in_own_process`]), and
//! one that is a program for another test ([`ProgramOfTest`]).
//!
//! The first are those that measure or change something of the process: its memory, the counters of a
//! VFS, the SQLite that it has loaded. And those that start many processes: a child has copies of
//! all descriptors, with their locks, until it executes its program, so that other tests would find
//! files locked that they have closed.
//!
//! Both start the test program again and have it run one test. The test is given as a function, not
//! as a name: one that does not exist is an error of the compiler. `cargo test` would run nothing,
//! successfully, with a name that matches none.

use std::process::{Command, Output};
use std::{any, env, io};

/// The path of the test that this process was started for.
const ALONE: &str = "ETUI_TEST_ALONE";

/// A test that another test runs in a process of its own, as a program.
///
/// The child prints what it has done, and the parent reads that: so it is noticed if it did nothing.
#[derive(Debug, Clone, Copy)]
pub struct ProgramOfTest {
    /// The path of modules in the test program, as `--exact` takes it.
    path: &'static str,
}

impl ProgramOfTest {
    /// Returns the program of a test: of the function itself, not a pointer to it.
    ///
    /// # Panics
    /// If it is no function with a path.
    pub fn new<Test: Fn()>(_: Test) -> Self {
        let (_, path) = any::type_name::<Test>()
            .split_once("::")
            .unwrap_or_default();
        let is_path = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b':' | b'_');
        assert!(
            !path.is_empty() && path.bytes().all(is_path),
            "{} is no test",
            any::type_name::<Test>()
        );
        Self { path }
    }

    /// Returns the arguments that make the test program run this test, ignored or not, with its output
    /// passed on.
    pub fn arguments(self) -> [&'static str; 4] {
        ["--exact", self.path, "--include-ignored", "--nocapture"]
    }

    /// Returns the command that runs it.
    ///
    /// # Errors
    /// If the file of the test program is not known.
    pub fn command(self) -> io::Result<Command> {
        let mut command = Command::new(env::current_exe()?);
        command.args(self.arguments());
        Ok(command)
    }

    /// Returns the command as words of a shell, for a service that a bus starts.
    ///
    /// # Errors
    /// If the file of the test program is not known.
    pub fn shell_words(self) -> io::Result<String> {
        let program = env::current_exe()?;
        let arguments = self.arguments().join(" ");
        // The folder of a build has no quotation mark in its name.
        Ok(format!("'{}' {arguments}", program.display()))
    }

    fn run_alone(self) -> io::Result<Output> {
        self.command()?.env(ALONE, self.path).output()
    }
}

/// Returns true in a process in which no other test runs. Otherwise runs `test`, the caller, in such
/// a process, prints its output, and returns false.
///
/// ```ignore
/// #[test]
/// fn the_process_has_few_threads() {
///     // The threads of other tests would be counted.
///     if !in_own_process(the_process_has_few_threads) {
///         return;
///     }
///     /* ... */
/// }
/// ```
///
/// # Panics
/// If the test fails there, or does not run.
#[track_caller]
pub fn in_own_process<Test: Fn()>(test: Test) -> bool {
    let program = ProgramOfTest::new(test);
    if env::var_os(ALONE).is_some_and(|alone| alone == program.path) {
        return true;
    }
    let output = program.run_alone();
    let (is_passed, said) = match &output {
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stdout);
            let is_one = said.contains("test result: ok. 1 passed");
            eprint!("{}", String::from_utf8_lossy(&output.stderr));
            (output.status.success() && is_one, said.into_owned())
        }
        Err(error) => (false, error.to_string()),
    };
    print!("{said}");
    assert!(is_passed, "{} failed in its own process", program.path);
    false
}
