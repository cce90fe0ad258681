//! Erasing for good: a scan of the bytes of all files finds nothing of what was erased.

use std::path::Path;
use std::time::Duration;

use etui::contacts::{Card, ThumbnailSize};
use etui::resource::ResourceCondition;
use etui::store::RefusedText;
use etui::{Changes, Error, Options, PurgeScope, RecordId, Store};
use etui_testkit::images::tiny_png;

/// Words that only the erased records have.
const SECRETS: [&str; 9] = [
    "zyxwvut",
    "qponmlk",
    "oldsecret",
    "refusedsecret",
    "picturesecret",
    "uidsecret",
    "eventsecret",
    "templatesecret",
    "namesecret",
];

/// Returns the secrets that are in the files of a directory, in any case, as UTF-8 or UTF-16.
fn found_secrets(dir: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let bytes = std::fs::read(&path).unwrap().to_ascii_lowercase();
        let narrow: Vec<u8> = bytes.iter().copied().filter(|byte| *byte != 0).collect();
        for secret in SECRETS {
            let has = |bytes: &[u8]| bytes.windows(secret.len()).any(|w| w == secret.as_bytes());
            if has(&bytes) || has(&narrow) {
                found.push(format!("{}: {secret}", path.display()));
            }
        }
    }
    found
}

fn card(uid: &str, name: &str, more: &str) -> Card {
    let text =
        format!("BEGIN:VCARD\r\nVERSION:4.0\r\nUID:{uid}\r\nFN:{name}\r\n{more}END:VCARD\r\n");
    Card::parse(text).unwrap()
}

/// A store with a contact and an event that have secrets everywhere, between others.
fn with_secrets(dir: &Path) -> (Store, RecordId, RecordId) {
    let store = Store::open(dir.join("s.etui")).unwrap();
    let contacts = store.contacts().unwrap();
    for n in 0..300 {
        contacts
            .save(&card(
                &format!("n{n}"),
                &format!("Name {n}"),
                "NOTE:ordinary\r\n",
            ))
            .unwrap();
    }
    let id = contacts
        .save(&card("uidsecret", "Oldsecret Zyxwvut", ""))
        .unwrap()
        .id;
    contacts.save(&card("n1", "Changed", "")).unwrap();
    let mut secret = card(
        "uidsecret",
        "Zyxwvut Qponmlk",
        "EMAIL:zyxwvut@example.org\r\nNOTE:Qponmlk\r\n",
    );
    secret.set_photo("image/png", &tiny_png(7)).unwrap();
    contacts.save(&secret).unwrap();
    assert!(contacts.photo(id, ThumbnailSize::Small).unwrap().is_some());
    store
        .refused()
        .keep(&RefusedText {
            collection: contacts.id(),
            name: "namesecret.vcf",
            record: Some(id),
            uid: Some("uidsecret"),
            text:
                b"BEGIN:VCARD\r\nVERSION:4.0\r\nUID:uidsecret\r\nFN:Refusedsecret\r\nEND:VCARD\r\n",
            device: "Phone",
            reason: "changed",
        })
        .unwrap();
    let calendar = store.calendar().unwrap();
    let event = "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//Example//EN\r\nX-WR-CALDESC:Templatesecret\r\n\
        BEGIN:VEVENT\r\nUID:eventsecret@example.org\r\nDTSTAMP:20260101T000000Z\r\nDTSTART:20260302T100000Z\r\n\
        RRULE:FREQ=WEEKLY\r\nSUMMARY:Eventsecret\r\nBEGIN:VALARM\r\nACTION:DISPLAY\r\nTRIGGER:-PT5M\r\n\
        DESCRIPTION:Eventsecret\r\nEND:VALARM\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n";
    let saved = calendar
        .put_resource(
            "namesecret.ics",
            event.as_bytes(),
            &ResourceCondition::Always,
        )
        .unwrap();
    store.maintenance().merge_index().unwrap();

    (store, id, saved.id)
}

