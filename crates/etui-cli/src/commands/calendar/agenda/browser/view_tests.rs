//! The screen as text.

#![allow(clippy::unwrap_used, clippy::panic)]

use ratatui::Terminal;
use ratatui::backend::TestBackend;

use super::super::state::tests::{agenda, press};
use super::*;
use crate::terminal::{screen_text, to_cell};

/// Returns the screen as text; a wide character takes two cells.
fn text(agenda: &AgendaState) -> String {
    let (columns, rows) = agenda.size();
    let backend = TestBackend::new(to_cell(columns), to_cell(rows));
    let mut terminal = Terminal::new(backend).unwrap();
    terminal.draw(|frame| draw_agenda(agenda, frame)).unwrap();
    screen_text(terminal.backend().buffer())
}

#[test]
fn a_month() {
    insta::assert_snapshot!(text(&agenda(AgendaView::Month, (80, 24))), @"
    November 2026   Calendar
     Mon        Tue        Wed        Thu        Fri        Sat        Sun
     26         27         28         29         30         31          1
                                                                       First of…
      2          3          4          5          6          7          8

      9         10         11         12         13         14         15

     16         17         18         19         20         21         22

     23         24        >25*    +3  26         27         28     +1  29
                           [ ] Buy …  Jour fixe             Ada Love…  Party
     30          1          2          3          4          5          6

    Wednesday, 25 November 2026, today
    >     all day  [ ] Buy milk  #4
      08:00-09:00  Dentist  #1
      12:00-13:00  Lunch with Bob  #2
      15:00-16:00  Reunión with 山田 太郎 👩‍🔬 (cancelled)  #6




    ?: keys   Enter: show   a: add   D W M: view   t: today   q: quit
    ");
    insta::assert_snapshot!(text(&agenda(AgendaView::Month, (120, 24))), @"
    November 2026   Calendar
     Mon       Tue       Wed       Thu       Fri       Sat       Sun        Wednesday, 25 November 2026, today
     26        27        28        29        30        31         1         >     all day  [ ] Buy milk
                                                                 First o…     08:00-09:00  Dentist
                                                                              12:00-13:00  Lunch with Bob
      2         3         4         5         6         7         8           15:00-16:00  Reunión with 山田 太… (cancelled)


      9        10        11        12        13        14        15


     16        17        18        19        20        21        22


     23        24       >25*   +2  26        27        28        29
                         [ ] Buy…  Jour fi…            Ada Lov…  Party
                         Dentist                       Party
     30         1         2         3         4         5         6





    ?: keys   Enter: show   a: add   D W M: view   t: today   q: quit
    ");
}

#[test]
fn a_narrow_month() {
    insta::assert_snapshot!(text(&agenda(AgendaView::Month, (40, 14))), @"
    November 2026   Calendar
     Mon  Tue  Wed  Thu  Fri  Sat  Sun
     26   27   28   29   30   31    1•
      2    3    4    5    6    7    8
      9   10   11   12   13   14   15
     16   17   18   19   20   21   22
     23   24  >25*+ 26•  27   28•• 29•
     30    1    2    3    4    5    6
    Wednesday, 25 November 2026, today
    >     all day  [ ] Buy milk
      08:00-09:00  Dentist
      12:00-13:00  Lunch with Bob
      15:00-16:00  Reunión with… (cancelled)
    ?: keys   Enter: show   a: add
    ");
    insta::assert_snapshot!(text(&agenda(AgendaView::Month, (30, 8))), @"
    November 2026   Calendar
     Mo  Tu  We  Th  Fr  Sa  Su
     16  17  18  19  20  21  22
     23  24 >25* 26• 27  28+ 29•
    Wednesday, 25 November 2026, …
    >     all day  [ ] Buy milk
      08:00-09:00  Dentist
    ?: keys   Enter: show   a: add
    ");
}

#[test]
fn a_week() {
    insta::assert_snapshot!(text(&agenda(AgendaView::Week, (80, 20))), @"
    Week 48, Mon 23 Nov 2026 to Sun 29 Nov 2026   Calendar
    Monday, 23 November 2026
      nothing
    Tuesday, 24 November 2026
      nothing
    Wednesday, 25 November 2026, today
    >     all day  [ ] Buy milk  #4
      08:00-09:00  Dentist  #1
      12:00-13:00  Lunch with Bob  #2
      15:00-16:00  Reunión with 山田 太郎 👩‍🔬 (cancelled)  #6
    Thursday, 26 November 2026, tomorrow
      09:00-10:00  Jour fixe ↻  Room 4  #3
    Friday, 27 November 2026
      nothing
    Saturday, 28 November 2026
          all day  Ada Lovelace, birthday (40)
        21:00-...  Party (tentative)  #7
    Sunday, 29 November 2026
        ...-02:00  Party (tentative)  #7
    ?: keys   Enter: show   a: add   D W M: view   t: today   q: quit
    ");
    insta::assert_snapshot!(text(&agenda(AgendaView::Week, (40, 10))), @"
    Week 48, Mon 23 Nov 2026 to Sun 29 Nov …
    Monday, 23 November 2026
      nothing
    Tuesday, 24 November 2026
      nothing
    Wednesday, 25 November 2026, today
    >     all day  [ ] Buy milk
      08:00-09:00  Dentist
      12:00-13:00  Lunch with Bob
    ?: keys   Enter: show   a: add
    ");
}

#[test]
fn a_week_of_hours() {
    insta::assert_snapshot!(text(&agenda(AgendaView::Week, (110, 26))), @"
    Week 48, Mon 23 Nov 2026 to Sun 29 Nov 2026   Calendar
            Mon 23        Tue 24        Wed 25*       Thu 26        Fri 27        Sat 28        Sun 29
    all day                             [ ] Buy milk                              Ada Lovelace…
    03:00 ↑
    04:00
    05:00
    06:00
    07:00
    08:00                               ▌Dentist
    09:00                                             ▌Jour fixe
    10:00
    11:00
    12:00                               ▌Lunch with…
    13:00
    14:00
    15:00                               ▌Reunión wi…
    16:00
    17:00
    18:00
    19:00
    20:00
    21:00                                                                         ▌Party
    22:00                                                                         ▌
    23:00                                                                         ▌
          all day  [ ] Buy milk  #4
    ?: keys   Enter: show   a: add   D W M: view   t: today   q: quit
    ");
    let mut week = agenda(AgendaView::Week, (110, 12));
    press(&mut week, "lll");
    insta::assert_snapshot!(text(&week), @"
    Week 48, Mon 23 Nov 2026 to Sun 29 Nov 2026   Calendar
            Mon 23        Tue 24        Wed 25*       Thu 26        Fri 27        Sat 28        Sun 29
    all day                             [ ] Buy milk                              Ada Lovelace…
    08:00 ↑                             ▌Dentist
    09:00                                             ▌Jour fixe
    10:00
    11:00
    12:00                               ▌Lunch with…
    13:00
    14:00 ↓
          all day  Ada Lovelace, birthday (40)
    ?: keys   Enter: show   a: add   D W M: view   t: today   q: quit
    ");
}

#[test]
fn a_day() {
    insta::assert_snapshot!(text(&agenda(AgendaView::Day, (60, 8))), @"
    Wednesday, 25 November 2026, today   Calendar
    >     all day  [ ] Buy milk  #4
      08:00-09:00  Dentist  #1
      12:00-13:00  Lunch with Bob  #2
      15:00-16:00  Reunión with 山田 太郎 👩‍🔬 (cancelled)  #6


    ?: keys   Enter: show   a: add   D W M: view   t: today
    ");
}

#[test]
fn a_new_entry_is_shown_before_it_is_saved() {
    let mut agenda = agenda(AgendaView::Week, (60, 14));
    press(&mut agenda, "a");
    insta::assert_snapshot!(text(&agenda), @"
    Week 48, Mon 23 Nov 2026 to Sun 29 Nov 2026   Calendar
    Monday, 23 November 2026
      nothing
    Tuesday, 24 November 2026
      nothing
    Wednesday, 25 November 2026, today
    >     all day  [ ] Buy milk  #4
      08:00-09:00  Dentist  #1
      12:00-13:00  Lunch with Bob  #2
      15:00-16:00  Reunión with 山田 太郎 👩‍🔬 (cancelled)  #6
    ── New entry in Calendar, Wednesday, 25 November 2026 ──────

      Lunch with Bob tomorrow 12:30
    Enter: save   Ctrl-O: editor   Esc: cancel
    ");
    press(&mut agenda, "Lunch with Bob");
    insta::assert_snapshot!(text(&agenda), @"
    Week 48, Mon 23 Nov 2026 to Sun 29 Nov 2026   Calendar
    Monday, 23 November 2026
      nothing
    Tuesday, 24 November 2026
      nothing
    Wednesday, 25 November 2026, today
    >     all day  [ ] Buy milk  #4
      08:00-09:00  Dentist  #1
      12:00-13:00  Lunch with Bob  #2
      15:00-16:00  Reunión with 山田 太郎 👩‍🔬 (cancelled)  #6
    ── New entry in Calendar, Wednesday, 25 November 2026 ──────
    Lunch with Bob
      Title  Lunch with Bob
    Enter: save   Ctrl-O: editor   Esc: cancel
    ");
}

#[test]
fn the_keys() {
    let mut agenda = agenda(AgendaView::Week, (80, 24));
    press(&mut agenda, "?");
    insta::assert_snapshot!(text(&agenda), @"
    Keys
    D, W, M    day, week, month
    [, ]       previous, next day, week or month; also PgUp, PgDn
    arrows     move; also h, j, k, l
    g, G       first, last; also Home, End
    t          today
    :          go to a day in words: next friday, 24.12.; also Ctrl-G
    /          find the next entry with some words; n: the next one, N: the one
               before
    Tab        next entry of the day; Shift-Tab: the one before
    Enter      show the entry; in a month: show the day
    Space      complete a to-do, or open it again
    m          move to another day or time; of a series, one or all
    s          skip this time of a series
    a          add: a new entry in one phrase, or with Ctrl-O in the editor
    e          edit the fields
    E          edit the text in $VISUAL or $EDITOR
    d          remove, after a question
    u          undo the last change made here; again: the one before
    y, c       copy the text or a value to the terminal's clipboard
    Ctrl-Z     suspend; fg continues
    Ctrl-L     draw the screen again
    q, Ctrl-C  quit; q: back from a page
    any other key: back
    ");
}

#[test]
fn a_removal_of_a_series() {
    let mut agenda = agenda(AgendaView::Week, (60, 14));
    press(&mut agenda, "jjjjd");
    insta::assert_snapshot!(text(&agenda), @"
    Week 48, Mon 23 Nov 2026 to Sun 29 Nov 2026   Calendar
    Monday, 23 November 2026
      nothing
    Tuesday, 24 November 2026
      nothing
    Wednesday, 25 November 2026, today
          all day  [ ] Buy milk  #4
      08:00-09:00  Dentist  #1
      12:00-13:00  Lunch with Bob  #2
      15:00-16:00  Reunión with 山田 太郎 👩‍🔬 (cancelled)  #6
    Thursday, 26 November 2026, tomorrow
    ────────────────────────────────────────────────────────────
    Remove Jour fixe?
    t: this time only   a: all times   any other key: cancel
    ");
}

#[test]
fn every_size_is_drawn() {
    for columns in 0..140 {
        for rows in 0..26 {
            if rows > 9 && columns % 9 > 0 {
                continue;
            }
            for keys in ["M", "W", "D", "W?", "Wa", "Wd", "D\r"] {
                let mut agenda = agenda(AgendaView::Month, (columns, rows));
                press(&mut agenda, keys);
                text(&agenda);
            }
        }
    }
}
