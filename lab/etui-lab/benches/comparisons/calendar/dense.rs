//! Ranges in years of dense data, with and without events that recur without end: a week in the
//! middle of the data, and weeks spread over the hundred years before and after one day.

use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;

use etui::Durability;
use etui::calendar::CalendarObject;
use etui::calendar::time::TimeZone;
use etui_testkit::calendars::{Calendars, Span};

use super::data::{self, DAY, range_instants};
use super::plain::{self, PlainCalendar};
use super::{FILLED_ETUI, FILLED_PLAIN, report, works};
use etui_lab::Error;
use etui_lab::experiments::backends::etui::{EtuiBackend, store_options};
use etui_lab::experiments::backends::{is_product, timed};
use etui_lab::experiments::common::copy_shared;
use etui_lab::{Arm, ArmRole, ArmSettings, LabContext, Recorder, RunCase, stats};

/// The calendars that are used.
const DENSE_SEED: u64 = 40;
const ENDLESS_SEED: u64 = 41;
/// 2026-11-21, three minutes past seven: the middle of the weeks that are asked for.
const TODAY: i64 = 20_778 * DAY + 7 * 3_600 + 180;
/// Days of a hundred years.
const CENTURY: i64 = 36_525;
/// How often the week in the middle is asked for.
const TIMES: u64 = 50;
/// How often all of the other weeks are asked for, one after another: a disturbance of the machine for
/// a moment then meets a week once, and a week is never asked for twice in a row.
const PASSES: usize = 5;

pub fn dense_arms(lab: &LabContext, endless: u64) -> Vec<Arm> {
    let arms = [
        Arm::new(report::PLAIN, ArmRole::Peer, "product=plain"),
        Arm::new(report::ETUI, ArmRole::Etui, "product=etui"),
    ];
    let arms = arms.map(|arm| {
        let arm = arm
            .with("daily", lab.value("daily"))
            .with("endless", endless);
        arm.with("weeks", lab.value("weeks"))
    });
    arms.to_vec()
}

fn data_span(years: u64) -> Span {
    Span::years(u32::try_from(years).unwrap_or(u32::MAX))
}

/// Returns the records: `daily` a day over the years, and the unbounded series.
fn make_records(years: u64, settings: &ArmSettings) -> Result<Vec<CalendarObject>, Error> {
    let span = data_span(years);
    let count = u64::from(span.days).saturating_mul(settings.number("daily")?);
    let of = |per_thousand: u32| Span {
        endless: Some(per_thousand),
        ..span
    };
    let dense = Calendars::over(DENSE_SEED, of(0)).take(count as usize);
    let endless = Calendars::over(ENDLESS_SEED, of(1_000));
    let endless = endless.take(settings.number("endless")? as usize);
    data::parse_records(dense.chain(endless))
}

/// Fills the stores that the runs copy.
pub fn set_up(years: u64, settings: &ArmSettings, dir: &Path) -> Result<(), Error> {
    super::fill_stores(dir, make_records(years, settings)?)
}

/// The week in the middle of the data.
fn middle_week(years: u64) -> Range<i64> {
    let span = data_span(years);
    let day = span.first_day + i64::from(span.days) / 2;
    // 1970-01-01 was a Thursday; three minutes past seven, as the others.
    let monday = (day - (day + 3).rem_euclid(7)) * DAY + TODAY.rem_euclid(DAY);
    monday..monday + 7 * DAY
}

/// Weeks spread evenly over a hundred years before and after today.
fn draw_weeks(count: u64) -> impl Iterator<Item = Range<i64>> {
    let count = i64::try_from(count.max(2)).unwrap_or(i64::MAX);
    (0..count).map(move |n| {
        let day = 2 * CENTURY * n / (count - 1) - CENTURY;
        let start = TODAY + day * DAY;
        start..start + 7 * DAY
    })
}

/// Asks for the weeks, by either product.
pub fn run(case: &RunCase, recorder: &mut Recorder) -> Result<(), Error> {
    let etui = is_product(&case.settings, "etui");
    let from = if etui { FILLED_ETUI } else { FILLED_PLAIN };
    let path = copy_shared(recorder, from, "calendar")?;
    let weeks: Vec<_> = draw_weeks(case.settings.number("weeks")?).collect();
    if etui {
        let backends =
            EtuiBackend::<CalendarObject>::new(&path, store_options(Durability::Full), Vec::new())?;
        let calendar = backends.collection()?;
        let mut known = HashMap::new();
        let week = |times, week: &_| {
            let range = range_instants(week);
            timed(times, || {
                Ok(calendar.between(range.clone(), &TimeZone::UTC)?)
            })
        };
        let pairs = |found: Vec<_>| works::name_occurrences(&calendar, &found, &mut known);
        ask_weeks(case.size, &weeks, recorder, week, pairs)
    } else {
        let backends = PlainCalendar::new(&path, Vec::new(), None)?;
        let week = |times, week: &_| timed(times, || backends.between(week));
        let pairs = |found| Ok(plain::uid_pairs(found));
        ask_weeks(case.size, &weeks, recorder, week, pairs)
    }
}

/// Returns occurrences, each with its UID.
type Pairs = Vec<(String, String)>;

fn ask_weeks<F>(
    years: u64,
    weeks: &[Range<i64>],
    recorder: &mut Recorder,
    mut week: impl FnMut(u64, &Range<i64>) -> Result<(Vec<f64>, F), Error>,
    mut pairs: impl FnMut(F) -> Result<Pairs, Error>,
) -> Result<(), Error> {
    let (ns, found) = week(TIMES, &middle_week(years))?;
    if let (Some(first), Some(median)) = (ns.first(), stats::median(&ns)) {
        recorder.record("first/wall_ns", *first);
        recorder.record("middle/wall_ns", median);
    }
    let found = pairs(found)?;
    recorder.record("middle/hits", found.len() as f64);
    record_answer(recorder, found);
    let mut hits = 0_usize;
    let mut asked: Vec<Vec<f64>> = vec![Vec::new(); weeks.len()];
    for pass in 0..PASSES {
        for (range, times) in weeks.iter().zip(&mut asked) {
            let (ns, found) = week(1, range)?;
            times.extend(ns);
            if pass == 0 {
                let found = pairs(found)?;
                hits = hits.max(found.len());
                record_answer(recorder, found);
            }
        }
    }
    let medians: Vec<f64> = asked.iter().filter_map(|ns| stats::median(ns)).collect();
    if let Some(median) = stats::median(&medians) {
        recorder.record("anywhere/wall_ns", median);
    }
    let most = |all: &mut dyn Iterator<Item = f64>| all.fold(0.0, f64::max);
    recorder.record("worst/wall_ns", most(&mut medians.iter().copied()));
    let firsts = &mut asked.iter().filter_map(|ns| ns.first().copied());
    recorder.record("worst_first/wall_ns", most(firsts));
    recorder.record("anywhere/hits", hits as f64);
    Ok(())
}

fn record_answer(recorder: &mut Recorder, mut found: Pairs) {
    found.sort_unstable();
    for (uid, when) in found {
        recorder.answer(uid);
        recorder.answer(when);
    }
}
