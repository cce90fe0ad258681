//! The user's editor on a private file. An edited text is never lost: its file is kept when the text
//! cannot be used.

use std::io::{IsTerminal, Write};
use std::process::Command;

use etui_program::{Failure, Result};
use tempfile::NamedTempFile;

/// Editor if none is set.
const DEFAULT_EDITOR: &str = "vi";
/// Exit code of a shell that does not find the program.
const NOT_FOUND: i32 = 127;

/// A text in a file of its own, removed when this is dropped.
#[derive(Debug)]
pub struct EditFile {
    file: NamedTempFile,
    before: Vec<u8>,
}

impl EditFile {
    /// Writes `text` to a file with mode 0600 and this suffix.
    pub fn create(text: &[u8], suffix: &str) -> Result<Self> {
        let mut file = tempfile::Builder::new()
            .prefix("etui-edit-")
            .suffix(suffix)
            .tempfile()
            .map_err(file_error)?;
        file.write_all(text)
            .and_then(|()| file.flush())
            .map_err(file_error)?;
        Ok(Self {
            file,
            before: text.to_owned(),
        })
    }

    /// Opens the editor. Returns the text, or `None` if it is the one that the file was created with.
    /// Without a terminal, an editor has to be set: vi would wait for keys for ever.
    ///
    /// # Errors
    /// If there is no editor or it failed. A changed text is then kept, and the message names its file.
    pub fn run_editor(&mut self) -> Result<Option<Vec<u8>>> {
        let set = ["VISUAL", "EDITOR"]
            .iter()
            .find_map(|name| std::env::var(name).ok().filter(|v| !v.trim().is_empty()));
        let has_terminal = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
        let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        if set.is_none() && (!has_terminal || is_dumb) {
            return Err(Failure::usage(
                "there is no terminal for an editor; give the changes as options, a file with --from, or \
                 a program in EDITOR",
            ));
        }
        let editor = set.unwrap_or_else(|| DEFAULT_EDITOR.to_owned());
        // The variable may hold arguments (`code --wait`), so a shell splits it, as in git.
        let status = Command::new("sh")
            .arg("-c")
            .arg(format!("{editor} \"$@\""))
            .arg(&editor)
            .arg(self.file.path())
            .status()
            .map_err(|e| Failure::named_io(editor.as_str(), e))?;

        // Many editors replace the file, so it is read by name.
        let bytes = std::fs::read(self.file.path()).map_err(file_error)?;
        let is_same = bytes.trim_ascii_end() == self.before.trim_ascii_end();
        if status.success() {
            return Ok((!is_same).then_some(bytes));
        }
        if is_same && status.code() == Some(NOT_FOUND) {
            return Err(Failure::usage(format!(
                "the editor \"{editor}\" was not found; set EDITOR, or give the changes as options"
            )));
        }
        let kept = match is_same {
            true => String::new(),
            false => format!("; your text is kept in {}", self.keep_file()),
        };
        Err(Failure::Other(format!(
            "the editor \"{editor}\" failed with {status}; nothing was changed{kept}"
        )))
    }

    /// Keeps the file. Returns its path.
    pub fn keep_file(&mut self) -> String {
        self.file.disable_cleanup(true);
        self.file.path().display().to_string()
    }
}

fn file_error(error: std::io::Error) -> Failure {
    Failure::named_io("the file to edit", error)
}
