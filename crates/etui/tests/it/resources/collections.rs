//! Collections as clients make and change them.

use etui::calendar::CalendarObject;
use etui::contacts::Card;
use etui::resource::{MAX_PROPERTY_BYTES, ResourceCondition};
use etui::store::CollectionChanges;
use etui::store::CollectionKey;
use etui::store::NewCollection;
use etui::{Error, SaveOutcome};

use super::{get, new_store, put};
use crate::support::vcard;

fn named(name: &str) -> CollectionChanges {
    CollectionChanges {
        name: Some(name.to_owned()),
        ..CollectionChanges::default()
    }
}

#[test]
fn a_collection_is_found_by_its_segment() {
    let (_dir, store) = new_store();
    let none = CollectionChanges::default();
    let team = store
        .collections::<Card>()
        .create(NewCollection {
            segment: Some("t-1"),
            changes: Some(&named("Team")),
            ..NewCollection::default()
        })
        .unwrap();
    let plain = store
        .collections::<CalendarObject>()
        .create(NewCollection {
            segment: Some("t-1"),
            changes: Some(&none),
            ..NewCollection::default()
        })
        .unwrap();
    assert_eq!(plain.name(), "t-1");
    let at = |segment| {
        let found = store.collection::<Card>(CollectionKey::Segment(segment));
        match found {
            Err(Error::NoCollection { .. }) => None,
            found => Some(found.unwrap().id()),
        }
    };
    assert_eq!(at("t-1"), Some(team.id()));
    assert_eq!(team.segment().unwrap().as_deref(), Some("t-1"));
    assert_eq!(store.contacts().unwrap().segment().unwrap(), None);
    // Neither name nor external id change it.
    team.set_external_id(Some("other")).unwrap();
    store
        .collections::<Card>()
        .change(CollectionKey::Id(team.id()), &named("Group"))
        .unwrap();
    assert_eq!(
        (at("t-1"), at("other"), at("Team")),
        (Some(team.id()), None, None)
    );
    let again = store.collections::<Card>().create(NewCollection {
        segment: Some("t-1"),
        changes: Some(&named("Third")),
        ..NewCollection::default()
    });
    assert!(matches!(again, Err(Error::SegmentExists { name, .. }) if name == "Group"));
    assert!(matches!(
        store.collections::<Card>().create(NewCollection {
            segment: Some("a/b"),
            changes: Some(&none),
            ..NewCollection::default()
        }),
        Err(Error::BadResourceName(_))
    ));
    // The later one has the segment, also when the first is restored.
    let removed = store
        .collections::<Card>()
        .remove(CollectionKey::Id(team.id()))
        .unwrap();
    assert_eq!((at("t-1"), removed.name.as_str()), (None, "Group"));
    let removed_at = || {
        let removed = store.collections::<Card>().removed().unwrap();
        let mut removed = removed.into_iter();
        removed
            .find(|one| one.segment.as_deref() == Some("t-1"))
            .map(|one| one.id)
    };
    assert_eq!(removed_at(), Some(team.id()));
    let later = store
        .collections::<Card>()
        .create(NewCollection {
            segment: Some("t-1"),
            changes: Some(&none),
            ..NewCollection::default()
        })
        .unwrap();
    store.collections::<Card>().restore("Group").unwrap();
    assert_eq!((at("t-1"), removed_at()), (Some(later.id()), None));
}

#[test]
fn changes_of_a_collection_are_made_together() {
    let (_dir, store) = new_store();
    let calendar = store.calendar().unwrap();
    let color = "#ff0000".parse().ok();
    let change = |value: &str, name: &str| {
        let changes = CollectionChanges {
            color: Some(color),
            properties: vec![("{a:}x".to_owned(), Some(value.to_owned()))],
            ..named(name)
        };
        store
            .collections::<CalendarObject>()
            .change(CollectionKey::Id(calendar.id()), &changes)
    };
    let large = "x".repeat(MAX_PROPERTY_BYTES);
    let state = || {
        let properties = calendar.properties().unwrap().len();
        (
            store.collections::<CalendarObject>().names().unwrap(),
            calendar.color().unwrap(),
            properties,
        )
    };
    let before = state();
    assert!(matches!(
        change(&large, "New"),
        Err(Error::TooManyProperties { .. })
    ));
    store
        .collections::<CalendarObject>()
        .create("Taken")
        .unwrap();
    assert!(matches!(
        change("1", "Taken"),
        Err(Error::CollectionExists { .. })
    ));
    assert_eq!(state().1, before.1);
    assert_eq!(state().2, 0);
    assert_eq!(state().0, ["Calendar", "Taken"]);
    change("1", "New").unwrap();
    assert_eq!(
        state(),
        (vec!["New".to_owned(), "Taken".to_owned()], color, 1)
    );
    // A new one is made with all of them, or not.
    let changes = CollectionChanges {
        properties: vec![("{a:}x".to_owned(), Some(large))],
        ..named("Large")
    };
    assert!(
        store
            .collections::<CalendarObject>()
            .create(NewCollection {
                segment: Some("l"),
                changes: Some(&changes),
                ..NewCollection::default()
            })
            .is_err()
    );
    assert_eq!(
        store.collections::<CalendarObject>().names().unwrap().len(),
        2
    );
    assert!(
        store
            .collections::<CalendarObject>()
            .removed()
            .unwrap()
            .is_empty()
    );
}

#[test]
fn a_copy_is_made_on_a_condition() {
    let (_dir, store) = new_store();
    let from = store.contacts().unwrap();
    let to = store.collections::<Card>().create("Other").unwrap();
    let saved = put(&from, "a.vcf", vcard("a", "Ada")).unwrap();
    let other = put(&to, "b.vcf", vcard("b", "Bo")).unwrap();
    let copy = |condition: &ResourceCondition, name: &str, overwrite| {
        from.copy_resource("a.vcf", condition, &to, name, overwrite)
    };
    let always = ResourceCondition::Always;
    assert!(matches!(
        copy(&ResourceCondition::IfMatch(vec![other.tag]), "a.vcf", true),
        Err(Error::ConditionFailed { name, .. }) if name == "a.vcf"
    ));
    let copied = copy(&ResourceCondition::IfMatch(vec![saved.tag]), "a.vcf", false).unwrap();
    assert_eq!(copied.outcome, SaveOutcome::Added);
    assert!(matches!(
        copy(&always, "a.vcf", false),
        Err(Error::ConditionFailed { name, .. }) if name == "a.vcf"
    ));
    // One of the same UID is replaced.
    put(&from, "a.vcf", vcard("a", "Ada L.")).unwrap();
    let copied = copy(&always, "a.vcf", true).unwrap();
    assert_eq!(copied.outcome, SaveOutcome::Changed);
    for collection in [&from, &to] {
        let text = get(collection, "a.vcf").unwrap();
        assert_eq!(text, vcard("a", "Ada L.").as_bytes());
    }
    // A UID is once in a collection, and one of another UID is not overwritten.
    for (name, taken) in [("c.vcf", "a.vcf"), ("b.vcf", "b.vcf")] {
        let refused = copy(&always, name, true);
        assert!(matches!(refused, Err(Error::UidTaken { name, .. }) if name == taken));
    }
    assert!(matches!(
        from.copy_resource("a.vcf", &always, &from, "x.vcf", true),
        Err(Error::UidTaken { .. })
    ));
    assert!(to.get("b").unwrap().is_some());
}
