//! The person's editor on a private file.

use std::borrow::Cow;
use std::io::Write;
use std::process::Command;

use etui_contentline::charset::repair_charset;
use tempfile::NamedTempFile;

use crate::errors::{Failure, Result};

/// What the person made of the text.
pub struct EditedText {
    /// The text now.
    pub bytes: Vec<u8>,
    file: NamedTempFile,
}

impl EditedText {
    /// Keeps the file, and tells where it is.
    pub fn keep(self) -> Result<String> {
        let (_, path) = self
            .file
            .keep()
            .map_err(|e| Failure::named_io("the edited text", e.error))?;
        Ok(path.display().to_string())
    }
}

/// A record's text as an editor can show it: UTF-8.
pub fn readable(text: &[u8]) -> Cow<'_, [u8]> {
    if std::str::from_utf8(text).is_ok() && !text.contains(&0) {
        return Cow::Borrowed(text);
    }
    match repair_charset(text) {
        Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
        Cow::Owned(text) => Cow::Owned(text.into_bytes()),
    }
}

/// Opens the editor on `text`, in a file that only its owner may read and whose name ends with
/// `suffix`; `None` when the text was left as it was.
pub fn edit(text: &[u8], suffix: &str) -> Result<Option<EditedText>> {
    let failed = |e| Failure::named_io("the file to edit", e);
    let mut file = tempfile::Builder::new()
        .prefix("etui-edit-")
        .suffix(suffix)
        .tempfile()
        .map_err(failed)?;
    file.write_all(text)
        .and_then(|()| file.flush())
        .map_err(failed)?;

    let editor = ["VISUAL", "EDITOR"]
        .iter()
        .find_map(|name| std::env::var(name).ok().filter(|v| !v.trim().is_empty()))
        .unwrap_or_else(|| "vi".to_owned());
    // The variable may hold arguments (`code --wait`); a shell takes it apart, as git has it.
    let status = Command::new("sh")
        .arg("-c")
        .arg(format!("{editor} \"$@\""))
        .arg(&editor)
        .arg(file.path())
        .status()
        .map_err(|e| Failure::named_io(editor.as_str(), e))?;

    // Many editors write a new file under the old name.
    let bytes = std::fs::read(file.path()).map_err(failed)?;
    let same = bytes.trim_ascii_end() == text.trim_ascii_end();
    if !status.success() {
        let edited = EditedText { bytes, file };
        let kept = match same {
            true => String::new(),
            false => format!("; your text is kept in {}", edited.keep()?),
        };
        return Err(Failure::Other(format!(
            "the editor \"{editor}\" ended with {status}; nothing was changed{kept}"
        )));
    }
    Ok((!same).then_some(EditedText { bytes, file }))
}
