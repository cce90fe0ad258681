//! Phone numbers: agreement with the recorded reference, and the rules that are
//! etui's own.

use std::collections::BTreeMap;

use etui_text::phone::{
    MAX_DIGITS, MatchType, PhoneNumber, Region, WrittenNumber, prefix_forms, suffix_forms,
};

fn region(code: &str) -> Option<Region> {
    assert!(code.is_empty() || Region::parse(code).is_some(), "{code}");
    Region::parse(code)
}

fn number(text: &str, code: &str) -> PhoneNumber {
    PhoneNumber::parse(text, region(code)).expect(text)
}

fn digits(text: &str, code: &str) -> String {
    number(text, code).digits().to_owned()
}

/// Classifies a disagreement with the reference; `None` is an unexplained one.
fn kind(input: &str, code: &str, expected: &str, got: &PhoneNumber) -> Option<&'static str> {
    let dialled = input.chars().filter(|c| c.is_numeric()).count();
    if got.country_code().is_none() && dialled <= 8 {
        Some("short number stays as dialled")
    } else if matches!(code, "BR" | "NL" | "PK") && expected.get(1..) == Some(input) {
        Some("calling code without plus, or area code")
    } else if input.starts_with("+36 (0)") {
        Some("(0) where the trunk prefix is 06")
    } else {
        None
    }
}

#[test]
fn agrees_with_the_reference() {
    let mut total = 0;
    let mut agreed = 0;
    let mut kinds: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    let mut regions: BTreeMap<&str, (u32, u32)> = BTreeMap::new();
    for line in include_str!("data/phone-reference.tsv").lines() {
        let fields: Vec<&str> = line.split('\t').collect();
        let &[input, code, expected] = fields.as_slice() else {
            continue;
        };
        total += 1;
        let tally = regions.entry(code).or_default();
        tally.0 += 1;
        let got = number(input, code);
        if got.e164().as_deref() == Some(expected) {
            agreed += 1;
            tally.1 += 1;
        } else {
            let kind = kind(input, code, expected, &got).unwrap_or("not understood");
            kinds
                .entry(kind)
                .or_default()
                .push(format!("{line}\t{}", got.digits()));
        }
    }
    println!("{agreed} of {total} agree");
    for (code, (lines, agreed)) in &regions {
        if agreed * 100 < lines * 99 {
            println!("{code}: {agreed} of {lines}");
        }
    }
    for (kind, lines) in &kinds {
        println!("{kind}: {}", lines.len());
    }
    assert!(
        total > 8000 && regions.len() == 245,
        "{total} lines, {} regions",
        regions.len()
    );
    assert_eq!(kinds.get("not understood"), None);
    assert!(agreed * 1000 >= total * 998, "{agreed} of {total}");
}

#[test]
fn the_same_number_in_many_clothes() {
    for text in [
        "+49 30 123456",
        "0049 30 123456",
        "030/123456",
        "(030) 12 34-56",
        "+49 (0)30 123456",
        "+49.30.123456",
        "tel:+49-30-123456",
        "TEL:030-123456;phone-context=+49",
        "tel:030123456;phone-context=example.org",
        "＋４９ ３０ １２３４５６",
        "٠٣٠ ١٢٣٤٥٦",
        "\u{202a}+49 30 123456\u{202c}",
        "Tel. 030 123456",
        "030 123456 / x",
    ] {
        assert_eq!(digits(text, "DE"), "4930123456", "{text}");
    }
    assert_eq!(digits("1-202-KLK-0123", "US"), "12025550123");
    assert_eq!(digits("+1 (202) klk-0123", ""), "12025550123");
    assert_eq!(digits("(202) 555-0123 (b)", "US"), "12025550123");
    assert_eq!(digits("+34 (0)912 345 678", ""), "34912345678");
    assert_eq!(digits("06 1234 5678", "IT"), "390612345678");
    assert_eq!(digits("+39 (0)6 1234 5678", ""), "390612345678");
    assert_eq!(digits("4930123456", "DE"), "4930123456");
    assert_eq!(digits("8~10 49 30 123456", "RU"), "4930123456");
    assert_eq!(digits("8 (301) 123-45-67", "RU"), "73011234567");
    assert_eq!(digits("011 15-2345-6789", "AR"), "5491123456789");
    assert_eq!(
        digits("044 222 123 4567", "MX"),
        digits("+52 1 222 123 4567", "")
    );
    assert_eq!(digits("0 21 11 2345-6789", "BR"), "551123456789");
    assert_eq!(digits("555 0123", "BS"), "12425550123");
}

