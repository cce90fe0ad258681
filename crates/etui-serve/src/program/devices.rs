//! `etui serve add-device`, `devices` and `remove-device`.

use etui::{CollectionId, CollectionKind};
use std::collections::{BTreeMap, HashSet};

use etui::calendar::CalendarObject;
use etui::calendar::time::TimeZone;
use etui::contacts::Card;
use etui::record::RecordKind;
use etui::store::{Device, DeviceAccess};
use etui::{Error, Store};
use etui_program::output::{Table, object, one_line, quote_operand};
use etui_program::{App, Failure, Result};
use etui_serve::{OwnCertificate, user_name_of};
use serde::Serialize;

use super::home::config_directory;
use super::iphone::{PlannedProfile, ProfilePlace, explain_profile};
use super::qr_code::qr_code;
use etui_program::services::serve::{
    AddDeviceArgs, ChangeDeviceArgs, DEFAULT_ADDRESS, RemoveDeviceArgs, ServerUrl,
};
use etui_when::{format_minute, iso_instant};

pub fn add_device(app: &mut App, args: &AddDeviceArgs) -> Result<()> {
    let planned = match (&args.url, args.iphone) {
        (Some(url), true) => Some(PlannedProfile::prepare(app, args, url)?),
        _ => None,
    };
    let store = app.open_or_create(app.store_options())?;
    let access = access_of(&store, args.read_only, &args.only, &args.read)?;
    let password = store.devices().add(&args.name, &access)?.to_string();
    let user = user_name_of(store.path());
    let url = args.url.clone().unwrap_or_else(|| ServerUrl {
        is_encrypted: false,
        rest: format!("{DEFAULT_ADDRESS}/"),
    });
    let authority = planned
        .as_ref()
        .and_then(|planned| planned.authority_fingerprint.clone());
    let placed = planned.map(|planned| planned.place(&args.name, &store, &password, &url));
    let placed = match placed.transpose() {
        Ok(placed) => placed,
        Err(failure) => {
            // Its password would be of no use to anyone.
            store.devices().remove(&args.name)?;
            return Err(failure);
        }
    };
    store.close()?;
    let (address, link) = (url.text(), url.link(&user, &password));
    if app.out.json {
        let only = (!args.only.is_empty()).then_some(&args.only);
        let Some(placed) = placed else {
            return app.out.write_json(&object! {
                name: &args.name, read_only: args.read_only, only: only, read: &args.read,
                address: address, user: user, password: password, link: link
            });
        };
        let zone = app.out.time_zone();
        let (profile, until) = match &placed {
            ProfilePlace::Offered { address, until } => {
                (address.clone(), Some(iso_instant((*until).into(), &zone)))
            }
            ProfilePlace::File(path) => (path.display().to_string(), None),
        };
        return app.out.write_json(&object! {
            name: &args.name, read_only: args.read_only, only: only, read: &args.read,
            address: address, user: user, password: password, link: link,
            profile: profile, profile_until: until, authority_fingerprint: authority
        });
    }
    let name = one_line(&args.name);
    app.out.status(format!("Added the device {name}\n"))?;
    let mut lines = vec![("Address", address), ("User", user), ("Password", password)];
    match &placed {
        Some(ProfilePlace::Offered { address, .. }) => lines.push(("Profile", address.clone())),
        Some(ProfilePlace::File(path)) => {
            lines.push((
                "Profile",
                one_line(&path.display().to_string()).into_owned(),
            ));
        }
        None => {}
    }
    for (label, value) in lines {
        app.out.write_line(format!("  {label:<8}  {value}"))?;
    }
    if let Some(placed) = placed {
        return explain_profile(app, &placed, authority.as_deref());
    }
    if args.url.is_some() && app.out.terminal {
        app.out
            .status("\nFor DAVx5, scan this with the phone's camera:\n")?;
        app.out.write_line(qr_code(&link, app.out.colour)?)?;
    }
    if let Some(fingerprint) = known_fingerprint(&url) {
        app.out.status(format!(
            "\nThe device asks whether it may trust the server. Compare the certificate (SHA-256):\n  {fingerprint}"
        ))?;
    }
    app.out.status(match args.url {
        Some(_) if app.out.terminal => "\nThe password is shown only now.",
        Some(_) => {
            "\nThe password is shown only now. On a terminal there is a QR code too; `--json` has its text, `link`."
        }
        None => {
            "\nThe password is shown only now. This address is for programs on this machine; for others \
             give\ntheirs with --url."
        }
    })
}

