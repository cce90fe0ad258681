//! Values of tags in the forms that taggers write: years, track numbers, discs in titles, artists.

/// Words that join artists of whom the first is the main one.
const JOINS: &[&str] = &[
    " feat. ",
    " feat ",
    " ft. ",
    " ft ",
    " featuring ",
    " (feat. ",
    " (ft. ",
    " [feat. ",
    " with ",
    " vs. ",
    " vs ",
    ", ",
    "; ",
    " / ",
    "/",
];
/// Joins that are also in the names of groups: they count if the first artist is there alone, too.
const WEAK_JOINS: &[&str] = &[" & ", " and ", " + ", " x "];

/// Returns the year of a date in any form: the first number of four digits, or of eight: `1999`,
/// `19990504`, `04.05.1999`, `c. 1999`.
pub(super) fn year_of(date: &str) -> Option<u32> {
    let numbers = date.split(|c: char| !c.is_ascii_digit());
    let mut years = numbers.filter(|number| matches!(number.len(), 4 | 8 | 14));
    let year = years.next()?.get(..4)?.parse().ok()?;
    (year > 0).then_some(year)
}

/// Returns the side and number of a track: `3/12` is (0, 3), `A1` and `B2` of a record are (1, 1) and
/// (2, 2).
pub(super) fn side_and_number(text: &str) -> (u32, u32) {
    let text = text.trim();
    let side = text.bytes().next().filter(u8::is_ascii_alphabetic);
    let number = match side {
        Some(_) => text.get(1..).unwrap_or_default(),
        None => text,
    };
    let side = side.map_or(0, |side| u32::from(side.to_ascii_uppercase() - b'A') + 1);
    match leading_number(number) {
        Some(number) => (side, number),
        None => (0, 0),
    }
}

/// Returns the number that a text such as `3/12` begins with.
pub(super) fn leading_number(text: &str) -> Option<u32> {
    let text = text.trim_start();
    let end = text.find(|c: char| !c.is_ascii_digit());
    text.get(..end.unwrap_or(text.len()))?.parse().ok()
}

/// Splits a title that names its disc: `Live (Disc 2)`, `Live [CD 2]`, `Live - CD2`, `Live, Disc 2:
/// Encores`.
pub(super) fn split_disc(title: &str) -> (&str, Option<u32>) {
    let is_start = |at: usize, c: char| {
        let before = title
            .get(..at)
            .and_then(|before| before.chars().next_back());
        matches!(c, 'd' | 'D' | 'c' | 'C') && before.is_some_and(|c| !c.is_alphanumeric())
    };
    for (at, _) in title.char_indices().filter(|(at, c)| is_start(*at, *c)) {
        let (before, from) = title.split_at(at);
        let Some((number, rest)) = disc_number(from) else {
            continue;
        };
        let open = before.chars().next_back();
        let is_whole = match open {
            Some('(') => rest.ends_with(')'),
            Some('[') => rest.ends_with(']'),
            Some('{') => rest.ends_with('}'),
            _ => rest.is_empty() || rest.starts_with(':'),
        };
        let is_separator = |c: char| c.is_whitespace() || "([{-,:;_".contains(c);
        let name = before.trim_end_matches(is_separator);
        if is_whole && !name.is_empty() {
            return (name, Some(number));
        }
    }
    (title, None)
}

/// Returns the number of a disc that a text begins with, and the rest: `CD2`, `Disc 1`.
fn disc_number(text: &str) -> Option<(u32, &str)> {
    let words = ["disc", "disk", "disque", "cd"];
    let rest = words.iter().find_map(|word| {
        let start = text.get(..word.len())?;
        start
            .eq_ignore_ascii_case(word)
            .then(|| text.get(word.len()..))?
    })?;
    let rest = rest.trim_start_matches([' ', '-', '_', '.', '#']);
    let end = rest
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(rest.len());
    let (number, rest) = rest.split_at(end);
    let number = number
        .parse()
        .ok()
        .filter(|number| (1..100).contains(number))?;
    Some((number, rest))
}

/// Returns true for the name of a disc's folder: `CD2`, `Disc 1`, `Live (Disc 2)`.
pub(super) fn is_disc_folder(name: &str) -> bool {
    disc_number(name).is_some() || split_disc(name).1.is_some()
}

