//! Finding: the searches of `finding/searches.txt`, in a merged index and among pending records; pages of
//! ranked answers; the cost of corrections.

use etui::calendar::time::{TimeZone, Timestamp};
use etui::contacts::{Card, Column, Contacts, Query};
use etui::record::Collection;
use etui::search::query::{ColumnSet, SearchableRecord, query_collections};
use etui::search::spelling::correct_filter;
use etui::store::Options;
use etui::{RecordId, Store};

const SEARCHES: &str = include_str!("finding/searches.txt");
const CONTACTS: &[u8] = include_bytes!("finding/contacts.vcf");
const ENTRIES: &[u8] = include_bytes!("finding/calendar.ics");

fn open_store(dir: &tempfile::TempDir) -> Store {
    let mut options = Options::default();
    options.locale = Some("en".into());
    options.region = Some("DE".into());
    Store::open_with(dir.path().join("finding.etui"), &options).unwrap()
}

fn store_with_data(dir: &tempfile::TempDir) -> Store {
    let store = open_store(dir);
    let read = store
        .contacts()
        .unwrap()
        .import(CONTACTS, &mut |_| std::ops::ControlFlow::Continue(()));
    assert_eq!(
        (read.as_ref().unwrap().added, read.unwrap().refused),
        (16, 0)
    );
    let read = store
        .calendar()
        .unwrap()
        .import(ENTRIES, &mut |_| std::ops::ControlFlow::Continue(()));
    assert_eq!(
        (read.as_ref().unwrap().added, read.unwrap().refused),
        (7, 0)
    );
    store
}

