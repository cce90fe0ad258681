//! Effects of keys on the state.

#![allow(clippy::unwrap_used, clippy::panic)]

use etui::calendar::time::CalendarTime;

use super::super::super::days::{EntryMark, EntrySource};
use super::*;

/// Wednesday, 25 November 2026, 10:00.
pub fn now() -> DateTime {
    DateTime::new(2026, 11, 25, 10, 0, 0).unwrap()
}

pub fn day(day: u32) -> Date {
    Date::new(2026, 11, day).unwrap()
}

pub fn entry(id: i64, title: &str, on: Date, hours: Option<(u32, u32)>) -> AgendaEntry {
    let at = |hour| on.at(hour, 0, 0).unwrap();
    let (starts, ends) = match hours {
        Some((from, to)) => (at(from), at(to)),
        None => (on.midnight(), on.plus_days(1).midnight()),
    };
    AgendaEntry {
        id: Some(id),
        starts,
        ends,
        all_day: hours.is_none(),
        title: title.to_owned(),
        place: String::new(),
        calendar: None,
        color: None,
        is_recurring: false,
        source: Some(EntrySource {
            id: RecordId(id),
            calendar: 0,
            instance: None,
        }),
        mark: EntryMark::Confirmed,
        done: None,
    }
}

pub fn entries() -> Vec<AgendaEntry> {
    let mut series = entry(3, "Jour fixe", day(26), Some((9, 10)));
    series.is_recurring = true;
    series.place = "Room 4".to_owned();
    if let Some(source) = &mut series.source {
        source.instance = Some(CalendarTime::Floating(series.starts));
    }
    let mut todo = entry(4, "Buy milk", day(25), None);
    todo.done = Some(false);
    let mut birthday = entry(0, "Ada Lovelace, birthday (40)", day(28), None);
    (birthday.id, birthday.source) = (None, None);
    let mut late = entry(7, "Party", day(28), Some((21, 22)));
    late.ends = day(29).at(2, 0, 0).unwrap();
    late.mark = EntryMark::Tentative;
    let mut off = entry(6, "Reunión with 山田 太郎 👩‍🔬", day(25), Some((15, 16)));
    off.mark = EntryMark::Cancelled;
    vec![
        entry(1, "Dentist", day(25), Some((8, 9))),
        entry(2, "Lunch with Bob", day(25), Some((12, 13))),
        series,
        todo,
        birthday,
        off,
        late,
        entry(8, "First of the month", day(1), None),
        entry(9, "Christmas", Date::new(2026, 12, 25).unwrap(), None),
    ]
}

pub fn agenda(view: AgendaView, size: (usize, usize)) -> AgendaState {
    let options = AgendaOptions {
        name: "Calendar".to_owned(),
        target: "Calendar".to_owned(),
        first_weekday: Weekday::Monday,
        phrase_example: "Lunch with Bob tomorrow 12:30",
    };
    let mut agenda = AgendaState::new(options, view, day(25), now(), size);
    answer(&mut agenda);
    agenda
}

/// Answers requests; every search finds the dentist.
pub fn answer(agenda: &mut AgendaState) -> Vec<AgendaRequest> {
    let mut wants = Vec::new();
    while let Some(want) = agenda.next_request() {
        assert!(wants.len() < 10, "{wants:?}");
        match &want {
            AgendaRequest::Load(first, last) => agenda.set_entries(&entries(), (*first, *last)),
            AgendaRequest::Find { words, .. } => {
                let starts = day(25).at(8, 0, 0).unwrap();
                let found = (words == "dentist").then_some((day(25), RecordId(1), starts));
                agenda.set_found(found);
            }
            AgendaRequest::Details(subject) => {
                let rows = vec![("When".to_owned(), "Wed 25 Nov 2026, 12:00-13:00".to_owned())];
                agenda
                    .dialogs
                    .set_details(Some((subject.title.clone(), rows)));
            }
            AgendaRequest::Preview(_, text) => {
                let rows = vec![("Title".to_owned(), text.clone())];
                agenda.dialogs.set_preview(Preview::Rows(rows));
            }
        }
        wants.push(want);
    }
    wants
}

/// Presses keys; returns the action of the last one.
pub fn press(agenda: &mut AgendaState, keys: &str) -> Option<Action> {
    let mut action = None;
    for c in keys.chars() {
        assert_eq!(action, None, "{keys}");
        action = agenda.handle_key(&match c {
            '\r' => Key::Enter,
            '\t' => Key::Tab,
            '\u{1b}' => Key::Escape,
            '←' => Key::Left,
            '→' => Key::Right,
            '↑' => Key::Up,
            '↓' => Key::Down,
            c => Key::Char(c),
        });
        answer(agenda);
    }
    action
}

