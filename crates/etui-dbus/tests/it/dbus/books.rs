//! Address books: duplicates, merging, and phone numbers of other regions.

use std::collections::HashMap;

use zbus::Variant;

use super::support::*;

/// Pairs of duplicates, and their number.
type Pairs = (Vec<(String, String, u32, Vec<String>)>, u64);
/// The answer of an undo.
type Undone = (u64, HashMap<String, u64>, Vec<(String, String, String)>);
/// The answer of a merge.
type Merged = ((u64, String, String), Vec<String>);

#[test]
fn duplicates_are_listed_in_pages_with_their_reasons() {
    let service = Running::start();
    let client = service.client();
    let book = client.collection("contacts");
    // 10,000 contacts: 5,000 pairs.
    let twins: Vec<String> = (0..10_000)
        .map(|n| {
            let person = n / 2;
            let mail = format!("EMAIL:person{person}@example.org\r\n");
            card(
                &format!("uid-{n}"),
                &format!("Person{person} Name{person}"),
                &mail,
            )
        })
        .collect();
    client.save(&book, &twins);
    let ask = |score: u32, options: Options<'_>| -> Pairs {
        client
            .call(&book, BOOK, "Duplicates", &(score, options))
            .unwrap()
    };
    let mut seen = std::collections::HashSet::new();
    for offset in (0..).step_by(2_000) {
        let page = Options::from([
            ("limit", Variant::from(2_000_u64)),
            ("offset", Variant::from(offset as u64)),
        ]);
        let (pairs, count) = ask(0, page);
        assert_eq!(count, 5_000);
        if pairs.is_empty() {
            break;
        }
        for (first, second, score, reasons) in pairs {
            let number = |uid: &str| uid[4..].parse::<u32>().unwrap();
            assert_eq!(number(&first) / 2, number(&second) / 2);
            assert!((50..=100).contains(&score));
            assert!(reasons.contains(&"same-name".to_owned()), "{reasons:?}");
            assert!(
                reasons.iter().any(|r| r.starts_with("same-email ")),
                "{reasons:?}"
            );
            seen.insert(first);
        }
    }
    assert_eq!(seen.len(), 5_000);
    assert_eq!(ask(0, none()).0.len(), 1_000);
    assert_eq!(ask(101, none()).1, 0);
    assert_eq!(ask(u32::MAX, none()).1, 0);
    let all = Options::from([("limit", Variant::from(u64::MAX))]);
    let (all, _): Pairs = ask(0, all);
    assert_eq!(all.len(), 5_000);
    let refused = client.refusal(
        &book,
        BOOK,
        "Duplicates",
        &(0_u32, HashMap::from([("most", Variant::from(1_u32))])),
    );
    assert_eq!(refused, "BadOption");
}