#[test]
fn country_and_national_number() {
    let known = number("030 123456", "DE");
    assert_eq!(known.country_code(), Some(49));
    assert_eq!(known.national_number(), "30123456");
    assert_eq!(known.e164().as_deref(), Some("+4930123456"));
    let unknown = number("030 123456", "");
    assert_eq!(unknown.country_code(), None);
    assert_eq!(
        (unknown.national_number(), unknown.digits()),
        ("030123456", "030123456")
    );
    assert_eq!(unknown.e164(), None);
    assert_eq!(digits("0049 30 123456", ""), "4930123456");
    assert_eq!(number("+999 123456", "DE").e164(), None);
}

#[test]
fn short_and_service_codes_stay_as_dialled() {
    for (text, code) in [
        ("110", "DE"),
        ("911", "US"),
        ("11880", "DE"),
        ("*100#", "DE"),
        ("#31#", ""),
    ] {
        let short = number(text, code);
        assert_eq!((short.digits(), short.country_code()), (text, None));
    }
    assert_eq!(digits("555-0123", "US"), "5550123");
    assert_eq!(digits("22 123", "FK"), "50022123");
}

#[test]
fn extensions() {
    for text in [
        "030 123456 ext. 12",
        "030 123456 x12",
        "030 123456#12",
        "030 123456 - 12#",
        "030 123456,12",
        "030 123456,,12#",
        "030 123456;12",
        "030 123456;ext=12",
        "tel:+4930123456;ext=12",
        "030 123456 доб. 12",
        "030 123456 extensión 12",
        "030 123456p12",
        "030 123456 x12/x13",
    ] {
        let number = number(text, "DE");
        assert_eq!(
            (number.digits(), number.extension()),
            ("4930123456", Some("12")),
            "{text}"
        );
    }
    assert_eq!(number("030 123456", "DE").extension(), None);
}

#[test]
fn strengths() {
    use MatchType::{Exact, Nsn, ShortNsn};
    let equal = |a: (&str, &str), b: (&str, &str), strength| {
        let (a, b) = (number(a.0, a.1), number(b.0, b.1));
        assert_eq!(a.matches(&b, strength), b.matches(&a, strength));
        a.matches(&b, strength)
    };
    let full = ("+49 30 123456", "");
    assert!(equal(full, ("030 123456", "DE"), Exact));
    assert!(!equal(full, ("030 123456", ""), Exact));
    assert!(equal(full, ("030 123456", ""), Nsn));
    assert!(equal(full, ("4930123456", ""), Nsn));
    assert!(!equal(full, ("+43 30 123456", ""), Nsn));
    assert!(equal(full, ("+43 30 123456", ""), ShortNsn));
    assert!(equal(("0123456789", ""), ("0123456789", ""), Exact));
    assert!(equal(("555-0123", "US"), ("+1 202 555 0123", ""), ShortNsn));
    assert!(!equal(("110", "DE"), ("+49 30 123110", ""), ShortNsn));
    assert!(equal(("110", "DE"), ("110", "AT"), ShortNsn));
    assert!(!equal(("12", ""), ("12", ""), ShortNsn));
    assert!(!equal(
        ("030 123456 x1", "DE"),
        ("030 123456 x2", "DE"),
        Exact
    ));
    assert!(equal(("030 123456 x1", "DE"), ("030 123456", "DE"), Exact));
}

