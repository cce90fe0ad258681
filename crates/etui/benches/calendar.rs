//! Calendars: ranges, alarms and the date book, as an application asks for them.
//!
//! `cargo bench -p etui --bench calendar [-- ranges|alarms|date_book]`
//!
//! Times are medians of a call, its transaction included; every range is another one, drawn by a
//! fixed seed. Warm: the file is in the page cache and every series was asked for before. The
//! slowest of 100 weeks is that with the longest median of five calls.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![allow(missing_docs)]

use std::hint::black_box;
use std::ops::{ControlFlow, Range};
use std::time::{Duration, Instant};

use etui::calendar::time::{TimeZone, Timestamp};
use etui::calendar::zones::TimeZoneResolver;
use etui::calendar::{Calendar, CalendarObject, Column, Query};
use etui::{RecordId, Store};
use etui_testkit::calendars::{Calendars, Shape, Span, write_ics};
use etui_testkit::rng::SplitMix64;

const DAY: i64 = 86_400;
/// Events a day, of dense data.
const A_DAY: u32 = 10;
/// Calls that are timed.
const TIMED: usize = 400;
/// Weeks whose slowest is reported, and the queries of each.
const WEEKS: usize = 100;
const EACH: usize = 5;
/// Days in a hundred years, and the day in their middle: 2026-11-21.
const CENTURY: i64 = 36_525;
const TODAY: i64 = 20_778;

fn main() {
    let parts = [
        ("ranges", ranges as fn()),
        ("alarms", alarms),
        ("date_book", date_book),
    ];
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    let is_wanted = |name: &str| {
        let mut names = wanted.iter().filter(|w| !w.starts_with('-')).peekable();
        names.peek().is_none() || names.any(|w| w == name)
    };
    for (_, part) in parts.iter().filter(|(name, _)| is_wanted(name)) {
        part();
        println!();
    }
}

fn ranges() {
    println!(
        "{:<58} {:>10} {:>10} {:>8}",
        "one call", "median", "p95", "answer"
    );
    let mut medians = Vec::new();
    for years in [1, 10, 40] {
        let (_dir, store) = store();
        let calendar = store.calendar().unwrap();
        let span = Span {
            endless: Some(0),
            ..Span::years(years)
        };
        fill(&calendar, span, u64::from(years * 365 * A_DAY), |s| {
            s != Shape::Recurring
        });
        let row = weeks_of(&calendar, span.first_day, i64::from(span.days) - 7);
        medians.push(row.0);
        print_row(
            &format!("a week of {years} years, {A_DAY} events a day"),
            row,
        );
    }
    let base = medians[1].as_secs_f64();
    let of_base: Vec<_> = medians
        .iter()
        .map(|w| format!("{:.2}", w.as_secs_f64() / base))
        .collect();
    println!("   1, 10, 40 years: {} of 10 years'\n", of_base.join(", "));

    for years in [1, 10, 40] {
        let (_dir, store) = store();
        let calendar = store.calendar().unwrap();
        let span = Span {
            endless: Some(0),
            ..Span::years(years)
        };
        fill(&calendar, span, u64::from(years * 365 * A_DAY), |s| {
            s != Shape::Recurring
        });
        let endless = Span {
            endless: Some(1_000),
            ..Span::years(1)
        };
        fill(&calendar, endless, 1_000, |_| true);
        let row = weeks_of(&calendar, span.first_day, i64::from(span.days) - 7);
        print_row(
            &format!("the same of {years} years with 1,000 unbounded series"),
            row,
        );
        let row = weeks_of(&calendar, TODAY - CENTURY, 2 * CENTURY);
        print_row("   a week within 100 years of today", row);
        let (time, answer) = slowest(&calendar, TODAY - CENTURY, 2 * CENTURY);
        let what = format!("   the slowest of {WEEKS} such weeks");
        println!("{what:<58} {time:>10.1?} {:>10} {answer:>8}", "");
    }
}

fn store() -> (tempfile::TempDir, Store) {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path().join("personal.etui")).unwrap();
    (dir, store)
}

fn fill(calendar: &Calendar<'_>, span: Span, count: u64, wanted: impl Fn(Shape) -> bool) {
    let zones = TimeZoneResolver::new();
    let entries = Calendars::over(span.days.into(), span).filter(|e| wanted(e.shape));
    let records: Vec<CalendarObject> = entries
        .take(usize::try_from(count).unwrap())
        .map(|e| CalendarObject::parse(e.text, &zones).unwrap())
        .collect();
    calendar.save_many(&records).unwrap();
}

/// Median, 95th percentile, and how many records were answered on the average.
type Row = (Duration, Duration, f64);

fn timed(mut call: impl FnMut(usize) -> usize) -> Row {
    let mut times = Vec::with_capacity(TIMED);
    let mut answers = 0;
    for n in 0..TIMED + TIMED / 4 {
        let begin = Instant::now();
        let answer = black_box(call(n));
        if n >= TIMED / 4 {
            times.push(begin.elapsed());
            answers += answer;
        }
    }
    times.sort();
    (
        times[TIMED / 2],
        times[TIMED * 95 / 100],
        answers as f64 / TIMED as f64,
    )
}

/// Weeks that begin on one of `days` days, drawn at random; each was queried once before.
fn weeks(
    calendar: &Calendar<'_>,
    first_day: i64,
    days: i64,
) -> impl Iterator<Item = Range<Timestamp>> {
    let at = |day: i64| Timestamp::from_seconds(day * DAY);
    let all = at(first_day)..at(first_day + days);
    calendar.between_at_most(all, &berlin(), 1).unwrap();
    let mut rng = SplitMix64::new(5);
    std::iter::repeat_with(move || {
        let day = first_day + i64::try_from(rng.next_u64() % days.unsigned_abs()).unwrap();
        at(day)..at(day + 7)
    })
}

