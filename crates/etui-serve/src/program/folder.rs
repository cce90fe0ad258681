//! `etui sync --folder`: devices in step by a folder that something else carries.

use std::collections::HashSet;
use std::path::Path;

use etui::calendar::CalendarObject;
use etui::contacts::Card;
use etui::record::RecordKind;
use etui::store::CollectionKey;
use etui::sync::{Account, AccountSettings, Direction, Pair, PairSettings};
use etui::{CollectionId, CollectionKind, Error, Store};
use etui_program::output::{object, one_line};
use etui_program::services::sync::FolderArgs;
use etui_program::{App, Failure, Result};
use etui_seal::SealKey;
use etui_sync::{Folder, folder_place};

use super::accounts::explain;
use super::connection::is_feed;
use super::secret::{Secret, ask};

/// The start of the address of a folder.
pub const FOLDER: &str = "folder://";

/// Returns the account of a folder, which is made at the first use.
pub fn folder_account(
    app: &mut App,
    dir: &Path,
    args: &FolderArgs,
    is_dry_run: bool,
) -> Result<etui::sync::AccountId> {
    let path = std::path::absolute(dir).map_err(|e| Failure::io(dir, e))?;
    let url = format!("{FOLDER}{}", path.display());
    let parent = path.parent().unwrap_or(&path);
    if !parent.is_dir() {
        return Err(Failure::NotFound(format!(
            "there is no folder {}; make it, or put the stick in",
            parent.display()
        )));
    }
    let store = app.open_or_create(app.store_options())?;
    let accounts = store.sync().accounts()?;
    if let Some(known) = accounts.iter().find(|one| one.settings.url == url) {
        return Ok(known.id);
    }
    if is_dry_run {
        return Err(Failure::usage(format!(
            "{} is not in use yet; begin it without --dry-run",
            path.display()
        )));
    }
    let last = path.file_name().unwrap_or(path.as_os_str());
    let is_taken = |name: &str| accounts.iter().any(|one| one.settings.name == name);
    let name = numbered(&last.to_string_lossy(), &is_taken);
    let device = SealKey::generate().map_err(|e| Failure::Other(e.to_string()))?;
    let device = format!(
        "device-{}",
        &device.to_text().replace('-', "")[..12].to_lowercase()
    );
    let secret = match Folder::is_one(&path) {
        true => join(&path, &device, &name, args, &store)?,
        false => {
            let (_, key) = Folder::create(&path, &device).map_err(explain)?;
            let text = key.to_text();
            if !app.out.json {
                app.out.write_line(format!(
                    "Made the folder. Its key, which the other devices ask for, and without which nobody can read it:\n\n  \
                     {text}\n\nWrite it down."
                ))?;
            } else {
                app.out
                    .write_json(&object! { folder: path.display().to_string(), key: &text })?;
            }
            Secret::keep(&name, &text, store.path())?
        }
    };
    let account = store.sync().add_account(&AccountSettings {
        name,
        url,
        user: device,
        secret: secret.to_text(),
        certificate: None,
    })?;
    store.close()?;
    Ok(account)
}

/// Takes the key of a folder that another device has made.
fn join(path: &Path, device: &str, name: &str, args: &FolderArgs, store: &Store) -> Result<Secret> {
    let given = match (&args.key_command, &args.key_file) {
        (Some(command), _) => Some(Secret::Command(command.clone())),
        (_, Some(file)) => Some(Secret::File(
            std::path::absolute(file).map_err(|e| Failure::io(file, e))?,
        )),
        (None, None) => None,
    };
    let text = match &given {
        Some(secret) => secret.read(name)?,
        None => ask("Key of the folder", false)?,
    };
    Folder::open(path, read_key(&text)?, device).map_err(explain)?;
    match given {
        Some(secret) => Ok(secret),
        None => Secret::keep(name, &text, store.path()),
    }
}

fn read_key(text: &str) -> Result<SealKey> {
    let key = text.parse();
    key.map_err(|error: etui_seal::KeyError| Failure::usage(format!("the folder's key: {error}")))
}

/// Opens the folder of an account.
pub fn open_folder(account: &Account, path: &str) -> Result<Folder> {
    let settings = &account.settings;
    let text = Secret::parse(&settings.secret).read(&settings.name)?;
    Folder::open(Path::new(path), read_key(&text)?, &settings.user).map_err(explain)
}