#[test]
fn beginnings_as_typed() {
    let forms = |typed, code| prefix_forms(typed, region(code));
    assert_eq!(forms("030", "DE"), ["030", "4930"]);
    assert_eq!(forms("30", "DE"), ["30", "4930"]);
    assert_eq!(forms("+4930", "DE"), ["4930"]);
    assert_eq!(forms("+49 (0)30", "DE"), ["4930"]);
    assert_eq!(forms("0049 30", "DE"), ["004930", "4930"]);
    assert_eq!(forms("0049 30", ""), ["004930", "4930"]);
    assert_eq!(forms("030", ""), ["030"]);
    assert_eq!(forms("0", "DE"), ["0", "49"]);
    assert_eq!(forms("06", "IT"), ["06", "3906"]);
    assert_eq!(forms("202 555", "US"), ["202555", "1202555"]);
    assert_eq!(forms("1 202", "US"), ["1202"]);
    assert_eq!(forms("555", "BS"), ["555", "1242555", "1555"]);
    assert_eq!(forms("011 23", "AR"), ["01123", "541123", "5491123"]);
    assert_eq!(forms("*10", "DE"), ["*10"]);
    assert!(forms("", "DE").is_empty() && forms("+", "DE").is_empty());
}

#[test]
fn every_beginning_finds_its_number() {
    for (text, code) in [
        ("030 123456", "DE"),
        ("+4930123456", "DE"),
        ("0049 30 123456", "FR"),
        ("(202) 555-0123", "US"),
        ("06 1234 5678", "IT"),
    ] {
        let whole = digits(text, code);
        for end in 1..=text.len() {
            let typed = &text[..end];
            let forms = prefix_forms(typed, region(code));
            let partial = typed.chars().filter(char::is_ascii_digit).count();
            let international = text.starts_with("00") && partial <= 2;
            assert!(
                partial == 0
                    || international
                    || forms.iter().any(|form| whole.starts_with(form.as_str())),
                "{typed}: {forms:?}"
            );
        }
    }
}

#[test]
fn ends_as_typed() {
    let forms = |typed, code| suffix_forms(typed, region(code));
    assert_eq!(forms("4711", "DE"), ["4711"]);
    assert_eq!(forms("030 1234", "DE"), ["0301234", "301234"]);
    assert_eq!(forms("+49 (0)30 1234", "DE"), ["49301234"]);
    assert_eq!(forms("0049 30 1234", "DE"), ["0049301234", "49301234"]);
    assert_eq!(forms("012", "DE"), ["012"]);
    assert_eq!(forms("06 1234", "IT"), ["061234"]);
    assert!(forms("-", "DE").is_empty());
}

#[test]
fn regions() {
    let of = |tag| Region::from_locale(tag).map(Region::code);
    assert_eq!(of("de_DE.UTF-8"), Some("DE"));
    assert_eq!(of("en-US"), Some("US"));
    assert_eq!(of("zh-Hant-TW"), Some("TW"));
    assert_eq!(of("sr_RS@latin"), Some("RS"));
    for none in ["C", "POSIX", "eo", "es-419", "", "en-u-us", "C.UTF-8"] {
        assert_eq!(of(none), None, "{none}");
    }
    assert_eq!(Region::parse("gb").map(Region::code), Some("GB"));
    assert_eq!(Region::parse("001"), None);
    assert_eq!(Region::parse("ÄÖ"), None);
}