#[test]
fn nothing_of_erased_records_is_left() {
    for is_removed in [false, true] {
        let dir = tempfile::tempdir().unwrap();
        let (store, contact, event) = with_secrets(dir.path());
        let contacts = store.contacts().unwrap();
        let token = store.token().unwrap();
        if is_removed {
            contacts.remove("uidsecret").unwrap();
            store
                .calendar()
                .unwrap()
                .remove("eventsecret@example.org")
                .unwrap();
        }
        assert!(!found_secrets(dir.path()).is_empty());
        let report = store.purge(PurgeScope::Records(&[contact, event])).unwrap();
        assert!(report.is_complete);
        assert_eq!(
            (report.uids.len(), report.versions, report.refused),
            (2, 1, 1)
        );
        // Also while the store is open.
        assert_eq!(found_secrets(dir.path()), Vec::<String>::new());
        assert!(
            store.check().unwrap().is_clean(),
            "{:?}",
            store.check().unwrap()
        );
        // The others and their history are as they were; the sequence goes on, and clients read again.
        assert_eq!(contacts.count().unwrap(), 300);
        assert_eq!(contacts.history("n1").unwrap().len(), 2);
        assert_eq!(
            contacts.changes_since(&token).unwrap(),
            Changes::Resynchronise
        );
        assert!(store.token().unwrap().seq >= token.seq);
        let next = contacts.save(&card("new", "New", "")).unwrap().id;
        assert!(next.0 > event.0 && next.0 > token.seq);
        contacts.restore("n1").unwrap();
        store.maintenance().merge_index().unwrap();
        assert_eq!(
            contacts
                .find(&"note:ordinary".parse().unwrap())
                .unwrap()
                .len(),
            300
        );
        assert!(store.undo_steps(&[store.steps().unwrap()[3].id]).is_ok());
        assert!(store.check().unwrap().is_clean());
        store.close().unwrap();
        assert_eq!(found_secrets(dir.path()), Vec::<String>::new());
    }
}

#[test]
fn the_trash_and_all_history_are_erased() {
    let dir = tempfile::tempdir().unwrap();
    let (store, ..) = with_secrets(dir.path());
    let contacts = store.contacts().unwrap();
    let token = store.token().unwrap();
    contacts.remove("uidsecret").unwrap();
    store
        .calendar()
        .unwrap()
        .remove("eventsecret@example.org")
        .unwrap();
    store.collections::<Card>().create("Namesecret").unwrap();
    store.collections::<Card>().remove("Namesecret").unwrap();
    let report = store.purge(PurgeScope::Removed).unwrap();
    assert_eq!(
        (report.uids.len(), report.versions, report.refused),
        (2, 2, 1)
    );
    assert_eq!(found_secrets(dir.path()), Vec::<String>::new());
    assert!(
        store.check().unwrap().is_clean(),
        "{:?}",
        store.check().unwrap()
    );
    assert!(contacts.trash().unwrap().is_empty() && store.steps().unwrap().is_empty());
    assert_eq!(contacts.history("n1").unwrap().len(), 1);
    assert!(contacts.restore("n1").is_err());
    assert_eq!(
        contacts.changes_since(&token).unwrap(),
        Changes::Resynchronise
    );
    let next = contacts.save(&card("new", "New", "")).unwrap().id;
    assert!(next.0 > token.seq);
    let since = store.token().unwrap();
    contacts.remove("new").unwrap();
    assert!(matches!(contacts.changes_since(&since), Ok(Changes::Since(all)) if all.len() == 1));
    assert!(store.check().unwrap().is_clean());
}

#[test]
fn an_unknown_record_erases_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let (store, contact, _) = with_secrets(dir.path());
    let purged = store.purge(PurgeScope::Records(&[contact, RecordId(99_999)]));
    assert!(matches!(purged, Err(Error::NoRecordId(RecordId(99_999)))));
    assert!(
        store
            .contacts()
            .unwrap()
            .get("uidsecret")
            .unwrap()
            .is_some()
    );
}

/// A reader that keeps the log from being emptied is told, also to the next program, which completes it.
#[test]
fn an_incomplete_purge_is_completed_later() {
    let dir = tempfile::tempdir().unwrap();
    let (store, contact, event) = with_secrets(dir.path());
    store.close().unwrap();
    let mut options = Options::default();
    options.busy_timeout = Duration::from_millis(50);
    let store = Store::open_with(dir.path().join("s.etui"), &options).unwrap();
    assert_eq!(store.maintenance().complete_purge().unwrap(), None);
    let reader = rusqlite::Connection::open(dir.path().join("s.etui")).unwrap();
    reader.execute_batch("BEGIN").unwrap();
    let count = |conn: &rusqlite::Connection| -> i64 {
        conn.query_row("SELECT count(*) FROM record", [], |r| r.get(0))
            .unwrap()
    };
    assert_eq!(count(&reader), 302);
    let erased = [contact, event];
    let report = store.purge(PurgeScope::Records(&erased)).unwrap();
    assert!(!report.is_complete);
    assert_eq!(store.maintenance().complete_purge().unwrap(), Some(false));
    reader.execute_batch("ROLLBACK").unwrap();
    drop(reader);
    store.close().unwrap();
    let store = Store::open(dir.path().join("s.etui")).unwrap();
    assert_eq!(store.maintenance().complete_purge().unwrap(), Some(true));
    assert_eq!(store.maintenance().complete_purge().unwrap(), None);
    assert_eq!(found_secrets(dir.path()), Vec::<String>::new());
    assert!(store.check().unwrap().is_clean());
}
