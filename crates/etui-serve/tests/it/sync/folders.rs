//! Devices in step by a folder that something carries: late, twice, in parts, in any order.

use std::fs;
use std::path::{Path, PathBuf};

use etui::Store;
use etui::calendar::CalendarObject;
use etui::contacts::Card;
use etui::record::RecordKind;
use etui::resource::{ResourceCondition, ResourceKey};
use etui::store::CollectionKey;
use etui::sync::{AccountId, AccountSettings, Direction, PairSettings};
use etui_seal::SealKey;
use etui_sync::{Folder, PairReport, SyncError, SyncOptions, folder_place, sync_pair};
use etui_testkit::rng::SplitMix64;
use tempfile::TempDir;

use super::histories::{Marks, edit, histories};
use super::place::{Edited, Place, texts};

/// A device: its store, and its copy of the folder.
struct Device {
    store: Store,
    account: AccountId,
    name: String,
    key: SealKey,
    folder: PathBuf,
}

impl Device {
    fn new(dir: &Path, name: &str, key: Option<&SealKey>) -> Self {
        let folder = dir.join(format!("{name}-folder"));
        let key = match key {
            Some(key) => key.clone(),
            None => {
                fs::create_dir(&folder).unwrap();
                Folder::create(&folder, name).unwrap().1
            }
        };
        let store = Store::open(dir.join(format!("{name}.etui"))).unwrap();
        let account = store.sync().add_account(&AccountSettings {
            name: "folder".into(),
            ..AccountSettings::default()
        });
        let account = account.unwrap();
        let collections = [
            (Card::KIND, store.contacts().unwrap().id()),
            (CalendarObject::KIND, store.calendar().unwrap().id()),
        ];
        for (kind, collection) in collections {
            let pair = PairSettings {
                account,
                kind,
                collection,
                url: folder_place(kind, "Mine"),
                direction: Direction::Both,
                takes_v4: true,
            };
            store.sync().add_pair(&pair).unwrap();
        }
        Self {
            store,
            account,
            name: name.to_owned(),
            key,
            folder,
        }
    }

    fn try_sync(&self, allow_removals: u64) -> Result<Vec<PairReport>, SyncError> {
        let folder = Folder::open(&self.folder, self.key.clone(), &self.name)?;
        let mut options = SyncOptions {
            account: "folder",
            allow_removals,
            is_dry_run: false,
            progress: &mut |_, _| {},
        };
        let pairs = self.store.sync().pairs(self.account).unwrap();
        let side = etui_sync::OtherSide::Folder(&folder);
        let reports = pairs
            .iter()
            .map(|pair| match pair.settings.kind == Card::KIND {
                true => sync_pair::<Card>(&self.store, side, pair, &mut options),
                false => sync_pair::<CalendarObject>(&self.store, side, pair, &mut options),
            });
        let reports = reports.collect::<Result<_, _>>()?;
        folder.tidy()?;
        Ok(reports)
    }

    fn sync(&self) -> Vec<PairReport> {
        self.try_sync(1_000).unwrap()
    }

    fn put(&self, uid: &str, name: &str, note: &str) {
        let text = Card::new_text(uid, name, note);
        let contacts = self.store.contacts().unwrap();
        let at = contacts.resource(ResourceKey::Uid(uid)).unwrap();
        let at = at.map_or_else(|| format!("{uid}.vcf"), |found| found.name);
        contacts
            .put_resource(&at, text.as_bytes(), &ResourceCondition::Always)
            .unwrap();
    }

    fn remove(&self, uid: &str) {
        let contacts = self.store.contacts().unwrap();
        let found = contacts.resource(ResourceKey::Uid(uid)).unwrap().unwrap();
        contacts
            .remove_resource(&found.name, &ResourceCondition::Always)
            .unwrap();
    }
}

/// All files of a copy of the folder, as paths in it.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(at) = open.pop() {
        let Ok(found) = fs::read_dir(&at) else {
            continue;
        };
        for file in found.map(|file| file.unwrap().path()) {
            match file.is_dir() {
                true => open.push(file),
                false => all.push(file.strip_prefix(folder).unwrap().to_owned()),
            }
        }
    }
    all.sort();
    all
}

fn carry_file(from: &Path, to: &Path, bytes: Option<usize>) {
    fs::create_dir_all(to.parent().unwrap()).unwrap();
    let text = fs::read(from).unwrap();
    fs::write(to, &text[..bytes.unwrap_or(text.len()).min(text.len())]).unwrap();
}