fn selected(agenda: &AgendaState) -> (Date, &str) {
    let title = agenda
        .selected_entry()
        .map_or("", |entry| entry.title.as_str());
    (agenda.day, title)
}

#[test]
fn the_selection_moves_through_the_days() {
    let mut agenda = agenda(AgendaView::Week, (80, 24));
    assert_eq!(selected(&agenda), (day(25), "Buy milk"));
    press(&mut agenda, "jj");
    assert_eq!(selected(&agenda), (day(25), "Lunch with Bob"));
    press(&mut agenda, "jj");
    assert_eq!(selected(&agenda), (day(26), "Jour fixe"));
    press(&mut agenda, "j");
    assert_eq!(selected(&agenda), (day(27), ""));
    press(&mut agenda, "kk");
    assert_eq!(selected(&agenda), (day(25), "Reunión with 山田 太郎 👩‍🔬"));
    press(&mut agenda, "G");
    assert_eq!(selected(&agenda), (day(29), "Party"));
    // After the last day, the next week.
    press(&mut agenda, "j");
    assert_eq!(selected(&agenda), (day(30), ""));
    press(&mut agenda, "k");
    assert_eq!(selected(&agenda), (day(29), "Party"));
    press(&mut agenda, "g");
    assert_eq!(selected(&agenda), (day(23), ""));
    press(&mut agenda, "]");
    assert_eq!(agenda.day, day(30));
    press(&mut agenda, "←t");
    assert_eq!(selected(&agenda), (day(25), "Buy milk"));
}

#[test]
fn a_month_moves_by_days_and_weeks() {
    let mut agenda = agenda(AgendaView::Month, (80, 24));
    assert_eq!(
        agenda.span(),
        (
            Date::new(2026, 10, 26).unwrap(),
            Date::new(2026, 12, 6).unwrap()
        )
    );
    press(&mut agenda, "→↓");
    assert_eq!(agenda.day, Date::new(2026, 12, 3).unwrap());
    press(&mut agenda, "[");
    assert_eq!(agenda.day, day(3));
    press(&mut agenda, "G");
    assert_eq!(agenda.day, day(30));
    press(&mut agenda, "gh");
    assert_eq!(agenda.day, Date::new(2026, 10, 31).unwrap());
    press(&mut agenda, "t\t");
    assert_eq!(selected(&agenda), (day(25), "Dentist"));
    press(&mut agenda, "\t\t\t");
    assert_eq!(selected(&agenda), (day(25), "Buy milk"));
    // Enter shows the day, and q goes back.
    press(&mut agenda, "\r");
    assert_eq!(agenda.view, AgendaView::Day);
    press(&mut agenda, "q");
    assert_eq!((agenda.view, agenda.is_done()), (AgendaView::Month, false));
    press(&mut agenda, "Dq");
    assert!(agenda.is_done());
}

#[test]
fn days_are_read_once() {
    let mut agenda = agenda(AgendaView::Week, (80, 24));
    for (keys, loads) in [
        ("jjj", 0),
        ("]", 1),
        ("M", 1),
        ("→", 0),
        ("]", 1),
        ("?q", 0),
    ] {
        let mut wants = 0;
        for c in keys.chars() {
            let key = if c == '→' { Key::Right } else { Key::Char(c) };
            agenda.handle_key(&key);
            wants += answer(&mut agenda).len();
        }
        assert_eq!(wants, loads, "{keys}");
    }
    agenda.reload();
    assert_eq!(answer(&mut agenda).len(), 1);
}