/// Returns the rights that options name.
fn access_of(
    store: &Store,
    is_read_only: bool,
    only: &[String],
    read: &[String],
) -> Result<DeviceAccess> {
    let read_only = find_collections(store, read)?;
    let mut seen = find_collections(store, only)?;
    // One that it may read is one that it sees.
    seen.extend(&read_only);
    Ok(DeviceAccess {
        is_read_only,
        only: (!only.is_empty()).then_some(seen),
        read_only,
    })
}

pub fn change_device(app: &mut App, args: &ChangeDeviceArgs) -> Result<()> {
    let store = app.open_to_write()?;
    let access = access_of(&store, args.read_only, &args.only, &args.read)?;
    store.devices().change(&args.name, &access)?;
    let names = collection_names(&store)?;
    let devices = store.devices().list()?;
    store.close()?;
    let Some(changed) = devices.iter().find(|device| device.name == args.name) else {
        return Ok(());
    };
    let text = format!(
        "Changed the device {}: {}",
        one_line(&changed.name),
        rights_text(changed, &names)
    );
    let object = device_json(changed, &names, &app.out.time_zone());
    app.out.report(&object, text)
}

/// Returns the rights of a device in words.
fn rights_text(device: &Device, names: &BTreeMap<CollectionId, String>) -> String {
    let access = &device.access;
    let named = |may: &dyn Fn(CollectionId) -> bool| {
        let found = names.iter().filter(|(id, _)| may(**id));
        found
            .map(|(_, name)| name.as_str())
            .collect::<Vec<_>>()
            .join(", ")
    };
    let read = named(&|id| access.may_see(id) && !access.may_write(id));
    let written = named(&|id| access.may_write(id));
    match (&access.only, access.is_read_only) {
        (None, true) => "it may read everything".to_owned(),
        (None, false) if read.is_empty() => "it may change everything".to_owned(),
        (None, false) => format!("it may change everything but {read}, which it may read"),
        (Some(_), _) if written.is_empty() => format!("it may read {read}"),
        (Some(_), _) if read.is_empty() => format!("it may change {written}"),
        (Some(_), _) => format!("it may change {written}, and read {read}"),
    }
}

/// Returns the fingerprint of the server's own certificate, if it is the one of this address.
fn known_fingerprint(url: &ServerUrl) -> Option<String> {
    let (host, _) = url.host_and_port().filter(|_| url.is_encrypted)?;
    let own = OwnCertificate::find(&config_directory().ok()?)?;
    own.has_name(&host).then(|| own.fingerprint()).flatten()
}

/// Returns the ids of the address books and calendars with these names.
pub fn find_collections(store: &Store, names: &[String]) -> Result<HashSet<CollectionId>> {
    let known = collection_names(store)?;
    let mut found = HashSet::new();
    for name in names {
        let ids = known.iter().filter(|(_, known)| *known == name);
        let before = found.len();
        found.extend(ids.map(|(id, _)| *id));
        if found.len() == before && !known.iter().any(|(_, known)| known == name) {
            let known: Vec<_> = known.values().map(|name| one_line(name)).collect();
            return Err(Failure::NotFound(format!(
                "there is no address book or calendar named \"{}\" (there are: {})",
                one_line(name),
                known.join(", ")
            )));
        }
    }
    Ok(found)
}

/// Returns the names of the address books and calendars by id, those of other people too.
fn collection_names(store: &Store) -> Result<BTreeMap<CollectionId, String>> {
    let own = own_collections(store)?.into_iter();
    let mut names: BTreeMap<_, _> = own.map(|(id, (_, name))| (id, name)).collect();
    let references = store.sharing().references()?;
    names.extend(references.into_iter().map(|one| (one.id, one.name)));
    Ok(names)
}