/// Returns the artist that all of these begin with: `Ann` of `Ann` and `Ann feat. Ben`.
pub(super) fn shared_artist<'a>(artists: impl Iterator<Item = &'a str> + Clone) -> Option<&'a str> {
    let first = artists.clone().min_by_key(|artist| artist.len())?;
    let begins = |artist: &str, name: &str, is_alone: bool| {
        let Some(rest) = strip_folded(artist, name) else {
            return false;
        };
        let joins = |list: &[&str]| list.iter().any(|join| strip_folded(rest, join).is_some());
        rest.is_empty() || joins(JOINS) || (is_alone && joins(WEAK_JOINS))
    };
    let ends = JOINS.iter().filter_map(|join| find_folded(first, join));
    let mut ends: Vec<usize> = ends.chain([first.len()]).collect();
    ends.sort_unstable();
    // The longest that fits all.
    ends.iter().rev().find_map(|&end| {
        let name = first.get(..end).filter(|name| !name.trim().is_empty())?;
        let is_alone = end == first.len();
        let mut all = artists.clone();
        all.all(|artist| begins(artist, name, is_alone))
            .then_some(name)
    })
}

/// Removes a prefix, without regard to the case of ASCII letters.
fn strip_folded<'t>(text: &'t str, prefix: &str) -> Option<&'t str> {
    let start = text.get(..prefix.len())?;
    start
        .eq_ignore_ascii_case(prefix)
        .then(|| text.get(prefix.len()..))?
}

fn find_folded(text: &str, part: &str) -> Option<usize> {
    let mut places = text.char_indices().map(|(at, _)| at);
    places.find(|&at| {
        text.get(at..)
            .is_some_and(|rest| strip_folded(rest, part).is_some())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn years_and_numbers_in_odd_forms() {
        for (date, year) in [
            ("1999-05-01", Some(1999)),
            ("19990504", Some(1999)),
            ("04.05.1999", Some(1999)),
            ("c. 1999", Some(1999)),
            ("May 1999", Some(1999)),
            ("0000", None),
            ("99", None),
            ("", None),
        ] {
            assert_eq!(year_of(date), year, "{date}");
        }
        for (text, number) in [
            ("3/12", (0, 3)),
            ("12 of 14", (0, 12)),
            (" 07", (0, 7)),
            ("A1", (1, 1)),
            ("b2", (2, 2)),
            ("AA", (0, 0)),
            ("", (0, 0)),
        ] {
            assert_eq!(side_and_number(text), number, "{text}");
        }
    }

    #[test]
    fn discs_in_titles() {
        for (title, expected) in [
            ("Live (Disc 2)", ("Live", Some(2))),
            ("Live [Disc 1]", ("Live", Some(1))),
            ("Live CD2", ("Live", Some(2))),
            ("Live - Disc 1", ("Live", Some(1))),
            ("Live, Disc 2: Encores", ("Live", Some(2))),
            ("Live (CD 1 - Berlin)", ("Live", Some(1))),
            ("Live {disk-3}", ("Live", Some(3))),
            ("CD 2", ("CD 2", None)),
            ("Discovery", ("Discovery", None)),
            ("The Disc 3000", ("The Disc 3000", None)),
            ("Songs from a CD", ("Songs from a CD", None)),
            ("Disc 2 of the best", ("Disc 2 of the best", None)),
        ] {
            assert_eq!(split_disc(title), expected, "{title}");
        }
    }

    #[test]
    fn folders_of_discs_are_known_by_name() {
        for name in ["CD2", "Disc 1", "disk-03", "cd 1 (live)", "Live (Disc 2)"] {
            assert!(is_disc_folder(name), "{name}");
        }
        for name in ["CDs", "Discovery", "Low", "1"] {
            assert!(!is_disc_folder(name), "{name}");
        }
    }

    #[test]
    fn the_artist_that_all_begin_with() {
        let of = |artists: &[&str]| shared_artist(artists.iter().copied()).map(str::to_owned);
        for (artists, expected) in [
            (&["Ann", "Ann feat. Ben"][..], Some("Ann")),
            (&["Ann feat. Ben", "Ann ft. Cid"], Some("Ann")),
            (&["Ann", "Ann, Ben", "ann (feat. Cid)"], Some("Ann")),
            (&["Ann", "Ann & Ben"], Some("Ann")),
            (
                &["Earth, Wind & Fire", "Earth, Wind & Fire feat. Ann"],
                Some("Earth, Wind & Fire"),
            ),
            (&["Ann", "Anna"], None),
            (&["Simon & Garfunkel", "Simon & Schuster"], None),
            (&["Ann", "Ben"], None),
        ] {
            assert_eq!(of(artists).as_deref(), expected, "{artists:?}");
        }
    }
}
