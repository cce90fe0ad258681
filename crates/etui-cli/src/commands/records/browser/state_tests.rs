//! Effects of keys on the state.

#![allow(clippy::unwrap_used, clippy::panic)]

use etui::RecordId;
use etui::contacts::Field;

use super::super::dialog::Preview;
use super::super::window::ListLine;
use super::*;

type ListState = super::ListState<Field>;
type ListRequest = super::ListRequest<Field>;

pub const WORDS: ListWords = ListWords {
    one: "contact",
    kind: CollectionKind::Contacts,
    phrase_example: "Ada Lovelace ada@example.org",
    unnamed: "(no name)",
    name_cell: 0,
    has_done: false,
    has_times: false,
    landmark: "letter",
};

fn names() -> Vec<String> {
    ["Contacts", "Club", "Work"].map(str::to_owned).into()
}

/// Answers requests for an address book of this size; a filter matches every tenth contact. A phrase is a
/// problem if it begins with `?`.
fn answer(list: &mut ListState, contacts: u64) -> Vec<ListRequest> {
    let mut wants = Vec::new();
    while let Some(want) = list.next_request() {
        assert!(wants.len() < 10, "{wants:?}");
        match &want {
            ListRequest::Page {
                filter,
                offset,
                limit,
            } => {
                let is_all = *filter == Filter::All;
                let there = if is_all { contacts } else { contacts / 10 };
                let end = there.min(offset + limit);
                let lines = (*offset..end).map(|n| ListLine {
                    id: RecordId(n as i64),
                    cells: vec![format!("Name {n}")],
                });
                let total = is_all.then_some(contacts);
                list.set_page(lines.collect(), total, Duration::from_micros(100));
            }
            ListRequest::Count(_) => list.window.set_count(contacts / 10),
            ListRequest::Position(id) => {
                let position = (id.0 as u64) < contacts;
                list.window.set_position(position.then_some(id.0 as u64));
            }
            ListRequest::Landmarks => list.set_landmarks(letters()),
            ListRequest::Details(subject) => {
                let name = format!("Name {}", subject.id.0);
                list.dialogs.set_details(Some((name, Vec::new())));
            }
            ListRequest::Preview(_, text) => {
                list.dialogs.set_preview(match text.starts_with('?') {
                    true => Preview::Problem("a name is missing".to_owned()),
                    false => Preview::Rows(vec![("Name".to_owned(), text.clone())]),
                })
            }
        }
        wants.push(want);
    }
    wants
}

fn letters() -> Vec<ListLandmark> {
    [("A", 2), ("B", 40), ("C", 40), ("Ö", 70)]
        .map(|(label, position)| ListLandmark {
            label: label.to_owned(),
            position,
        })
        .into()
}

fn position(list: &ListState) -> (u64, u64, Option<u64>) {
    (list.window.top, list.window.selected, list.window.total)
}

/// Returns a list with ten rows.
fn list(contacts: u64) -> ListState {
    let mut list = ListState::new(names(), WORDS, (80, 12));
    answer(&mut list, contacts);
    list
}

fn press_keys(list: &mut ListState, contacts: u64, keys: &[Key]) -> Vec<ListRequest> {
    let mut wants = Vec::new();
    for key in keys {
        assert_eq!(list.handle_key(key), None, "{key:?}");
        wants.extend(answer(list, contacts));
    }
    wants
}

fn type_text(list: &mut ListState, contacts: u64, text: &str) -> Vec<ListRequest> {
    let keys: Vec<_> = text.chars().map(Key::Char).collect();
    press_keys(list, contacts, &keys)
}

/// Returns the action of the last of these keys.
fn act(list: &mut ListState, keys: &str) -> Option<Action> {
    let mut action = None;
    for c in keys.chars() {
        assert_eq!(action, None, "{keys}");
        action = list.handle_key(&match c {
            '\r' => Key::Enter,
            '\u{1b}' => Key::Escape,
            c => Key::Char(c),
        });
        answer(list, 100);
    }
    action
}

fn subject(n: i64) -> Subject {
    Subject {
        id: RecordId(n),
        collection: 0,
        instance: None,
        title: format!("Name {n}"),
    }
}