/// Carries files that the other copy has not, or not whole.
fn carry(from: &Device, to: &Device, rng: Option<&mut SplitMix64>) {
    let mut rng = rng;
    for file in files(&from.folder) {
        let (source, target) = (from.folder.join(&file), to.folder.join(&file));
        let (has, whole) = (
            fs::metadata(&target).map(|m| m.len()).ok(),
            fs::metadata(&source).unwrap().len(),
        );
        // A copy that is larger is the whole one.
        if has.is_some_and(|has| has >= whole) {
            continue;
        }
        match rng.as_mut().map(|rng| (rng.below(10), rng.below(4_000))) {
            // Later.
            Some((0..4, _)) => {}
            Some((4 | 5, cut)) => carry_file(&source, &target, Some(cut as usize)),
            Some((6, _)) => {
                let copy = target.with_extension("sync-conflict-1.etc");
                carry_file(&source, &copy, None);
                carry_file(&source, &target, None);
            }
            _ => carry_file(&source, &target, None),
        }
    }
}

fn three(dir: &TempDir) -> [Device; 3] {
    let first = Device::new(dir.path(), "a", None);
    let key = first.key.clone();
    let others = ["b", "c"].map(|name| Device::new(dir.path(), name, Some(&key)));
    let [second, third] = others;
    for other in [&second, &third] {
        carry(&first, other, None);
    }
    [first, second, third]
}

/// Carries everything, and lets all devices run, until nothing is new.
fn quiesce(devices: &[Device]) {
    for round in 0..10 {
        for from in devices {
            devices.iter().for_each(|to| carry(from, to, None));
        }
        let reports = devices.iter().flat_map(Device::sync);
        let is_quiet = reports.fold(true, |quiet, report| {
            quiet & (report == PairReport::default())
        });
        if is_quiet && round > 0 {
            return;
        }
    }
    panic!("the devices do not come to rest");
}

fn owed(marks: &Marks) -> Vec<String> {
    marks.owed.iter().cloned().collect()
}

fn check_equal<R: Edited>(devices: &[Device], marks: &[String], context: &str) {
    let all: Vec<_> = devices.iter().map(|one| texts::<R>(&one.store)).collect();
    for other in &all[1..] {
        let uids = |texts: &std::collections::BTreeMap<String, String>| {
            texts.keys().cloned().collect::<Vec<_>>()
        };
        assert_eq!(uids(&all[0]), uids(other), "{context}");
        for (uid, text) in other {
            let essence = |text: &str| <Store as Place>::essence::<R>(text);
            assert_eq!(essence(&all[0][uid]), essence(text), "{context}: {uid}");
        }
    }
    let everything: String = devices
        .iter()
        .map(|one| one.store.kept_texts::<R>())
        .collect();
    let lost = marks
        .iter()
        .filter(|mark| !everything.contains(mark.as_str()));
    assert_eq!(lost.collect::<Vec<_>>(), Vec::<&String>::new(), "{context}");
}

#[test]
fn three_devices_have_the_same_in_the_end_and_nothing_is_lost() {
    for seed in 0..histories(12) {
        let mut rng = SplitMix64::stream(0xf01d, seed);
        let dir = tempfile::tempdir().unwrap();
        let devices = three(&dir);
        let (mut cards, mut events) = (Marks::default(), Marks::default());
        for _ in 0..5 {
            for device in &devices {
                for _ in 0..rng.below(6) {
                    edit::<Card, _>(&device.store, &mut rng, &mut cards);
                    edit::<CalendarObject, _>(&device.store, &mut rng, &mut events);
                }
                for other in &devices {
                    carry(device, other, Some(&mut rng));
                }
                if rng.chance(700) {
                    device.sync();
                }
            }
        }
        quiesce(&devices);
        let context = format!("history {seed}");
        check_equal::<Card>(&devices, &owed(&cards), &context);
        check_equal::<CalendarObject>(&devices, &owed(&events), &context);
    }
}

#[test]
fn changes_that_meet_are_merged_and_the_text_that_loses_is_kept() {
    let dir = tempfile::tempdir().unwrap();
    let devices = three(&dir);
    let [a, b, c] = &devices;
    a.put("x", "Ada", "one");
    quiesce(&devices);
    a.put("x", "Ada", "from a");
    b.put("x", "Ada Lovelace", "from b");
    c.remove("x");
    quiesce(&devices);
    let now = texts::<Card>(&a.store)["x"].clone();
    assert!(now.contains("FN:Ada Lovelace"), "{now}");
    check_equal::<Card>(
        &devices,
        &["from a".to_owned(), "from b".to_owned()],
        "conflict",
    );
    // One of the two that wrote has its text in the list.
    let listed = devices
        .iter()
        .map(|one| one.store.refused().list().unwrap().len());
    assert_eq!(listed.sum::<usize>(), 1);
}

