//! `etui sync add`, `status` and `remove`.

use etui::calendar::CalendarObject;
use etui::contacts::Card;
use etui::store::CollectionKey;
use etui::sync::{Account, AccountId, AccountSettings, Direction, Pair, PairSettings};
use etui::{CollectionId, CollectionKind, Error, Store};
use etui_dav::client::{RemoteCollection, RemoteKind};
use etui_program::output::{Table, object, one_line, quote_operand};
use etui_program::services::sync::AddAccountArgs;
use etui_program::{App, Failure, Result};
use etui_sync::{Login, SendError, SyncError, discover};
use etui_when::{format_minute, iso_instant};

use super::browser_login::{client_of, log_in};
use super::connection::{address_of, client, command_of};
use super::secret::{Secret, ask};
use super::subscribe::advice;

/// Hints for providers that do not take the password of their page.
const APP_PASSWORDS: &[(&str, &str)] = &[
    (
        "icloud.com",
        "iCloud wants an app-specific password: make one at https://account.apple.com, under Sign-In and Security.",
    ),
    (
        "fastmail.com",
        "Fastmail wants an app password for CalDAV and CardDAV: Settings, Privacy & Security, App passwords.",
    ),
    (
        "google",
        "Google takes no password here: log in by a browser, with --oauth-client and --oauth-secret-file \
         (the book's page sync.md has the steps).",
    ),
];

/// Translates an error of a run.
pub fn explain(error: SyncError) -> Failure {
    match error {
        SyncError::Store(error) => error.into(),
        SyncError::Send(SendError::UnknownCertificate {
            server,
            fingerprint,
            reason,
        }) => Failure::Other(format!(
            "{server} has a certificate that this machine does not know ({reason}). If its SHA-256 is\n  \
             {fingerprint}\non the server, too, add the account with --certificate {fingerprint}"
        )),
        SyncError::Login(_) => Failure::Other(format!(
            "{error}; if it has changed: etui sync login ACCOUNT"
        )),
        SyncError::NoCollection(_) => Failure::Other(format!(
            "{error}; if that is meant, remove the account (etui sync remove) and add it again"
        )),
        other => Failure::Other(other.to_string()),
    }
}

/// Translates an error of a run of an account whose certificate the person has taken.
pub fn explain_pinned(error: SyncError, taken: Option<&str>) -> Failure {
    match (&error, taken) {
        (
            SyncError::Send(SendError::UnknownCertificate {
                server,
                fingerprint,
                ..
            }),
            Some(taken),
        ) => Failure::Other(format!(
            "{server} shows another certificate than the one that you took. Then its SHA-256 was\n  {taken}\nand now \
                 it is\n  {fingerprint}\nIf you have changed it there, remove the account (etui sync remove) and add it again; \
                 else somebody else answers."
        )),
        _ => explain(error),
    }
}