#[test]
fn changes_are_asked_for() {
    let mut agenda = agenda(AgendaView::Week, (80, 24));
    let subject = |id, title: &str| Subject {
        id: RecordId(id),
        collection: 0,
        instance: None,
        title: title.to_owned(),
    };
    let milk = subject(4, "[ ] Buy milk");
    assert_eq!(
        press(&mut agenda, " "),
        Some(Action::ToggleDone(milk.clone()))
    );
    assert_eq!(press(&mut agenda, "E"), Some(Action::Edit(milk.clone())));
    assert_eq!(press(&mut agenda, "dn"), None);
    assert_eq!(press(&mut agenda, "dy"), Some(Action::Remove(milk)));
    // Of a series, one time or all.
    press(&mut agenda, "jjjj");
    let series = agenda.subject().unwrap();
    assert!(series.instance.is_some());
    assert_eq!(press(&mut agenda, "dy"), None);
    assert_eq!(
        press(&mut agenda, "dt"),
        Some(Action::SkipInstance(series.clone()))
    );
    assert_eq!(press(&mut agenda, "da"), Some(Action::Remove(series)));
    // A birthday is changed in its contact.
    press(&mut agenda, "jj");
    assert_eq!(selected(&agenda).1, "Ada Lovelace, birthday (40)");
    assert_eq!(press(&mut agenda, "E"), None);
    assert!(agenda.dialogs.message().unwrap().contains("contacts"));
    // A new entry is on the selected day.
    let added = press(&mut agenda, "aLunch\r");
    assert_eq!(added, Some(Action::Add("Lunch".to_owned(), Some(day(28)))));
    agenda.dialogs.close_prompt();
    assert_eq!(press(&mut agenda, "u"), Some(Action::Undo));
    // In details, too.
    assert_eq!(press(&mut agenda, "kkk\r"), None);
    assert!(!agenda.dialogs.is_empty());
    assert!(matches!(press(&mut agenda, "E"), Some(Action::Edit(_))));
}

#[test]
fn days_and_words_are_gone_to() {
    let mut agenda = agenda(AgendaView::Week, (80, 24));
    press(&mut agenda, ":25.12.\r");
    assert_eq!(
        selected(&agenda),
        (Date::new(2026, 12, 25).unwrap(), "Christmas")
    );
    // Not a day: the prompt stays.
    press(&mut agenda, ":xyz\r");
    assert!(!agenda.dialogs.is_empty());
    press(&mut agenda, "\u{1b}/dentist\r");
    assert_eq!(selected(&agenda), (day(25), "Dentist"));
    press(&mut agenda, "tjn");
    assert_eq!(selected(&agenda), (day(25), "Dentist"));
    press(&mut agenda, "/nobody\r");
    assert_eq!(
        agenda.dialogs.message(),
        Some("Nothing more with \"nobody\".")
    );
}

#[test]
fn the_selected_entry_stays_selected() {
    let mut agenda = agenda(AgendaView::Day, (80, 24));
    press(&mut agenda, "jj");
    assert_eq!(selected(&agenda).1, "Lunch with Bob");
    agenda.reload();
    let mut all = entries();
    all.retain(|entry| entry.title != "Dentist");
    agenda.set_entries(&all, (day(25), day(25)));
    assert_eq!(selected(&agenda).1, "Lunch with Bob");
    // A new one is selected, on its day.
    agenda.reload_at(RecordId(3), Some(day(26)));
    answer(&mut agenda);
    assert_eq!(selected(&agenda), (day(26), "Jour fixe"));
    // One that was removed is not.
    agenda.reload();
    agenda.set_entries(&[], (day(26), day(26)));
    assert_eq!(selected(&agenda), (day(26), ""));
}

#[test]
fn any_keys_keep_the_selection_visible() {
    let keys: Vec<char> = "jkgG[]tDWMhl\t\r\u{1b}ad/:nN?yu ←→↑↓".chars().collect();
    let mut agenda = agenda(AgendaView::Month, (80, 24));
    let mut state = 1u64;
    for _ in 0..4_000 {
        // Knuth's MMIX generator.
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let n = (state >> 33) as usize;
        if n.is_multiple_of(53) {
            agenda.resize((n % 7 * 30, n % 5 * 8));
        }
        if n.is_multiple_of(89) {
            agenda.reload();
            answer(&mut agenda);
        }
        press(&mut agenda, &keys[n % keys.len()].to_string());
        let rows = agenda.list_rows();
        let at = rows
            .iter()
            .position(|row| agenda.is_selected(*row))
            .unwrap();
        let height = super::super::view::list_height(&agenda);
        if agenda.dialogs.is_empty() && height > 0 {
            assert!(
                (agenda.top..agenda.top + height).contains(&at),
                "{agenda:?}"
            );
        }
    }
}

#[test]
fn the_limits_of_dates() {
    for (limit, key) in [(Date::MAX, "]"), (Date::MIN, "[")] {
        for view in [AgendaView::Day, AgendaView::Week, AgendaView::Month] {
            let mut agenda = agenda(view, (80, 24));
            agenda.select_day(limit);
            answer(&mut agenda);
            press(&mut agenda, key);
            press(&mut agenda, "GgGjk→←");
        }
    }
}
