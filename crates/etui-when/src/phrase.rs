//! A title and a time in one phrase: `Lunch with Bob tomorrow 12:30`, `Gym every monday 18:00-19:30`.

mod pieces;
mod refusal;
mod rule_and_time;

use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt;
use std::ops::Range;
use std::rc::Rc;

use etui_ical::recurrence::RecurrenceRule;
use etui_ical::time::{Date, DateTime};

use self::pieces::{Piece, join_pieces, split_pieces};
use self::rule_and_time::{
    FoundRule, first_of_rule, plus_days, split_rule, with_duration_last, without_and,
};
use super::clock::parse_digits;
use super::format::format_clock;
use super::language::{Language, meaning_in, meanings};
use super::leftover::{FEASTS, RULE_NAMES};
use super::names::{fold_word, is_full_name, is_weekday_name, parse_day_of_week};
use super::parse::{EndWords, ParsedTimes, TimeContext, TimeWords, parse_words};
use super::parse_rule::{parse_rule_words, spread_words};
use super::reading::{AssumedHalf, DayPart};
use super::when_parser::FILLERS;
use super::words::WordList;
use super::zone_words::ZoneWord;

/// Words of a phrase that can be a time; it bounds the cost.
const MAX_TIME_WORDS: usize = 14;

/// Words of a phrase within which a time is looked for; of longer ones it is at the end or the beginning.
const MAX_WORDS_AROUND: usize = 60;

/// Words of a phrase whose time is looked for in two places; it bounds the cost.
const MAX_SPREAD_WORDS: usize = 24;

/// Words for "on" before a date.
const BEFORE_DATE: &[&str] = &["on", "am", "le", "el", "il", "den", "op", "em", "dia"];

/// A phrase, taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Phrase {
    /// The words that are no part of the time.
    pub title: String,
    /// The start, and the end if it was given.
    pub times: TimeWords,
    /// Whether a day was named, not only a time of day or a rule.
    pub has_day: bool,
    /// The recurrence rule.
    pub rule: Option<RecurrenceRule>,
    /// The words after `at` that follow the time, or after `@`.
    pub place: Option<String>,
    /// What was assumed, as sentences: that `at 3` is in the afternoon, that "Weekly" is a rule.
    pub notes: Vec<String>,
}

/// A phrase that is not understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PhraseError {
    /// The word, and what is wrong with it.
    pub problem: String,
    /// Whether the word may be one of the title, which quotes say.
    pub may_be_title: bool,
}

impl PhraseError {
    /// How a word is kept in the title.
    pub const QUOTES: &'static str =
        "To keep it in the title, write the title in double quotes: \"Plan friday\" tomorrow 9:00";
}

impl fmt::Display for PhraseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.problem)?;
        let end = if self.problem.ends_with('?') { "" } else { "." };
        match self.may_be_title {
            true => write!(f, "{end} {}", Self::QUOTES),
            false => Ok(()),
        }
    }
}

/// Takes the time from a text: from its end or beginning, from both, or from the words before `at` or
/// `with` and the like. A time alone is on `day`. A title in double quotes is taken as it is. Returns `None`
/// without a time, or if it may be a part of the title: a time has a figure or a whole name, so that "Sun" and
/// "May" are none. The language of the most words of a time is taken.
///
/// # Errors
/// Names the word if one that looks like a part of a time is not understood.
pub fn parse_phrase(text: &str, day: Date, now: DateTime) -> Result<Option<Phrase>, PhraseError> {
    let pieces = split_pieces(text);
    let plain: Vec<&str> = pieces
        .iter()
        .filter(|piece| !piece.is_quoted)
        .map(|piece| piece.text)
        .collect();
    let plain = plain.join(" ");
    let context = TimeContext {
        hint: hint_of(&pieces),
        ..TimeContext::new(day, now)
    };
    let mut best: Option<FoundTime> = None;
    let (mut error, mut refused) = (None, 0);
    for language in Language::all() {
        let is_english = language == Language::ENGLISH;
        if !is_english && !WordList::split_in(&plain, language).has_telling_form() {
            continue;
        }
        let reader = PhraseReader::new(&pieces, context, language);
        match reader.read() {
            Ok(Some(found)) if best.as_ref().is_none_or(|best| best.count < found.count) => {
                best = Some(found);
            }
            Ok(_) => {}
            Err(e) if !e.may_be_title => return Err(e),
            Err(e) => {
                if is_english {
                    refused = reader.time_at_end().map_or(0, |found| found.count);
                }
                error = error.or(Some(e));
            }
        }
    }
    // Of "Domingo concert at 3" the first word alone is a day, but not the time.
    match (best.filter(|best| best.count >= refused), error) {
        (Some(found), _) => Ok(Some(found.phrase)),
        (None, Some(e)) => Err(e),
        (None, None) => Ok(None),
    }
}