#[test]
fn files_that_are_lost_remove_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let devices = three(&dir);
    let [a, b, c] = &devices;
    for n in 0..30 {
        a.put(&format!("u{n}"), &format!("Person {n}"), "x");
    }
    quiesce(&devices);
    b.put("u1", "Person 1", "changed");
    quiesce(&devices);
    let before = texts::<Card>(&c.store);
    // The folder is emptied for all, but for its marker; a damaged file is worse than none.
    for device in &devices {
        for file in files(&device.folder) {
            let path = device.folder.join(&file);
            match file.starts_with("a") {
                true => fs::write(&path, b"damaged").unwrap(),
                false if file.components().count() > 1 => fs::remove_file(&path).unwrap(),
                false => {}
            }
        }
    }
    quiesce(&devices);
    assert_eq!(texts::<Card>(&a.store), before);
    // What was written again is not newer than what another device writes on the old one.
    c.put("u1", "Person 1", "newest");
    quiesce(&devices);
    assert!(texts::<Card>(&a.store)["u1"].contains("newest"));
    assert!(a.store.refused().list().unwrap().is_empty());
    // Without its marker it is another folder, or a stick that is not there.
    fs::remove_file(a.folder.join("etui-folder")).unwrap();
    assert!(matches!(a.try_sync(0), Err(SyncError::Folder(..))));
    assert_eq!(texts::<Card>(&a.store).len(), 30);
}

#[test]
fn a_removal_of_many_is_asked_for() {
    let dir = tempfile::tempdir().unwrap();
    let devices = three(&dir);
    let [a, b, _] = &devices;
    for n in 0..30 {
        a.put(&format!("u{n}"), &format!("Person {n}"), "x");
    }
    quiesce(&devices);
    (0..20).for_each(|n| a.remove(&format!("u{n}")));
    // Also where it begins.
    assert!(a.try_sync(0).unwrap()[0].guard.is_some());
    a.sync();
    carry(a, b, None);
    let report = b.try_sync(0).unwrap();
    assert!(report[0].guard.is_some());
    assert_eq!(texts::<Card>(&b.store).len(), 30);
    assert_eq!(b.sync()[0].removed_here, 20);
}

#[test]
fn another_key_and_files_of_others_are_told_apart() {
    let dir = tempfile::tempdir().unwrap();
    let devices = three(&dir);
    let [a, b, _] = &devices;
    a.put("x", "Ada", "one");
    a.sync();
    let other = SealKey::generate().unwrap();
    assert!(matches!(
        Folder::open(&a.folder, other, "a"),
        Err(SyncError::Folder(..))
    ));
    assert!(matches!(
        Folder::create(&a.folder, "a"),
        Err(SyncError::Folder(..))
    ));
    // A name of a person is nowhere in the folder.
    for file in files(&a.folder) {
        let bytes = fs::read(a.folder.join(&file)).unwrap();
        assert!(
            !bytes
                .windows(3)
                .any(|part| part == b"Ada" || part == b"FN:")
        );
    }
    carry(a, b, None);
    fs::write(b.folder.join("a/000009-x.etc"), b"no").unwrap();
    b.sync();
    let folder = Folder::open(&b.folder, b.key.clone(), "b").unwrap();
    assert_eq!(
        folder.collections().unwrap(),
        [(Card::KIND, "Mine".to_owned())]
    );
    assert_eq!(folder.unreadable(), [b.folder.join("a/000009-x.etc")]);
    assert_eq!(texts::<Card>(&b.store).len(), 1);
}

#[test]
fn many_files_of_a_device_are_made_one() {
    let dir = tempfile::tempdir().unwrap();
    let devices = three(&dir);
    let [a, b, c] = &devices;
    a.put("y", "Bo", "stays");
    for n in 0..205 {
        a.put("x", "Ada", &format!("note {n}"));
        a.sync();
        if n == 100 {
            carry(a, c, None);
            c.sync();
        }
    }
    let own = files(&a.folder).len();
    assert!(own < 20, "{own}");
    carry(a, b, None);
    b.sync();
    assert!(texts::<Card>(&b.store)["x"].contains("note 204"));
    // One that has an old state does not bring it back, and its own change is merged with what it comes from.
    c.put("y", "Bo", "of c");
    quiesce(&devices);
    let context = "after tidying";
    check_equal::<Card>(
        &devices,
        &["note 204".to_owned(), "of c".to_owned()],
        context,
    );
    assert!(texts::<Card>(&c.store)["x"].contains("note 204"));
    let default = CollectionKey::Default;
    assert_eq!(
        c.store
            .collection::<Card>(default)
            .unwrap()
            .trash()
            .unwrap()
            .len(),
        0
    );
}

