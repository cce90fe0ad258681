//! Lists the properties in a file of vCards or calendars with the bytes that each takes.
//!
//! `cargo run -p etui-contentline --example properties -- contacts.vcf`

use std::collections::BTreeMap;
use std::fs::File;
use std::io;

use etui_contentline::lines::ContentLines;
use etui_contentline::split::{SplitItem, Splitter};

fn main() -> io::Result<()> {
    let Some(path) = std::env::args_os().nth(1) else {
        eprintln!("usage: properties FILE [COMPONENT]");
        return Ok(());
    };
    let component = std::env::args()
        .nth(2)
        .unwrap_or_else(|| "VCARD".to_owned());
    let mut sizes: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    for item in Splitter::new(File::open(path)?, &component) {
        match item? {
            SplitItem::Record(record) => {
                for line in ContentLines::new(&record.bytes).filter(|line| !line.name.is_empty()) {
                    let name = String::from_utf8_lossy(line.name).to_ascii_uppercase();
                    let (count, bytes) = sizes.entry(name).or_default();
                    *count += 1;
                    *bytes += line.span.len();
                }
            }
            SplitItem::Rejected(rejection) => {
                eprintln!(
                    "lines {}-{}: {}",
                    rejection.line, rejection.last_line, rejection.reason
                );
            }
        }
    }
    for (name, (count, bytes)) in sizes {
        println!("{count:8} {bytes:10}  {name}");
    }
    Ok(())
}
