//! [`OwnTest`]: a test of the running test program, for a process of its own.
//!
//! A service that a bus starts, or a process that is killed, is a test of the program, `#[ignore]`d
//! where nobody asks for it; the program runs once more for this test alone. So does one that
//! changes what a whole process shares: [`runs_alone`].
//!
//! ```no_run
//! # fn main() -> std::io::Result<()> {
//! use etui_testkit::own_test::OwnTest;
//!
//! let serve = OwnTest::find(module_path!(), "serve");
//! let mut service = serve.command().env("STORE", "personal.etui").spawn()?;
//! # service.wait()?; Ok(())
//! # }
//! ```

use std::path::{Path, PathBuf};
use std::process::Command;

/// A test of the running program.
#[derive(Debug, Clone)]
pub struct OwnTest {
    program: PathBuf,
    path: String,
}

impl OwnTest {
    /// Finds a test by its module, which is `module_path!()` there, and its name.
    ///
    /// # Panics
    /// If the program has no such test: a filter that matches none would run nothing, and pass.
    #[expect(
        clippy::expect_used,
        clippy::panic,
        reason = "the test program is wrong"
    )]
    pub fn find(module: &str, name: &str) -> Self {
        let program = std::env::current_exe().expect("the test program has a path");
        let path = path_in_program(module, name);
        let listed = Command::new(&program)
            .args(["--list", "--format=terse", "--include-ignored", "--exact"])
            .arg(&path)
            .output()
            .expect("the test program runs");
        let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
        if listed.trim() != format!("{path}: test") {
            panic!("{} has no test {path}: {listed}", program.display());
        }
        Self { program, path }
    }

    /// The test program.
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// The arguments with which the program runs this test alone, its output uncaptured.
    pub fn arguments(&self) -> [&str; 4] {
        ["--include-ignored", "--exact", &self.path, "--nocapture"]
    }

    /// A command that runs the test.
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.args(self.arguments());
        command
    }

    /// The command as words of a shell. The program's path has no quotation mark.
    pub fn shell_words(&self) -> String {
        let arguments = self.arguments().join(" ");
        format!("'{}' {arguments}", self.program.display())
    }
}

/// Runs a test in a process of its own, because it changes what all tests of a process share. Returns
/// true there. Elsewhere it returns false once that process has passed, and nothing is left to do.
///
/// ```no_run
/// # use etui_testkit::own_test::runs_alone;
/// fn the_default_of_the_process_changes() {
///     if !runs_alone(module_path!(), "the_default_of_the_process_changes") {
///         return;
///     }
///     // ...
/// }
/// ```
///
/// # Panics
/// If the program has no such test, or it fails.
#[expect(clippy::expect_used, clippy::panic, reason = "the test has failed")]
pub fn runs_alone(module: &str, name: &str) -> bool {
    const ALONE: &str = "ETUI_TEST_ALONE";
    let path = path_in_program(module, name);
    if std::env::var_os(ALONE).is_some_and(|alone| *alone == *path) {
        return true;
    }
    let mut command = OwnTest::find(module, name).command();
    let ran = command.env(ALONE, &path).output().expect("the test runs");
    if !ran.status.success() {
        let [out, error] = [&ran.stdout, &ran.stderr].map(|b| String::from_utf8_lossy(b));
        panic!(
            "{path} in a process of its own: {}\n{out}{error}",
            ran.status
        );
    }
    false
}

/// The path of a test as the test program lists it: without the name of the program itself.
fn path_in_program(module: &str, name: &str) -> String {
    match module.split_once("::") {
        Some((_, modules)) => format!("{modules}::{name}"),
        None => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_tests_by_module_and_name() {
        let name = "finds_tests_by_module_and_name";
        let own = OwnTest::find(module_path!(), name);
        assert_eq!(own.arguments()[2], format!("own_test::tests::{name}"));
        assert_eq!(path_in_program("it", "serve"), "serve");
        let absent = std::panic::catch_unwind(|| OwnTest::find(module_path!(), "absent"));
        assert!(absent.is_err());
    }

    #[test]
    fn a_test_runs_alone() {
        let process = std::process::id();
        let is_child = runs_alone(module_path!(), "a_test_runs_alone");
        let parent = std::os::unix::process::parent_id();
        if is_child {
            std::fs::write(alone_file(parent), process.to_string()).unwrap();
            return;
        }
        let file = alone_file(process);
        let child = std::fs::read_to_string(&file).unwrap();
        std::fs::remove_file(file).unwrap();
        assert_ne!(child, process.to_string());
    }

    fn alone_file(parent: u32) -> PathBuf {
        std::env::temp_dir().join(format!("etui-own-test-{parent}"))
    }
}
