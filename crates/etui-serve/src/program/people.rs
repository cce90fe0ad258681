//! `etui serve add-person`, `people`, `share`, `unshare` and `shares`: the people of a directory of stores.

use std::path::{Path, PathBuf};

use etui::store::{Grant, Options};
use etui::{CollectionId, CollectionKind, Store};
use etui_program::output::{Table, object, one_line, quote_operand};
use etui_program::services::serve::{AddPersonArgs, PeopleArgs, ShareArgs, UnshareArgs};
use etui_program::{App, Failure, Result};
use etui_serve::{is_user_name, read_users, store_in, user_name_of};

use super::devices::find_collections;
use super::http::explain;

pub fn add_person(app: &mut App, args: &AddPersonArgs) -> Result<()> {
    let name = &args.name;
    if !is_user_name(name) {
        return Err(Failure::usage(format!(
            "\"{}\" cannot be the name of a person: use letters of ASCII, digits, \".\", \"_\" and \"-\", such as ada",
            one_line(name)
        )));
    }
    let path = store_in(&args.users, name);
    if path.exists() {
        return Err(Failure::Other(format!(
            "there is a person {name}: {}",
            path.display()
        )));
    }
    let options = app.store_options();
    app.create_at(&path, options)?.close()?;
    let next = format!(
        "etui --store {} serve add-device Phone --url https://...",
        quote_operand(&path.display().to_string())
    );
    app.out.report(
        &object! { name: name, store: path.display().to_string() },
        format!("Added {name}. Next, a password for each device: {next}"),
    )
}

/// A person, with the collections that this person shares.
struct Person {
    name: String,
    devices: usize,
    shares: Vec<String>,
    sees: Vec<String>,
}

pub fn list_people(app: &mut App, args: &PeopleArgs) -> Result<()> {
    let (users, others) = read_users(&args.users).map_err(explain)?;
    let mut people = Vec::new();
    for name in users {
        let store = Store::open_with(store_in(&args.users, &name), &options_of(app))?;
        let (given, taken) = shares_of(&store)?;
        people.push(Person {
            devices: store.devices().list()?.len(),
            shares: given.iter().map(Given::text).collect(),
            sees: taken
                .iter()
                .map(|one| format!("{} of {}", one.name, one.owner))
                .collect(),
            name,
        });
        store.close()?;
    }
    for other in others {
        app.out.write_note(&format!(
            "{}: not served; the name of a person has only letters of ASCII, digits, \".\", \"_\" and \"-\"",
            one_line(&other)
        ));
    }
    if people.is_empty() && !app.out.json {
        let text = format!(
            "Nobody yet. Add a person: etui serve add-person ada --users {}",
            quote_operand(&args.users.display().to_string())
        );
        return app.out.status(text);
    }
    let headings = ["Person", "Devices", "Shares", "Sees of others"];
    let mut table = Table::with_number_column(&headings, Some(1));
    for person in &people {
        table.add_row([
            person.name.clone(),
            person.devices.to_string(),
            person.shares.join(", "),
            person.sees.join(", "),
        ]);
    }
    app.out.write_table(&table, &people, |out, person| {
        out.write_json(&object! {
            name: &person.name, devices: person.devices, shares: &person.shares, sees: &person.sees
        })
    })
}

pub fn share(app: &mut App, args: &ShareArgs) -> Result<()> {
    let store = app.open_to_write()?;
    let owner = user_name_of(store.path());
    let people = people_beside(&store, &args.with)?;
    let collections = kinds_of(&store, &args.collection)?;
    for (person, path) in people {
        let other = Store::open_with(&path, &options_of(app))?;
        for (id, kind) in &collections {
            // First the right, then the reference to it, which gives none.
            store.sharing().grant(&Grant {
                collection: *id,
                person: person.clone(),
                may_write: args.write,
            })?;
            let seen = other
                .sharing()
                .refer(*kind, &owner, *id, &args.collection)?;
            let verb = if args.write { "change" } else { "read" };
            let what = kind.to_string();
            let text = format!(
                "{person} may {verb} the {what} {}, as \"{}\"",
                one_line(&args.collection),
                one_line(&seen.name)
            );
            app.out.report(
                &object! {
                    collection: &args.collection, kind: &what, owner: &owner, person: &person,
                    may_write: args.write, name: &seen.name
                },
                text,
            )?;
        }
        other.close()?;
    }
    Ok(store.close()?)
}

pub fn unshare(app: &mut App, args: &UnshareArgs) -> Result<()> {
    let store = app.open_to_write()?;
    let owner = user_name_of(store.path());
    let collections = kinds_of(&store, &args.collection)?;
    for person in &args.with {
        let mut was_shared = false;
        for (id, _) in &collections {
            was_shared |= store.sharing().revoke(*id, person)?;
        }
        // A person whose store is gone has no reference any more.
        let path = beside(&store, person);
        if is_user_name(person) && path.is_file() {
            let other = Store::open_with(&path, &options_of(app))?;
            for reference in other.sharing().references()? {
                let is_it = |(id, _): &(CollectionId, CollectionKind)| *id == reference.collection;
                if reference.owner == owner && collections.iter().any(is_it) {
                    other.sharing().remove_reference(reference.id)?;
                }
            }
            other.close()?;
        }
        if !was_shared {
            return Err(Failure::NotFound(format!(
                "{} is not shared with {}; see: etui serve shares",
                one_line(&args.collection),
                one_line(person)
            )));
        }
        let text = format!(
            "{} is not shared with {person} any more",
            one_line(&args.collection)
        );
        app.out.report(
            &object! { collection: &args.collection, owner: &owner, person: person },
            text,
        )?;
    }
    Ok(store.close()?)
}

