//! Any bytes as XML of a request: an error, or a tree that is written and read again.

#![no_main]

use etui_dav::xml::{Element, Limits, Writer};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let limits = Limits {
        max_bytes: 1 << 20,
        ..Limits::default()
    };
    let Ok(read) = Element::parse(data, &limits) else {
        return;
    };
    let mut out = Vec::new();
    let mut writer = Writer::new(&mut out);
    writer.element(&read).expect("memory takes all");
    writer.finish().expect("memory takes all");
    // Declarations and escapes make it longer.
    let again = Element::parse(
        &out,
        &Limits {
            max_bytes: u64::MAX,
            max_attributes: usize::MAX,
            ..limits
        },
    );
    assert_eq!(
        again.as_ref(),
        Ok(&read),
        "{}",
        String::from_utf8_lossy(&out)
    );
});
