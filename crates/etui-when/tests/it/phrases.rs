//! Phrases in the languages that are read, by what a person means with them.

use std::fmt::Write;

use etui_ical::time::{DateTime, DateTimeValue};
use etui_when::{EndWords, Phrase, parse_phrase};
use proptest::prelude::*;

/// Friday, 27 November 2026, 12:24.
fn now() -> DateTime {
    DateTime::new(2026, 11, 27, 12, 24, 0).unwrap_or(DateTime::MAX)
}

/// Formats `title; start to end; rule; at place`.
fn describe(phrase: &Phrase) -> String {
    let utc = |value| match value {
        DateTimeValue::Utc(time) => format!("{time}Z").replace("ZZ", "Z"),
        value => value.to_string(),
    };
    let mut text = format!("{}; {}", phrase.title, utc(phrase.times.start));
    let _ = match &phrase.times.end {
        None => Ok(()),
        Some(EndWords::At(end)) => write!(text, " to {}", utc(*end)),
        Some(EndWords::After(length)) => write!(text, " for {length}"),
    };
    let rule = phrase.rule.as_ref().map(|rule| format!("; {rule}"));
    let place = phrase.place.as_ref().map(|place| format!("; at {place}"));
    text.extend(rule.into_iter().chain(place));
    text
}

fn evaluate(text: &str) -> String {
    match parse_phrase(text, now().date(), now()) {
        Ok(Some(phrase)) => describe(&phrase),
        Ok(None) => "none".to_owned(),
        Err(e) => format!("refused: {e}"),
    }
}

