//! [`Remote`]: the other side of a pair, and its answers.

use crate::error::SyncError;

/// The server's members, compared with an earlier state.
#[derive(Debug, Default)]
pub(crate) struct Listing {
    /// Members that are there, with their entity tags: all, or those that changed.
    pub(crate) items: Vec<(String, Option<String>)>,
    /// Members that the server says are gone.
    pub(crate) gone: Vec<String>,
    /// All members are listed.
    pub(crate) is_full: bool,
    /// One that is not listed is not gone by that.
    pub(crate) only_gone_is_gone: bool,
    /// A part of it cannot be read, and why.
    pub(crate) note: Option<String>,
    pub(crate) token: Option<String>,
    pub(crate) ctag: Option<String>,
}

/// The server's answer about one member.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Member {
    There {
        etag: Option<String>,
        text: Vec<u8>,
    },
    Gone,
    /// It cannot be had, and why.
    Refused(String),
}

/// The result of an attempt to send.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Sending {
    /// It is there: its tag, if the server says it, and its place, which may be another one.
    Done { etag: Option<String>, href: String },
    /// It was changed since.
    Changed,
    /// There is none, in the server's words.
    Gone(String),
    /// Whether it arrived is not known.
    Unclear(String),
    /// It is refused, and why.
    Refused(String),
}

/// A text of this device that lost where changes met on the other side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LostThere {
    pub(crate) text: Vec<u8>,
    pub(crate) properties: Vec<String>,
}

/// The other side of a pair.
pub(crate) trait Remote {
    /// Texts of one request.
    fn batch(&self) -> usize;

    /// Lists what changed since `token`, or since the state with this `ctag`; all members if both are `None` or it
    /// does not know them.
    fn list(&mut self, token: Option<&str>, ctag: Option<&str>) -> Result<Listing, SyncError>;

    /// Returns the changes since a token once more; `None` if the other side has none to tell.
    fn changes_since(&self, _token: Option<&str>) -> Result<Option<Listing>, SyncError> {
        Ok(None)
    }

    /// Asks for members; each is told to `on_member`.
    fn fetch(
        &self,
        hrefs: &[String],
        on_member: &mut dyn FnMut(&str, Member) -> Result<(), SyncError>,
    ) -> Result<(), SyncError>;

    /// Returns the place of a new member of this name.
    fn href_of(&self, name: &str) -> String;

    /// Sends a text. With an entity tag it replaces the text that has it, else it is a new one.
    fn put(&mut self, href: &str, text: Vec<u8>, etag: Option<&str>) -> Result<Sending, SyncError>;

    /// Removes the member that has this tag.
    fn remove(&mut self, href: &str, etag: &str) -> Result<Sending, SyncError>;

    /// Makes durable there all that was sent.
    fn settle(&mut self) -> Result<(), SyncError> {
        Ok(())
    }

    /// Returns texts of this device that lost in a member.
    fn lost(&self, _href: &str) -> Result<Vec<LostThere>, SyncError> {
        Ok(Vec::new())
    }
}
