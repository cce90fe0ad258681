//! How varied a made-up address book is, and how fast it is made.
//!
//! `cargo run --release -p etui-testkit --example variety -- [COUNT]...`, for 12,800 and a million
//! people if no count is given.
//!
//! Prints for each size the distinct values of each field, the share of the most frequent one,
//! and how many values half of the people with the field share between them.

use std::collections::HashMap;
use std::time::Instant;

use etui_testkit::people::{Person, person, varied_person};

type Values = fn(&Person) -> Vec<&str>;
/// A book's name and how its people are made.
type Book = (&'static str, fn(u64, u64) -> Person);

const FIELDS: [(&str, Values); 10] = [
    ("family name", |p| vec![&p.family]),
    ("given name", |p| vec![&p.given]),
    ("full name", |p| vec![&p.formatted]),
    ("nickname", |p| p.nickname.as_deref().into_iter().collect()),
    ("organisation", |p| {
        p.organisation.as_deref().into_iter().collect()
    }),
    ("e-mail", |p| {
        p.emails.iter().map(|e| e.1.as_str()).collect()
    }),
    ("e-mail domain", |p| {
        p.emails
            .iter()
            .filter_map(|e| e.1.split_once('@'))
            .map(|e| e.1)
            .collect()
    }),
    ("phone", |p| p.phones.iter().map(|n| n.1.as_str()).collect()),
    ("word of a note", |p| {
        let note = p.note.as_deref().unwrap_or_default();
        note.split_whitespace().collect()
    }),
    ("word of a name", |p| {
        p.formatted.split([' ', '-']).collect()
    }),
];

fn main() {
    let asked: Vec<u64> = std::env::args().skip(1).flat_map(|n| n.parse()).collect();
    let sizes = if asked.is_empty() {
        vec![12_800, 1_000_000]
    } else {
        asked
    };
    let kinds: [Book; 2] = [("People::new", person), ("People::varied", varied_person)];
    for (size, (kind, person)) in sizes.iter().flat_map(|s| kinds.map(|kind| (*s, kind))) {
        let start = Instant::now();
        let bytes: usize = (0..size).map(|i| person(1, i).to_text().len()).sum();
        let took = start.elapsed().as_secs_f64();
        println!(
            "## {kind}, {size}: {:.2} s, {:.0} a second, {:.0} bytes each\n",
            took,
            size as f64 / took,
            bytes as f64 / size as f64
        );
        println!("| field | values | distinct | most frequent | half of all are among |");
        println!("|---|---|---|---|---|");
        for (name, values) in FIELDS {
            let mut counts: HashMap<String, u64> = HashMap::new();
            for index in 0..size {
                for value in values(&person(1, index)) {
                    match counts.get_mut(value) {
                        Some(count) => *count += 1,
                        None => {
                            counts.insert(value.to_owned(), 1);
                        }
                    }
                }
            }
            let mut counts: Vec<u64> = counts.into_values().collect();
            counts.sort_unstable_by(|a, b| b.cmp(a));
            let total: u64 = counts.iter().sum();
            let mut sum = 0;
            let half = counts
                .iter()
                .take_while(|count| {
                    sum += **count;
                    sum * 2 <= total
                })
                .count()
                + 1;
            println!(
                "| {name} | {total} | {} | {:.3} % | {half} |",
                counts.len(),
                100.0 * counts.first().copied().unwrap_or_default() as f64 / total.max(1) as f64
            );
        }
        println!();
    }
}
