//! The same calls to both services, and what differs.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::rc::Rc;
use std::time::Duration;

/// An answer in comparable form: an error's name, or lines.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Answer {
    pub error: Option<String>,
    pub lines: Vec<String>,
}

impl Answer {
    pub fn of_error(name: String) -> Self {
        let short = name.replace("org.gtk.GDBus.UnmappedGError.Quark._", "");
        Self {
            error: Some(short.replace("_2d", "-")),
            lines: Vec::new(),
        }
    }

    /// An answer whose order means nothing.
    pub fn of_set(mut lines: Vec<String>) -> Self {
        lines.sort();
        Self::of_list(lines)
    }

    pub fn of_list(lines: Vec<String>) -> Self {
        Self { error: None, lines }
    }
}

/// One side of a round: objects that calls open, and what they were told.
pub trait Session {
    type Call: Clone + Debug;
    /// After so many looks without anything new from views, nothing comes.
    const QUIET: u32;

    /// Carries out a call.
    fn perform(&mut self, call: &Self::Call) -> Answer;
    /// Lets the server work for a while, until it has answered a call.
    fn look(&self);
    /// What views and cursors have told since the last call of `forget`.
    fn observe(&mut self) -> Vec<String>;
    fn forget(&mut self);
    /// Whether a call changes data.
    fn changes(call: &Self::Call) -> bool;
    /// All records, each line after the record's key and ` ¦ `. Read after every change.
    fn state(&mut self) -> Vec<String>;
    /// Whether records that differ after a change are removed, so that later answers are equal again.
    const REMOVES: bool;
    fn remove_records(&mut self, uids: &BTreeSet<String>);
    /// Notes the query of a view or cursor that a call opens.
    fn note_query(call: &Self::Call, queries: &mut BTreeMap<String, String>);
}

/// The part of a call that is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Aspect {
    Reply,
    /// The records after a change.
    State,
    /// What views and cursors were told after a change.
    Told,
}

/// Two answers that differ.
#[derive(Debug, Clone)]
pub struct Difference<C> {
    /// The place of the call in its round.
    pub place: usize,
    pub call: C,
    pub aspect: Aspect,
    /// The records before the call, which both sides have.
    pub before: Rc<Vec<String>>,
    pub stock: Answer,
    pub ours: Answer,
    /// The queries of open views and cursors: `view 0`, `cursor 1`.
    pub queries: BTreeMap<String, String>,
}

/// A part of a difference.
#[derive(Debug, Clone, Copy)]
pub enum Part<'a> {
    /// Only one side refuses, or each with another error.
    Errors(&'a str, &'a str),
    /// A line that only the stock server has.
    Stock(&'a str),
    /// A line that only this service has.
    Ours(&'a str),
    /// The same lines in another order.
    Order,
}

impl<C: Debug> Difference<C> {
    pub fn is_told(&self) -> bool {
        self.aspect == Aspect::Told
    }

    pub fn parts(&self) -> Vec<Part<'_>> {
        if self.stock.error != self.ours.error {
            let stock = self.stock.error.as_deref().unwrap_or_default();
            let ours = self.ours.error.as_deref().unwrap_or_default();
            return vec![Part::Errors(stock, ours)];
        }
        let mut parts: Vec<Part<'_>> = lines_without(&self.stock, &self.ours)
            .map(Part::Stock)
            .chain(lines_without(&self.ours, &self.stock).map(Part::Ours))
            .collect();
        if parts.is_empty() {
            parts.push(Part::Order);
        }
        parts
    }

    /// Returns the names of the rules that explain every part; `None` if one is unexplained.
    pub fn explain(&self, rules: &[Rule<C>]) -> Option<Vec<&'static str>> {
        let mut names = Vec::new();
        for part in self.parts() {
            let rule = rules.iter().find(|rule| (rule.explains)(self, part))?;
            if !names.contains(&rule.name) {
                names.push(rule.name);
            }
        }
        Some(names)
    }

    /// Prints the call and the parts that no rule explains.
    pub fn print(&self, rules: &[Rule<C>]) -> String {
        let aspect = self.aspect;
        let mut text = format!("call {}: {aspect:?} of {:?}\n", self.place, self.call);
        for (name, query) in &self.queries {
            text.push_str(&format!("  with {name} of {query}\n"));
        }
        let parts = self.parts();
        let open = parts
            .iter()
            .filter(|part| !rules.iter().any(|rule| (rule.explains)(self, **part)));
        for part in open.take(16) {
            text.push_str(&match part {
                Part::Errors(stock, ours) => {
                    format!("  stock error: {stock}\n  our error:   {ours}\n")
                }
                Part::Stock(line) => format!("  stock: {line}\n"),
                Part::Ours(line) => format!("  ours:  {line}\n"),
                Part::Order => "  the order differs\n".to_owned(),
            });
        }
        text
    }
}

