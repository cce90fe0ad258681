//! An answer of a server, as a client reads it: no item is of another place, and none is there without a name.

#![no_main]

use etui_dav::client::{
    Address, AnswerLimits, CollectionItem, RemoteCollection, failure_reason, read_multistatus,
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(book) = Address::parse("https://dav.example.org/ada/book/") else {
        return;
    };
    let limits = AnswerLimits {
        max_bytes: 1 << 20,
        max_response_bytes: 1 << 16,
        max_responses: 1_000,
    };
    let _ = read_multistatus(bytes, &limits, &mut |response| {
        if let Some(item) = CollectionItem::of(&book, &response) {
            let name = item.href.strip_prefix("/ada/book/");
            assert!(name.is_some_and(|name| !name.is_empty() && !name.contains('/')));
        }
        if let Some(found) = RemoteCollection::of(&book, &response) {
            assert!(book.trusts(&found.address).is_ok());
        }
        let _ = response.is_cut(&book);
    });
    let _ = failure_reason(bytes);
});