/// Checks a table with a phrase and its meaning on each line; `refused` for one that has no clear one.
#[track_caller]
fn assert_meanings(table: &str, least: usize) {
    let lines = table.lines();
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    let (mut wrong, mut count) = (String::new(), 0);
    for line in lines {
        let (text, expected) = line.split_once('\t').unwrap_or((line, ""));
        count += 1;
        let found = evaluate(text);
        let is_right = match expected {
            "refused" => found.starts_with("refused") || found == "none",
            expected => found == expected,
        };
        if !is_right {
            let _ = write!(wrong, "{line}\n    {found}\n");
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
    assert!(count >= least, "{count} phrases");
}

#[test]
fn phrases_of_people_are_understood() {
    assert_meanings(include_str!("phrases.tsv"), 100);
}

#[test]
fn further_phrases_are_understood_or_refused() {
    assert_meanings(include_str!("further_phrases.tsv"), 200);
}

/// What was assumed is said, and what is clear is not.
#[test]
fn assumptions_are_notes() {
    for (text, expected) in [
        (
            "Coffee at 4 tomorrow",
            "16:00 is taken as the time; for the morning, write 04:00",
        ),
        (
            "Alarm at 4:30 tomorrow",
            "04:30 is taken as the time, in the night; for the afternoon, write 16:30",
        ),
        (
            "Call 3pm EST tomorrow",
            "15:00 is the time in America/New_York",
        ),
        (
            "Weekly review friday 16:00",
            "\"Weekly\" is taken as a rule; to add one time only, write the title in double quotes",
        ),
        ("Coffee at 4pm tomorrow", ""),
        ("Coffee tomorrow 04:00", ""),
        ("Breakfast at 6 tomorrow", ""),
        ("Coffee at 9 tomorrow", ""),
        ("Tea tomorrow afternoon at 4", ""),
    ] {
        let phrase = parse_phrase(text, now().date(), now());
        let notes = phrase.map(|phrase| phrase.map(|phrase| phrase.notes.join("; ")));
        assert_eq!(notes, Ok(Some(expected.to_owned())), "{text}");
    }
}

/// Titles with words that mean a day or a time in some language.
#[rustfmt::skip]
const TITLES: &[&str] = &[
    "Log in to portal", "Check in", "To do", "Things to do", "Say no", "Tell her", "Meet Dom",
    "Ask Sol", "Pick up die cast", "Buy a ton of paint", "Call Mo", "Lunch with Sam", "Lunch with Jan",
    "Coffee with Mai", "Visit Mara", "Meet Segunda", "La Quinta inn", "Pazar alışverişi",
    "Cuma namazı", "Meeting about mars", "Read The Sun", "So what", "Do laundry", "Am I ready",
    "Sex ed", "Per diem", "Fix the van", "Dinner for two", "Table for 4", "Sale on shoes",
    "One on one", "1:1 with Kim", "One-on-one with Kim", "Sprint 12 planning", "Q4 review",
    "Release 2.5", "Version 3.10 rollout", "Bus 42", "Room 101", "Flight BA 123", "Platform 9 3/4",
    "Chapter 12", "50th birthday", "2nd interview", "Act II", "Half marathon", "Quarter final",
    "Morning briefing", "Night shift", "Evening prayers", "Afternoon tea", "Noon prayer",
    "Midnight mass", "Happy hour", "Lunch hour", "Rush hour traffic", "24h race", "Dr. No",
    "St. Martin", "Dr. Mayer", "Prof. Sommer", "Week 48 planning", "Year end party", "Day trip",
    "Weekend shopping", "Monthly budget", "Annual checkup", "Summer fest", "May pole",
    "August Macke exhibition", "April's birthday", "June's party", "Marco's party", "Augusto",
    "Frau Montag", "Herr Sonntag", "Domingo concert", "Sabato trattoria", "Cita previa", "Hora santa",
    "Tag der offenen Tür", "Mittag mit Oma", "Abendessen", "Nachtwanderung", "Stundenplan besprechen",
    "Ganztagsschule", "Jahresgespräch", "Monatsmeeting", "Wochenmarkt",
];

/// Of a title nothing is taken for a time, or the phrase is refused; few are.
#[test]
fn titles_are_whole() {
    let mut refused = Vec::new();
    for (title, time) in TITLES
        .iter()
        .flat_map(|title| [(*title, "tomorrow 10:00"), (*title, "at 3")])
    {
        let text = format!("{title} {time}");
        match parse_phrase(&text, now().date(), now()) {
            Ok(Some(phrase)) => assert_eq!(phrase.title, title, "{text}"),
            Ok(None) => panic!("{text}"),
            Err(_) => refused.push(text),
        }
    }
    assert!(refused.len() <= 14, "{refused:?}");
}

/// Words that are no part of a time in any language.
const TITLE_WORDS: &[&str] = &[
    "Budget",
    "Zoe",
    "review",
    "отчёт",
    "proyecto",
    "Müller",
    "toplantı",
    "spotkanie",
    "réunion",
    "歯医者",
    "#42",
    "v2",
    "Oslo",
    "movie",
    "parents",
];
/// Times in several languages.
const TIMES: &[&str] = &[
    "tomorrow 12:30",
    "monday 9-11",
    "24 Dec to 2 Jan",
    "every tuesday 18:00",
    "morgen um 9 Uhr",
    "am Freitag 15 Uhr",
    "demain à 14h30",
    "el lunes a las 10",
    "domani alle 15",
    "amanhã às 15h",
    "vrijdag om 14:00",
    "på fredag kl 15",
    "w piątek o 15:00",
    "в пятницу в 15:00",
    "yarın saat 15:00",
    "明日 15時",
];

fn title_words() -> impl Strategy<Value = Vec<&'static str>> {
    prop::collection::vec(prop::sample::select(TITLE_WORDS), 1..6)
}

proptest! {
    // Each case parses a phrase in several languages.
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// A title before or after a time is whole.
    #[test]
    fn words_beside_a_time_are_the_title(words in title_words(), time in prop::sample::select(TIMES), is_first: bool) {
        let title = words.join(" ");
        let text = match is_first {
            true => format!("{time} {title}"),
            false => format!("{title} {time}"),
        };
        let found = parse_phrase(&text, now().date(), now());
        let found = found.map(|phrase| phrase.map(|phrase| phrase.title));
        prop_assert_eq!(found, Ok(Some(title)), "{}", text);
    }

    /// Wherever the words of a time are, those of the title are in the title or the place, or the phrase is refused.
    #[test]
    fn no_word_of_a_title_is_lost(
        words in title_words(),
        time in prop::sample::select(TIMES),
        places in prop::collection::vec(0usize..6, 8),
    ) {
        let mut all: Vec<&str> = words.clone();
        for (part, place) in time.split(' ').zip(places) {
            all.insert(place.min(all.len()), part);
        }
        let text = all.join(" ");
        if let Ok(Some(phrase)) = parse_phrase(&text, now().date(), now()) {
            let kept = format!("{} {}", phrase.title, phrase.place.unwrap_or_default());
            for word in words {
                prop_assert!(kept.split(' ').any(|known| known == word), "{}: {}", text, kept);
            }
        }
    }

    /// Words of times in any order are understood or refused, without a panic.
    #[test]
    fn words_of_times_are_read_or_refused(
        words in prop::collection::vec(prop::sample::select(TIMES.join(" ").leak().split(' ').collect::<Vec<&str>>()), 0..12),
    ) {
        let _ = parse_phrase(&words.join(" "), now().date(), now());
    }

    #[test]
    fn any_text_is_read_or_refused(text in "[\\PC明時分半月曜日来週毎の'@0-9:.\\-]{0,40}") {
        let _ = parse_phrase(&text, now().date(), now());
    }
}

/// The cost of a phrase is bounded by its length: this test would not end otherwise.
#[test]
fn long_phrases_end() {
    for words in [
        "lorem ipsum",
        "tomorrow at 9 every",
        "end of next",
        "明日15時",
        "@a monday",
        "for 2 weeks until",
    ] {
        let text = [words].repeat(3_000).join(" ");
        let _ = parse_phrase(&text, now().date(), now());
        let _ = parse_phrase(&format!("{text} Lunch tomorrow 12:30"), now().date(), now());
        let _ = etui_when::parse_times_on(&text, now().date(), now());
        let _ = etui_when::parse_recurrence(&text, now().date(), now());
    }
}
