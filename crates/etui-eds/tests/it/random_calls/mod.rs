//! The stock server and this service under the same random sequences of calls: both have to answer alike, but
//! for a list of deliberate differences, each with its reason.
//!
//! ```text
//! ETUI_EDS_CALLS=5000   number of calls (400; 5,000 with ETUI_TEST_LONG=1)
//! ETUI_EDS_SEED=7       another sequence of calls
//! ```
//!
//! A round is a sequence of calls to a collection of its own. Of a difference that no rule
//! explains, the calls before it are dropped as long as it stays.

mod book_calls;
mod book_rules;
mod book_session;
mod calendar_calls;
mod calendar_rules;
mod calendar_session;
mod compare;
mod instances;
mod lines;
mod pair;
mod views;

use compare::{Rule, SPARE, Summary};
use pair::Peer;

/// Calls in one round.
const ROUND: usize = 100;

fn number_from(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

/// The number of calls to make.
fn call_count() -> usize {
    let long = std::env::var_os("ETUI_TEST_LONG").is_some();
    let usual = if long { 5000 } else { 400 };
    number_from("ETUI_EDS_CALLS").map_or(usual, |count| count as usize)
}

fn seed() -> u64 {
    number_from("ETUI_EDS_SEED").unwrap_or(20)
}

#[test]
fn address_books_answer_as_the_stock_server() {
    let rounds = call_count().div_ceil(ROUND);
    let sources: Vec<(String, String)> = (0..rounds + SPARE)
        .map(|number| (format!("book-{number}"), "Address Book".to_owned()))
        .collect();
    let (stock, ours) = (Peer::start_stock(&sources), Peer::start_ours(&sources));
    let rules = book_rules::book_rules();
    let mut summary = Summary::default();
    let mut unused = sources.iter();
    for round in 0..rounds {
        let calls = book_calls::BookCalls::new(seed(), round as u64).round(ROUND);
        let title = format!("seed {}, round {round}", seed());
        summary.run_round(&rules, &title, &calls, || {
            let (source, _) = unused.next()?;
            Some((
                book_session::BookSession::open(&stock, source),
                book_session::BookSession::open(&ours, source),
            ))
        });
    }
    report(&summary, &rules);
}

#[test]
fn calendars_answer_as_the_stock_server() {
    let rounds = call_count().div_ceil(ROUND);
    // Events and tasks in turn: section, method of the factory, component.
    let kinds = [
        ("Calendar", "OpenCalendar", "VEVENT"),
        ("Task List", "OpenTaskList", "VTODO"),
    ];
    let sources: Vec<(String, String)> = (0..2 * (rounds + 2 + SPARE))
        .map(|number| (format!("calendar-{number}"), kinds[number % 2].0.to_owned()))
        .collect();
    let (stock, ours) = (Peer::start_stock(&sources), Peer::start_ours(&sources));
    let rules = calendar_rules::calendar_rules();
    let mut summary = Summary::default();
    let mut unused: [Vec<&str>; 2] = [0, 1].map(|kind| {
        let of_kind = sources.iter().skip(kind).step_by(2);
        of_kind.map(|(uid, _)| uid.as_str()).collect()
    });
    for round in 0..rounds + 2 {
        // Two rounds of events for each of tasks; at last one of all queries for both.
        let kind = usize::from(round % 3 == 2 || round == rounds + 1);
        let (_, method, component) = kinds[kind];
        let mut calls = calendar_calls::CalendarCalls::new(seed(), round as u64, component);
        let calls = match round < rounds {
            true => calls.round(ROUND),
            false => calls.every_query(),
        };
        let title = format!("seed {}, round {round}, {component}", seed());
        summary.run_round(&rules, &title, &calls, || {
            let source = unused[kind].pop()?;
            Some((
                calendar_session::CalendarSession::open(&stock, source, method, component),
                calendar_session::CalendarSession::open(&ours, source, method, component),
            ))
        });
    }
    report(&summary, &rules);
}

/// Prints the counts; fails if there is a difference that no rule explains.
fn report<C>(summary: &Summary, rules: &[Rule<C>]) {
    for rule in rules {
        if let Some(count) = summary.explained.get(rule.name) {
            println!("{count:>6}  {}: {}", rule.name, rule.reason);
        }
    }
    println!(
        "{} calls, {} deliberate differences, {} unexplained",
        summary.calls,
        summary.explained.values().sum::<usize>(),
        summary.unexplained.len()
    );
    if !summary.unexplained.is_empty() {
        panic!("{}", summary.unexplained.join("\n"));
    }
}