/// Returns kinds and names of the store's own address books and calendars by id.
pub fn own_collections(store: &Store) -> Result<BTreeMap<CollectionId, (CollectionKind, String)>> {
    fn add<R: RecordKind>(
        store: &Store,
        all: &mut BTreeMap<CollectionId, (CollectionKind, String)>,
    ) -> Result<()> {
        for name in store.collections::<R>().names()? {
            all.insert(store.collection::<R>(&name)?.id(), (R::KIND, name));
        }
        Ok(())
    }
    let mut all = BTreeMap::new();
    add::<Card>(store, &mut all)?;
    add::<CalendarObject>(store, &mut all)?;
    Ok(all)
}

pub fn list_devices(app: &mut App) -> Result<()> {
    let store = app.open_to_read()?;
    let devices = store.devices().list()?;
    let names = collection_names(&store)?;
    if devices.is_empty() && !app.out.json {
        let text = "No device yet. Add one: etui serve add-device Phone";
        return app.out.status(text);
    }
    let zone = app.out.time_zone();
    let headings = ["Device", "Access", "Collections", "Added", "Last seen"];
    let mut table = Table::with_number_column(&headings, None);
    for device in &devices {
        let kept = read_only_collections(device, &names);
        let access = match (device.access.is_read_only, kept.is_empty()) {
            (true, _) => "read".to_owned(),
            (false, true) => "write".to_owned(),
            (false, false) => format!("write, {}: read", kept.join(", ")),
        };
        let seen = device.last_seen;
        table.add_row([
            device.name.clone(),
            access,
            visible_collections(device, &names).map_or_else(|| "all".to_owned(), |v| v.join(", ")),
            format_minute(device.added, &zone),
            seen.map_or_else(|| "never".to_owned(), |seen| format_minute(seen, &zone)),
        ]);
    }
    app.out.write_table(&table, &devices, |out, device| {
        out.write_json(&device_json(device, &names, &out.time_zone()))
    })
}

/// Returns the names of the collections that a device sees; `None`: all.
fn visible_collections(
    device: &Device,
    names: &BTreeMap<CollectionId, String>,
) -> Option<Vec<String>> {
    let only = device.access.only.as_ref()?;
    let visible = names.iter().filter(|(id, _)| only.contains(id));
    Some(visible.map(|(_, name)| name.clone()).collect())
}

/// Returns the names of the collections in which a device may only read.
fn read_only_collections(device: &Device, names: &BTreeMap<CollectionId, String>) -> Vec<String> {
    let kept = &device.access.read_only;
    let kept = names.iter().filter(|(id, _)| kept.contains(id));
    kept.map(|(_, name)| name.clone()).collect()
}

fn device_json(
    device: &Device,
    names: &BTreeMap<CollectionId, String>,
    zone: &TimeZone,
) -> impl Serialize + use<> {
    object! {
        name: device.name.clone(),
        read_only: device.access.is_read_only,
        only: visible_collections(device, names),
        read: read_only_collections(device, names),
        added: iso_instant(device.added.into(), zone),
        last_seen: device.last_seen.map(|seen| iso_instant(seen.into(), zone)),
    }
}

pub fn remove_device(app: &mut App, args: &RemoveDeviceArgs) -> Result<()> {
    let store = app.open_to_write()?;
    let names = collection_names(&store)?;
    let removed = match store.devices().remove(&args.name) {
        Err(Error::NoDevice { known, .. }) if known.is_empty() => {
            return Err(Failure::NotFound(format!(
                "there is no device named \"{}\", nor any other; add it: etui serve add-device {}",
                one_line(&args.name),
                quote_operand(&args.name)
            )));
        }
        removed => removed?,
    };
    store.close()?;
    let name = one_line(&removed.name);
    let text = format!("Removed the device {name}; its password is refused from now on");
    let object = device_json(&removed, &names, &app.out.time_zone());
    app.out.report(&object, text)
}