#[test]
fn only_the_visible_page_is_requested() {
    let mut list = ListState::new(names(), WORDS, (80, 12));
    let wants = answer(&mut list, 12_800);
    assert_eq!(
        wants,
        [ListRequest::Page {
            filter: Filter::All,
            offset: 0,
            limit: 11
        }]
    );
    assert_eq!(position(&list), (0, 0, Some(12_800)));
    assert_eq!(list.window.lines.len(), 10);
    for wants in [
        press_keys(&mut list, 12_800, &[Key::End]),
        type_text(&mut list, 12_800, "/a"),
        press_keys(&mut list, 12_800, &[Key::PageDown]),
    ] {
        assert!(
            matches!(wants[..], [ListRequest::Page { limit: 11, .. }]),
            "{wants:?}"
        );
    }
}

#[test]
fn moving_stays_in_the_list() {
    let mut list = list(25);
    assert!(press_keys(&mut list, 25, &[Key::Down, Key::Char('j')]).is_empty());
    assert_eq!(position(&list), (0, 2, Some(25)));
    press_keys(&mut list, 25, &[Key::Up, Key::Char('k'), Key::Up]);
    assert_eq!(position(&list), (0, 0, Some(25)));
    press_keys(&mut list, 25, &[Key::PageDown]);
    assert_eq!(position(&list), (10, 10, Some(25)));
    press_keys(&mut list, 25, &[Key::Control('f'), Key::PageDown]);
    assert_eq!(position(&list), (15, 24, Some(25)));
    press_keys(&mut list, 25, &[Key::Down, Key::Char(' ')]);
    assert_eq!(position(&list), (15, 24, Some(25)));
    press_keys(&mut list, 25, &[Key::PageUp]);
    assert_eq!(position(&list), (5, 14, Some(25)));
    press_keys(&mut list, 25, &[Key::Char('g')]);
    assert_eq!(position(&list), (0, 0, Some(25)));
    press_keys(&mut list, 25, &[Key::Char('G'), Key::Up]);
    assert_eq!(position(&list), (15, 23, Some(25)));
}

#[test]
fn a_search_has_its_own_position() {
    let mut list = list(1_000);
    press_keys(&mut list, 1_000, &[Key::PageDown, Key::Down]);
    type_text(&mut list, 1_000, "/qu");
    assert!(!list.is_done());
    assert_eq!(list.search.text(), "qu");
    // A hundred matches; the number is known once the end was reached.
    assert_eq!(position(&list), (0, 0, None));
    assert!(list.window.more);
    press_keys(&mut list, 1_000, &[Key::PageDown]);
    assert_eq!(position(&list), (10, 10, None));
    // After Enter, letters are commands again.
    let wants = press_keys(&mut list, 1_000, &[Key::Enter, Key::Char('G')]);
    assert!(matches!(wants[0], ListRequest::Count(_)));
    assert_eq!(position(&list), (90, 99, Some(100)));
    type_text(&mut list, 1_000, "/");
    press_keys(&mut list, 1_000, &[Key::Backspace]);
    assert_eq!((position(&list), list.search.text()), ((0, 0, None), "q"));
    press_keys(&mut list, 1_000, &[Key::Escape]);
    assert_eq!(position(&list), (10, 11, Some(1_000)));
    assert!(!list.searching);
    type_text(&mut list, 1_000, "q");
    assert!(list.is_done());
}

#[test]
fn an_incomplete_filter_keeps_the_list() {
    let mut list = list(1_000);
    type_text(&mut list, 1_000, "/name");
    assert_eq!(list.problem, None);
    assert!(type_text(&mut list, 1_000, ":").is_empty());
    assert!(list.problem.is_some());
    assert!(list.is_search());
    type_text(&mut list, 1_000, "x");
    assert_eq!(list.problem, None);
    assert!(type_text(&mut list, 1_000, " ").is_empty());
    press_keys(&mut list, 1_000, &[Key::Text("y\nz".to_owned())]);
    assert_eq!(list.search.text(), "name:x y z");
    press_keys(&mut list, 1_000, &[Key::Control('w')]);
    assert_eq!(list.search.text(), "name:x y ");
    press_keys(&mut list, 1_000, &[Key::Control('u')]);
    assert_eq!(list.search.text(), "");
    assert_eq!(position(&list), (0, 0, Some(1_000)));
    // An incomplete filter is no result.
    type_text(&mut list, 1_000, "name:");
    press_keys(&mut list, 1_000, &[Key::Enter]);
    assert!(!list.is_search() && !list.searching && list.problem.is_none());
}

