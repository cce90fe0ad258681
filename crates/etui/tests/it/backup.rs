//! Backups of an open store, restored backups, and copied files.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::support::{card, clean, directory, filled, names, people, reading, texts};
use etui::{Changes, Error, Store, SyncToken};

#[test]
fn a_backup_of_a_store_in_use_is_of_one_moment() {
    let (dir, path) = directory();
    filled(&path, 2_000);
    let store = Store::open(&path).unwrap();
    let contacts = store.contacts().unwrap();
    let token = store.token().unwrap();
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let mut i = 0;
            while !over.load(Ordering::Relaxed) {
                let name = format!("Pair {i}");
                contacts
                    .save_many(&[card("left", &name), card("right", &name)])
                    .unwrap();
                contacts.save(&card(&format!("more-{i}"), &name)).unwrap();
                i += 1;
            }
            i
        });
        for round in 0..5 {
            let backup = dir.path().join(format!("backup-{round}.etui"));
            let mut last = (0, 0);
            store
                .backup(&backup, &mut |done, all| {
                    assert!(done <= all && done >= last.0);
                    last = (done, all);
                    std::thread::sleep(std::time::Duration::from_millis(1));
                })
                .unwrap();
            assert!(last.0 == last.1 && last.1 > 0, "{last:?}");
            let copy = Store::open_with(&backup, &reading()).unwrap();
            clean(&copy);
            let copied = copy.contacts().unwrap();
            let name = |uid| {
                copied
                    .get(uid)
                    .unwrap()
                    .map(|c| c.card().unwrap().display_name())
            };
            assert_eq!(name("left"), name("right"));
            assert!(copied.count().unwrap() >= 2_000);
        }
        over.store(true, Ordering::Relaxed);
        assert!(writer.join().unwrap() > 0);
    });

    let (backup, restored) = (dir.path().join("b.etui"), dir.path().join("r.etui"));
    store.backup(&backup, &mut |_, _| {}).unwrap();
    assert!(matches!(
        store.backup(&backup, &mut |_, _| {}),
        Err(Error::Exists { .. })
    ));
    assert!(matches!(
        Store::restore(&backup, &path, &mut |_, _| {}),
        Err(Error::Exists { .. })
    ));
    let bytes = fs::read(&backup).unwrap();
    Store::restore(&backup, &restored, &mut |_, _| {}).unwrap();
    assert!(
        fs::read(&backup).unwrap() == bytes,
        "restoring wrote to the backup"
    );
    let again = Store::open(&restored).unwrap();
    assert_eq!(
        fs::metadata(&restored).unwrap().permissions().mode() & 0o777,
        0o600
    );
    assert!(texts(&again.contacts().unwrap()) == texts(&contacts));
    assert_eq!(again.settings().locale, store.settings().locale);
    clean(&again);
    let (old, new) = (store.token().unwrap(), again.token().unwrap());
    assert_eq!((old.store, old.seq), (new.store, new.seq));
    assert_ne!(old.incarnation, new.incarnation);
    let resynchronise = |t: &SyncToken| again.contacts().unwrap().changes_since(t).unwrap();
    assert_eq!(resynchronise(&token), Changes::Resynchronise);
    assert_eq!(resynchronise(&old), Changes::Resynchronise);
    assert_eq!(resynchronise(&new), Changes::Since(Vec::new()));
    // Its own tokens stay valid after writes.
    again.contacts().unwrap().save(&card("new", "New")).unwrap();
    assert!(matches!(resynchronise(&new), Changes::Since(c) if c.len() == 1));
}

#[test]
fn a_damaged_backup_is_refused() {
    let (dir, path) = directory();
    filled(&path, 400);
    let backup = dir.path().join("backup.etui");
    let good = fs::read(&path).unwrap();
    let page = usize::from(u16::from_be_bytes([good[16], good[17]]));
    let pages = good.len() / page;
    assert!(pages > 30);
    let target = dir.path().join("target");
    fs::create_dir(&target).unwrap();
    let restored = target.join("restored.etui");
    for damaged in (0..pages).step_by(pages.div_ceil(40)).chain([pages - 1]) {
        let mut bytes = good.clone();
        bytes[damaged * page..(damaged + 1) * page]
            .iter_mut()
            .for_each(|b| *b ^= 0x5A);
        fs::write(&backup, &bytes).unwrap();
        let error = Store::restore(&backup, &restored, &mut |_, _| {}).unwrap_err();
        assert!(
            matches!(error, Error::Damaged { .. } | Error::NotADatabase { .. }),
            "page {damaged}: {error:?}"
        );
        assert!(error.to_string().contains("backup.etui"), "{error}");
        assert_eq!(names(&target), [""; 0], "page {damaged}");
        assert!(fs::read(&backup).unwrap() == bytes);
    }
    // A changed byte in a vCard's text is detected by its ETag.
    let text = people(3, 400)[200].text().to_vec();
    let at = good
        .windows(60)
        .position(|w| *w == text[text.len() / 2..][..60])
        .unwrap();
    let mut bytes = good.clone();
    bytes[at] ^= 1;
    fs::write(&backup, &bytes).unwrap();
    let error = Store::restore(&backup, &restored, &mut |_, _| {}).unwrap_err();
    assert!(matches!(error, Error::Damaged { .. }), "{error:?}");
    fs::write(&backup, &good[..good.len() / 2]).unwrap();
    assert!(Store::restore(&backup, &restored, &mut |_, _| {}).is_err());
    assert_eq!(names(&target), [""; 0]);
    fs::write(&backup, &good).unwrap();
    Store::restore(&backup, &restored, &mut |_, _| {}).unwrap();
}

#[test]
fn a_copied_file_is_another_store_from_its_first_write() {
    let (dir, path) = directory();
    filled(&path, 5);
    let copy = dir.path().join("copy.etui");
    fs::copy(&path, &copy).unwrap();
    let (first, second) = (Store::open(&path).unwrap(), Store::open(&copy).unwrap());
    let token = first.token().unwrap();
    for store in [&first, &second] {
        store.contacts().unwrap().save(&card("new", "New")).unwrap();
    }
    let (a, b) = (first.token().unwrap(), second.token().unwrap());
    assert_eq!(
        (a.store, a.incarnation, a.seq),
        (b.store, token.incarnation, b.seq)
    );
    assert_ne!(a.incarnation, b.incarnation);
    let since = |store: &Store, t| store.contacts().unwrap().changes_since(t).unwrap();
    assert_eq!(since(&second, &token), Changes::Resynchronise);
    assert_eq!(since(&second, &a), Changes::Resynchronise);
    assert!(matches!(since(&first, &token), Changes::Since(c) if c.len() == 1));
    // It keeps its incarnation when it is moved.
    second.close().unwrap();
    let moved = dir.path().join("moved.etui");
    fs::rename(&copy, &moved).unwrap();
    let second = Store::open(&moved).unwrap();
    second
        .contacts()
        .unwrap()
        .save(&card("new", "Newer"))
        .unwrap();
    assert!(matches!(since(&second, &b), Changes::Since(c) if c.len() == 1));
}