/// The lines of an answer that another has not, or not as often.
fn lines_without<'a>(one: &'a Answer, other: &Answer) -> impl Iterator<Item = &'a str> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for line in &other.lines {
        *counts.entry(line).or_default() += 1;
    }
    let only: Vec<&'a str> = one
        .lines
        .iter()
        .filter(|line| match counts.get_mut(line.as_str()) {
            Some(count) if *count > 0 => {
                *count -= 1;
                false
            }
            _ => true,
        })
        .map(String::as_str)
        .collect();
    only.into_iter()
}

/// A deliberate difference.
pub struct Rule<C> {
    pub name: &'static str,
    /// Why the services differ.
    pub reason: &'static str,
    /// Whether a part of a difference is of this kind.
    pub explains: fn(&Difference<C>, Part<'_>) -> bool,
}

/// The pause before each look. Nothing tells that the stock server has told everything, so looks
/// are counted, each with an answered call: on a busy machine they take longer.
pub const LOOK: Duration = Duration::from_millis(10);
/// How many looks views may take to tell the same.
const MOST_LOOKS: u32 = 500;

/// Waits until both sides have told the same, or nothing new comes.
fn wait_until_told<S: Session>(stock: &mut S, ours: &mut S) -> (Vec<String>, Vec<String>) {
    let mut latest = (Vec::new(), Vec::new());
    let mut unchanged = 0;
    for _ in 0..MOST_LOOKS {
        stock.look();
        ours.look();
        let told = (stock.observe(), ours.observe());
        unchanged += 1;
        if told != latest {
            (latest, unchanged) = (told, 0);
        }
        let enough = if latest.0 == latest.1 { 3 } else { S::QUIET };
        if unchanged >= enough {
            break;
        }
    }
    latest
}

/// Puts calls to both sides and returns their number. `on_difference` returns false to stop.
pub fn compare_calls<S: Session>(
    stock: &mut S,
    ours: &mut S,
    calls: &[S::Call],
    mut on_difference: impl FnMut(Difference<S::Call>) -> bool,
) -> usize {
    let mut queries = BTreeMap::new();
    let mut before = Rc::new(Vec::new());
    for (place, call) in calls.iter().enumerate() {
        S::note_query(call, &mut queries);
        stock.forget();
        ours.forget();
        let mut goes_on = true;
        let mut compare = |aspect, stock: Answer, ours: Answer| {
            if stock != ours {
                goes_on &= on_difference(Difference {
                    place,
                    call: call.clone(),
                    aspect,
                    before: before.clone(),
                    stock,
                    ours,
                    queries: queries.clone(),
                });
            }
        };
        compare(Aspect::Reply, stock.perform(call), ours.perform(call));
        if S::changes(call) {
            let (one, other) = (stock.state(), ours.state());
            let mut changed = differing_records(&one, &other);
            let (mut told_stock, mut told_ours) = wait_until_told(stock, ours);
            let after = one.clone();
            compare(Aspect::State, Answer::of_set(one), Answer::of_set(other));
            if S::REMOVES {
                // Views are told of what differs.
                told_stock.retain(|line| !is_about(line, &changed));
                told_ours.retain(|line| !is_about(line, &changed));
                changed.extend(lost_by_one(&told_stock, &told_ours, &after));
            }
            compare(
                Aspect::Told,
                Answer::of_list(told_stock),
                Answer::of_list(told_ours),
            );
            before = Rc::new(after);
            if S::REMOVES && !changed.is_empty() {
                stock.remove_records(&changed);
                ours.remove_records(&changed);
                wait_until_told(stock, ours);
                let (one, other) = (stock.state(), ours.state());
                assert_eq!(one, other, "the records of {changed:?} were removed");
                before = Rc::new(one);
            }
        }
        if !goes_on {
            return place + 1;
        }
    }
    calls.len()
}

/// Returns the UIDs of the records that are not equal on both sides.
fn differing_records(one: &[String], other: &[String]) -> BTreeSet<String> {
    let (one, other) = (
        Answer::of_list(one.to_vec()),
        Answer::of_list(other.to_vec()),
    );
    let lines = lines_without(&one, &other).chain(lines_without(&other, &one));
    lines.map(|line| uid_of(line).to_owned()).collect()
}

/// Returns the UIDs of records of the state whose removal only one side reported to a view: from then
/// on the views differ.
fn lost_by_one(one: &[String], other: &[String], state: &[String]) -> BTreeSet<String> {
    let removed = |told: &[String]| -> BTreeSet<(String, String)> {
        let parts = told.iter().filter_map(|line| {
            let (view, key) = line.split_once(" removes ")?;
            Some((view.to_owned(), key.to_owned()))
        });
        parts.collect()
    };
    let (one, other) = (removed(one), removed(other));
    let lost = one.symmetric_difference(&other).map(|(_, key)| key);
    lost.filter(|key| state.contains(key))
        .map(|key| uid_of(key).to_owned())
        .collect()
}

/// Returns the UID at the start of a line: it ends at ` at ` and a RECURRENCE-ID, or at ` ¦ `.
pub fn uid_of(line: &str) -> &str {
    let key = line.split_once(" ¦ ").map_or(line, |(key, _)| key);
    key.split_once(" at ").map_or(key, |(uid, _)| uid)
}

/// Whether a view was told of one of some records.
fn is_about(told: &str, uids: &BTreeSet<String>) -> bool {
    let rest = told.splitn(4, ' ').nth(3).unwrap_or_default();
    let key = rest.strip_suffix(" again").unwrap_or(rest);
    let key = key.strip_suffix(", which it never added").unwrap_or(key);
    uids.contains(uid_of(key))
}

/// The differences that are shrunk.
const SHRUNK: usize = 2;
/// Tries to shrink one difference.
const ATTEMPTS: usize = 24;
/// Fresh collections that shrinking may take.
pub const SPARE: usize = SHRUNK * ATTEMPTS;

/// What a whole run found.
#[derive(Default)]
pub struct Summary {
    pub calls: usize,
    pub explained: BTreeMap<&'static str, usize>,
    pub unexplained: Vec<String>,
}

impl Summary {
    /// Runs a round in fresh collections, and shrinks the first difference that no rule explains.
    pub fn run_round<S: Session>(
        &mut self,
        rules: &[Rule<S::Call>],
        title: &str,
        calls: &[S::Call],
        mut fresh: impl FnMut() -> Option<(S, S)>,
    ) {
        let (mut stock, mut ours) = fresh().expect("a collection for each round");
        let mut found: Option<Difference<S::Call>> = None;
        let explained = &mut self.explained;
        let mut others = Vec::new();
        self.calls += compare_calls(&mut stock, &mut ours, calls, |difference| {
            if let Some(names) = difference.explain(rules) {
                for name in names {
                    *explained.entry(name).or_default() += 1;
                }
                return true;
            }
            // After a change that went otherwise, everything differs.
            let goes_on = (S::REMOVES || !S::changes(&difference.call)) && others.len() < 20;
            others.push(difference.print(rules));
            found.get_or_insert(difference);
            goes_on
        });
        let Some(found) = found else { return };
        let shrunk = match self.unexplained.len() {
            0..SHRUNK => shrink(&found, calls, rules, &mut fresh),
            _ => calls[..found.place].to_vec(),
        };
        let history: String = shrunk.iter().map(|call| format!("  {call:?}\n")).collect();
        self.unexplained.push(format!(
            "== {title}\n{}after these calls:\n{history}{}",
            others[0],
            others[1..]
                .iter()
                .map(|text| format!("-- also {text}"))
                .collect::<String>()
        ));
    }
}

/// Drops calls before a difference as long as the same call still differs.
fn shrink<S: Session>(
    found: &Difference<S::Call>,
    calls: &[S::Call],
    rules: &[Rule<S::Call>],
    fresh: &mut impl FnMut() -> Option<(S, S)>,
) -> Vec<S::Call> {
    let last = calls[found.place].clone();
    let mut kept: Vec<S::Call> = calls[..found.place].to_vec();
    let mut size = kept.len().div_ceil(2).max(1);
    let mut attempts = ATTEMPTS;
    while !kept.is_empty() && attempts > 0 {
        let mut start = 0;
        let before = kept.len();
        while start < kept.len() && attempts > 0 {
            attempts -= 1;
            let Some((mut stock, mut ours)) = fresh() else {
                return kept;
            };
            let mut fewer = kept.clone();
            fewer.drain(start..(start + size).min(kept.len()));
            let mut attempt = fewer.clone();
            attempt.push(last.clone());
            let mut again = false;
            compare_calls(&mut stock, &mut ours, &attempt, |difference| {
                let explained = difference.explain(rules).is_some();
                again |= !explained && difference.place == fewer.len();
                explained || S::REMOVES || !S::changes(&difference.call)
            });
            match again {
                true => kept = fewer,
                false => start += size,
            }
        }
        if size == 1 && kept.len() == before {
            break;
        }
        size = (size / 2).max(1);
    }
    kept
}