/// Returns true for `15.12.` and `15/12`.
fn is_short_date(word: &str) -> bool {
    let mut parts = word.split(['.', '/']);
    let day = parts.next().and_then(|day| parse_digits::<u32>(day, 1..=2));
    let month = parts.next();
    let month = month.and_then(|month| parse_digits::<u32>(month, 1..=2));
    day.is_some() && month.is_some()
}

/// Returns the part of the day that a meal in the title names.
fn hint_of(pieces: &[Piece<'_>]) -> Option<DayPart> {
    let meal = |word: &str| match word {
        "dinner" => Some(DayPart::Evening),
        "breakfast" => Some(DayPart::Morning),
        _ => None,
    };
    pieces
        .iter()
        .filter(|piece| !piece.is_quoted)
        .find_map(|piece| {
            let folded = fold_word(piece.text);
            let mut others = meanings(&folded);
            meal(&folded).or_else(|| others.find_map(meal))
        })
}

/// A time that was understood, and the positions of its words.
struct FoundTime {
    phrase: Phrase,
    /// The positions of the words of the title.
    title: Vec<usize>,
    /// The positions of the words of the time.
    time: Range<usize>,
    /// The number of words of the time.
    count: usize,
}

struct PhraseReader<'t> {
    pieces: &'t [Piece<'t>],
    context: TimeContext,
    language: Language,
    /// The English words of each piece, if it is one word.
    english: Vec<String>,
    /// The words of the ranges of pieces that were asked for: each range is asked for many times.
    lists: RefCell<HashMap<Range<usize>, Rc<WordList>>>,
}