/// Pairs the collections that are not paired yet: those of here, but subscriptions, and those of the folder. A name that
/// means another collection on one of the two sides, since one was renamed, gets a number.
pub fn pair_all(store: &Store, account: &Account, folder: &Folder) -> Result<Vec<Pair>> {
    let pairs = store.sync().pairs(account.id)?;
    let is_paired = |one: &Local| {
        let mut pairs = pairs.iter();
        pairs.any(|p| p.settings.collection == one.2 && p.settings.kind == one.0)
    };
    let feeds = subscribed(store)?;
    let mut all = local::<Card>(store)?;
    all.extend(local::<CalendarObject>(store)?);
    let (mut free, taken): (Vec<Local>, Vec<Local>) = all
        .into_iter()
        .partition(|one| !is_paired(one) && !feeds.contains(&one.2));
    let add = |kind, collection, place: String| -> Result<()> {
        let pair = PairSettings {
            account: account.id,
            kind,
            collection,
            url: place,
            direction: Direction::Both,
            takes_v4: true,
        };
        store.sync().add_pair(&pair)?;
        Ok(())
    };
    let token = folder.token().map_err(explain)?;
    let is_known = |pair: &Pair| pair.state.remote_token.as_deref() == Some(token.as_str());
    let known: HashSet<String> = pairs.iter().map(|p| p.settings.url.clone()).collect();
    if pairs.is_empty() || !pairs.iter().all(is_known) {
        for (kind, name) in folder.collections().map_err(explain)? {
            let place = folder_place(kind, &name);
            if known.contains(&place) {
                continue;
            }
            let same = free.iter().position(|one| (one.0, &one.1) == (kind, &name));
            let collection = match same {
                Some(at) => free.swap_remove(at).2,
                None => {
                    let is_taken =
                        |name: &str| taken.iter().any(|one| one.0 == kind && one.1 == name);
                    let name = numbered(&name, &is_taken);
                    match kind {
                        CollectionKind::Calendar => made::<CalendarObject>(store, &name)?,
                        _ => made::<Card>(store, &name)?,
                    }
                }
            };
            add(kind, collection, place)?;
        }
    }
    for (kind, name, collection) in free {
        let is_taken = |name: &str| known.contains(&folder_place(kind, name));
        add(
            kind,
            collection,
            folder_place(kind, &numbered(&name, &is_taken)),
        )?;
    }
    Ok(store.sync().pairs(account.id)?)
}

/// Returns the name, with a number if it is taken.
fn numbered(name: &str, is_taken: &dyn Fn(&str) -> bool) -> String {
    let others = (2..10_000).map(|n| format!("{name} {n}"));
    let mut all = std::iter::once(name.to_owned()).chain(others);
    all.find(|name| !is_taken(name))
        .unwrap_or_else(|| name.to_owned())
}

type Local = (CollectionKind, String, CollectionId);

fn local<R: RecordKind>(store: &Store) -> Result<Vec<Local>> {
    let names = store.collections::<R>().names()?;
    let all = names.into_iter().map(|name| {
        let id = store.collection::<R>(CollectionKey::Name(&name))?.id();
        Ok((R::KIND, name, id))
    });
    all.collect()
}

fn made<R: RecordKind>(store: &Store, name: &str) -> Result<CollectionId> {
    match store.collections::<R>().create(name) {
        Ok(made) => Ok(made.id()),
        // Another program was faster.
        Err(Error::CollectionExists { .. }) => {
            Ok(store.collection::<R>(CollectionKey::Name(name))?.id())
        }
        Err(error) => Err(error.into()),
    }
}

fn subscribed(store: &Store) -> Result<Vec<CollectionId>> {
    let mut all = Vec::new();
    for account in store.sync().accounts()? {
        if is_feed(&account.settings.url) {
            let pairs = store.sync().pairs(account.id)?;
            all.extend(pairs.iter().map(|pair| pair.settings.collection));
        }
    }
    Ok(all)
}

/// Ends a run: many files of this device are made one, and files that cannot be read are named.
pub fn finish(app: &mut App, account: &str, folder: &Folder) -> Result<()> {
    folder.tidy().map_err(explain)?;
    for path in folder.unreadable() {
        app.out.write_note(&format!(
            "{}: {}: cut off, or of a device with another key. It is read when it is whole; if it stays, another device \
             has begun the folder, too: remove this account, and give its key",
            one_line(account),
            path.display()
        ));
    }
    Ok(())
}
