//! Refused versions: kept, listed, taken, forgotten.

use etui::contacts::Card;
use etui::resource::ResourceCondition;
use etui::store::{LARGE_REFUSED, MAX_REFUSED_BYTES, RefusedText};
use etui::{CollectionKind, Error, SaveOutcome};

use super::{event, get, new_store, put};
use crate::support::vcard;

fn refused<'t>(collection: etui::CollectionId, name: &'t str, text: &'t str) -> RefusedText<'t> {
    RefusedText {
        collection,
        name,
        record: None,
        uid: None,
        text: text.as_bytes(),
        device: "Phone",
        reason: "it was changed meanwhile",
    }
}

#[test]
fn a_refused_version_is_kept_and_taken() {
    let (_dir, store) = new_store();
    assert_eq!(store.refused().list().unwrap(), []);
    let contacts = store.contacts().unwrap();
    let (present, lost) = (vcard("a", "Present"), vcard("a", "Lost"));
    let saved = put(&contacts, "a.vcf", &present).unwrap();
    let mut one = refused(contacts.id(), "a.vcf", &lost);
    one.record = Some(saved.id);
    one.uid = Some("a");
    let id = store.refused().keep(&one).unwrap();
    // A repeated text is one version.
    assert_eq!(store.refused().keep(&one).unwrap(), id);
    let all = store.refused().list().unwrap();
    assert_eq!(all.len(), 1);
    assert_eq!(store.refused().get(id).unwrap().as_ref(), Some(&all[0]));
    let named = all[0].collection_name.clone();
    assert_eq!(
        named,
        Some((CollectionKind::Contacts, "Contacts".to_owned()))
    );
    assert_eq!(
        (all[0].name.as_str(), all[0].device.as_str()),
        ("a.vcf", "Phone")
    );
    assert_eq!(
        (all[0].record, all[0].uid.as_deref()),
        (Some(saved.id), Some("a"))
    );
    assert_eq!(all[0].size, lost.len() as u64);
    assert_eq!(store.refused().text(id).unwrap().unwrap(), lost.as_bytes());

    let taken = store.refused().take(id).unwrap();
    assert_eq!((taken.id, taken.outcome), (saved.id, SaveOutcome::Changed));
    assert_eq!(get(&contacts, "a.vcf").unwrap(), lost.as_bytes());
    assert_eq!(contacts.history("a").unwrap().len(), 2);
    assert_eq!(store.refused().list().unwrap(), []);
    assert!(matches!(store.refused().take(id), Err(Error::NoRefused(n)) if n == id));
    assert!(!store.refused().forget(id).unwrap());
    let next = store.refused().keep(&one).unwrap();
    assert!(next > id, "numbers are not reused");
    assert!(store.refused().forget(next).unwrap());
}

/// The name may be another record's now, and the record may have another name or be in the trash.
#[test]
fn a_refused_version_is_taken_by_its_uid() {
    let (_dir, store) = new_store();
    let calendar = store.calendar().unwrap();
    put(&calendar, "x.ics", event("1", "Other")).unwrap();
    put(&calendar, "y.ics", event("2", "Present")).unwrap();
    let lost = event("2", "Lost");
    let id = store
        .refused()
        .keep(&refused(calendar.id(), "x.ics", &lost))
        .unwrap();
    store.refused().take(id).unwrap();
    assert_eq!(get(&calendar, "y.ics").unwrap(), lost.as_bytes());
    // No record has the UID, and the name is taken.
    let third = event("3", "Third");
    let id = store
        .refused()
        .keep(&refused(calendar.id(), "x.ics", &third))
        .unwrap();
    let taken = store.refused().take(id).unwrap();
    assert_eq!(taken.outcome, SaveOutcome::Added);
    assert_eq!(
        get(&calendar, &format!("etui-{}.ics", taken.id)).unwrap(),
        third.as_bytes()
    );
    // An invalid text stays a refused version.
    let id = store
        .refused()
        .keep(&refused(calendar.id(), "z.ics", "nothing"))
        .unwrap();
    assert!(matches!(
        store.refused().take(id),
        Err(Error::NotOneObject { .. })
    ));
    assert_eq!(store.refused().list().unwrap().len(), 1);
}

#[test]
fn refused_versions_are_bounded() {
    let (_dir, store) = new_store();
    let contacts = store.contacts().unwrap();
    let keep = |device, name: &str, size: usize| {
        let text = "x".repeat(size);
        let mut one = refused(contacts.id(), name, &text);
        one.device = device;
        store.refused().keep(&one).unwrap();
    };
    let kept = |device| -> Vec<String> {
        let all = store.refused().list().unwrap().into_iter();
        all.filter(|one| one.device == device)
            .map(|one| one.name)
            .collect()
    };
    keep("Laptop", "edit.vcf", 100);
    let room = MAX_REFUSED_BYTES / LARGE_REFUSED;
    for number in 0..room + 2 {
        keep("Phone", &format!("{number}.vcf"), LARGE_REFUSED);
    }
    let latest: Vec<String> = (2..room + 2).rev().map(|n| format!("{n}.vcf")).collect();
    assert_eq!(kept("Phone"), latest);
    // Of larger ones the latest stays, and does not count twice.
    keep("Tablet", "edit.vcf", 100);
    for name in ["a.vcf", "b.vcf", "c.vcf"] {
        keep("Tablet", name, 6 * LARGE_REFUSED);
    }
    assert_eq!(kept("Tablet"), ["c.vcf", "edit.vcf"]);
    // A device has room of its own.
    assert_eq!(kept("Laptop"), ["edit.vcf"]);
    store.collections::<Card>().create("Other").unwrap();
    store.collections::<Card>().remove("Contacts").unwrap();
    let id = store.refused().list().unwrap()[0].id;
    assert!(matches!(
        store.refused().take(id),
        Err(Error::NoCollection { .. })
    ));
}

/// A text of version 3.0 is merged into a stored contact of 4.0, as by a save.
#[test]
fn a_refused_version_keeps_the_parts_that_it_cannot_say() {
    let (_dir, store) = new_store();
    let contacts = store.contacts().unwrap();
    let stored = "BEGIN:VCARD\r\nVERSION:4.0\r\nUID:a\r\nFN:Ada\r\nN:Lovelace;Ada;;;\r\nBDAY:1815\r\n\
                  TEL;PREF=2:1\r\nEND:VCARD\r\n";
    let edited = "BEGIN:VCARD\r\nVERSION:3.0\r\nUID:a\r\nFN:Ada\r\nN:Lovelace;Ada;;;\r\nTEL:2\r\n\
                  END:VCARD\r\n";
    let merged = stored.replace("TEL;PREF=2:1", "TEL;PREF=2:2");
    put(&contacts, "a.vcf", stored).unwrap();
    let id = store
        .refused()
        .keep(&refused(contacts.id(), "a.vcf", edited))
        .unwrap();
    let taken = store.refused().take(id).unwrap();
    assert!(!taken.is_verbatim);
    let text = get(&contacts, "a.vcf").unwrap();
    assert_eq!(String::from_utf8(text).unwrap(), merged);
    // So is one without a UID, which the contact keeps.
    let without = edited.replace("UID:a\r\n", "").replace("TEL:2", "TEL:3");
    contacts
        .put_resource("a.vcf", without.as_bytes(), &ResourceCondition::Always)
        .unwrap();
    let text = get(&contacts, "a.vcf").unwrap();
    assert_eq!(
        String::from_utf8(text).unwrap(),
        merged.replace("PREF=2:2", "PREF=2:3")
    );
}
