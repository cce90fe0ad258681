//! Any text as a contact query of Evolution Data Server: an error, or an answer for a card.

#![no_main]

use std::sync::LazyLock;

use etui_eds::contacts::query_matches;
use etui_vcard::Card;
use libfuzzer_sys::fuzz_target;

static CARD: LazyLock<Option<Card>> = LazyLock::new(|| {
    Card::parse(
        "BEGIN:VCARD\r\nVERSION:3.0\r\nUID:u\r\nFN:Jürgen Größe\r\nN:Größe;Jürgen;;;\r\n\
         TEL;TYPE=CELL:+49 151 2345678\r\nEMAIL:j@example.org\r\nCATEGORIES:a,b\r\nEND:VCARD\r\n",
    )
    .ok()
});

fuzz_target!(|text: &str| {
    if let Some(card) = &*CARD
        && let Err(error) = query_matches(text, "u", card)
    {
        assert!(!error.message().is_empty());
    }
});