impl<'t> PhraseReader<'t> {
    fn new(pieces: &'t [Piece<'t>], context: TimeContext, language: Language) -> Self {
        let english = pieces.iter().map(|piece| {
            let folded = fold_word(piece.text.trim_end_matches([',', ':', ';']));
            meaning_in(&folded, language).map_or(folded, str::to_owned)
        });
        Self {
            pieces,
            context,
            language,
            english: english.collect(),
            lists: RefCell::default(),
        }
    }

    /// Returns the English words of a piece, if it is one word.
    fn english_of(&self, at: usize) -> &str {
        self.english.get(at).map_or("", String::as_str)
    }

    /// Returns the words of some pieces.
    fn words_of(&self, range: Range<usize>) -> Rc<WordList> {
        let mut lists = self.lists.borrow_mut();
        let list = lists.entry(range.clone()).or_insert_with(|| {
            let pieces = self.pieces.get(range).unwrap_or_default();
            let texts: Vec<&str> = pieces.iter().map(|piece| piece.text).collect();
            Rc::new(WordList::split_in(
                &spread_words(&texts.join(" ")),
                self.language,
            ))
        });
        Rc::clone(list)
    }

    fn read(&self) -> Result<Option<FoundTime>, PhraseError> {
        match self.time_beside_place() {
            Some(found) => Ok(Some(found)),
            None => self.read_words(),
        }
    }

    /// Reads the words of a phrase without `@ PLACE`.
    fn read_words(&self) -> Result<Option<FoundTime>, PhraseError> {
        let count = self.pieces.len();
        if count > 0 && self.time_of(0..count, 0..0).is_some() {
            let text = self.text_of(0..count);
            return Err(PhraseError {
                problem: format!("\"{text}\" is a time; a title is missing"),
                may_be_title: false,
            });
        }
        let at_end = self.time_at_end();
        if let Some(found) = &at_end
            && self.leftover_of(found).is_none()
        {
            return Ok(at_end);
        }
        let spread = self.time_within().or_else(|| self.time_in_two_parts());
        if spread.is_some() {
            return Ok(spread);
        }
        if let Some(found) = at_end
            .as_ref()
            .and_then(|found| self.with_rule_of_title(found))
        {
            return Ok(Some(found));
        }
        let (leftover, time) = match at_end {
            Some(found) => (self.leftover_of(&found), Some(found.time)),
            None => (self.leftover(&(0..count).collect::<Vec<_>>(), false), None),
        };
        match leftover {
            Some(position) => Err(self.refusal(position, time)),
            None => Ok(None),
        }
    }

    /// Finds a time beside `@ PLACE`: the most words of a time, and then the longest place.
    fn time_beside_place(&self) -> Option<FoundTime> {
        let is_place = |at: usize| {
            let text = self.pieces.get(at).filter(|piece| !piece.is_quoted)?.text;
            let name = text.strip_prefix('@')?;
            let next = self.pieces.get(at + 1).map_or("", |piece| piece.text);
            let first = if name.is_empty() { next } else { name };
            first.starts_with(char::is_alphabetic).then_some(at)
        };
        let count = self.pieces.len();
        let at = (0..count.min(MAX_SPREAD_WORDS)).find_map(is_place)?;
        let ends = (at + 1..=count.min(at + MAX_TIME_WORDS)).rev();
        let all = ends.filter_map(|end| {
            let place = join_pieces(self.pieces.get(at..end)?);
            let place = place.strip_prefix('@')?.trim().to_owned();
            let other = |range: Range<usize>| self.pieces.get(range).unwrap_or_default();
            let pieces = [other(0..at), other(end..count)].concat();
            let reader = PhraseReader::new(&pieces, self.context, self.language);
            let mut found = reader.read_words().ok()?.filter(|_| !place.is_empty())?;
            found.phrase.place = Some(place);
            Some(found)
        });
        // Of equal counts the last one, which is the longest place if the order is reversed.
        all.collect::<Vec<_>>()
            .into_iter()
            .rev()
            .max_by_key(|found| found.count)
    }

    /// Makes a rule of a word such as "Weekly" in the title, which keeps it.
    fn with_rule_of_title(&self, found: &FoundTime) -> Option<FoundTime> {
        if found.phrase.rule.is_some() {
            return None;
        }
        let position = self.leftover_of(found)?;
        let name = self.pieces.get(position)?.text;
        let words = WordList::split_in(name, self.language);
        let word = words.peek(0).filter(|word| RULE_NAMES.contains(word))?;
        // A month after a Friday is another weekday.
        let is_weekday = self
            .words_of(found.time.clone())
            .contains(|word| parse_day_of_week(word).is_some());
        if is_weekday
            && matches!(
                word,
                "monthly" | "quarterly" | "yearly" | "annually" | "weekdays" | "weekends"
            )
        {
            return None;
        }
        let start = found.phrase.times.start.local().date();
        let rule = parse_rule_words(&words, start, self.context.now).ok()?;
        let mut phrase = found.phrase.clone();
        phrase.notes.push(format!(
            "\"{name}\" is taken as a rule; to add one time only, write the title in double quotes"
        ));
        self.finish(&mut phrase, Some(rule));
        self.leftover(&found.title, true)
            .is_none()
            .then(|| FoundTime {
                phrase,
                title: found.title.clone(),
                time: found.time.clone(),
                count: found.count,
            })
    }

    /// Sets the rule, and moves a start without a day to the first one of the rule.
    fn finish(&self, phrase: &mut Phrase, rule: Option<RecurrenceRule>) {
        let Some(rule) = rule else {
            return;
        };
        if !phrase.has_day && self.context.day == self.context.now.date() {
            let start = first_of_rule(phrase.times.start, &rule, self.context.now);
            let days = start.local().date().days() - phrase.times.start.local().date().days();
            phrase.times = moved_by(&phrase.times, i64::from(days));
        }
        phrase.rule = Some(rule);
    }

    fn text_of(&self, words: Range<usize>) -> String {
        let pieces = self.pieces.get(words).unwrap_or_default();
        join_pieces(pieces)
    }

    /// Returns the title of the words outside a time; a part of the day beside the title, as in "Movie night
    /// tomorrow", is in both, and so is the day of "Taco Tuesday".
    fn title_without(&self, parts: &[Range<usize>]) -> Vec<usize> {
        // The number of pieces of a part of the day, or of the day of a feast.
        let part_at = |at: usize| {
            let before = at.checked_sub(1).and_then(|at| self.pieces.get(at))?;
            let is_feast = FEASTS.contains(&fold_word(before.text).as_str());
            (1..=3).rev().find(|count| {
                let words = self.words_of(at..at + count);
                let word = words.peek(0).filter(|_| words.left() == 1);
                word.is_some_and(|word| {
                    (word != "tonight" && DayPart::named(word).is_some())
                        || (is_feast && is_weekday_name(word))
                })
            })
        };
        let is_in = |at: usize| parts.iter().any(|part| part.contains(&at));
        let kept: Vec<Range<usize>> = parts
            .iter()
            .filter(|part| part.start > 0 && !is_in(part.start - 1))
            .filter_map(|part| {
                Some(
                    part.start
                        ..part.start + part_at(part.start).filter(|count| *count < part.len())?,
                )
            })
            .collect();
        let is_kept = |at: usize| kept.iter().any(|part| part.contains(&at));
        (0..self.pieces.len())
            .filter(|at| {
                (!is_in(*at) || is_kept(*at)) && !(is_in(at + 1) && self.is_before_date(*at))
            })
            .collect()
    }

    /// Returns true for a word that belongs to the date in figures after it, which is in no language: "Besuch am
    /// 15.12."
    fn is_before_date(&self, at: usize) -> bool {
        let text = |at: usize| self.pieces.get(at).map_or("", |piece| piece.text);
        BEFORE_DATE.contains(&text(at)) && is_short_date(text(at + 1))
    }

    /// Parses the time in these words, one part after the other.
    fn time_of(&self, first: Range<usize>, second: Range<usize>) -> Option<FoundRule> {
        if first.len() + second.len() > MAX_TIME_WORDS {
            return None;
        }
        let mut all = first.clone().chain(second.clone());
        if all.any(|at| self.pieces.get(at).is_none_or(|piece| piece.is_quoted)) {
            return None;
        }
        let words = match second.is_empty() {
            true => self.words_of(first).rest(),
            false => self.words_of(first).joined(&self.words_of(second)),
        };
        if !self.is_distinct(&words) {
            return None;
        }
        // "Trip fri-sun" is once, "Work mon-fri 9-17" every week.
        let range = words.peek(0).filter(|_| words.left() == 1);
        let range = range.and_then(|word| {
            let (first, last) = word.split_once('-')?;
            parse_day_of_week(first)?;
            parse_day_of_week(last)?;
            Some(format!("{first} to {last}"))
        });
        let words = range.map_or(words, |range| WordList::split(&range));
        let parse = |words: &WordList| match parse_words(&without_and(words), self.context) {
            Ok(parsed) => Some(FoundRule { parsed, rule: None }),
            Err(_) => split_rule(words, self.context),
        };
        // "9:00 for 15m from monday" is "9:00 from monday for 15m".
        parse(&words).or_else(|| parse(&with_duration_last(&words)?))
    }

    /// Returns true if a word of a time cannot be a word of a title, such as an abbreviated name.
    fn is_distinct(&self, words: &WordList) -> bool {
        match self.language {
            Language::ENGLISH => {
                let is_part = |at: usize| {
                    words
                        .peek(at + 1)
                        .is_some_and(|word| DayPart::named(word).is_some())
                };
                let mut all = 0..words.left();
                words.contains(is_distinct)
                    || all.any(|at| words.peek(at) == Some("this") && is_part(at))
            }
            _ => words.has_telling_form() && !words.has_unknown_word(),
        }
    }

    fn phrase_of(&self, title: &[usize], time: FoundRule) -> Option<Phrase> {
        let pieces: Vec<&Piece<'_>> = title.iter().filter_map(|at| self.pieces.get(*at)).collect();
        let title = match pieces[..] {
            [one] if one.is_quoted => {
                let inner = one.text.trim_end_matches([',', ':', ';']);
                let mut inner = inner.chars();
                inner.next();
                inner.next_back();
                inner.as_str().trim().to_owned()
            }
            _ => {
                let title = join_pieces(pieces);
                let title = title.trim_matches(|c: char| c.is_whitespace() || "-–—".contains(c));
                let title = title.trim_end_matches([',', ':', ';', '-', '–', '、', '。']);
                title.trim().to_owned()
            }
        };
        if title.is_empty() {
            return None;
        }
        let FoundRule { parsed, rule } = time;
        let mut phrase = Phrase {
            title,
            times: parsed.times.clone(),
            has_day: parsed.has_day,
            rule: None,
            place: None,
            notes: notes_of(&parsed),
        };
        let now = self.context.now;
        let start = phrase.times.start.local();
        // A weekday whose time has passed today is that of the next week.
        if parsed.is_weekday
            && start.date() == now.date()
            && start < now
            && start.date().midnight() < start
        {
            phrase.times = moved_by(&phrase.times, 7);
        }
        // Midnight is at the end of the day.
        if !parsed.has_day
            && rule.is_none()
            && start == now.date().midnight()
            && parsed.clock.is_some()
        {
            phrase.times = moved_by(&phrase.times, 1);
        }
        self.finish(&mut phrase, rule);
        Some(phrase)
    }

    /// Finds the longest time at the end or the beginning.
    fn time_at_end(&self) -> Option<FoundTime> {
        let count = self.pieces.len();
        let most = MAX_TIME_WORDS.min(count.checked_sub(1)?);
        for length in (1..=most).rev() {
            for time in [count - length..count, 0..length] {
                // "Read The Sun at 3"
                let before = time.start.checked_sub(1).and_then(|at| self.pieces.get(at));
                if before.is_some_and(|piece| piece.text.eq_ignore_ascii_case("the")) {
                    continue;
                }
                let Some(found) = self.time_of(time.clone(), 0..0) else {
                    continue;
                };
                let title = self.title_without(std::slice::from_ref(&time));
                if let Some(phrase) = self.phrase_of(&title, found) {
                    return Some(FoundTime {
                        phrase,
                        title,
                        time,
                        count: length,
                    });
                }
            }
        }
        None
    }

    /// Finds the longest time that is followed by `at` and a place, or by `with` and the like.
    fn time_within(&self) -> Option<FoundTime> {
        const PLACE: &[&str] = &["at", "@", "bei", "chez"];
        const FURTHER: &[&str] = &[
            "with", "in", "about", "for", "to", "near", "re", "via", "mit", "zu", "zum", "zur",
            "nach", "wegen", "im", "fur", "avec", "pour", "sur", "con", "para", "sobre", "com",
            "met", "bij", "voor", "naar", "per", "da", "med", "hos", "z", "u", "dla", "с", "у",
            "для", "ile",
        ];
        let count = self.pieces.len();
        if count > MAX_WORDS_AROUND {
            return None;
        }
        let most = MAX_TIME_WORDS.min(count.checked_sub(2)?);
        for length in (1..=most).rev() {
            for first in (1..count - length).rev() {
                let last = first + length;
                let next = self.pieces.get(last).filter(|piece| !piece.is_quoted)?;
                let next = fold_word(next.text);
                let name = self.pieces.get(last + 1).map_or("", |piece| piece.text);
                let is_hour = last + 2 == count && parse_digits::<u32>(name, 1..=2).is_some();
                let is_place = PLACE.contains(&next.as_str()) && last + 1 < count && !is_hour;
                if !is_place && !FURTHER.contains(&next.as_str()) {
                    continue;
                }
                let Some(time) = self.time_of(first..last, 0..0) else {
                    continue;
                };
                let before = 0..first - usize::from(self.is_before_date(first - 1));
                let all: Vec<usize> = before.clone().chain(last..count).collect();
                if self.leftover(&all, time.rule.is_some()).is_some() {
                    continue;
                }
                let title: Vec<usize> = match is_place {
                    true => before.collect(),
                    false => all,
                };
                if let Some(mut phrase) = self.phrase_of(&title, time) {
                    phrase.place = is_place.then(|| self.text_of(last + 1..count));
                    let time = first..last;
                    return Some(FoundTime {
                        phrase,
                        title,
                        time,
                        count: length,
                    });
                }
            }
        }
        None
    }

    /// Finds the longest time of which a part is at the end and another one before: `every monday Choir 19:30`.
    fn time_in_two_parts(&self) -> Option<FoundTime> {
        let count = self.pieces.len();
        let last = self.english_of(count.checked_sub(1)?);
        // "Call Bob 2pm 1 day before"
        if count > MAX_SPREAD_WORDS || FILLERS.contains(&last) || is_preposition(last) {
            return None;
        }
        let most = MAX_TIME_WORDS.min(count - 1);
        for length in (2..=most).rev() {
            for tail in 1..length {
                let (before, time) = (length - tail, count - tail..count);
                for first in 0..time.start.saturating_sub(before) {
                    let part = first..first + before;
                    if !self.can_be_part(part.clone()) {
                        continue;
                    }
                    let found = self.time_of(part.clone(), time.clone());
                    let found = found.or_else(|| self.time_of(time.clone(), part.clone()));
                    let Some(found) = found else {
                        continue;
                    };
                    let title = self.title_without(&[part, time.clone()]);
                    if title
                        .last()
                        .is_some_and(|at| is_preposition(self.english_of(*at)))
                        || self.leftover(&title, found.rule.is_some()).is_some()
                    {
                        continue;
                    }
                    if let Some(phrase) = self.phrase_of(&title, found) {
                        return Some(FoundTime {
                            phrase,
                            title,
                            time,
                            count: length,
                        });
                    }
                }
            }
        }
        None
    }

    /// Returns true if words within the title can be a part of a time whose other part is at the end.
    fn can_be_part(&self, part: Range<usize>) -> bool {
        let list = self.words_of(part.clone());
        let last = self.english_of(part.end.saturating_sub(1));
        let is_time =
            (list.contains(is_distinct) || self.is_distinct(&list)) && !is_preposition(last);
        // Of "Weekly sync monday" the first word is as likely a part of the title.
        let are_names = part
            .clone()
            .all(|at| RULE_NAMES.contains(&self.english_of(at)));
        // Of "Black Friday shopping 9am" the second word is a part of the title, of "Lunch friday with Bob 9am" not.
        let next = self.english_of(part.end);
        // Of "Chapters 3-4 until 3 December" the figures are no time.
        let is_time =
            is_time && list.contains(|word| word.contains(|c: char| c.is_alphabetic() || c == ':'));
        let is_bare_name = part.start > 0
            && list.left() == part.len()
            && !list.contains(|word| !is_full_name(word))
            && !is_preposition(next)
            && next != "with";
        is_time && !are_names && !is_bare_name
    }
}

