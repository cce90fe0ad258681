//! Edge cases of lists and filters: names that fold to nothing, names at the very end of the order,
//! contacts that move while a list is paged, damaged lists.

use etui::contacts::{Card, Columns, Query, SortOrder};
use etui::{Error, Store};

fn card(uid: &str, lines: &str) -> Card {
    Card::parse(format!("BEGIN:VCARD\nUID:{uid}\n{lines}\nEND:VCARD\n")).unwrap()
}

fn ids(store: &Store, query: &Query) -> Vec<i64> {
    let rows = store.contacts().unwrap().query(query).unwrap();
    rows.ids().iter().map(|id| id.0).collect()
}

/// A display name without a letter counts as absent, also if the other names have letters; before and
/// after a merge of the index.
#[test]
fn a_display_name_that_says_nothing_is_not_present() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path().join("s.etui")).unwrap();
    let contacts = store.contacts().unwrap();
    contacts.save(&card("a", "FN:!!!\nN:Smith;Al;;;")).unwrap();
    contacts.save(&card("b", "FN:Bo\nN:Smith;Bo;;;")).unwrap();
    let find = |filter: &str| ids(&store, &Query::new(filter.parse().unwrap()));
    for _ in 0..2 {
        assert_eq!(find("display:*"), [2]);
        assert_eq!(find("-display:*"), [1]);
        assert_eq!(find("family:* -display:*"), [1]);
        assert_eq!(find("name:*"), [1, 2]);
        store.maintenance().merge_index().unwrap();
    }
}

/// U+FFFF has the highest weight of all characters: no name sorts after it.
#[test]
fn names_at_the_end_of_the_order_are_in_the_reversed_list() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path().join("s.etui")).unwrap();
    let contacts = store.contacts().unwrap();
    let cards: Vec<Card> = (0..400)
        .map(|n| card(&n.to_string(), &format!("FN:{} {n}", "\u{ffff}".repeat(90))))
        .collect();
    contacts.save_many(&cards).unwrap();
    let mut forwards = ids(&store, &Query::all());
    assert_eq!(forwards.len(), 400);
    forwards.reverse();
    assert_eq!(
        ids(&store, &Query::all().sort(SortOrder::ListReversed)),
        forwards
    );
}

/// A cursor is after the rows already returned: a contact that moves past it is returned again,
/// by any access path.
#[test]
fn a_contact_that_moves_behind_the_place_is_met_there() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path().join("s.etui")).unwrap();
    let contacts = store.contacts().unwrap();
    for name in ["Ada", "Cy"] {
        contacts.save(&card(name, &format!("FN:{name}"))).unwrap();
    }
    let all = Query::all().columns(Columns::NONE);
    let by_filter = Query::new("name:*".parse().unwrap()).columns(Columns::NONE);
    let next = contacts
        .query(&all.clone().limit(1))
        .unwrap()
        .next()
        .cloned()
        .unwrap();
    contacts.save(&card("Ada", "FN:Bo")).unwrap();
    for query in [all, by_filter] {
        assert_eq!(ids(&store, &query.after(next.clone())), [1, 2]);
    }
}

/// Counts that disagree with the blocks are reported, and rebuilt.
#[test]
fn a_list_that_is_counted_wrongly_is_told_of() {
    for damage in [
        "UPDATE list_span SET blocks = x'', count = 0",
        "UPDATE list_span SET blocks = x'0100', count = 1",
        "DELETE FROM list_span",
    ] {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s.etui");
        let store = Store::open(&path).unwrap();
        let contacts = store.contacts().unwrap();
        let cards: Vec<Card> = (0..200)
            .map(|n| card(&n.to_string(), &format!("FN:Ann {n}")))
            .collect();
        contacts.save_many(&cards).unwrap();
        let plain = rusqlite::Connection::open(&path).unwrap();
        plain.execute_batch(damage).unwrap();
        let told = contacts.save(&card("new", "FN:Ann 9999")).unwrap_err();
        assert!(matches!(told, Error::Damaged { .. }), "{damage}: {told}");
        assert!(contacts.get("new").unwrap().is_none(), "{damage}");
        store.maintenance().repair().unwrap();
        contacts.save(&card("new", "FN:Ann 9999")).unwrap();
        assert_eq!(contacts.count().unwrap(), 201, "{damage}");
        assert!(store.check().unwrap().is_clean(), "{damage}");
    }
}
