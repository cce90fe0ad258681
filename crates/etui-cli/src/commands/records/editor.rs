//! The user's editor on a private file.

use std::io::{IsTerminal, Write};
use std::process::Command;

use tempfile::NamedTempFile;

use crate::errors::{Failure, Result};

/// A text changed in the editor.
pub struct EditedText {
    pub bytes: Vec<u8>,
    file: NamedTempFile,
}

impl EditedText {
    /// Keeps the file. Returns its path.
    pub fn keep_file(self) -> Result<String> {
        let (_, path) = self
            .file
            .keep()
            .map_err(|e| Failure::named_io("the edited text", e.error))?;
        Ok(path.display().to_string())
    }
}

/// Editor if none is set.
const DEFAULT_EDITOR: &str = "vi";
/// Exit code of a shell that does not find the program.
const NOT_FOUND: i32 = 127;

/// Opens the editor on `text`, in a file with mode 0600 and this suffix. Returns `None` if the text
/// did not change. Without a terminal, an editor has to be set: vi would wait for keys for ever.
pub fn edit_text(text: &[u8], suffix: &str) -> Result<Option<EditedText>> {
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
    let failed = |e| Failure::named_io("the file to edit", e);
    let mut file = tempfile::Builder::new()
        .prefix("etui-edit-")
        .suffix(suffix)
        .tempfile()
        .map_err(failed)?;
    file.write_all(text)
        .and_then(|()| file.flush())
        .map_err(failed)?;

    // The variable may hold arguments (`code --wait`), so a shell splits it, as in git.
    let status = Command::new("sh")
        .arg("-c")
        .arg(format!("{editor} \"$@\""))
        .arg(&editor)
        .arg(file.path())
        .status()
        .map_err(|e| Failure::named_io(editor.as_str(), e))?;

    // Many editors replace the file, so it is read by name.
    let bytes = std::fs::read(file.path()).map_err(failed)?;
    let is_same = bytes.trim_ascii_end() == text.trim_ascii_end();
    if !status.success() {
        let edited = EditedText { bytes, file };
        let kept = match is_same {
            true => String::new(),
            false => format!("; your text is kept in {}", edited.keep_file()?),
        };
        if is_same && status.code() == Some(NOT_FOUND) {
            return Err(Failure::usage(format!(
                "the editor \"{editor}\" was not found; set EDITOR, or give the changes as options"
            )));
        }
        return Err(Failure::Other(format!(
            "the editor \"{editor}\" failed with {status}; nothing was changed{kept}"
        )));
    }
    Ok((!is_same).then_some(EditedText { bytes, file }))
}
