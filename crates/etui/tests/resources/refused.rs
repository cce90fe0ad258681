//! Refused versions: kept, listed, taken, forgotten.

use etui::contacts::Card;
use etui::store::{MAX_REFUSED_BYTES, RefusedText};
use etui::{CollectionKind, Error, SaveOutcome};

use super::support::vcard;
use super::{event, get, new_store, put};

fn refused<'t>(collection: i64, name: &'t str, text: &'t str) -> RefusedText<'t> {
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
    assert_eq!(store.refused_versions().unwrap(), []);
    let contacts = store.contacts().unwrap();
    let (present, lost) = (vcard("a", "Present"), vcard("a", "Lost"));
    let saved = put(&contacts, "a.vcf", &present).unwrap();
    let mut one = refused(contacts.id(), "a.vcf", &lost);
    one.record = Some(saved.id);
    one.uid = Some("a");
    let id = store.keep_refused(&one).unwrap();
    // A repeated text is one version.
    assert_eq!(store.keep_refused(&one).unwrap(), id);
    let all = store.refused_versions().unwrap();
    assert_eq!(all.len(), 1);
    assert_eq!(store.refused_version(id).unwrap().as_ref(), Some(&all[0]));
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
    assert_eq!(store.refused_text(id).unwrap().unwrap(), lost.as_bytes());

    let taken = store.take_refused(id).unwrap();
    assert_eq!((taken.id, taken.outcome), (saved.id, SaveOutcome::Changed));
    assert_eq!(get(&contacts, "a.vcf").unwrap(), lost.as_bytes());
    assert_eq!(contacts.history("a").unwrap().len(), 2);
    assert_eq!(store.refused_versions().unwrap(), []);
    assert!(matches!(store.take_refused(id), Err(Error::NoRefused(n)) if n == id));
    assert!(!store.forget_refused(id).unwrap());
    let next = store.keep_refused(&one).unwrap();
    assert!(next > id, "numbers are not reused");
    assert!(store.forget_refused(next).unwrap());
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
        .keep_refused(&refused(calendar.id(), "x.ics", &lost))
        .unwrap();
    store.take_refused(id).unwrap();
    assert_eq!(get(&calendar, "y.ics").unwrap(), lost.as_bytes());
    // No record has the UID, and the name is taken.
    let third = event("3", "Third");
    let id = store
        .keep_refused(&refused(calendar.id(), "x.ics", &third))
        .unwrap();
    let taken = store.take_refused(id).unwrap();
    assert_eq!(taken.outcome, SaveOutcome::Added);
    assert_eq!(
        get(&calendar, &format!("etui-{}.ics", taken.id)).unwrap(),
        third.as_bytes()
    );
    // An invalid text stays a refused version.
    let id = store
        .keep_refused(&refused(calendar.id(), "z.ics", "nothing"))
        .unwrap();
    assert!(matches!(
        store.take_refused(id),
        Err(Error::NotOneObject { .. })
    ));
    assert_eq!(store.refused_versions().unwrap().len(), 1);
}

#[test]
fn refused_versions_are_bounded() {
    let (_dir, store) = new_store();
    let contacts = store.contacts().unwrap();
    let large = "x".repeat(MAX_REFUSED_BYTES / 4);
    let names: Vec<String> = (0..6).map(|n| format!("{n}.vcf")).collect();
    for name in &names {
        store
            .keep_refused(&refused(contacts.id(), name, &large))
            .unwrap();
    }
    let kept = store.refused_versions().unwrap();
    let kept: Vec<&str> = kept.iter().map(|version| version.name.as_str()).collect();
    assert_eq!(kept, ["5.vcf", "4.vcf", "3.vcf", "2.vcf"]);
    store.create_address_book("Other").unwrap();
    store.remove_collection::<Card>("Contacts").unwrap();
    let id = store.refused_versions().unwrap()[0].id;
    assert!(matches!(
        store.take_refused(id),
        Err(Error::NoCollection { .. })
    ));
}