#[test]
fn letters_go_to_their_names() {
    let mut list = list(100);
    let wants = press_keys(&mut list, 100, &[Key::Control('g')]);
    assert_eq!(wants, [ListRequest::Landmarks]);
    assert!(list.jump.is_some());
    press_keys(&mut list, 100, &[Key::Char('b')]);
    assert_eq!(position(&list), (40, 40, Some(100)));
    press_keys(&mut list, 100, &[Key::Right]);
    assert_eq!(position(&list), (70, 70, Some(100)));
    press_keys(&mut list, 100, &[Key::Char(']')]);
    assert_eq!(position(&list), (90, 99, Some(100)));
    press_keys(&mut list, 100, &[Key::Left, Key::Char('['), Key::Left]);
    assert_eq!(position(&list), (2, 2, Some(100)));
    press_keys(&mut list, 100, &[Key::Left]);
    assert_eq!(position(&list), (0, 0, Some(100)));
    press_keys(&mut list, 100, &[Key::Control('g'), Key::Char('z')]);
    assert_eq!(list.dialogs.message(), Some("No Z."));
    press_keys(&mut list, 100, &[Key::Control('g'), Key::Escape]);
    assert!(list.jump.is_none());
    // From a search, too.
    type_text(&mut list, 100, "/ann");
    press_keys(&mut list, 100, &[Key::Control('g'), Key::Char('ö')]);
    assert_eq!(position(&list), (70, 70, Some(100)));
    assert_eq!(list.search.text(), "");
}

#[test]
fn a_contact_is_shown_until_q() {
    let mut list = list(100);
    let wants = press_keys(&mut list, 100, &[Key::Down, Key::Enter]);
    assert_eq!(wants, [ListRequest::Details(subject(1))]);
    assert!(!list.dialogs.is_empty());
    press_keys(&mut list, 100, &[Key::Char('x'), Key::Char('j')]);
    assert!(!list.dialogs.is_empty());
    assert_eq!(act(&mut list, "E"), Some(Action::Edit(subject(1))));
    press_keys(&mut list, 100, &[Key::Char('q')]);
    assert!(list.dialogs.is_empty());
    assert!(!list.is_done());

    list.handle_key(&Key::Enter);
    list.dialogs.set_details(None);
    assert!(list.dialogs.message().is_some());
    press_keys(&mut list, 100, &[Key::Enter, Key::Quit]);
    assert!(list.is_done());
}

#[test]
fn changes_are_asked_for() {
    let mut list = list(100);
    type_text(&mut list, 100, "jj");
    assert_eq!(act(&mut list, "E"), Some(Action::Edit(subject(2))));
    assert_eq!(act(&mut list, "y"), Some(Action::ChooseCopy(subject(2))));
    assert_eq!(act(&mut list, "c"), Some(Action::ChooseCopy(subject(2))));
    assert_eq!(act(&mut list, "u"), Some(Action::Undo));
    assert_eq!(act(&mut list, "dy"), Some(Action::Remove(subject(2))));
    assert_eq!(act(&mut list, "dn"), None);
    assert_eq!(act(&mut list, "d\u{1b}"), None);
    assert!(list.dialogs.is_empty());
    // A contact cannot be completed; space is the next page.
    assert_eq!(act(&mut list, " "), None);
    assert_eq!(list.window.selected, 12);
    assert_eq!(list.handle_key(&Key::Control('z')), Some(Action::Suspend));
}

#[test]
fn a_phrase_is_saved_once_it_is_understood() {
    let mut list = list(100);
    assert_eq!(act(&mut list, "a?\r"), None);
    assert!(!list.dialogs.is_empty(), "a phrase with a problem stays");
    press_keys(&mut list, 100, &[Key::Control('u')]);
    let added = act(&mut list, "Ada q\r");
    assert_eq!(added, Some(Action::Add("Ada q".to_owned(), None)));
    // The prompt is closed when the record was saved.
    assert!(!list.dialogs.is_empty());
    let more = list.handle_key(&Key::Control('o'));
    assert_eq!(more, Some(Action::AddInEditor("Ada q".to_owned(), None)));
    list.dialogs.close_prompt();
    assert!(list.dialogs.is_empty());
    assert_eq!(act(&mut list, "a\r"), None);
    assert!(list.dialogs.is_empty(), "an empty phrase is no contact");
}

#[test]
fn the_selected_record_stays_selected_when_others_change() {
    let mut list = list(100);
    press_keys(&mut list, 100, &[Key::PageDown, Key::Down]);
    assert_eq!(position(&list), (10, 11, Some(100)));
    list.reload();
    assert_eq!(
        list.next_request(),
        Some(ListRequest::Position(RecordId(11)))
    );
    // Two records were added before it.
    list.window.set_position(Some(13));
    assert_eq!((list.window.top, list.window.selected), (10, 13));
    answer(&mut list, 100);
    assert_eq!(position(&list), (10, 13, Some(100)));
    list.reload_at(RecordId(77), true);
    answer(&mut list, 100);
    assert_eq!(list.window.selected, 77);
    // It was removed.
    list.reload();
    answer(&mut list, 50);
    assert_eq!(position(&list), (40, 49, Some(50)));
}

