//! `etui calendars subscribe`: a calendar that is published as a file.

use etui::calendar::CalendarObject;
use etui::sync::{Account, AccountId, AccountSettings, Direction, Pair, PairSettings, SyncProblem};
use etui::{CollectionId, CollectionKind, Error, Store};
use etui_dav::client::Address;
use etui_program::output::{object, one_line, pluralize};
use etui_program::services::sync::SubscribeArgs;
use etui_program::{App, Failure, Result};
use etui_sync::{FeedInfo, LAST_RUN, Login, SendError, SyncError, read_feed};

use super::accounts::{explain, fingerprint};
use super::connection::{WEBCAL, WEBCALS, address_of, client, is_feed};
use super::secret::{Secret, ask};

/// Subscribes; returns the account to be synced.
pub fn subscribe(app: &mut App, args: &SubscribeArgs) -> Result<AccountId> {
    let (secret, login) = log_in(args)?;
    let certificate = args.certificate.as_deref().map(fingerprint).transpose()?;
    let (url, found) = find(&args.url, &login, certificate.as_ref())?;
    let store = app.open_or_create(app.store_options())?;
    let accounts = store.sync().accounts()?;
    if let Some(known) = accounts.iter().find(|one| one.settings.url == url) {
        return Err(Failure::Exists(format!(
            "the calendar is subscribed to already, as {}",
            one_line(&known.settings.name)
        )));
    }
    let wanted = args.name.clone().or(found.name.clone());
    let wanted = wanted.unwrap_or_else(|| "Subscription".to_owned());
    let (name, collection) = create(&store, &accounts, &wanted)?;
    let secret = match secret {
        Given::Kept(secret) => secret,
        Given::Typed(password) => Secret::keep(&name, &password, store.path())?,
    };
    let account = store.sync().add_account(&AccountSettings {
        name: name.clone(),
        url: url.clone(),
        user: args.user.clone().unwrap_or_default(),
        secret: secret.to_text(),
        certificate,
    })?;
    store.sync().add_pair(&PairSettings {
        account,
        kind: CollectionKind::Calendar,
        collection,
        url: address_of(&url)?.to_string(),
        direction: Direction::FromServer,
        takes_v4: false,
    })?;
    store.close()?;
    let entries = pluralize(found.entries, "entry");
    app.out.report(
        &object! { account: &name, url: &url, entries: found.entries },
        format!("Subscribed to {}, with {entries}", one_line(&name)),
    )?;
    Ok(account)
}

/// A password, or where it is.
enum Given {
    Kept(Secret),
    Typed(String),
}

fn log_in(args: &SubscribeArgs) -> Result<(Given, Login)> {
    let Some(user) = args.user.clone() else {
        return Ok((Given::Kept(Secret::None), Login::None));
    };
    let (given, password) = match &args.password_command {
        Some(command) => {
            let secret = Secret::Command(command.clone());
            let password = secret.read(&user)?;
            (Given::Kept(secret), password)
        }
        None => {
            let password = ask("Password", true)?;
            (Given::Typed(password.clone()), password)
        }
    };
    Ok((given, Login::Basic { user, password }))
}

/// Reads the feed; returns the address that is kept.
fn find(given: &str, login: &Login, certificate: Option<&String>) -> Result<(String, FeedInfo)> {
    let read = |url: &str| -> Result<std::result::Result<FeedInfo, SyncError>> {
        let client = client(url, login.clone(), certificate.cloned())?;
        Ok(read_feed(&client, &address_of(url)?))
    };
    if std::path::Path::new(given).exists() {
        return Err(Failure::usage(format!(
            "{given} is a file here; import it: etui import {given}"
        )));
    }
    // What is published as webcal is nearly always there over TLS, too, which is tried first.
    let secure = match given.split_once("://") {
        Some(("webcal" | "webcals" | "https", rest)) => format!("{WEBCALS}{rest}"),
        Some(("http", rest)) => format!("{WEBCAL}{rest}"),
        Some(_) => {
            return Err(Failure::usage(format!(
                "{given}: not an address of a calendar; write https://... or webcal://..."
            )));
        }
        None => format!("{WEBCALS}{given}"),
    };
    let found = match read(&secure)? {
        // Without TLS a password would be read by whoever is between.
        Err(SyncError::Send(SendError::Unreachable { .. }))
            if given.starts_with(WEBCAL) && *login == Login::None =>
        {
            return Ok((given.to_owned(), read(given)?.map_err(explain)?));
        }
        found => found.map_err(explain)?,
    };
    Ok((secure, found))
}

/// Creates a calendar of a name that is free, also among accounts, which have their secrets by it.
fn create(store: &Store, accounts: &[Account], wanted: &str) -> Result<(String, CollectionId)> {
    let base: String = wanted
        .chars()
        .filter(|c| !c.is_control())
        .take(180)
        .collect();
    for n in 1..1000 {
        let name = match n {
            1 => base.trim().to_owned(),
            n => format!("{} {n}", base.trim()),
        };
        if accounts.iter().any(|one| one.settings.name == name) {
            continue;
        }
        match store.collections::<CalendarObject>().create(&name) {
            Ok(made) => return Ok((name, made.id())),
            Err(Error::CollectionExists { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(Failure::Exists(format!("{base}: no name is left")))
}

/// Returns the advice for an address that was given as one of a server, and is a published calendar.
pub fn advice(address: &Address, login: Login) -> Option<String> {
    let url = address.to_string();
    let client = client(&url, login, None).ok()?;
    read_feed(&client, address).ok()?;
    Some(format!(
        "{url} is a calendar that is published as a file; subscribe to it: etui calendars subscribe {url}"
    ))
}

/// Records why a run failed. Returns true for the first time.
pub fn is_news(store: &Store, pair: &Pair, reason: &str) -> Result<bool> {
    let before = store.sync().problems(pair.id)?;
    let is_known = before
        .iter()
        .any(|one| one.item == LAST_RUN && one.reason == reason);
    store.sync().report_problem(
        pair.id,
        &SyncProblem {
            item: LAST_RUN.to_owned(),
            title: "the last run".to_owned(),
            reason: reason.to_owned(),
            etag: None,
            since: 0,
            times: 0,
        },
    )?;
    Ok(!is_known)
}

/// Returns true for the account of a subscription.
pub fn is_subscription(account: &Account) -> bool {
    is_feed(&account.settings.url)
}