/// Adds an account. Returns it if it is to be synced now.
pub fn add_account(app: &mut App, args: &AddAccountArgs) -> Result<Option<AccountId>> {
    let address = address_of(&args.url)?;
    let is_pipe = command_of(&args.url).is_some();
    let host = match is_pipe {
        true => args.url["ssh://".len()..].trim_end_matches('/').to_owned(),
        false => address.host().to_owned(),
    };
    let name = args.name.clone().unwrap_or_else(|| host.clone());
    let store = app.open_or_create(app.store_options())?;
    if store
        .sync()
        .accounts()?
        .iter()
        .any(|a| a.settings.name == name)
    {
        return Err(Failure::Exists(format!(
            "an account named \"{name}\" exists already; choose another name with --name, or remove it: etui sync \
             remove {}",
            quote_operand(&name)
        )));
    }
    let oauth = client_of(&args.oauth, &host)?;
    let asks = !is_pipe && args.token_command.is_none() && oauth.is_none();
    if asks && let Some((_, hint)) = APP_PASSWORDS.iter().find(|(of, _)| host.contains(of)) {
        app.out.write_note(hint);
    }
    let user = match (&args.user, asks) {
        (Some(user), _) => user.clone(),
        (None, true) => ask("User", false)?,
        (None, false) => String::new(),
    };
    let given = match (
        &args.token_command,
        &args.password_command,
        &args.password_file,
    ) {
        (Some(command), _, _) => Some(Secret::Token(command.clone())),
        (_, Some(command), _) => Some(Secret::Command(command.clone())),
        (_, _, Some(path)) => Some(Secret::File(
            std::path::absolute(path).map_err(|e| Failure::io(path, e))?,
        )),
        _ if is_pipe => Some(Secret::None),
        _ => None,
    };
    let mut kept = None;
    let password = match (&given, &oauth) {
        (Some(secret), _) => secret.read(&name)?,
        (None, Some(oauth)) => {
            let (access, text) = log_in(app, oauth)?;
            kept = Some(text);
            access
        }
        (None, None) => ask("Password", true)?,
    };
    let login = || match &given {
        Some(Secret::None) => Login::None,
        Some(Secret::Token(_)) => Login::Bearer(password.clone()),
        None if oauth.is_some() => Login::Bearer(password.clone()),
        _ => Login::Basic {
            user: user.clone(),
            password: password.clone(),
        },
    };
    let mut certificate = args.certificate.as_deref().map(fingerprint).transpose()?;
    let found = loop {
        let client = client(&args.url, login(), certificate.clone())?;
        match discover(&client, &address) {
            Err(SyncError::Send(SendError::UnknownCertificate { fingerprint, .. }))
                if certificate.is_none() && app.out.is_interactive() =>
            {
                let question = format!(
                    "{host} has a certificate that no authority vouches for. Its SHA-256 is\n  {fingerprint}\nTake \
                     it from now on?"
                );
                if !app.out.ask_yes_no(&question)? {
                    return Err(Failure::Other("nothing was added".to_owned()));
                }
                certificate = Some(fingerprint);
            }
            Err(SyncError::Discovery(error)) => {
                let advice = advice(&address, login());
                return Err(advice.map_or_else(|| explain(error.into()), Failure::Other));
            }
            found => break found.map_err(explain)?,
        }
    };
    let chosen = choose(found, &args.only)?;
    let secret = match given {
        Some(secret) => secret,
        None => match &kept {
            Some(text) => Secret::OAuth(Box::new(Secret::keep(&name, text, store.path())?)),
            None => Secret::keep(&name, &password, store.path())?,
        },
    };
    let account = store.sync().add_account(&AccountSettings {
        name: name.clone(),
        url: args.url.clone(),
        user,
        secret: secret.to_text(),
        certificate,
    })?;
    let mut table = Table::new(&["HERE", "KIND", "ON THE SERVER"]);
    let mut added = Vec::new();
    for remote in &chosen {
        let (kind, (collection, here)) = match remote.kind {
            RemoteKind::Contacts => (
                CollectionKind::Contacts,
                collection::<Card>(&store, remote)?,
            ),
            RemoteKind::Calendar => (
                CollectionKind::Calendar,
                collection::<CalendarObject>(&store, remote)?,
            ),
        };
        store.sync().add_pair(&PairSettings {
            account,
            kind,
            collection,
            url: remote.address.to_string(),
            direction: direction(args, remote),
            takes_v4: remote.takes_v4,
        })?;
        table.add_row([
            one_line(&here).as_ref(),
            &kind.to_string(),
            remote.address.path(),
        ]);
        added.push(
            object! { name: here.clone(), kind: kind.to_string(), url: remote.address.to_string() },
        );
    }
    store.close()?;
    if app.out.json {
        app.out
            .write_json(&object! { account: &name, collections: added })?;
    } else {
        app.out
            .status(format!("Added the account {}\n", one_line(&name)))?;
        table.write_to(&mut app.out)?;
    }
    Ok((!args.no_sync).then_some(account))
}

fn direction(args: &AddAccountArgs, remote: &RemoteCollection) -> Direction {
    match (args.read_only || !remote.is_writable, args.push) {
        (true, _) => Direction::FromServer,
        (false, true) => Direction::ToServer,
        (false, false) => Direction::Both,
    }
}

/// Returns a fingerprint that a person typed in the form that is compared.
pub fn fingerprint(typed: &str) -> Result<String> {
    let plain: String = typed.trim().to_ascii_uppercase().replace([':', ' '], "");
    if plain.len() != 64 || !plain.bytes().all(|b| b.is_ascii_hexdigit()) {
        return Err(Failure::usage(format!(
            "{typed}: not the SHA-256 of a certificate, which has 64 hexadecimal digits"
        )));
    }
    let pairs: Vec<&str> = (0..64).step_by(2).map(|at| &plain[at..at + 2]).collect();
    Ok(pairs.join(":"))
}

/// Returns the collections that are meant.
fn choose(found: Vec<RemoteCollection>, only: &[String]) -> Result<Vec<RemoteCollection>> {
    // By its name, or as vdirsyncer names it, by the last part of its address.
    let is_named = |one: &RemoteCollection, name: &String| {
        let last = one.address.path().trim_end_matches('/').rsplit('/').next();
        one.name == *name || last == Some(name.as_str())
    };
    if let Some(missing) = only
        .iter()
        .find(|name| !found.iter().any(|one| is_named(one, name)))
    {
        let names: Vec<&str> = found.iter().map(|one| one.name.as_str()).collect();
        return Err(Failure::NotFound(format!(
            "the server has no collection named \"{missing}\" (there are: {})",
            names.join(", ")
        )));
    }
    let is_meant =
        |one: &RemoteCollection| only.is_empty() || only.iter().any(|name| is_named(one, name));
    // A calendar for messages alone has nothing that the store keeps.
    let is_kept = |one: &RemoteCollection| {
        let known = ["VEVENT", "VTODO", "VJOURNAL"];
        one.components.is_empty() || one.components.iter().any(|c| known.contains(&c.as_str()))
    };
    Ok(found
        .into_iter()
        .filter(|one| is_meant(one) && is_kept(one))
        .collect())
}

