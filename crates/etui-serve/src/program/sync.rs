//! `etui sync`.

use std::fs::File;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use etui::calendar::CalendarObject;
use etui::contacts::Card;
use etui::{CollectionKind, Store};
use etui_program::output::{ProgressReporter, object, one_line, pluralize};
use etui_program::services::sync::{SyncArgs, SyncCommand};
use etui_program::{App, Failure, Result};
use rustix::fs::{FlockOperation, flock};

use etui_sync::{PairReport, SyncOptions, sync_pair};

use super::accounts::{
    add_account, collection_name, explain_pinned, find, is_here, remove_account, show_status,
};
use super::browser_login::log_in_again;
use super::connection::Connection;
use super::folder::{FOLDER, finish, folder_account, pair_all};
use super::subscribe::{is_news, is_subscription, subscribe};
use super::vdirsyncer::show_commands;

/// Runs `etui sync`, or one of its commands.
pub fn run(app: &mut App, args: &SyncArgs) -> Result<()> {
    match &args.command {
        Some(SyncCommand::Add(add)) => match add_account(app, add)? {
            Some(account) => run_accounts(app, args, &|one| one.id == account),
            None => Ok(()),
        },
        Some(SyncCommand::Subscribe(one)) => {
            let account = subscribe(app, one)?;
            run_accounts(app, args, &|one| one.id == account)
        }
        Some(SyncCommand::Login { name }) => {
            let store = app.open_to_read()?;
            let all = store.sync().accounts()?;
            log_in_again(app, find(&all, name)?)
        }
        // `etui` runs it.
        Some(SyncCommand::Conflicts { .. }) => Err(Failure::usage("run: etui conflicts")),
        Some(SyncCommand::Status) => show_status(app),
        Some(SyncCommand::Remove { name }) => remove_account(app, name),
        Some(SyncCommand::FromVdirsyncer { file }) => show_commands(app, file.as_deref()),
        None if args.by_folder.folder.is_some() => {
            let dir = args.by_folder.folder.as_deref().unwrap_or(Path::new(""));
            let account = folder_account(app, dir, &args.by_folder, args.dry_run)?;
            run_accounts(app, args, &|one| one.id == account)
        }
        None => {
            let names = &args.accounts;
            run_accounts(app, args, &|one| {
                names.is_empty() || names.contains(&one.settings.name)
            })
        }
    }
}

fn run_accounts(
    app: &mut App,
    args: &SyncArgs,
    is_meant: &dyn Fn(&etui::sync::Account) -> bool,
) -> Result<()> {
    let mut store_options = app.store_options();
    // Once at the end, not again and again within a first run.
    store_options.merge_substrings = false;
    let store = Store::open_with(app.store_path()?, &store_options)?;
    let _lock = lock(&store)?;
    let all = store.sync().accounts()?;
    for name in &args.accounts {
        find(&all, name)?;
    }
    if all.is_empty() {
        return Err(Failure::NotFound(
            "there are no accounts; add one: etui sync add URL".to_owned(),
        ));
    }
    let (mut failures, mut refused, mut guarded) = (Vec::new(), 0, 0);
    let mut has_changes = false;
    // Folders after servers, so that what those bring goes on at once.
    let (folders, servers): (Vec<_>, Vec<_>) = all
        .iter()
        .filter(|one| is_meant(one))
        .partition(|one| one.settings.url.starts_with(FOLDER));
    for account in servers.into_iter().chain(folders) {
        let name = &account.settings.name;
        let connection = match Connection::open(account) {
            Ok(connection) => connection,
            Err(failure) => {
                failures.push(format!("{}: {failure}", one_line(name)));
                continue;
            }
        };
        let pairs = match &connection {
            Connection::Folder(folder) if !args.dry_run => pair_all(&store, account, folder),
            _ => Ok(store.sync().pairs(account.id)?),
        };
        let pairs = match pairs {
            Ok(pairs) => pairs,
            Err(failure) => {
                failures.push(format!("{}: {failure}", one_line(name)));
                continue;
            }
        };
        for pair in pairs {
            if !is_here(&store, &pair) {
                app.out.write_note(&format!(
                    "{}: the collection that is paired with {} was removed here; restore it, or remove the account",
                    one_line(name),
                    one_line(&pair.settings.url)
                ));
                continue;
            }
            let here = collection_name(&store, pair.settings.kind, pair.settings.collection);
            let label = label(name, &here);
            let mut bar = ProgressReporter::for_files(&app.out, &label);
            let mut options = SyncOptions {
                account: name,
                allow_removals: args.allow_removals,
                is_dry_run: args.dry_run,
                progress: &mut |done, all| bar.set_of_files(done, all, String::new()),
            };
            let report = match pair.settings.kind {
                CollectionKind::Calendar => {
                    sync_pair::<CalendarObject>(&store, connection.side(), &pair, &mut options)
                }
                _ => sync_pair::<Card>(&store, connection.side(), &pair, &mut options),
            };
            drop(bar);
            match report {
                Ok(report) => {
                    refused += report.problems.len() + report.conflicts.len();
                    guarded += usize::from(report.guard.is_some());
                    has_changes |= report.added_here + report.changed_here > 0;
                    write_report(app, name, &here, &report)?;
                }
                Err(error) => {
                    let kept = match is_subscription(account) {
                        true => "; what is here stays as it is",
                        false => "",
                    };
                    let taken = account.settings.certificate.as_deref();
                    let reason = format!("{}{kept}", explain_pinned(error, taken));
                    let failure = format!("{label}: {reason}");
                    // A timer's failures are found in `status`.
                    let is_new = args.dry_run || is_news(&store, &pair, &reason)?;
                    let is_old = is_subscription(account) && !is_new;
                    match is_old {
                        true => app.out.write_note(&format!("{failure} (as before)")),
                        false => failures.push(failure),
                    }
                }
            }
        }
        if let Connection::Folder(folder) = &connection
            && !args.dry_run
            && let Err(failure) = finish(app, name, folder)
        {
            failures.push(format!("{}: {failure}", one_line(name)));
        }
    }
    if has_changes {
        store.maintenance().merge_index()?;
    }
    store.close()?;
    if !failures.is_empty() {
        return Err(Failure::Other(failures.join("\n")));
    }
    match (guarded, refused) {
        (0, 0) => Ok(()),
        (0, _) => Err(Failure::Refused(
            "all else is in step; etui sync status and etui conflicts list what is not".to_owned(),
        )),
        _ => Err(Failure::Conflict(
            "too much would be removed; nothing was changed in the collections that are named above".to_owned(),
        )),
    }
}

