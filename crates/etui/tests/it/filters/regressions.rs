//! Regressions found by the comparison: answers that depended on the state of the index, or
//! contradicted the book.

use etui::Store;
use etui::contacts::{Card, Filter};

/// Returns the number of these contacts that a filter finds, before and after the merge.
fn count_found(bodies: &[&str], filter: &str) -> [usize; 2] {
    let dir = tempfile::tempdir().unwrap();
    let mut options = crate::support::german();
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
    store.maintenance().merge_index().unwrap();
    [pending, contacts.find(&filter).unwrap().len()]
}

/// `PhoneNumber::equals` treats both as one number, though one has 15 between area code and
/// subscriber.
#[test]
fn an_argentine_mobile_number_is_found_as_dialled() {
    let dialled = "TEL:0111520221234\r\n";
    let full = "TEL:+54 9 11 2022-1234\r\n";
    for number in ["0111520221234", "\"+54 9 11 2022-1234\""] {
        let filter = format!("phone.national:{number}");
        assert_eq!(count_found(&[dialled, full], &filter), [2, 2], "{number}");
    }
}

/// As in `phone:"٣١٢"*` and `phone:*"٣١٢"`.
#[test]
fn digits_of_any_script_are_found_inside_a_number() {
    for digits in ["312", "３１２", "٣١٢"] {
        let filter = format!("phone:*\"{digits}\"*");
        assert_eq!(
            count_found(&["TEL:030 2312501\r\n"], &filter),
            [1, 1],
            "{digits}"
        );
    }
}

#[test]
fn addresses_fold_alike_with_and_without_accents() {
    let plain = count_found(
        &["EMAIL:o`brien@example.org\r\n"],
        "email:\"o`brién@example.org\"",
    );
    let accented = count_found(
        &["EMAIL:o`brién@example.org\r\n"],
        "email:\"o`brien@example.org\"",
    );
    assert_eq!([plain, accented], [[1, 1], [1, 1]]);
}

/// A carrier code of four or more digits precedes the national number.
#[test]
fn a_number_is_found_as_dialled_with_a_carrier_code() {
    for (full, dialled) in [
        ("+44 121 234 5678", "1800201212345678"),
        ("+86 10 1234 5678", "179011012345678"),
        ("+61 1300 123 456", "18321300123456"),
    ] {
        let card = format!("TEL:{full}\r\n");
        let filter = format!("phone.national:{dialled}");
        assert_eq!(count_found(&[&card], &filter), [1, 1], "{full}");
    }
}

#[test]
fn numbers_are_found_by_their_digits_as_written() {
    let bodies = [
        "FN:A\r\nTEL:030 / 123-456\r\n",
        "FN:B\r\nTEL:+49 (0)30 123456\r\n",
        "FN:C\r\nTEL:+49 30 123456\r\n",
        "FN:D\r\nTEL:0049 30 123456 ext. 77\r\n",
        "FN:E\r\nTEL:110\r\n",
        "FN:F\r\nTEL:30 123456\r\n",
    ];
    for (filter, count) in [
        ("phone.written:030*", 1),
        ("phone.written:\"030 123456\"", 1),
        ("phone.written=\"+49 30 123456\"", 1),
        ("phone.written:+49*", 2),
        ("phone.written:004930*", 1),
        ("phone.written:*77", 1),
        ("phone.written:*123456", 4),
        ("phone.written:*0123456", 5 - 1),
        ("phone.written:*030123*", 2),
        ("phone.written:*49030*", 1),
        ("phone.written:11*", 1),
        ("phone.written:*", 6),
    ] {
        assert_eq!(count_found(&bodies, filter), [count, count], "{filter}");
    }
}