fn weeks_of(calendar: &Calendar<'_>, first_day: i64, days: i64) -> Row {
    let berlin = berlin();
    let mut weeks = weeks(calendar, first_day, days);
    timed(|_| {
        let week = weeks.next().unwrap();
        calendar.between(week, &berlin).unwrap().len()
    })
}

/// The time of the slowest week, and how much is in it.
fn slowest(calendar: &Calendar<'_>, first_day: i64, days: i64) -> (Duration, usize) {
    let berlin = berlin();
    let ask = |week: &Range<Timestamp>| {
        let begin = Instant::now();
        let answer = black_box(calendar.between(week.clone(), &berlin).unwrap());
        (begin.elapsed(), answer.len())
    };
    let median = |week: Range<Timestamp>| {
        let mut asked: Vec<_> = (0..EACH).map(|_| ask(&week)).collect();
        asked.sort();
        asked[EACH / 2]
    };
    let weeks = weeks(calendar, first_day, days);
    weeks.take(WEEKS).map(median).max().unwrap()
}

fn berlin() -> TimeZone {
    TimeZone::named("Europe/Berlin").unwrap()
}

fn print_row(what: &str, (median, tail, answer): Row) {
    println!("{what:<58} {:>10.1?} {:>10.1?} {answer:>8.1}", median, tail);
}

fn alarms() {
    let berlin = berlin();
    for count in [1_600, 12_800, 102_400] {
        let (_dir, store) = store();
        let calendar = store.calendar().unwrap();
        let mut ics = Vec::new();
        write_ics(&mut ics, 9, Span::USUAL, count).unwrap();
        let go_on = &mut |_: etui::import::ImportEvent<'_>| ControlFlow::Continue(());
        calendar.import(&*ics, go_on).unwrap();
        let mut now = Span::USUAL.first_day * DAY + 2_000 * DAY;
        let begin = Instant::now();
        calendar
            .alarms(Timestamp::from_seconds(now), 10, &berlin)
            .unwrap();
        let first = begin.elapsed();
        let row = timed(|_| {
            now += 600;
            calendar
                .alarms(Timestamp::from_seconds(now), 10, &berlin)
                .unwrap()
                .len()
        });
        print_row(&format!("the next 10 alarms of {count} records"), row);
        println!("   the first query, which parses the series: {first:.1?}");
    }
}

fn date_book() {
    for count in [100u64, 12_800, 102_400] {
        let (_dir, store) = store();
        let calendar = store.calendar().unwrap();
        let mut ics = Vec::new();
        write_ics(&mut ics, 9, Span::USUAL, count).unwrap();
        let go_on = &mut |_: etui::import::ImportEvent<'_>| ControlFlow::Continue(());
        calendar.import(&*ics, go_on).unwrap();
        let row = timed(|_| {
            let mut book = calendar.date_book().unwrap();
            black_box(book.peek(count / 2).unwrap());
            book.close().unwrap();
            1
        });
        print_row(&format!("date book of {count}: open, peek, close"), row);
        let ids: Vec<RecordId> = calendar.all().unwrap().iter().map(|(id, _)| id).collect();
        let mut book = calendar.date_book().unwrap();
        let per = |begin: Instant| begin.elapsed() / u32::try_from(count).unwrap();
        for _ in 0..2 {
            let begin = Instant::now();
            for id in &ids {
                black_box(calendar.by_id(*id).unwrap());
            }
            let native = per(begin);
            let begin = Instant::now();
            for index in 0..count {
                black_box(book.peek(index).unwrap());
            }
            let peek = per(begin);
            let begin = Instant::now();
            calendar
                .for_each(|_, text| {
                    black_box(text);
                    Ok(())
                })
                .unwrap();
            let all = per(begin);
            let begin = Instant::now();
            for index in 0..count {
                book.look(index, |_, text| {
                    black_box(text);
                })
                .unwrap();
            }
            let look = per(begin);
            let begin = Instant::now();
            let texts = calendar.query(&Query::all().columns(Column::Record));
            for row in texts.unwrap().iter() {
                black_box(row.record());
            }
            let listed = per(begin);
            let begin = Instant::now();
            for index in 0..count {
                let taken = book.take(index).unwrap();
                book.release(taken);
            }
            let clean = per(begin);
            println!(
                "   a record: for_each {all:.1?}, query in the list's order {listed:.1?}, look \
                 {look:.1?}; by_id {native:.1?}, peek {peek:.1?}, take and release {clean:.1?}"
            );
        }
        if count <= 12_800 {
            let zones = TimeZoneResolver::new();
            let records: Vec<CalendarObject> = (0..count)
                .map(|i| {
                    let mut record = book.take(i).unwrap().record().unwrap();
                    record.set(0, "PRIORITY", "3", &zones).unwrap();
                    record
                })
                .collect();
            let begin = Instant::now();
            for (index, record) in (0..).zip(records) {
                let taken = book.take(index).unwrap();
                book.release_dirty(taken, record).unwrap();
            }
            let dirty = per(begin);
            let begin = Instant::now();
            book.sync().unwrap();
            println!(
                "   take and release dirty {dirty:.1?} a record, sync {:.1?} a record",
                per(begin)
            );
        }
    }
}
