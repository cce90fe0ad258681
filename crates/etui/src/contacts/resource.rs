//! [`Card`] as a resource: its bytes.

use etui_vcard::Card;
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
