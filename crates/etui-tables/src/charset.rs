//! [`TableCharset`]: the charset of a table.

use std::str::FromStr;

use encoding_rs::Encoding;

use crate::input::find_charset;

/// A charset of a CSV or LDIF file.
///
/// ```
/// use etui_tables::TableCharset;
///
/// let charset: TableCharset = "cp1251".parse()?;
/// assert_eq!(charset.name(), "windows-1251");
/// # Ok::<(), etui_tables::UnknownCharset>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TableCharset(pub(crate) &'static Encoding);

/// A name that no charset has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "there is no charset of this name; write one such as utf-8, windows-1252, windows-1251, \
     iso-8859-2, shift_jis, gbk, big5, euc-kr"
)]
pub struct UnknownCharset;

impl TableCharset {
    /// The name of the WHATWG's Encoding Standard, such as `windows-1251`.
    pub fn name(self) -> &'static str {
        self.0.name()
    }
}

impl FromStr for TableCharset {
    type Err = UnknownCharset;

    fn from_str(name: &str) -> Result<Self, UnknownCharset> {
        find_charset(name).map(Self).ok_or(UnknownCharset)
    }
}