/// Locks the runs of a store against each other: two that send the same would make two of it on some servers.
fn lock(store: &Store) -> Result<File> {
    let mut path = store.path().as_os_str().to_owned();
    path.push("-sync.lock");
    let path = PathBuf::from(path);
    let file = File::options()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(&path)
        .map_err(|e| Failure::io(&path, e))?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(file),
        Err(rustix::io::Errno::WOULDBLOCK) => Err(Failure::Other(
            "another etui sync is running on this store; wait until it is done".to_owned(),
        )),
        Err(error) => Err(Failure::io(&path, error.into())),
    }
}

/// Returns the name of a pair: a subscription and its calendar mostly have one.
fn label(account: &str, here: &str) -> String {
    match account == here {
        true => one_line(here).into_owned(),
        false => format!("{}, {}", one_line(account), one_line(here)),
    }
}

fn write_report(app: &mut App, account: &str, here: &str, report: &PairReport) -> Result<()> {
    if app.out.json {
        let refused: Vec<_> = report
            .problems
            .iter()
            .map(|one| object! { title: one.title.clone(), reason: one.reason.clone(), item: one.item.clone() })
            .collect();
        return app.out.write_json(&object! {
            account: account, collection: here,
            added_here: report.added_here, changed_here: report.changed_here, removed_here: report.removed_here,
            sent: report.sent, removed_there: report.removed_there,
            planned: report.planned.map(|(fetch, send, remove)| object! {
                to_fetch: fetch, to_send: send, to_remove_here: remove
            }),
            brought_back: report.brought_back.clone(), conflicts: report.conflicts.clone(), refused: refused,
            guard: report.guard.clone()
        });
    }
    let mut parts = Vec::new();
    if let Some((fetched, sent, removed)) = report.planned.filter(|planned| *planned != (0, 0, 0)) {
        parts.push(format!(
            "{fetched} to fetch, {sent} to send, {removed} to remove here"
        ));
    }
    for (count, what) in [
        (report.added_here, "added here"),
        (report.changed_here, "changed here"),
        (report.removed_here, "moved to the trash here"),
        (report.sent, "sent"),
        (report.removed_there, "removed there"),
    ] {
        if count > 0 {
            parts.push(format!("{count} {what}"));
        }
    }
    if let Some(guard) = &report.guard {
        parts.push(guard.clone());
    }
    if parts.is_empty() {
        parts.push("in step".to_owned());
    }
    app.out
        .status(format!("{}: {}", label(account, here), parts.join(", ")))?;
    for title in &report.brought_back {
        let line = format!(
            "  {}: changed on one side and removed on the other; it is on both again",
            one_line(title)
        );
        app.out.write_line(line)?;
    }
    for title in &report.conflicts {
        let line = format!(
            "  {}: both sides changed it; etui conflicts has the text that lost",
            one_line(title)
        );
        app.out.write_line(line)?;
    }
    for one in &report.problems {
        let line = format!(
            "  {}: {} ({})",
            one_line(&one.title),
            one_line(&one.reason),
            pluralize(one.times, "time")
        );
        app.out.write_line(line)?;
    }
    Ok(())
}
