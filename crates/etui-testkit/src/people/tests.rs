//! Properties of the generator that other tests rely on.

use std::collections::HashSet;

use super::locales::LOCALES;
use super::text::{fill, native, push_slug, zipf};
use super::*;
use crate::rng::SplitMix64;

const MANY: u64 = 40_000;

fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xCBF2_9CE4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01B3)
    })
}

/// Benchmarks are compared across commits: whoever changes the generator has
/// to notice, and to change this number.
#[test]
fn the_first_thousand_cards_are_the_recorded_ones() {
    let text: String = People::new(1).take(1000).collect();
    assert_eq!(fnv1a(text.as_bytes()), RECORDED, "{} bytes", text.len());
}

const RECORDED: u64 = 1_127_598_397_184_360_757;

#[test]
fn a_person_does_not_depend_on_the_ones_before() {
    let cards: Vec<String> = People::new(42).take(500).collect();
    for index in [0, 1, 137, 499] {
        assert_eq!(person(42, index as u64).to_text(), cards[index]);
    }
    let mut people = People::new(42);
    assert_eq!(people.nth(137).as_ref(), Some(&cards[137]));
    assert_eq!(people.next().as_ref(), Some(&cards[138]));
    assert_ne!(person(42, 3), person(43, 3));
    let far = person(42, u64::MAX);
    assert_eq!(far, person(42, u64::MAX));
}

#[test]
fn a_file_is_its_cards_one_after_another() {
    let mut file = Vec::new();
    let length = write_vcf(&mut file, 5, 300).unwrap();
    assert_eq!(length, file.len() as u64);
    let cards: String = People::new(5).take(300).collect();
    assert_eq!(String::from_utf8(file).unwrap(), cards);
}

#[track_caller]
fn about(what: &str, count: u64, per_mille: u64) {
    let found = count * 1000 / MANY;
    let allowed = 6 + per_mille / 50;
    assert!(
        found.abs_diff(per_mille) <= allowed,
        "{what}: {found} of a thousand, not {per_mille}"
    );
}

#[test]
fn fields_are_as_frequent_as_in_real_books() {
    let all: Vec<Person> = (0..MANY).map(|index| person(8, index)).collect();
    let count = |test: &dyn Fn(&Person) -> bool| all.iter().filter(|p| test(p)).count() as u64;

    let spare = |p: &Person| {
        p.phones.len() == 1
            && p.emails.is_empty()
            && p.organisation.is_none()
            && p.addresses.is_empty()
            && p.birthday.is_none()
            && p.note.is_none()
    };
    let spare = count(&spare);
    assert!(spare * 1000 / MANY >= 80, "a name and a number: {spare}");
    about("e-mail", count(&|p| !p.emails.is_empty()), 550);
    about("two e-mails", count(&|p| p.emails.len() > 1), 200);
    let at_org = |p: &Person| p.emails.iter().any(|(_, e)| e.ends_with("@example.org"));
    about("example.org", count(&at_org), 280);
    about("phone", count(&|p| !p.phones.is_empty()), 850);
    about("two phones", count(&|p| p.phones.len() > 1), 400);
    about("organisation", count(&|p| p.organisation.is_some()), 450);
    about("address", count(&|p| !p.addresses.is_empty()), 300);
    about("birthday", count(&|p| p.birthday.is_some()), 250);
    about("note", count(&|p| p.note.is_some()), 150);
    about("nickname", count(&|p| p.nickname.is_some()), 100);
    about("categories", count(&|p| !p.categories.is_empty()), 120);
    about("photo", count(&|p| p.photo.is_some()), 30);
    about("2.1", count(&|p| p.version == Version::V21), 100);
    about("3.0", count(&|p| p.version == Version::V3), 480);

    let bytes: usize = all.iter().map(|p| p.to_text().len()).sum();
    let mean = bytes as u64 / MANY;
    assert!((450..700).contains(&mean), "mean card: {mean} bytes");
}

#[test]
fn every_line_fits_and_no_character_is_cut() {
    for index in 0..4000 {
        let someone = person(3, index);
        for version in [Version::V21, Version::V3, Version::V4] {
            let card = someone.to_vcard(version);
            assert!(card.starts_with("BEGIN:VCARD\r\nVERSION:"));
            assert!(card.ends_with("\r\nEND:VCARD\r\n"));
            assert!(!card.replace("\r\n", "").contains(['\r', '\n']));
            if version == Version::V21 {
                assert!(card.is_ascii());
            }
            for line in card.split("\r\n") {
                assert!(
                    line.len() <= 76 - usize::from(version != Version::V21),
                    "{line}"
                );
            }
        }
    }
}

