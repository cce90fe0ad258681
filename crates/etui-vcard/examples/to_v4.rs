//! Converts the vCards of a file, of any version and charset, to vCard 4.0.
//!
//! `cargo run -p etui-vcard --example to_v4 -- contacts.vcf > contacts4.vcf`

use std::fs::File;
use std::io::{self, Write};

use etui_contentline::split::{SplitItem, Splitter};
use etui_vcard::Card;

fn main() -> io::Result<()> {
    let Some(path) = std::env::args_os().nth(1) else {
        eprintln!("usage: to_v4 FILE");
        return Ok(());
    };
    let mut out = io::stdout().lock();
    for item in Splitter::new(File::open(path)?, "VCARD") {
        match item? {
            SplitItem::Record(record) => match Card::parse(record.bytes) {
                Ok(card) => out.write_all(card.to_v4().as_bytes())?,
                Err(error) => eprintln!("line {}: {error}", record.line),
            },
            SplitItem::Rejected(rejection) => {
                eprintln!(
                    "lines {}-{}: {}",
                    rejection.line, rejection.last_line, rejection.reason
                );
            }
        }
    }
    Ok(())
}