/// Returns the collection here for one of the server: that of its name, which is made if there is none.
fn collection<R: etui::record::RecordKind>(
    store: &Store,
    remote: &RemoteCollection,
) -> Result<(CollectionId, String)> {
    let taken = paired(store)?;
    let base: String = remote.name.chars().take(180).collect();
    for n in 1.. {
        let name = match n {
            1 => base.clone(),
            n => format!("{base} {n}"),
        };
        match store.collection::<R>(CollectionKey::Name(&name)) {
            Ok(found) if taken.contains(&found.id()) => {}
            Ok(found) => return Ok((found.id(), name)),
            Err(Error::NoCollection { .. }) => {
                let made = store.collections::<R>().create(&name)?;
                return Ok((made.id(), name));
            }
            Err(error) => return Err(error.into()),
        }
    }
    Err(Failure::Other(format!("{base}: no name is left")))
}

fn paired(store: &Store) -> Result<Vec<CollectionId>> {
    let mut all = Vec::new();
    for account in store.sync().accounts()? {
        let pairs = store.sync().pairs(account.id)?;
        all.extend(pairs.iter().map(|pair| pair.settings.collection));
    }
    Ok(all)
}

/// Returns true if a pair's collection is not removed here.
pub fn is_here(store: &Store, pair: &Pair) -> bool {
    let key = CollectionKey::Id(pair.settings.collection);
    match pair.settings.kind {
        CollectionKind::Calendar => store.collection::<CalendarObject>(key).is_ok(),
        _ => store.collection::<Card>(key).is_ok(),
    }
}

/// Returns the name of a pair's collection here.
pub fn collection_name(store: &Store, kind: CollectionKind, id: CollectionId) -> String {
    let name = match kind {
        CollectionKind::Calendar => store
            .collection::<CalendarObject>(CollectionKey::Id(id))
            .map(|c| c.name().to_owned()),
        _ => store
            .collection::<Card>(CollectionKey::Id(id))
            .map(|c| c.name().to_owned()),
    };
    name.unwrap_or_else(|_| "(removed here)".to_owned())
}

pub fn show_status(app: &mut App) -> Result<()> {
    let store = app.open_to_read()?;
    let zone = app.out.time_zone();
    let mut table = Table::new(&["ACCOUNT", "HERE", "KIND", "LAST IN STEP", "REFUSED"]);
    let mut json = Vec::new();
    let mut problems = Vec::new();
    for account in store.sync().accounts()? {
        for pair in store.sync().pairs(account.id)? {
            let name = collection_name(&store, pair.settings.kind, pair.settings.collection);
            let refused = store.sync().problems(pair.id)?;
            let at = pair.state.synced_at.map(|ms| {
                let seconds = std::time::Duration::from_millis(ms.unsigned_abs());
                std::time::SystemTime::UNIX_EPOCH + seconds
            });
            table.add_row([
                one_line(&account.settings.name).as_ref(),
                &one_line(&name),
                &pair.settings.kind.to_string(),
                &at.map_or_else(|| "never".to_owned(), |at| format_minute(at, &zone)),
                &refused.len().to_string(),
            ]);
            let list: Vec<_> = refused
                .iter()
                .map(|one| object! { title: one.title.clone(), reason: one.reason.clone(), item: one.item.clone(), times: one.times })
                .collect();
            json.push(object! {
                account: account.settings.name.clone(), name: name, kind: pair.settings.kind.to_string(),
                url: pair.settings.url.clone(), direction: pair.settings.direction.name(),
                last_in_step: at.map(|at| iso_instant(at.into(), &zone)), refused: list
            });
            problems.extend(refused);
        }
    }
    if app.out.json {
        return json.iter().try_for_each(|one| app.out.write_json(one));
    }
    if json.is_empty() {
        return app.out.status("No accounts. Add one: etui sync add URL");
    }
    table.write_to(&mut app.out)?;
    for one in problems {
        let line = format!("  {}: {}", one_line(&one.title), one_line(&one.reason));
        app.out.write_line(line)?;
    }
    Ok(())
}

pub fn remove_account(app: &mut App, name: &str) -> Result<()> {
    let store = app.open_to_write()?;
    let all = store.sync().accounts()?;
    let account = find(&all, name)?;
    store.sync().remove_account(account.id)?;
    Secret::parse(&account.settings.secret).forget(store.path());
    store.close()?;
    app.out.report(
        &object! { removed: name },
        format!(
            "Removed the account {}; its records stay, here and on the server",
            one_line(name)
        ),
    )
}

/// Returns the account of a name.
pub fn find<'a>(all: &'a [Account], name: &str) -> Result<&'a Account> {
    let found = all.iter().find(|account| account.settings.name == name);
    found.ok_or_else(|| {
        let names: Vec<&str> = all.iter().map(|a| a.settings.name.as_str()).collect();
        if names.is_empty() {
            return Failure::NotFound(
                "there are no accounts; add one: etui sync add URL".to_owned(),
            );
        }
        Failure::NotFound(format!(
            "there is no account named \"{name}\" (there are: {})",
            names.join(", ")
        ))
    })
}
