//! [`Connection`]: how the other side of an account is reached.

use etui::sync::Account;
use etui_dav::client::Address;
use etui_program::{Failure, Result};
use etui_sync::{Folder, HttpClient, HttpOptions, Login, OtherSide};

use super::browser_login::access_token;
use super::folder::{FOLDER, open_folder};
use super::secret::Secret;

/// The start of the address of a subscription that is read over TLS; `webcal://` is one without.
pub const WEBCALS: &str = "webcals://";
pub const WEBCAL: &str = "webcal://";

/// How the other side of an account is reached.
pub enum Connection {
    /// A server, or another computer by ssh.
    Server(HttpClient),
    /// A calendar that is published as a file.
    Feed(HttpClient),
    /// A folder of devices.
    Folder(Folder),
}

impl Connection {
    /// Prepares it; the password is read.
    pub fn open(account: &Account) -> Result<Self> {
        let settings = &account.settings;
        if let Some(path) = settings.url.strip_prefix(FOLDER) {
            return Ok(Self::Folder(open_folder(account, path)?));
        }
        let secret = Secret::parse(&settings.secret);
        let login = match &secret {
            Secret::None => Login::None,
            Secret::OAuth(kept) => Login::Bearer(access_token(kept, &settings.name)?),
            Secret::Token(_) => Login::Bearer(secret.read(&settings.name)?),
            _ => Login::Basic {
                user: settings.user.clone(),
                password: secret.read(&settings.name)?,
            },
        };
        let client = client(&settings.url, login, settings.certificate.clone())?;
        Ok(match is_feed(&settings.url) {
            true => Self::Feed(client),
            false => Self::Server(client),
        })
    }

    pub fn side(&self) -> OtherSide<'_> {
        match self {
            Self::Server(client) => OtherSide::Server(client),
            Self::Feed(client) => OtherSide::Feed(client),
            Self::Folder(folder) => OtherSide::Folder(folder),
        }
    }
}

/// Returns true for the address of a subscription.
pub fn is_feed(url: &str) -> bool {
    url.starts_with(WEBCALS) || url.starts_with(WEBCAL)
}

pub fn client(url: &str, login: Login, certificate: Option<String>) -> Result<HttpClient> {
    let options = HttpOptions {
        certificate,
        command: command_of(url),
    };
    HttpClient::new(&address_of(url)?, login, &options)
        .map_err(|error| Failure::named_io("the client", error))
}

/// Returns the address of the requests to an account's URL.
pub fn address_of(url: &str) -> Result<Address> {
    let text = match url.split_once("://") {
        // The other end of the pipe is one server, whatever its name.
        Some(("ssh", _)) => "http://pipe/".to_owned(),
        Some(("webcals", rest)) => format!("https://{rest}"),
        Some(("webcal", rest)) => format!("http://{rest}"),
        _ => url.to_owned(),
    };
    Address::parse(&text).map_err(|error| Failure::usage(error.to_string()))
}

/// Returns the program that is the connection to an account's URL.
pub fn command_of(url: &str) -> Option<Vec<String>> {
    let host = url.strip_prefix("ssh://")?.trim_end_matches('/');
    // The program may be another one, such as one that asks for a key.
    let ssh = std::env::var("ETUI_SSH").unwrap_or_else(|_| "ssh".to_owned());
    let words = [ssh.as_str(), "--", host, "etui", "serve", "--stdio"];
    Some(words.map(str::to_owned).to_vec())
}
