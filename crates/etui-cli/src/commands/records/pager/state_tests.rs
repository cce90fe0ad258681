//! Keys in, what to show out.

#![allow(clippy::unwrap_used, clippy::panic)]

use etui::contacts::Field;

use super::*;

type Pager = super::Pager<Field>;
type PagerRequest = super::PagerRequest<Field>;

/// Plays the address book: names of so many contacts; a filter finds every tenth.
fn answer(pager: &mut Pager, contacts: u64) -> Vec<PagerRequest> {
    let mut wants = Vec::new();
    while let Some(want) = pager.want() {
        assert!(wants.len() < 10, "{wants:?}");
        match &want {
            PagerRequest::Page {
                filter,
                offset,
                limit,
            } => {
                let is_all = *filter == Filter::All;
                let there = if is_all { contacts } else { contacts / 10 };
                let end = there.min(offset + limit);
                let lines = (*offset..end).map(|n| Line {
                    id: RecordId(n as i64),
                    cells: vec![format!("Name {n}")],
                });
                let total = is_all.then_some(contacts);
                pager.page(lines.collect(), total, Duration::from_micros(100));
            }
            PagerRequest::Count(_) => pager.counted(contacts / 10),
            PagerRequest::Landmarks => pager.landmarks(letters()),
            PagerRequest::About(id) => pager.about(Some((format!("Name {}", id.0), Vec::new()))),
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

fn place(pager: &Pager) -> (u64, u64, Option<u64>) {
    (pager.top, pager.selected, pager.total)
}

/// A pager with ten rows for contacts.
fn pager(contacts: u64) -> Pager {
    let mut pager = Pager::new("Contacts", (80, 12));
    answer(&mut pager, contacts);
    pager
}

fn press(pager: &mut Pager, contacts: u64, keys: &[Key]) -> Vec<PagerRequest> {
    let mut wants = Vec::new();
    for key in keys {
        pager.key(key.clone());
        wants.extend(answer(pager, contacts));
    }
    wants
}

fn type_text(pager: &mut Pager, contacts: u64, text: &str) -> Vec<PagerRequest> {
    let keys: Vec<_> = text.chars().map(Key::Char).collect();
    press(pager, contacts, &keys)
}

#[test]
fn only_the_visible_page_is_asked_for() {
    let mut pager = Pager::new("Contacts", (80, 12));
    let wants = answer(&mut pager, 12_800);
    assert_eq!(
        wants,
        [PagerRequest::Page {
            filter: Filter::All,
            offset: 0,
            limit: 11
        }]
    );
    assert_eq!(place(&pager), (0, 0, Some(12_800)));
    assert_eq!(pager.lines.len(), 10);
    for wants in [
        press(&mut pager, 12_800, &[Key::End]),
        type_text(&mut pager, 12_800, "a"),
        press(&mut pager, 12_800, &[Key::PageDown]),
    ] {
        assert!(
            matches!(wants[..], [PagerRequest::Page { limit: 11, .. }]),
            "{wants:?}"
        );
    }
}

#[test]
fn moving_stays_in_the_list() {
    let mut pager = pager(25);
    assert!(press(&mut pager, 25, &[Key::Down, Key::Down]).is_empty());
    assert_eq!(place(&pager), (0, 2, Some(25)));
    press(&mut pager, 25, &[Key::Up, Key::Up, Key::Up]);
    assert_eq!(place(&pager), (0, 0, Some(25)));
    press(&mut pager, 25, &[Key::PageDown]);
    assert_eq!(place(&pager), (10, 10, Some(25)));
    press(&mut pager, 25, &[Key::PageDown, Key::PageDown]);
    assert_eq!(place(&pager), (15, 24, Some(25)));
    press(&mut pager, 25, &[Key::Down, Key::Char(' ')]);
    assert_eq!(place(&pager), (15, 24, Some(25)));
    press(&mut pager, 25, &[Key::PageUp]);
    assert_eq!(place(&pager), (5, 14, Some(25)));
    press(&mut pager, 25, &[Key::Home]);
    assert_eq!(place(&pager), (0, 0, Some(25)));
    press(&mut pager, 25, &[Key::End, Key::Up]);
    assert_eq!(place(&pager), (15, 23, Some(25)));
}

#[test]
fn a_search_has_its_own_place() {
    let mut pager = pager(1_000);
    press(&mut pager, 1_000, &[Key::PageDown, Key::Down]);
    type_text(&mut pager, 1_000, "qu");
    assert!(pager.is_done(), "q quits when nothing is searched for");

    let mut pager = self::pager(1_000);
    press(&mut pager, 1_000, &[Key::PageDown, Key::Down]);
    type_text(&mut pager, 1_000, "/qu");
    assert!(!pager.is_done());
    assert_eq!(pager.text, "qu");
    // A hundred matches; how many is not known before the end was seen.
    assert_eq!(place(&pager), (0, 0, None));
    assert!(pager.more);
    press(&mut pager, 1_000, &[Key::PageDown]);
    assert_eq!(place(&pager), (10, 10, None));
    let wants = press(&mut pager, 1_000, &[Key::End]);
    assert!(matches!(wants[0], PagerRequest::Count(_)));
    assert_eq!(place(&pager), (90, 99, Some(100)));
    press(&mut pager, 1_000, &[Key::Backspace]);
    assert_eq!((place(&pager), pager.text.as_str()), ((0, 0, None), "q"));
    press(&mut pager, 1_000, &[Key::Escape]);
    assert_eq!(place(&pager), (10, 11, Some(1_000)));
    assert!(!pager.searching);
}

#[test]
fn what_cannot_be_searched_for_yet_leaves_the_list() {
    let mut pager = pager(1_000);
    type_text(&mut pager, 1_000, "name");
    assert_eq!(pager.problem, None);
    assert!(type_text(&mut pager, 1_000, ":").is_empty());
    assert!(pager.problem.is_some());
    assert!(pager.is_search());
    type_text(&mut pager, 1_000, "x");
    assert_eq!(pager.problem, None);
    assert!(type_text(&mut pager, 1_000, " ").is_empty());
    press(&mut pager, 1_000, &[Key::Text("y\nz".to_owned())]);
    assert_eq!(pager.text, "name:x y z");
    press(&mut pager, 1_000, &[Key::DropWord]);
    assert_eq!(pager.text, "name:x y ");
    press(&mut pager, 1_000, &[Key::DropAll]);
    assert_eq!(pager.text, "");
    assert_eq!(place(&pager), (0, 0, Some(1_000)));
}

#[test]
fn letters_lead_to_their_names() {
    let mut pager = pager(100);
    let wants = press(&mut pager, 100, &[Key::Jump]);
    assert_eq!(wants, [PagerRequest::Landmarks]);
    assert!(matches!(pager.mode, Mode::Jump(_)));
    press(&mut pager, 100, &[Key::Char('b')]);
    assert_eq!(place(&pager), (40, 40, Some(100)));
    press(&mut pager, 100, &[Key::Right]);
    assert_eq!(place(&pager), (70, 70, Some(100)));
    press(&mut pager, 100, &[Key::Right]);
    assert_eq!(place(&pager), (90, 99, Some(100)));
    press(&mut pager, 100, &[Key::Left, Key::Left, Key::Left]);
    assert_eq!(place(&pager), (2, 2, Some(100)));
    press(&mut pager, 100, &[Key::Left]);
    assert_eq!(place(&pager), (0, 0, Some(100)));
    press(&mut pager, 100, &[Key::Jump, Key::Char('z')]);
    assert_eq!(pager.message.as_deref(), Some("There is no Z to go to."));
    press(&mut pager, 100, &[Key::Jump, Key::Escape]);
    assert!(matches!(pager.mode, Mode::List));
    // From a search, too.
    type_text(&mut pager, 100, "ann");
    press(&mut pager, 100, &[Key::Jump, Key::Char('ö')]);
    assert_eq!(place(&pager), (70, 70, Some(100)));
    assert_eq!(pager.text, "");
}

#[test]
fn a_contact_is_shown_until_a_key() {
    let mut pager = pager(100);
    let wants = press(&mut pager, 100, &[Key::Down, Key::Enter]);
    assert_eq!(wants, [PagerRequest::About(RecordId(1))]);
    assert!(matches!(pager.mode, Mode::About(_)));
    press(&mut pager, 100, &[Key::Char('q')]);
    assert!(matches!(pager.mode, Mode::List));
    assert!(!pager.is_done());

    pager.key(Key::Enter);
    pager.about(None);
    assert!(pager.message.is_some());
    press(&mut pager, 100, &[Key::Enter, Key::Quit]);
    assert!(pager.is_done());
}

#[test]
fn a_list_that_became_shorter_is_followed() {
    let mut pager = pager(100);
    press(&mut pager, 100, &[Key::End]);
    press(&mut pager, 30, &[Key::PageUp]);
    assert_eq!(place(&pager), (20, 29, Some(30)));
    press(
        &mut pager,
        0,
        &[Key::Home, Key::Enter, Key::Up, Key::PageDown, Key::End],
    );
    assert_eq!(place(&pager), (0, 0, Some(0)));
    assert!(pager.lines.is_empty());
}

#[test]
fn a_resize_keeps_the_chosen_in_view() {
    let mut pager = pager(100);
    press(&mut pager, 100, &[Key::PageDown, Key::PageDown]);
    pager.resize((40, 5));
    answer(&mut pager, 100);
    assert_eq!((place(&pager), pager.lines.len()), ((20, 20, Some(100)), 3));
    press(&mut pager, 100, &[Key::End]);
    pager.resize((200, 52));
    answer(&mut pager, 100);
    assert_eq!(
        (place(&pager), pager.lines.len()),
        ((50, 99, Some(100)), 50)
    );
    for size in [(0, 0), (1, 1), (1, 2), (20, 3)] {
        pager.resize(size);
        answer(&mut pager, 100);
        assert_eq!(pager.lines.len(), 1);
    }
}

#[test]
fn no_keys_lead_astray() {
    let keys = [
        Key::Char('a'),
        Key::Char(' '),
        Key::Char('('),
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
        Key::DropWord,
        Key::Jump,
    ];
    let mut state = 1u64;
    let mut pager = pager(0);
    for _ in 0..20_000 {
        // Knuth's MMIX generator.
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let n = (state >> 33) as usize;
        let contacts = [0, 1, 5, 50, 1_000][n / 100 % 5];
        if n.is_multiple_of(97) {
            pager.resize((n % 7 * 30, n % 5 * 8));
        }
        press(&mut pager, contacts, &[keys[n % keys.len()].clone()]);
        if matches!(pager.mode, Mode::List) && !pager.lines.is_empty() {
            let shown = pager.top..pager.top + pager.lines.len() as u64;
            assert!(shown.contains(&pager.selected), "{pager:?}");
        }
    }
}
