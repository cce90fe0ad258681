//! The examples of the book compile. `book/examples.rs` has every Rust block of the pages, and the
//! test compares it with them; `ETUI_BOOK=write` writes it again.

use std::fmt::Write;
use std::{env, fs};

#[rustfmt::skip]
mod examples;

const PAGES: [&str; 1] = ["library.md"];
const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/book/examples.rs");

const START: &str = "\
// Written by tests/it/book.rs from docs/src; compiled, not run.
#![allow(dead_code, unused, clippy::all)]

use etui::Store;
use etui::contacts::Card;

fn stop_was_pressed() -> bool {
    false
}

fn examples() -> Result<(), Box<dyn std::error::Error>> {
let store = Store::open(\"personal.etui\")?;
let cards: Vec<Card> = Vec::new();
";

#[test]
fn the_compiled_examples_are_those_of_the_book() {
    // One function. Each block is inside the one before, so that it can use its variables.
    let mut now = START.to_owned();
    let mut depth = 0;
    for page in PAGES {
        let path = format!("{}/../../docs/src/{page}", env!("CARGO_MANIFEST_DIR"));
        let text = fs::read_to_string(&path).unwrap();
        for block in text.split("```rust\n").skip(1) {
            let (code, _) = block.split_once("```").expect("a block has an end");
            write!(now, "\n{{ // {page}\nlet contacts = store.contacts()?;\n").unwrap();
            writeln!(now, "{code}").unwrap();
            depth += 1;
        }
    }
    writeln!(now, "{}\nOk(())\n}}", "}".repeat(depth)).unwrap();

    if env::var_os("ETUI_BOOK").is_some_and(|value| value == "write") {
        fs::write(FILE, &now).unwrap();
    }
    let compiled = fs::read_to_string(FILE).unwrap();
    assert_eq!(
        compiled, now,
        "the book changed: run ETUI_BOOK=write cargo test -p etui --test it -- book::, then again"
    );
}
