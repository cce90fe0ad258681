//! Reads phone numbers, one a line from standard input, and prints their E.164 form.
//!
//! `echo "030 / 12 34 56" | cargo run -p etui-text --example phone -- DE`

use std::io::{self, BufRead};

use etui_text::phone::{PhoneNumber, Region};

fn main() -> io::Result<()> {
    let region = std::env::args()
        .nth(1)
        .and_then(|code| Region::parse(&code));
    for line in io::stdin().lock().lines() {
        let line = line?;
        match PhoneNumber::parse(&line, region) {
            Some(number) => match number.e164() {
                Some(e164) => println!("{line}: {e164}"),
                None => println!("{line}: {} (country not known)", number.digits()),
            },
            None => println!("{line}: no number"),
        }
    }
    Ok(())
}
