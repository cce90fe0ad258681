//! Reads phrases from standard input, one on each line, and prints what they mean now: here Friday,
//! 27 November 2026, 12:24.
//!
//! ```console
//! $ echo "Lunch with Bob tomorrow 12:30" | cargo run --example phrase
//! ```

use etui_ical::time::DateTime;
use etui_when::parse_phrase;

fn main() -> std::io::Result<()> {
    let now = DateTime::new(2026, 11, 27, 12, 24, 0).unwrap_or(DateTime::MAX);
    for line in std::io::stdin().lines() {
        let line = line?;
        match parse_phrase(&line, now.date(), now) {
            Ok(Some(phrase)) => {
                let rule = phrase.rule.map(|rule| rule.to_string()).unwrap_or_default();
                let place = phrase.place.unwrap_or_default();
                println!(
                    "{line}\n    {} | {:?} | {rule} | {place} | {}",
                    phrase.title,
                    phrase.times,
                    phrase.notes.join("; ")
                );
            }
            Ok(None) => println!("{line}\n    has no time"),
            Err(e) => println!("{line}\n    {}", e.problem),
        }
    }
    Ok(())
}
