//! Texts that an index looks up, compared with an evaluation of every record.

use etui::calendar::zones::TimeZoneResolver;
use etui::contacts::Card;
use etui_testkit::calendars::{Span, write_ics};
use etui_testkit::people::write_vcf;
use etui_testkit::rng::SplitMix64;

use super::*;

/// Returns a part of a random text, with XML's special characters escaped.
fn part_of(values: &[String], rng: &mut SplitMix64) -> String {
    let value = &values[rng.below(values.len() as u32) as usize];
    let chars: Vec<char> = value.chars().collect();
    let start = rng.below(chars.len().max(1) as u32) as usize;
    let length = 1 + rng.below(6) as usize;
    let part: String = chars.iter().skip(start).take(length).collect();
    let part = match rng.below(3) {
        0 => part.to_uppercase(),
        _ => part,
    };
    let part = part
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;");
    // Parts of blanks would be white space between elements.
    part.replace(['\r', '\n', '\t'], "a")
}

#[test]
fn contacts_found_by_the_index_are_those_that_match() {
    let mut cards = Vec::new();
    write_vcf(&mut cards, 7, 400).unwrap();
    let store = TestStore::with_contacts(&cards);
    let snapshot = store.store.snapshot().unwrap();
    let reader = snapshot.contacts().unwrap();
    let all = reader.all().unwrap();
    let mut rng = SplitMix64::new(7);
    let mut matches = 0;
    for name in ["FN", "NICKNAME", "ORG", "EMAIL", "TEL"] {
        let values: Vec<String> = all
            .iter()
            .flat_map(|(_, text)| Card::parse(text).unwrap().properties(name))
            .filter(|value| !value.trim().is_empty())
            .collect();
        for _ in 0..60 {
            let texts: String = (0..1 + rng.below(2))
                .map(|_| {
                    let kind = ["contains", "equals", "starts-with", "ends-with"];
                    let kind = kind[rng.below(4) as usize];
                    let collation = COLLATIONS[rng.below(3) as usize];
                    let text = part_of(&values, &mut rng);
                    format!(
                        "<C:text-match match-type=\"{kind}\" collation=\"{collation}\">{text}\
                         </C:text-match>"
                    )
                })
                .collect();
            let test = ["anyof", "allof"][rng.below(2) as usize];
            let filter = format!(
                "<C:filter><C:prop-filter name=\"{name}\" test=\"{test}\">{texts}</C:prop-filter>\
                 </C:filter>"
            );
            let query = parse_addresses(&filter).unwrap();
            let expected = all.iter().filter(|(_, text)| query.matches(text));
            let expected: Vec<_> = expected.map(|(id, _)| id).collect();
            let found = find_contacts(&reader, &query).unwrap();
            assert_eq!(found.ids, expected, "{filter}");
            matches += expected.len();
        }
    }
    assert!(matches > 3_000, "{matches}");
}

#[test]
fn entries_found_by_the_index_are_those_that_match() {
    let mut ics = Vec::new();
    write_ics(&mut ics, 7, Span::USUAL, 400).unwrap();
    let store = TestStore::with_calendar(&ics);
    let snapshot = store.store.snapshot().unwrap();
    let reader = snapshot.calendar().unwrap();
    let all = reader.all().unwrap();
    let zones = TimeZoneResolver::new();
    let mut rng = SplitMix64::new(7);
    let mut matches = 0;
    for name in ["SUMMARY", "LOCATION"] {
        let lines = String::from_utf8_lossy(all.bytes()).into_owned();
        let values: Vec<String> = lines
            .lines()
            .filter_map(|line| line.strip_prefix(name)?.strip_prefix(':'))
            .map(str::to_owned)
            .collect();
        for round in 0..60 {
            let component = ["VEVENT", "VTODO"][round % 2];
            let text = part_of(&values, &mut rng);
            let filter = format!(
                "<C:comp-filter name=\"{component}\"><C:prop-filter name=\"{name}\">\
                 <C:text-match>{text}</C:text-match></C:prop-filter></C:comp-filter>"
            );
            let query = parse_query(&filter).unwrap();
            let is_match = |text: &[u8]| query.matches(text, &zones, &TimeZone::UTC);
            let expected = all.iter().filter(|(_, text)| is_match(text));
            let expected: Vec<_> = expected.map(|(id, _)| id).collect();
            let found = find(&reader, &query, &TimeZone::UTC).unwrap();
            assert_eq!(found, expected, "{filter}");
            matches += expected.len();
        }
    }
    assert!(matches > 1_000, "{matches}");
}