#[test]
fn a_new_record_ends_the_search() {
    let mut list = list(100);
    type_text(&mut list, 100, "/ann");
    press_keys(&mut list, 100, &[Key::Enter]);
    list.reload_at(RecordId(5), false);
    answer(&mut list, 100);
    assert!(list.is_search());
    list.reload_at(RecordId(77), true);
    answer(&mut list, 100);
    assert!(!list.is_search());
    assert_eq!(list.window.selected, 77);
}

#[test]
fn tab_lists_the_next_address_book() {
    let mut list = list(100);
    press_keys(&mut list, 100, &[Key::PageDown]);
    let wants = press_keys(&mut list, 30, &[Key::Tab]);
    assert!(matches!(wants[..], [ListRequest::Page { offset: 0, .. }]));
    assert_eq!((list.name(), list.window.total), ("Club", Some(30)));
    let edit = act(&mut list, "E");
    assert!(matches!(edit, Some(Action::Edit(subject)) if subject.collection == 1));
    press_keys(&mut list, 30, &[Key::Tab]);
    assert_eq!(list.name(), "Work");
    press_keys(&mut list, 30, &[Key::Tab]);
    assert_eq!(list.name(), "Contacts");
    press_keys(&mut list, 30, &[Key::BackTab]);
    assert_eq!((list.collection(), list.name()), (2, "Work"));
}

#[test]
fn a_shorter_list_moves_the_position() {
    let mut list = list(100);
    press_keys(&mut list, 100, &[Key::End]);
    press_keys(&mut list, 30, &[Key::PageUp]);
    assert_eq!(position(&list), (20, 29, Some(30)));
    let keys = [
        Key::Home,
        Key::Enter,
        Key::Escape,
        Key::Up,
        Key::PageDown,
        Key::End,
    ];
    press_keys(&mut list, 0, &keys);
    assert_eq!(position(&list), (0, 0, Some(0)));
    assert!(list.window.lines.is_empty());
    assert_eq!(act(&mut list, "E"), None);
    assert_eq!(list.dialogs.message(), Some("There is no contact here."));
}

#[test]
fn a_resize_keeps_the_selected_record_visible() {
    let mut list = list(100);
    press_keys(&mut list, 100, &[Key::PageDown, Key::PageDown]);
    list.resize((40, 5));
    answer(&mut list, 100);
    assert_eq!(
        (position(&list), list.window.lines.len()),
        ((20, 20, Some(100)), 3)
    );
    press_keys(&mut list, 100, &[Key::End]);
    list.resize((200, 52));
    answer(&mut list, 100);
    assert_eq!(
        (position(&list), list.window.lines.len()),
        ((50, 99, Some(100)), 50)
    );
    for size in [(0, 0), (1, 1), (1, 2), (20, 3)] {
        list.resize(size);
        answer(&mut list, 100);
        assert_eq!(list.window.lines.len(), 1);
    }
}

#[test]
fn any_keys_keep_the_selection_visible() {
    let keys = [
        Key::Char('a'),
        Key::Char(' '),
        Key::Char('('),
        Key::Char('/'),
        Key::Char('d'),
        Key::Char('y'),
        Key::Char('?'),
        Key::Char('G'),
        Key::Text("é\u{301}".to_owned()),
        Key::Up,
        Key::Down,
        Key::Left,
        Key::Right,
        Key::PageUp,
        Key::PageDown,
        Key::Home,
        Key::End,
        Key::Enter,
        Key::Backspace,
        Key::Escape,
        Key::Control('w'),
        Key::Control('g'),
    ];
    let mut state = 1u64;
    let mut list = list(0);
    for _ in 0..20_000 {
        // Knuth's MMIX generator.
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let n = (state >> 33) as usize;
        let contacts = [0, 1, 5, 50, 1_000][n / 100 % 5];
        if n.is_multiple_of(97) {
            list.resize((n % 7 * 30, n % 5 * 8));
        }
        if n.is_multiple_of(89) {
            list.reload();
        }
        list.handle_key(&keys[n % keys.len()]);
        answer(&mut list, contacts);
        let window = &list.window;
        if !window.lines.is_empty() {
            let shown = window.top..window.top + window.lines.len() as u64;
            assert!(shown.contains(&window.selected), "{list:?}");
        }
    }
}