#[test]
fn contacts_are_merged_if_they_are_as_they_were() {
    let service = Running::start();
    let (client, second) = (service.client(), service.client());
    let book = client.collection("contacts");
    let saved = client.save(
        &book,
        &[
            card("1", "Ada Lovelace", "TEL:+44 20 7946 0123\r\n"),
            card(
                "ü 2",
                "Ada Lovelace",
                "EMAIL:ada@example.org\r\nNOTE:semi\\; colon\r\n",
            ),
            card("3", "Ada King", "X-ODD;P=\"a;b\":x\r\n"),
        ],
    );
    let (preview, left_out): (String, Vec<String>) = client
        .call(&book, BOOK, "PreviewMerge", &vec!["1", "ü 2"])
        .unwrap();
    assert!(
        preview.contains("ada@example.org") && preview.contains("UID:1\r\n"),
        "{preview}"
    );
    assert_eq!(left_out, ["UID:ü 2"]);
    assert_eq!(client.property::<u64>(&book, COLLECTION, "Count"), 3);

    let merge = |records: Vec<(&str, &str)>| {
        client.call::<_, Merged>(&book, BOOK, "Merge", &(records, none()))
    };
    // Another client changed one meanwhile.
    second.save(&book, &[card("3", "Ada King", "NOTE:new\r\n")]);
    let stale = merge(vec![("1", ""), ("3", &saved[2].2)]).unwrap_err();
    assert_eq!(stale.name, "Conflict");
    assert_eq!(stale.arguments::<(String, String, String)>().1, "3");
    for (records, error) in [
        (vec![], "BadArgument"),
        (vec![("1", "")], "BadArgument"),
        (vec![("1", ""), ("1", "")], "BadArgument"),
        (vec![("1", ""), ("nobody", "")], "NotFound"),
        (vec![("1", ""), ("3", "x")], "BadArgument"),
    ] {
        assert_eq!(
            merge(records.clone()).unwrap_err().name,
            error,
            "{records:?}"
        );
    }
    let refused = client.refusal(&book, BOOK, "PreviewMerge", &Vec::<String>::new());
    assert_eq!(refused, "BadArgument");
    assert_eq!(client.property::<u64>(&book, COLLECTION, "Count"), 3);

    let (done, left_out) = merge(vec![("1", &saved[0].2), ("ü 2", ""), ("3", "")]).unwrap();
    assert_eq!((done.0, done.1.as_str()), (saved[0].0, "1"));
    assert!(left_out.contains(&"UID:3".to_owned()), "{left_out:?}");
    assert_eq!(client.property::<u64>(&book, COLLECTION, "Count"), 1);
    // Taken back in one step.
    let steps: Vec<(u64, i64, String, String, u64, bool, u64)> = client
        .store("Steps", &Options::from([("limit", Variant::from(1_u64))]))
        .unwrap();
    assert_eq!(steps[0].3, "Merge");
    let _: Undone = client.store("Undo", &(vec![steps[0].0], none())).unwrap();
    assert_eq!(second.property::<u64>(&book, COLLECTION, "Count"), 3);
}

#[test]
fn numbers_are_read_as_in_the_region_of_the_call() {
    let service = Running::start(); // in Britain
    let client = service.client();
    let book = client.collection("contacts");
    client.save(
        &book,
        &[
            card("gb", "London", "TEL:020 7946 0018\r\n"),
            card("de", "Berlin", "TEL:+49 30 1234567\r\n"),
            card("it", "Rome", "TEL:+39 06 1234567\r\n"),
            card("us", "Boston", "TEL:+1 617 555 0123\r\n"),
            card("short", "Police", "TEL:110\r\n"),
        ],
    );
    let find = |number: &str, strength: &str, region: &str| -> Vec<String> {
        let body = (number, strength, region, vec!["uid"]);
        let rows: Vec<Row> = client.call(&book, BOOK, "ByPhoneIn", &body).unwrap();
        rows.into_iter().map(|row| row.2[0].clone()).collect()
    };
    for (number, region, expected) in [
        ("020 7946 0018", "GB", "gb"),
        ("030 1234567", "DE", "de"),
        ("030/123 45 67", "de", "de"),
        ("06 1234567", "IT", "it"),
        ("(617) 555-0123", "US", "us"),
        ("0044 20 7946 0018", "DE", "gb"),
        ("+49 30 1234567", "US", "de"),
        ("110", "DE", "short"),
    ] {
        assert_eq!(
            find(number, "exact", region),
            [expected],
            "{number} {region}"
        );
    }
    assert!(find("030 1234567", "exact", "GB").is_empty());
    assert!(find("", "exact", "DE").is_empty());
    assert_eq!(find("30 1234567", "national", "DE"), ["de"]);
    for (strength, region) in [
        ("exact", "XX"),
        ("exact", ""),
        ("exact", "Germany"),
        ("roughly", "DE"),
    ] {
        let body = ("1", strength, region, vec!["uid"]);
        assert_eq!(
            client.refusal(&book, BOOK, "ByPhoneIn", &body),
            "BadArgument"
        );
    }
    let body = ("1", "exact", "DE", vec!["nme"]);
    assert_eq!(client.refusal(&book, BOOK, "ByPhoneIn", &body), "BadColumn");
}
