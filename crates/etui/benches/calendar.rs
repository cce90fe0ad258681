#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![allow(missing_docs)]
//! Micro-benchmarks of a calendar: ranges, alarms, the date book.
//!
//! `cargo bench -p etui --bench calendar`. The laboratory's experiments `calendar` and `datebook`
//! compare them with other stores and with plain SQLite.

use std::hint::black_box;
use std::ops::ControlFlow;
use std::time::Duration;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use etui::Store;
use etui::calendar::CalendarObject;
use etui::calendar::time::{TimeZone, Timestamp};
use etui::calendar::zones::TimeZoneResolver;
use etui::datebook::DateBook;
use etui::import::ImportEvent;
use etui_testkit::calendars::{Calendars, Shape, Span, write_ics};
use etui_testkit::rng::SplitMix64;

/// One day in seconds.
const DAY: i64 = 86_400;
/// Events a day.
const A_DAY: usize = 10;

fn store() -> (tempfile::TempDir, Store) {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path().join("personal.etui")).unwrap();
    (dir, store)
}

fn berlin() -> TimeZone {
    TimeZone::named("Europe/Berlin").unwrap()
}

/// Saves `count` records of a span that are wanted.
fn fill(store: &Store, span: Span, count: usize, wanted: impl Fn(Shape) -> bool) {
    let zones = TimeZoneResolver::new();
    let entries = Calendars::over(span.days.into(), span).filter(|e| wanted(e.shape));
    let records: Vec<CalendarObject> = entries
        .take(count)
        .map(|e| CalendarObject::parse(e.text, &zones).unwrap())
        .collect();
    store.calendar().unwrap().save_many(&records).unwrap();
}

/// Imports a usual calendar of `count` records.
fn import(store: &Store, count: u64) {
    let mut ics = Vec::new();
    write_ics(&mut ics, 9, Span::USUAL, count).unwrap();
    let go_on = &mut |_: ImportEvent<'_>| ControlFlow::Continue(());
    store.calendar().unwrap().import(&*ics, go_on).unwrap();
}

/// The occurrences of a week in dense years, alone and beside unbounded series.
fn ranges(c: &mut Criterion) {
    let mut group = c.benchmark_group("a week of 10 events a day");
    for years in [1, 10, 40] {
        let (_dir, store) = store();
        let calendar = store.calendar().unwrap();
        let span = Span {
            endless: Some(0),
            ..Span::years(years)
        };
        let count = years as usize * 365 * A_DAY;
        fill(&store, span, count, |shape| shape != Shape::Recurring);
        let mut rng = SplitMix64::new(5);
        let mut week = || {
            let at = rng.next_u64() % u64::from(span.days - 7);
            let first = Timestamp::from_seconds((span.first_day + at.cast_signed()) * DAY);
            calendar.between(first..first.plus_seconds(7 * DAY), &berlin())
        };
        group.bench_function(format!("{years} years"), |b| b.iter(&mut week));
        let endless = Span {
            endless: Some(1_000),
            ..Span::years(1)
        };
        fill(&store, endless, 1_000, |_| true);
        let name = format!("{years} years beside 1,000 unbounded series");
        group.bench_function(name, |b| b.iter(&mut week));
    }
    group.finish();
}

/// The next ten alarms, ten minutes later each time.
fn alarms(c: &mut Criterion) {
    let mut group = c.benchmark_group("the next 10 alarms");
    for count in [1_600, 12_800, 102_400] {
        let (_dir, store) = store();
        import(&store, count);
        let calendar = store.calendar().unwrap();
        let mut now = Timestamp::from_seconds((Span::USUAL.first_day + 2_000) * DAY);
        group.bench_function(format!("{count} records"), |b| {
            b.iter(|| {
                now = now.plus_seconds(600);
                calendar.alarms(now, 10, &berlin())
            });
        });
    }
    group.finish();
}

/// All records by index, beside a scan of the calendar.
fn date_book(c: &mut Criterion) {
    const COUNT: u64 = 12_800;
    let (_dir, store) = store();
    import(&store, COUNT);
    let calendar = store.calendar().unwrap();
    let mut group = c.benchmark_group("date book");
    group.bench_function("open, peek, close", |b| {
        b.iter(|| {
            let mut book = DateBook::open(&calendar);
            black_box(book.peek(COUNT / 2).unwrap());
            book.close().unwrap();
        });
    });
    group
        .throughput(Throughput::Elements(COUNT))
        .sample_size(20);
    group.bench_function("every record: for_each", |b| {
        b.iter(|| calendar.for_each(|_, text| Ok(_ = black_box(text))));
    });
    let mut book = DateBook::open(&calendar);
    group.bench_function("every record: look", |b| {
        b.iter(|| {
            for index in 0..COUNT {
                book.look(index, |_, text| _ = black_box(text)).unwrap();
            }
        });
    });
    group.bench_function("every record: take and release", |b| {
        b.iter(|| {
            for index in 0..COUNT {
                let taken = book.take(index).unwrap();
                drop(taken);
            }
        });
    });
    group.finish();
}

fn settings() -> Criterion {
    Criterion::default()
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(3))
}

criterion_group! {
    name = benches;
    config = settings();
    targets = ranges, alarms, date_book
}
criterion_main!(benches);