#[test]
fn no_input_is_too_odd() {
    for none in ["", " ", "+", "tel:", "home", "()", "ext."] {
        assert!(PhoneNumber::parse(none, region("DE")).is_none(), "{none}");
    }
    let long = number(&"7".repeat(5000), "DE");
    assert_eq!(
        (long.digits().len(), long.country_code()),
        (MAX_DIGITS, None)
    );
    let pieces = [
        "+",
        "0",
        "1",
        "49",
        "(0)",
        " ",
        ";ext=",
        ";",
        ",",
        "x",
        "#",
        "*",
        "tel:",
        "é",
        "٣",
        "/",
        ";phone-context=+",
        "ABC",
        "=",
        "\u{0}",
    ];
    let mut seed = 1u64;
    for _ in 0..50_000 {
        let mut text = String::new();
        for _ in 0..seed % 17 {
            seed = seed
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            text.push_str(pieces[(seed >> 33) as usize % pieces.len()]);
        }
        seed = seed.wrapping_add(1);
        let region = [
            region("DE"),
            region("IT"),
            region("US"),
            region("AR"),
            region("BR"),
            None,
        ][(seed % 6) as usize];
        if let Some(number) = PhoneNumber::parse(&text, region) {
            assert!(!number.digits().is_empty());
            assert_eq!(number.country_code().is_some(), number.e164().is_some());
            assert!(number.matches(&number, MatchType::Exact));
        }
        prefix_forms(&text, region);
        suffix_forms(&text, region);
    }
}

#[test]
fn written_numbers_are_not_completed() {
    for (text, country, national) in [
        ("408.765.5050", None, "4087655050"),
        ("+1 408 765-5050", Some(1), "4087655050"),
        ("+49 408 765-5050", Some(49), "4087655050"),
        ("+49 (0)30 123456", Some(49), "30123456"),
        ("030 123456", None, "30123456"),
        ("0049 30 123456", None, "4930123456"),
        ("+39 06 12345678", Some(39), "612345678"),
        ("tel:+49-30-123456;ext=12", Some(49), "30123456"),
        ("030 123456 ext. 12", None, "30123456"),
        ("Office: 030 123456", None, "30123456"),
        ("\u{ff10}\u{ff13}\u{ff10} 123456", None, "30123456"),
        ("110", None, "110"),
    ] {
        let number = WrittenNumber::parse(text).expect(text);
        assert_eq!(number.country_code, country, "{text}");
        assert_eq!(number.national, national, "{text}");
    }
    let long = "1".repeat(18);
    for none in [
        "",
        "none",
        "+",
        "+999 12345",
        "*100#",
        "1-800-FLOWERS",
        "12 Main Street 5",
        "7",
        "000",
        "sip:+493012345@example.org",
        &long,
    ] {
        assert_eq!(WrittenNumber::parse(none), None, "{none}");
    }
}

#[test]
fn letters_after_a_whole_number_are_a_remark() {
    for (text, code, expected) in [
        ("0171-3920001 privat", "DE", "491713920001"),
        ("030 2312501 Frau Meier", "DE", "49302312501"),
        ("030 2312501 (nur vormittags)", "DE", "49302312501"),
        ("030 2312501 Zimmer 12", "DE", "49302312501"),
        ("+44 20 7946 0123 reception", "DE", "442079460123"),
        ("(704) 555-0122 after 6pm", "US", "17045550122"),
        ("01 42 68 53 00 accueil", "FR", "33142685300"),
        ("0171 3920001 home", "", "01713920001"),
        // Letters in place of digits.
        ("1-800-FLOWERS", "US", "18003569377"),
        ("1-800-FLOWERS", "", "18003569377"),
        ("800 GO FEDEX", "US", "18004633339"),
        ("1-800-GROUP 12", "US", "1800476871"),
    ] {
        let got = digits(text, code);
        assert!(got.starts_with(expected), "{text}: {got}");
        assert!(got.len() <= expected.len() + 2, "{text}: {got}");
    }
}

#[test]
fn addresses_of_other_kinds_are_no_numbers() {
    for text in [
        "sip:+493012345@example.org",
        "SIPS:493012345@example.org",
        "xmpp:bo123456@example.org",
        "mailto:a1234567@example.org",
        "https://example.org/1234567",
        " skype:bo1234567",
    ] {
        assert!(PhoneNumber::parse(text, region("DE")).is_none(), "{text}");
    }
    assert_eq!(digits("tel:+49-30-12345", "DE"), "493012345");
    assert_eq!(digits("Tel: 030 12345", "DE"), "493012345");
}
