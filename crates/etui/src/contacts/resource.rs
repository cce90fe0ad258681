//! [`Card`] as a resource: its bytes.

use etui_vcard::{Card, VCardVersion};
use rusqlite::Connection;

use crate::error::Result;
use crate::resource::{ParsedResource, Resource};

impl Resource for Card {
    const EXTENSION: &'static str = ".vcf";
    const HAS_SOURCE: bool = false;

    type Composer = ();

    fn parse_resource(bytes: &[u8]) -> Result<ParsedResource<Self>> {
        Ok(ParsedResource {
            record: Self::parse(bytes)?,
            source: None,
            is_verbatim: true,
        })
    }

    /// A client that was given a 4.0 card as 3.0 could not see all of it.
    fn may_merge(edited: &Self) -> bool {
        edited.version() == VCardVersion::V3_0
    }

    fn merge_edit(edited: &Self, stored: &[u8]) -> Result<Option<Self>> {
        let stored = Self::parse(stored)?;
        // Another UID is another person, or is refused.
        let is_same = edited.uid().is_none() || edited.uid() == stored.uid();
        if stored.version() != VCardVersion::V4_0 || !is_same {
            return Ok(None);
        }
        Ok(Some(stored.merge_v3(edited)?))
    }

    fn compose(
        (): &mut (),
        _: &Connection,
        text: Vec<u8>,
        _: Option<i64>,
        _: &[u8],
    ) -> Result<Vec<u8>> {
        Ok(text)
    }
}
