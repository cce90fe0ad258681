//! Where the library is known to answer otherwise than the book says. The comparison leaves such
//! filters out; the tests here, run with `--ignored`, fail until it is settled.

use etui::Store;
use etui::contacts::{Card, Field, Filter, Match};
use etui::text::phone::Strength;

/// Whether a part of the filter asks for what is known to differ.
pub fn concerns(filter: &Filter) -> bool {
    match filter {
        Filter::And(parts) | Filter::Or(parts) => parts.iter().any(concerns),
        Filter::Not(inner) => concerns(inner),
        // Digits of other scripts.
        Filter::Text {
            field: Field::Any | Field::Phone,
            how: Match::Contains,
            text,
        } => text.chars().any(|c| c.is_numeric() && !c.is_ascii()),
        // Argentine mobile numbers, as dialled there and in full.
        Filter::PhoneEquals {
            number,
            strength: Strength::National,
        } => {
            let digits: String = number.chars().filter(char::is_ascii_digit).collect();
            digits.contains("1115") || digits.contains("54911")
        }
        _ => false,
    }
}

/// How many of the contacts with these properties a filter finds, pending and merged.
fn found(bodies: &[&str], filter: &str) -> [usize; 2] {
    let dir = tempfile::tempdir().unwrap();
    let mut options = super::support::german();
    options.region = None;
    options.locale = Some("en".into());
    let store = Store::open_with(dir.path().join("personal.etui"), &options).unwrap();
    let contacts = store.contacts().unwrap();
    for (uid, body) in bodies.iter().enumerate() {
        let text = format!("BEGIN:VCARD\r\nVERSION:3.0\r\nUID:{uid}\r\n{body}END:VCARD\r\n");
        contacts.save(&Card::parse(text).unwrap()).unwrap();
    }
    let filter: Filter = filter.parse().unwrap();
    let pending = contacts.find(&filter).unwrap().len();
    store.merge_index().unwrap();
    [pending, contacts.find(&filter).unwrap().len()]
}

/// `PhoneNumber::equals` says that they are one number. The index looks for a common end of all
/// but three digits, which a number with 15 between area code and subscriber does not have.
#[test]
#[ignore = "found while pending, not once it is merged"]
fn an_argentine_mobile_number_is_found_as_dialled() {
    let dialled = "TEL:0111520221234\r\n";
    let full = "TEL:+54 9 11 2022-1234\r\n";
    for number in ["0111520221234", "\"+54 9 11 2022-1234\""] {
        let filter = format!("phone.national:{number}");
        assert_eq!(found(&[dialled, full], &filter), [2, 2], "{number}");
    }
}

/// As they are in `phone:"٣١٢"*` and `phone:*"٣١٢"`.
#[test]
#[ignore = "digits that are not ASCII are left out inside a number"]
fn digits_of_any_script_are_found_inside_a_number() {
    for digits in ["312", "３１２", "٣١٢"] {
        let filter = format!("phone:*\"{digits}\"*");
        assert_eq!(found(&["TEL:030 2312501\r\n"], &filter), [1, 1], "{digits}");
    }
}

/// `fold::address` keeps a grave accent in a text that is ASCII, and drops it in another.
#[test]
#[ignore = "what else stands in an address decides whether ` stays"]
fn addresses_fold_alike_with_and_without_accents() {
    let plain = found(
        &["EMAIL:o`brien@example.org\r\n"],
        "email:\"o`brién@example.org\"",
    );
    let accented = found(
        &["EMAIL:o`brién@example.org\r\n"],
        "email:\"o`brien@example.org\"",
    );
    assert_eq!([plain, accented], [[1, 1], [1, 1]]);
}

/// As above: a carrier code of four digits and more stands before the national number.
#[test]
#[ignore = "found while pending, not once it is merged"]
fn a_number_is_found_as_dialled_with_a_carrier_code() {
    for (full, dialled) in [
        ("+44 121 234 5678", "1800201212345678"),
        ("+86 10 1234 5678", "179011012345678"),
        ("+61 1300 123 456", "18321300123456"),
    ] {
        let card = format!("TEL:{full}\r\n");
        let filter = format!("phone.national:{dialled}");
        assert_eq!(found(&[&card], &filter), [1, 1], "{full}");
    }
}