#[test]
fn unfolding_gives_back_what_was_written() {
    let someone = (0..)
        .map(|index| person(11, index))
        .find(|p| {
            p.note
                .as_ref()
                .is_some_and(|n| n.len() > 200 && n.contains('\n'))
        })
        .unwrap();
    let note = someone.note.as_ref().unwrap();
    let unfolded = someone.to_vcard(Version::V4).replace("\r\n ", "");
    let line = unfolded.lines().find(|l| l.starts_with("NOTE:")).unwrap();
    let plain = line[5..]
        .replace("\\\\", "\u{1}")
        .replace("\\n", "\n")
        .replace("\\,", ",")
        .replace("\\;", ";")
        .replace('\u{1}', "\\");
    assert_eq!(&plain, note);
}

#[test]
fn quoted_printable_gives_back_what_was_written() {
    let someone = (0..)
        .map(|index| person(12, index))
        .find(|p| !p.formatted.is_ascii() && p.formatted.len() > 40)
        .unwrap();
    let card = someone.to_vcard(Version::V21).replace("=\r\n", "");
    let line = card.lines().find(|l| l.starts_with("FN;")).unwrap();
    let (name, value) = line.split_once(':').unwrap();
    assert_eq!(name, "FN;CHARSET=UTF-8;ENCODING=QUOTED-PRINTABLE");
    let mut bytes = Vec::new();
    let mut rest = value.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        if *first == b'=' {
            let (hex, after) = rest.split_at(2);
            let hex = std::str::from_utf8(hex).unwrap();
            bytes.push(u8::from_str_radix(hex, 16).unwrap());
            rest = after;
        } else {
            bytes.push(*first);
        }
    }
    assert_eq!(String::from_utf8(bytes).unwrap(), someone.formatted);
}

#[test]
fn uids_are_distinct_and_shaped_like_uuids() {
    let mut seen = HashSet::new();
    for index in 0..MANY {
        let uid = person(2, index).uid;
        assert_eq!(uid.len(), 36);
        assert_eq!(uid.as_bytes()[14], b'4');
        assert!(b"89ab".contains(&uid.as_bytes()[19]));
        assert!(seen.insert(uid));
    }
}

#[test]
fn far_into_a_book_most_numbers_and_addresses_are_still_distinct() {
    let (mut phones, mut emails) = (HashSet::new(), HashSet::new());
    let (mut all_phones, mut all_emails) = (0, 0);
    for index in 0..MANY {
        let someone = person(2, 500_000 + index * 7);
        all_phones += someone.phones.len();
        all_emails += someone.emails.len();
        let digits = |number: String| number.chars().filter(char::is_ascii_digit).collect();
        phones.extend(
            someone
                .phones
                .into_iter()
                .map(|(_, n)| -> String { digits(n) }),
        );
        emails.extend(someone.emails.into_iter().map(|(_, e)| e));
    }
    assert!(
        phones.len() * 100 > all_phones * 95,
        "{} of {all_phones}",
        phones.len()
    );
    assert!(
        emails.len() * 100 > all_emails * 90,
        "{} of {all_emails}",
        emails.len()
    );
}

#[test]
fn addresses_are_ascii_and_under_reserved_names() {
    for index in 0..MANY {
        for (_, email) in person(6, index).emails {
            let (local, domain) = email.split_once('@').unwrap();
            assert!(!local.is_empty() && email.is_ascii(), "{email}");
            let reserved = ["example.org", "example.com", "example.net"];
            assert!(
                reserved.contains(&domain) || domain.ends_with(".example"),
                "{email}"
            );
            assert!(domain.split('.').all(|label| !label.is_empty()
                && !label.starts_with('-')
                && !label.ends_with('-')));
        }
    }
}