/// Searches as the command does: ranked, and corrected if nothing is found.
fn search<R: SearchableRecord>(
    all: &Collection<R>,
    words: &str,
    show: impl Fn(&etui::search::query::Row<'_, R::Column>) -> String,
) -> String
where
    R::Column: ColumnSet<Field = R::Field>,
{
    let filter = words.parse().unwrap();
    let query = |filter| {
        all.query(&etui::search::query::Query::<R::Column>::ranked(filter))
            .unwrap()
    };
    let (mut rows, mut prefix) = (query(filter), String::new());
    if rows.is_empty()
        && let Some(corrected) = all.correct(&words.parse().unwrap()).unwrap()
    {
        prefix = format!("({corrected}) ");
        rows = query(corrected.filter);
    }
    match rows.is_empty() {
        true => "-".to_owned(),
        false => {
            prefix
                + &rows
                    .iter()
                    .map(|row| show(&row))
                    .collect::<Vec<_>>()
                    .join("; ")
        }
    }
}

/// Returns the title and the day of the next occurrence.
fn search_next(store: &Store, words: &str) -> String {
    let calendar = store.calendar().unwrap();
    let now = Timestamp::from_seconds(1_780_315_200); // 2026-06-01 12:00 UTC
    let zone = TimeZone::named("Europe/Berlin").unwrap();
    let filter = words.parse().unwrap();
    let mut next = calendar.next_occurrence(&filter, now, &zone).unwrap();
    let mut prefix = String::new();
    if next.is_none()
        && let Some(corrected) = calendar.correct(&filter).unwrap()
    {
        prefix = format!("({corrected}) ");
        next = calendar
            .next_occurrence(&corrected.filter, now, &zone)
            .unwrap();
    }
    next.map_or("-".to_owned(), |next| {
        let (year, month, day) = next.start.local().date().ymd();
        format!("{prefix}{} {year}-{month:02}-{day:02}", next.title)
    })
}

fn run_searches(store: &Store) {
    let lines = SEARCHES
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'));
    let (mut wrong, mut count) = (String::new(), 0);
    for line in lines {
        let parts: Vec<&str> = line.split(" | ").collect();
        let [kind, words, expected] = parts[..] else {
            panic!("{line}");
        };
        count += 1;
        let found = match kind {
            "contacts" => search::<Card>(&store.contacts().unwrap(), words, |row| {
                row.name().to_owned()
            }),
            "calendar" => search(&store.calendar().unwrap(), words, |row| {
                row.title().to_owned()
            }),
            "next" => search_next(store, words),
            _ => panic!("{line}"),
        };
        if found != expected {
            wrong.push_str(&format!("{line}\n    {found}\n"));
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
    assert!(count >= 100, "{count} searches");
}

#[test]
fn searches_find_in_the_index() {
    let dir = tempfile::tempdir().unwrap();
    let store = store_with_data(&dir);
    store.maintenance().merge_index().unwrap();
    run_searches(&store);
}

#[test]
fn searches_find_pending_records() {
    let dir = tempfile::tempdir().unwrap();
    run_searches(&store_with_data(&dir));
}

/// Returns a card: `number` decides in which field it has the word.
fn numbered_card(number: usize) -> Card {
    let (names, more) = match number % 5 {
        0 => (
            format!("N:Tester;A{number};;;\nFN:A{number} Tester"),
            "NOTE:none",
        ),
        1 => (
            format!("FN:Test House {number}\nORG:Test House"),
            "NOTE:none",
        ),
        2 => (
            format!("N:Bo{number};Al;;;\nFN:Al Bo{number}"),
            "ORG:Test House",
        ),
        3 => (
            format!("N:Cy{number};Al;;;\nFN:Al Cy{number}"),
            "NOTE:a test",
        ),
        _ => (format!("N:Di{number};Al;;;\nFN:Al Di{number}"), "NOTE:none"),
    };
    Card::parse(format!(
        "BEGIN:VCARD\nVERSION:3.0\nUID:{number}\n{names}\n{more}\nEND:VCARD\n"
    ))
    .unwrap()
}

/// Returns the ids of a ranked answer, read in pages by cursor and by offset.
fn read_pages(contacts: &Contacts, words: &str, limit: u64) -> [Vec<RecordId>; 2] {
    let query = || Query::ranked(words.parse().unwrap()).limit(limit);
    let mut by_cursor = Vec::new();
    let mut page = contacts.query(&query()).unwrap();
    loop {
        by_cursor.extend_from_slice(page.ids());
        // A cursor as text reads back.
        let Some(next) = page.next().map(|next| next.to_string().parse().unwrap()) else {
            break;
        };
        page = contacts.query(&query().after(next)).unwrap();
    }
    let mut by_offset = Vec::new();
    loop {
        let page = contacts
            .query(&query().offset(by_offset.len() as u64))
            .unwrap();
        if page.is_empty() {
            break;
        }
        by_offset.extend_from_slice(page.ids());
    }
    [by_cursor, by_offset]
}

/// Few matches are ranked in memory, many rank by rank; both in the same order, in pages too.
#[test]
fn ranks_are_in_order_at_any_size() {
    for count in [50, 4_000] {
        let dir = tempfile::tempdir().unwrap();
        let store = open_store(&dir);
        let contacts = store.contacts().unwrap();
        contacts
            .save_many(&(0..count).map(numbered_card).collect::<Vec<_>>())
            .unwrap();
        store.maintenance().merge_index().unwrap();
        let rows = contacts
            .query(&Query::ranked("test".parse().unwrap()).columns(Column::Uid | Column::Name))
            .unwrap();
        let ranks: Vec<usize> = rows
            .iter()
            .map(|row| row.get(Column::Uid).parse::<usize>().unwrap() % 5)
            .collect();
        assert_eq!(ranks.len(), count * 4 / 5);
        assert!(ranks.is_sorted(), "{count}: {ranks:?}");
        let positions: Vec<_> = rows
            .ids()
            .iter()
            .map(|id| contacts.position(*id).unwrap())
            .collect();
        for rank in positions.chunks(count / 5) {
            assert!(
                rank.is_sorted(),
                "within a rank the order is the list's: {rank:?}"
            );
        }
        for limit in [7, 100, 1_000] {
            for pages in read_pages(&contacts, "test", limit) {
                assert_eq!(pages, rows.ids(), "{count} by {limit}");
            }
        }
    }
}

/// Several collections are merged rank by rank, and corrected together.
#[test]
fn collections_are_ranked_together() {
    let dir = tempfile::tempdir().unwrap();
    let store = open_store(&dir);
    let cards: Vec<Card> = (0..20).map(numbered_card).collect();
    let (here, there) = (
        store.contacts().unwrap(),
        store.collections::<Card>().create("Work").unwrap(),
    );
    here.save_many(&cards[..10]).unwrap();
    there.save_many(&cards[10..]).unwrap();
    let snapshot = store.snapshot().unwrap();
    let readers = [
        snapshot.contacts().unwrap(),
        snapshot.collection::<Card>(Some("Work")).unwrap(),
    ];
    let query = |words: &str| Query::ranked(words.parse().unwrap()).columns(Column::Uid);
    let answer = query_collections(&readers, &query("test")).unwrap();
    let ranks: Vec<usize> = answer
        .rows
        .iter()
        .map(|row| row.get(Column::Uid).parse::<usize>().unwrap() % 5)
        .collect();
    assert_eq!(ranks.len(), 16);
    assert!(ranks.is_sorted(), "{ranks:?}");
    let first = query_collections(&readers, &query("test").limit(6)).unwrap();
    let rest = query("test").after(first.rows.next().unwrap().clone());
    let rest = query_collections(&readers, &rest).unwrap();
    assert_eq!(
        [first.rows.ids(), rest.rows.ids()].concat(),
        answer.rows.ids()
    );

    let corrected = correct_filter(&readers, &"tets".parse().unwrap())
        .unwrap()
        .unwrap();
    assert_eq!(corrected.to_string(), "test");
    // "Cy13" is a word of one collection only.
    assert!(
        correct_filter(&readers, &"tester".parse().unwrap())
            .unwrap()
            .is_none()
    );
}

/// A correction reads the words with the same first letter, not the dictionary.
#[test]
fn a_correction_reads_a_part_of_the_dictionary() {
    let dir = tempfile::tempdir().unwrap();
    let store = open_store(&dir);
    let letters: Vec<char> = ('a'..='z').collect();
    let word = |n: usize| -> String {
        [n % 26, n / 26 % 26, n * 7 % 26, n * 11 % 26, n * 3 % 26]
            .iter()
            .map(|&at| letters[at])
            .collect()
    };
    let cards = (0..2_600).map(|n| {
        let (family, given) = (word(n), word(n * 5 + 1));
        let card = format!("BEGIN:VCARD\nVERSION:3.0\nUID:{n}\nN:{family};{given};;;\nFN:{given} {family}\nEND:VCARD\n");
        Card::parse(card).unwrap()
    });
    let contacts = store.contacts().unwrap();
    contacts.save_many(&cards.collect::<Vec<_>>()).unwrap();
    store.maintenance().merge_index().unwrap();
    let typed = word(100) + "x";
    let corrected = contacts.correct(&typed.parse().unwrap()).unwrap().unwrap();
    assert_eq!(corrected.corrections[0].similar, [word(100)]);
    // 2,600 family names and as many given names; a 26th of each, and single lookups.
    assert!(corrected.compared < 5_200 / 20, "{}", corrected.compared);
}
