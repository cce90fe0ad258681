//! [`OtherSide`]: the partner of a collection.

use etui::sync::Links;
use etui_dav::client::Address;

use crate::dav::DavRemote;
use crate::error::SyncError;
use crate::feed::FeedRemote;
use crate::folder::{Folder, FolderRemote};
use crate::http::HttpClient;
use crate::kind::SyncKind;
use crate::remote::Remote;

/// The partner of a collection.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub enum OtherSide<'c> {
    /// A collection of a CardDAV or CalDAV server.
    Server(&'c HttpClient),
    /// A calendar that is published as one file. It takes no changes.
    Feed(&'c HttpClient),
    /// A folder of devices.
    Folder(&'c Folder),
}

impl<'c> From<&'c HttpClient> for OtherSide<'c> {
    fn from(client: &'c HttpClient) -> Self {
        Self::Server(client)
    }
}

impl<'c> OtherSide<'c> {
    pub(crate) fn open<R: SyncKind>(
        self,
        url: &str,
        links: Links<'c, R>,
        is_dry_run: bool,
    ) -> Result<Box<dyn Remote + 'c>, SyncError> {
        Ok(match self {
            Self::Server(client) => Box::new(DavRemote {
                client,
                address: Address::parse(url)?,
                kind: R::REMOTE,
            }),
            Self::Feed(client) => {
                let known = links.briefs(false)?;
                Box::new(FeedRemote::new(client, Address::parse(url)?, known))
            }
            Self::Folder(folder) => Box::new(FolderRemote::new(folder, url, links, is_dry_run)),
        })
    }
}