/// Returns times this many days later.
fn moved_by(times: &TimeWords, days: i64) -> TimeWords {
    TimeWords {
        start: plus_days(times.start, days),
        end: times.end.clone().map(|end| match end {
            EndWords::At(end) => EndWords::At(plus_days(end, days)),
            EndWords::After(length) => EndWords::After(length),
        }),
    }
}

/// Returns sentences about what was assumed of a time.
fn notes_of(parsed: &ParsedTimes) -> Vec<String> {
    let Some((hour, minute, second)) = parsed.clock else {
        return Vec::new();
    };
    let day = parsed.times.start.local().date();
    let clock = |hour| {
        day.at(hour, minute, second)
            .map(format_clock)
            .unwrap_or_default()
    };
    let assumed = match parsed.assumed {
        AssumedHalf::None => None,
        AssumedHalf::Morning => Some(format!(
            "{} is taken as the time; for the evening, write {}",
            clock(hour),
            clock(hour + 12)
        )),
        AssumedHalf::Afternoon => Some(format!(
            "{} is taken as the time; for the morning, write {}",
            clock(hour),
            clock(hour % 12)
        )),
        AssumedHalf::Night => Some(format!(
            "{} is taken as the time, in the night; for the afternoon, write {}",
            clock(hour),
            clock(hour + 12)
        )),
    };
    let zone = parsed.zone.map(|zone| match zone {
        ZoneWord::Named(name) => format!("{} is the time in {name}", clock(hour)),
        ZoneWord::Offset(_) => format!("{} is the time in the zone that was written", clock(hour)),
    });
    assumed.into_iter().chain(zone).collect()
}

/// Returns true for a word that is not the last one of a time.
fn is_preposition(word: &str) -> bool {
    const WORDS: &[&str] = &[
        "at", "the", "on", "in", "of", "for", "from", "a", "to", "by", "thru", "um", "am", "im",
        "von", "le", "de",
    ];
    WORDS.contains(&word)
}

/// Returns true if a word of a time cannot be a word of a title, such as an abbreviated name.
fn is_distinct(word: &str) -> bool {
    const WORDS: &[&str] = &[
        "today",
        "tonight",
        "tomorrow",
        "yesterday",
        "noon",
        "midnight",
        "week",
        "weekend",
        "day",
        "month",
        "weekday",
        "hour",
        "hours",
    ];
    let singular = word.strip_suffix('s').unwrap_or(word);
    word.contains(|c: char| c.is_ascii_digit())
        || WORDS.contains(&word)
        || RULE_NAMES.contains(&word)
        || is_full_name(word)
        || is_full_name(singular)
        || word.split_once('-').is_some_and(|(first, last)| {
            parse_day_of_week(first).is_some() && parse_day_of_week(last).is_some()
        })
}

#[cfg(test)]
mod tests;
