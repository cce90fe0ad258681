//! Effects of keys on the state.

#![allow(clippy::unwrap_used, clippy::panic)]

use etui::contacts::Field;

use super::*;

type PagerState = super::PagerState<Field>;
type PagerRequest = super::PagerRequest<Field>;

/// Answers requests for an address book of this size; a filter matches every tenth contact.
fn answer(pager: &mut PagerState, contacts: u64) -> Vec<PagerRequest> {
    let mut wants = Vec::new();
    while let Some(want) = pager.next_request() {
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
                let lines = (*offset..end).map(|n| ListLine {
                    id: RecordId(n as i64),
                    cells: vec![format!("Name {n}")],
                });
                let total = is_all.then_some(contacts);
                pager.set_page(lines.collect(), total, Duration::from_micros(100));
            }
            PagerRequest::Count(_) => pager.set_count(contacts / 10),
            PagerRequest::Landmarks => pager.set_landmarks(letters()),
            PagerRequest::Details(id) => {
                pager.set_details(Some((format!("Name {}", id.0), Vec::new())))
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

fn position(pager: &PagerState) -> (u64, u64, Option<u64>) {
    (pager.top, pager.selected, pager.total)
}

/// Returns a pager with ten rows.
fn pager(contacts: u64) -> PagerState {
    let mut pager = PagerState::new("Contacts", (80, 12));
    answer(&mut pager, contacts);
    pager
}

fn press_keys(pager: &mut PagerState, contacts: u64, keys: &[PagerKey]) -> Vec<PagerRequest> {
    let mut wants = Vec::new();
    for key in keys {
        pager.handle_key(key.clone());
        wants.extend(answer(pager, contacts));
    }
    wants
}

fn type_text(pager: &mut PagerState, contacts: u64, text: &str) -> Vec<PagerRequest> {
    let keys: Vec<_> = text.chars().map(PagerKey::Char).collect();
    press_keys(pager, contacts, &keys)
}

#[test]
fn only_the_visible_page_is_requested() {
    let mut pager = PagerState::new("Contacts", (80, 12));
    let wants = answer(&mut pager, 12_800);
    assert_eq!(
        wants,
        [PagerRequest::Page {
            filter: Filter::All,
            offset: 0,
            limit: 11
        }]
    );
    assert_eq!(position(&pager), (0, 0, Some(12_800)));
    assert_eq!(pager.lines.len(), 10);
    for wants in [
        press_keys(&mut pager, 12_800, &[PagerKey::End]),
        type_text(&mut pager, 12_800, "a"),
        press_keys(&mut pager, 12_800, &[PagerKey::PageDown]),
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
    assert!(press_keys(&mut pager, 25, &[PagerKey::Down, PagerKey::Down]).is_empty());
    assert_eq!(position(&pager), (0, 2, Some(25)));
    press_keys(&mut pager, 25, &[PagerKey::Up, PagerKey::Up, PagerKey::Up]);
    assert_eq!(position(&pager), (0, 0, Some(25)));
    press_keys(&mut pager, 25, &[PagerKey::PageDown]);
    assert_eq!(position(&pager), (10, 10, Some(25)));
    press_keys(&mut pager, 25, &[PagerKey::PageDown, PagerKey::PageDown]);
    assert_eq!(position(&pager), (15, 24, Some(25)));
    press_keys(&mut pager, 25, &[PagerKey::Down, PagerKey::Char(' ')]);
    assert_eq!(position(&pager), (15, 24, Some(25)));
    press_keys(&mut pager, 25, &[PagerKey::PageUp]);
    assert_eq!(position(&pager), (5, 14, Some(25)));
    press_keys(&mut pager, 25, &[PagerKey::Home]);
    assert_eq!(position(&pager), (0, 0, Some(25)));
    press_keys(&mut pager, 25, &[PagerKey::End, PagerKey::Up]);
    assert_eq!(position(&pager), (15, 23, Some(25)));
}

#[test]
fn a_search_has_its_own_position() {
    let mut pager = pager(1_000);
    press_keys(&mut pager, 1_000, &[PagerKey::PageDown, PagerKey::Down]);
    type_text(&mut pager, 1_000, "qu");
    assert!(pager.is_done(), "q quits when nothing is searched for");

    let mut pager = self::pager(1_000);
    press_keys(&mut pager, 1_000, &[PagerKey::PageDown, PagerKey::Down]);
    type_text(&mut pager, 1_000, "/qu");
    assert!(!pager.is_done());
    assert_eq!(pager.text, "qu");
    // A hundred matches; the number is known once the end was reached.
    assert_eq!(position(&pager), (0, 0, None));
    assert!(pager.more);
    press_keys(&mut pager, 1_000, &[PagerKey::PageDown]);
    assert_eq!(position(&pager), (10, 10, None));
    let wants = press_keys(&mut pager, 1_000, &[PagerKey::End]);
    assert!(matches!(wants[0], PagerRequest::Count(_)));
    assert_eq!(position(&pager), (90, 99, Some(100)));
    press_keys(&mut pager, 1_000, &[PagerKey::Backspace]);
    assert_eq!((position(&pager), pager.text.as_str()), ((0, 0, None), "q"));
    press_keys(&mut pager, 1_000, &[PagerKey::Escape]);
    assert_eq!(position(&pager), (10, 11, Some(1_000)));
    assert!(!pager.searching);
}

#[test]
fn an_incomplete_filter_keeps_the_list() {
    let mut pager = pager(1_000);
    type_text(&mut pager, 1_000, "name");
    assert_eq!(pager.problem, None);
    assert!(type_text(&mut pager, 1_000, ":").is_empty());
    assert!(pager.problem.is_some());
    assert!(pager.is_search());
    type_text(&mut pager, 1_000, "x");
    assert_eq!(pager.problem, None);
    assert!(type_text(&mut pager, 1_000, " ").is_empty());
    press_keys(&mut pager, 1_000, &[PagerKey::Text("y\nz".to_owned())]);
    assert_eq!(pager.text, "name:x y z");
    press_keys(&mut pager, 1_000, &[PagerKey::DeleteWord]);
    assert_eq!(pager.text, "name:x y ");
    press_keys(&mut pager, 1_000, &[PagerKey::DeleteAll]);
    assert_eq!(pager.text, "");
    assert_eq!(position(&pager), (0, 0, Some(1_000)));
}

#[test]
fn letters_go_to_their_names() {
    let mut pager = pager(100);
    let wants = press_keys(&mut pager, 100, &[PagerKey::Jump]);
    assert_eq!(wants, [PagerRequest::Landmarks]);
    assert!(matches!(pager.mode, PagerMode::Jump(_)));
    press_keys(&mut pager, 100, &[PagerKey::Char('b')]);
    assert_eq!(position(&pager), (40, 40, Some(100)));
    press_keys(&mut pager, 100, &[PagerKey::Right]);
    assert_eq!(position(&pager), (70, 70, Some(100)));
    press_keys(&mut pager, 100, &[PagerKey::Right]);
    assert_eq!(position(&pager), (90, 99, Some(100)));
    press_keys(
        &mut pager,
        100,
        &[PagerKey::Left, PagerKey::Left, PagerKey::Left],
    );
    assert_eq!(position(&pager), (2, 2, Some(100)));
    press_keys(&mut pager, 100, &[PagerKey::Left]);
    assert_eq!(position(&pager), (0, 0, Some(100)));
    press_keys(&mut pager, 100, &[PagerKey::Jump, PagerKey::Char('z')]);
    assert_eq!(pager.message.as_deref(), Some("No Z."));
    press_keys(&mut pager, 100, &[PagerKey::Jump, PagerKey::Escape]);
    assert!(matches!(pager.mode, PagerMode::List));
    // From a search, too.
    type_text(&mut pager, 100, "ann");
    press_keys(&mut pager, 100, &[PagerKey::Jump, PagerKey::Char('ö')]);
    assert_eq!(position(&pager), (70, 70, Some(100)));
    assert_eq!(pager.text, "");
}

#[test]
fn a_contact_is_shown_until_a_key() {
    let mut pager = pager(100);
    let wants = press_keys(&mut pager, 100, &[PagerKey::Down, PagerKey::Enter]);
    assert_eq!(wants, [PagerRequest::Details(RecordId(1))]);
    assert!(matches!(pager.mode, PagerMode::Details(_)));
    press_keys(&mut pager, 100, &[PagerKey::Char('q')]);
    assert!(matches!(pager.mode, PagerMode::List));
    assert!(!pager.is_done());

    pager.handle_key(PagerKey::Enter);
    pager.set_details(None);
    assert!(pager.message.is_some());
    press_keys(&mut pager, 100, &[PagerKey::Enter, PagerKey::Quit]);
    assert!(pager.is_done());
}

#[test]
fn a_shorter_list_moves_the_position() {
    let mut pager = pager(100);
    press_keys(&mut pager, 100, &[PagerKey::End]);
    press_keys(&mut pager, 30, &[PagerKey::PageUp]);
    assert_eq!(position(&pager), (20, 29, Some(30)));
    press_keys(
        &mut pager,
        0,
        &[
            PagerKey::Home,
            PagerKey::Enter,
            PagerKey::Up,
            PagerKey::PageDown,
            PagerKey::End,
        ],
    );
    assert_eq!(position(&pager), (0, 0, Some(0)));
    assert!(pager.lines.is_empty());
}

#[test]
fn a_resize_keeps_the_selected_record_visible() {
    let mut pager = pager(100);
    press_keys(&mut pager, 100, &[PagerKey::PageDown, PagerKey::PageDown]);
    pager.resize((40, 5));
    answer(&mut pager, 100);
    assert_eq!(
        (position(&pager), pager.lines.len()),
        ((20, 20, Some(100)), 3)
    );
    press_keys(&mut pager, 100, &[PagerKey::End]);
    pager.resize((200, 52));
    answer(&mut pager, 100);
    assert_eq!(
        (position(&pager), pager.lines.len()),
        ((50, 99, Some(100)), 50)
    );
    for size in [(0, 0), (1, 1), (1, 2), (20, 3)] {
        pager.resize(size);
        answer(&mut pager, 100);
        assert_eq!(pager.lines.len(), 1);
    }
}

#[test]
fn any_keys_keep_the_selection_visible() {
    let keys = [
        PagerKey::Char('a'),
        PagerKey::Char(' '),
        PagerKey::Char('('),
        PagerKey::Text("é\u{301}".to_owned()),
        PagerKey::Up,
        PagerKey::Down,
        PagerKey::Left,
        PagerKey::Right,
        PagerKey::PageUp,
        PagerKey::PageDown,
        PagerKey::Home,
        PagerKey::End,
        PagerKey::Enter,
        PagerKey::Backspace,
        PagerKey::Escape,
        PagerKey::DeleteWord,
        PagerKey::Jump,
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
        press_keys(&mut pager, contacts, &[keys[n % keys.len()].clone()]);
        if matches!(pager.mode, PagerMode::List) && !pager.lines.is_empty() {
            let shown = pager.top..pager.top + pager.lines.len() as u64;
            assert!(shown.contains(&pager.selected), "{pager:?}");
        }
    }
}