#[test]
fn names_come_from_many_scripts_and_few_of_them_are_everywhere() {
    let mut given = HashSet::new();
    let mut family = HashSet::new();
    let mut muellers = 0;
    for index in 0..MANY {
        let someone = person(4, index);
        muellers += u64::from(someone.family == "Müller");
        given.insert(someone.given);
        family.insert(someone.family);
    }
    assert!(given.len() > 500, "{}", given.len());
    assert!(family.len() > 400, "{}", family.len());
    // A tenth of the Germans; a seventh of all people are German.
    assert!((200..1600).contains(&muellers), "{muellers}");
    for name in [
        "Łukasz",
        "Søren",
        "Åsa",
        "İbrahim",
        "Νίκος",
        "Фёдор",
        "伟",
        "花子",
        "민준",
    ] {
        assert!(given.contains(name), "{name}");
    }
    for name in ["Nguyễn", "佐藤", "שפירא", "الحداد"] {
        assert!(family.contains(name), "{name}");
    }
}

#[test]
fn every_list_is_usable() {
    let mut rng = SplitMix64::new(1);
    for locale in LOCALES.iter() {
        let lists = [
            &locale.men,
            &locale.women,
            &locale.families,
            &locale.families_of_women,
            &locale.places,
            &locale.streets,
            &locale.trades,
            &locale.forms,
            &locale.titles,
            &locale.fixed,
            &locale.fixed_wide,
            &locale.mobile,
            &locale.mobile_wide,
        ];
        assert!(lists.iter().all(|list| (1..=64).contains(&list.len())));
        assert_eq!(locale.families.len(), locale.families_of_women.len());
        assert!(
            locale
                .places
                .iter()
                .all(|place| place.split(':').count() == 3)
        );
        assert!(
            locale
                .forms
                .iter()
                .all(|form| form.matches('*').count() == 1)
        );
        for name in locale
            .men
            .iter()
            .chain(&locale.women)
            .chain(&locale.families)
        {
            let mut slug = String::new();
            push_slug(name, locale.umlauts, "-", &mut slug);
            assert!(!slug.is_empty(), "{name}");
            assert!(
                slug.bytes().all(|b| b.is_ascii_lowercase() || b == b'-'),
                "{name}: {slug}"
            );
            // Each letter has been folded, none dropped.
            if !name.contains('/') {
                let letters = name.chars().filter(|c| c.is_alphabetic()).count();
                assert!(slug.len() >= letters, "{name}: {slug}");
            }
            assert!(!native(name).is_empty());
        }
        for shape in locale.fixed.iter().chain(&locale.mobile_wide) {
            let mut number = String::new();
            fill(shape, &mut rng, &mut number);
            assert!(
                number.chars().all(|c| "0123456789 +-/().x".contains(c)),
                "{number}"
            );
        }
    }
}

#[test]
fn the_head_of_a_list_is_drawn_more_often() {
    let mut rng = SplitMix64::new(1);
    let mut counts = [0; 30];
    for _ in 0..30_000 {
        counts[zipf(30, &mut rng)] += 1;
    }
    assert!(counts[0] > 6 * counts[29] && counts.iter().all(|count| *count > 100));
    assert_eq!(zipf(0, &mut rng), 0);
}

#[test]
fn a_varied_book_has_more_names_the_larger_it_is() {
    let distinct = |person: fn(u64, u64) -> Person, count: u64| {
        let names = (0..count).map(|index| person(5, index).family);
        names.collect::<HashSet<_>>().len()
    };
    let (few, many) = (
        distinct(varied_person, MANY / 8),
        distinct(varied_person, MANY),
    );
    assert!(many > 4 * distinct(person, MANY), "{many} family names");
    assert!(many > 3 * few, "{few}, then {many} family names");

    let all: Vec<Person> = (0..MANY).map(|index| varied_person(5, index)).collect();
    for someone in &all {
        let (family, given) = (&someone.family, &someone.given);
        let shown = &someone.formatted;
        assert!(shown.contains(family) && shown.contains(given), "{shown}");
        let plain = |e: &str| e.is_ascii() && e.matches('@').count() == 1 && !e.starts_with('@');
        assert!(someone.emails.iter().all(|(_, e)| plain(e)), "{someone:?}");
    }
    let cards: Vec<String> = all.iter().take(500).map(Person::to_text).collect();
    assert_eq!(People::varied(5).take(500).collect::<Vec<_>>(), cards);
    assert_eq!(People::varied(5).nth(137).as_ref(), Some(&cards[137]));
}
