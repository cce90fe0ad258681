//! [`TestHome`]: a private home directory. [`session!`]: a snapshot of command lines and their output.

use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

/// Four contacts; one has escape sequences in the name.
pub const PEOPLE: &str = "\
BEGIN:VCARD\r\nVERSION:3.0\r\nUID:anna\r\nN:Müller;Anna;;;\r\nFN:Anna Müller\r\n\
ORG:Example GmbH;Sales\r\nTEL;TYPE=WORK:+49 30 23125 001\r\nTEL;TYPE=CELL,PREF:0171 39200 02\r\n\
EMAIL:anna.mueller@example.org\r\nEND:VCARD\r\n\
BEGIN:VCARD\r\nVERSION:4.0\r\nUID:bob\r\nFN:Bob Öst\r\nEMAIL;TYPE=home:bob@example.com\r\n\
BDAY:--0229\r\nNOTE:likes tea\\, no milk\\nand cake\r\nX-HOBBY:chess\r\n\
PHOTO:data:image/png;base64,iVBORw0KGgo=\r\nEND:VCARD\r\n\
BEGIN:VCARD\r\nVERSION:3.0\r\nUID:eve\r\nN:Trouble;Eve;;;\r\n\
FN:Eve \x1b[31mTrouble\u{9b}2J\r\nTEL:+1 202 555 0143\r\nEND:VCARD\r\n\
BEGIN:VCARD\r\nVERSION:3.0\r\nN:Nobody;Norbert;;;\r\nFN:Norbert Nobody\r\nEND:VCARD\r\n";

/// A shell function that retries a command until it succeeds, as `etui_testkit::wait::wait_until` does:
/// for what a program in the background makes.
const WAIT_UNTIL: &str = "wait_until() { for i in $(seq 30000); do \"$@\" >/dev/null 2>&1 && return; \
    sleep .01; done; echo \"not in time: $*\"; }";

/// A private home directory.
pub struct TestHome {
    dir: TempDir,
}

impl TestHome {
    /// An empty one, with the file `people.vcf`.
    pub fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("people.vcf"), PEOPLE).unwrap();
        std::fs::create_dir(dir.path().join("tmp")).unwrap();
        Self { dir }
    }

    /// One whose store has the people.
    pub fn with_people() -> Self {
        let home = Self::new();
        assert_eq!(home.run("etui -q import people.vcf"), ("".into(), Some(0)));
        home
    }

    /// A path in it.
    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Runs a line as a shell does, which has the function `wait_until`; both outputs, and the exit code.
    pub fn run(&self, line: &str) -> (String, Option<i32>) {
        let mut shell = self.command("sh");
        let shell = shell.args(["-c", &format!("exec 2>&1; {WAIT_UNTIL}; {line}")]);
        let output = shell.output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        (text, output.status.code())
    }

    /// A program to be run in it, with nothing of the environment of the test.
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("PATH", format!("{}:/usr/bin:/bin", bin().display()))
            .env("HOME", self.dir.path())
            .env("TMPDIR", self.path("tmp"))
            .env("LANG", "C.UTF-8")
            .env("TZ", "Europe/Berlin")
            .current_dir(self.dir.path());
        command
    }

    /// Runs the command lines. Returns them with their output, and exit codes other than 0.
    pub fn session(&self, lines: &[&str]) -> String {
        let mut out = String::new();
        for line in lines {
            let (text, code) = self.run(line);
            out.push_str(&format!("$ {line}\n"));
            out.push_str(&self.plain(&text));
            if !(out.ends_with('\n') || text.is_empty()) {
                out.push('\n');
            }
            match code {
                Some(0) => {}
                code => out.push_str(&format!("[exit {}]\n", code.unwrap_or(-1))),
            }
        }
        out
    }

    /// The same for every run: no directory of this run, no random name, no escape sequence or
    /// CR that an editor would not show.
    fn plain(&self, text: &str) -> String {
        let home = self.dir.path().display().to_string();
        let mut text = text
            .replace(&home, "~")
            .replace('\r', "\\r")
            .replace('\x1b', "\\e");
        let mut from = 0;
        while let Some(at) = text[from..].find("etui-edit-") {
            from += at + "etui-edit-".len();
            text.replace_range(from..from + 6, "XXXXXX");
        }
        text
    }
}

/// The directory of the programs.
pub fn bin() -> &'static Path {
    let bin = Path::new(env!("CARGO_BIN_EXE_etui")).parent().unwrap();
    for program in ["etui-serve", "etui-session"] {
        assert!(
            bin.join(program).exists(),
            "first: cargo build -p etui-serve -p etui-session (scripts/test builds all programs)"
        );
    }
    bin
}

/// Compares the output of a session with an inline snapshot.
macro_rules! session {
    ($home:expr, [$($line:expr),+ $(,)?], @$expected:literal) => {
        insta::assert_snapshot!($home.session(&[$($line),+]), @$expected)
    };
}
pub(crate) use session;