#[test]
fn a_change_that_replaces_a_part_of_what_is_written_again_hides_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let devices = three(&dir);
    let [a, b, c] = &devices;
    let key = a.key.clone();
    let d = Device::new(dir.path(), "d", Some(&key));
    a.put("x", "Ada", "start");
    quiesce(&devices);
    // Two heads, which c has merged.
    a.put("x", "Ada A", "start");
    b.put("x", "Ada", "of b");
    a.sync();
    b.sync();
    carry(a, c, None);
    carry(b, c, None);
    c.sync();
    // One knows only a's.
    carry(a, &d, None);
    d.sync();
    d.put("x", "Ada D", "start");
    d.sync();
    // The file of b is not at c for a while.
    for file in files(&c.folder) {
        if file.starts_with("b") {
            fs::remove_file(c.folder.join(&file)).unwrap();
        }
    }
    c.sync();
    let mut all = Vec::from(devices);
    all.push(d);
    quiesce(&all);
    let now = texts::<Card>(&all[0].store)["x"].clone();
    assert!(now.contains("of b"), "{now}");
    check_equal::<Card>(&all, &["of b".to_owned()], "four devices");
}

#[test]
fn the_text_that_two_changes_come_from_may_come_last() {
    let dir = tempfile::tempdir().unwrap();
    let devices = three(&dir);
    let [a, b, c] = &devices;
    a.put("x", "Ada", "start");
    a.sync();
    carry(a, b, None);
    b.sync();
    let first = files(&a.folder);
    a.put("x", "Ada A", "start");
    a.sync();
    b.put("x", "Ada", "of b");
    b.sync();
    // The first file of a comes after the others.
    for from in [a, b] {
        for file in files(&from.folder) {
            if !first.contains(&file) {
                carry_file(&from.folder.join(&file), &c.folder.join(&file), None);
            }
        }
    }
    c.sync();
    quiesce(&devices);
    let now = texts::<Card>(&c.store)["x"].clone();
    assert!(now.contains("FN:Ada A") && now.contains("of b"), "{now}");
    check_equal::<Card>(&devices, &[], "late");
}

#[test]
fn edits_on_top_of_two_heads_are_merged_from_both() {
    let dir = tempfile::tempdir().unwrap();
    let devices = three(&dir);
    let [a, b, c] = &devices;
    a.put("x", "Ada", "start");
    quiesce(&devices);
    a.put("x", "Ada A", "start");
    b.put("x", "Ada", "of b");
    quiesce(&devices);
    // Both have both; one takes b's note away, the other changes the name.
    a.put("x", "Ada A", "start");
    c.put("x", "Ada C", "of b");
    quiesce(&devices);
    let now = texts::<Card>(&b.store)["x"].clone();
    assert!(
        now.contains("FN:Ada C") && now.contains("start") && !now.contains("of b"),
        "{now}"
    );
    let listed = devices
        .iter()
        .map(|one| one.store.refused().list().unwrap().len());
    assert_eq!(listed.sum::<usize>(), 0);
}

#[test]
fn a_lost_file_is_written_again_once() {
    let dir = tempfile::tempdir().unwrap();
    let devices = three(&dir);
    let [a, ..] = &devices;
    for n in 0..30 {
        a.put(&format!("u{n}"), &format!("Person {n}"), "x");
    }
    quiesce(&devices);
    for file in files(&a.folder) {
        if file.components().count() > 1 {
            fs::remove_file(a.folder.join(&file)).unwrap();
        }
    }
    let runs = [0; 3].map(|_| {
        a.sync();
        files(&a.folder).len()
    });
    assert_eq!(runs, [2, 2, 2]);
}

#[test]
fn a_folder_of_others_is_not_begun_again() {
    let dir = tempfile::tempdir().unwrap();
    let devices = three(&dir);
    let [a, b, _] = &devices;
    a.put("x", "Ada", "one");
    a.sync();
    carry(a, b, None);
    // The marker comes last, or as the copy of a service.
    let marker = b.folder.join("etui-folder");
    fs::rename(&marker, b.folder.join("etui-folder.sync-conflict-1")).unwrap();
    assert!(matches!(
        Folder::create(&b.folder, "b"),
        Err(SyncError::Folder(..))
    ));
    b.sync();
    assert_eq!(texts::<Card>(&b.store).len(), 1);
}