/// A collection that is shared with another person.
struct Given {
    name: String,
    kind: CollectionKind,
    person: String,
    may_write: bool,
}

impl Given {
    fn text(&self) -> String {
        let verb = if self.may_write { "write" } else { "read" };
        format!("{} with {} ({verb})", self.name, self.person)
    }
}

/// Returns the collections that a store shares, and those of others that it refers to.
fn shares_of(store: &Store) -> Result<(Vec<Given>, Vec<etui::store::Reference>)> {
    let names = super::devices::own_collections(store)?;
    let grants = store.sharing().grants()?.into_iter();
    let given = grants.filter_map(|grant| {
        // Of a removed collection nothing is shared until it is restored.
        let (kind, name) = names.get(&grant.collection)?.clone();
        Some(Given {
            name,
            kind,
            person: grant.person,
            may_write: grant.may_write,
        })
    });
    Ok((given.collect(), store.sharing().references()?))
}

pub fn list_shares(app: &mut App) -> Result<()> {
    let store = app.open_to_read()?;
    let (given, taken) = shares_of(&store)?;
    let user = user_name_of(store.path());
    if given.is_empty() && taken.is_empty() && !app.out.json {
        let text = "Nothing is shared. Share a calendar: etui serve share Family --with bob";
        return app.out.status(text);
    }
    let mut rows: Vec<[String; 5]> = Vec::new();
    for one in &given {
        let right = if one.may_write { "write" } else { "read" };
        rows.push([
            one.name.clone(),
            one.kind.to_string(),
            user.clone(),
            one.person.clone(),
            right.to_owned(),
        ]);
    }
    for one in &taken {
        // The owner's store has the right.
        let path = beside(&store, &one.owner);
        let right = match Store::open_with(&path, &options_of(app)) {
            Ok(other) => {
                let grants = other.sharing().grants()?;
                let is_it =
                    |grant: &&Grant| grant.collection == one.collection && grant.person == user;
                match grants.iter().find(is_it) {
                    Some(grant) if grant.may_write => "write",
                    Some(_) => "read",
                    None => "none any more",
                }
            }
            Err(_) => "the owner's store cannot be read",
        };
        rows.push([
            one.name.clone(),
            one.kind.to_string(),
            one.owner.clone(),
            user.clone(),
            right.to_owned(),
        ]);
    }
    let headings = ["Name", "Kind", "Owner", "Shared with", "Right"];
    let mut table = Table::with_number_column(&headings, None);
    for row in &rows {
        table.add_row(row.clone());
    }
    app.out.write_table(&table, &rows, |out, row| {
        let [name, kind, owner, person, right] = row;
        out.write_json(&object! {
            name: name, kind: kind, owner: owner, person: person, right: right
        })
    })
}

/// Returns the address books and calendars of a store with this name.
fn kinds_of(store: &Store, name: &str) -> Result<Vec<(CollectionId, CollectionKind)>> {
    let own = super::devices::own_collections(store)?;
    let found: Vec<_> = own
        .iter()
        .filter(|(_, (_, known))| known == name)
        .map(|(id, (kind, _))| (*id, *kind))
        .collect();
    match found.is_empty() {
        false => Ok(found),
        // The error names those that there are; that of another person cannot be passed on.
        true => match find_collections(store, &[name.to_owned()]) {
            Ok(_) => Err(Failure::usage(format!(
                "{} is the collection of another person, who alone can share it",
                one_line(name)
            ))),
            Err(error) => Err(error),
        },
    }
}

/// Returns the stores of these people, in the directory of a store.
fn people_beside(store: &Store, names: &[String]) -> Result<Vec<(String, PathBuf)>> {
    let owner = user_name_of(store.path());
    let mut found = Vec::new();
    for name in names {
        let path = beside(store, name);
        if *name == owner {
            return Err(Failure::usage(format!("{name} is the owner")));
        }
        if !is_user_name(name) || !path.is_file() {
            let (known, _) = read_users(&directory_of(store)).map_err(explain)?;
            let known: Vec<_> = known.into_iter().filter(|known| *known != owner).collect();
            let text = match known.is_empty() {
                true => format!(
                    "there is no {} beside this store, nor anybody else; add one: etui serve add-person {} --users {}",
                    one_line(name),
                    quote_operand(name),
                    quote_operand(&directory_of(store).display().to_string())
                ),
                false => format!(
                    "there is no {} beside this store (there are: {})",
                    one_line(name),
                    known.join(", ")
                ),
            };
            return Err(Failure::NotFound(text));
        }
        found.push((name.clone(), path));
    }
    Ok(found)
}

fn directory_of(store: &Store) -> PathBuf {
    let parent = store
        .path()
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty());
    parent.unwrap_or(Path::new(".")).to_owned()
}

fn beside(store: &Store, person: &str) -> PathBuf {
    store_in(&directory_of(store), person)
}

/// Returns options that make no store.
fn options_of(app: &App) -> Options {
    let mut options = app.store_options();
    options.create = false;
    options
}
