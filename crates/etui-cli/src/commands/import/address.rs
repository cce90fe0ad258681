//! Addresses of the network, which are not imported, and the way to import their content.

use etui_program::output::{escape_text, quote_operand};
use etui_program::{Failure, Result};
use std::path::Path;

/// Refuses an address of the network, with the command that fetches it.
pub fn refuse_address(path: &Path) -> Result<()> {
    let text = path.display().to_string();
    let Some((scheme, rest)) = text.split_once("://") else {
        return Ok(());
    };
    let scheme = scheme.to_ascii_lowercase();
    let scheme = match scheme.as_str() {
        "http" | "https" => scheme.as_str(),
        "webcal" | "webcals" => "https",
        _ => return Ok(()),
    };
    Err(Failure::usage(format!(
        "{}: etui reads files only; to fetch and import it: curl -sSfL {} | etui import -",
        escape_text(&text),
        quote_operand(&format!("{scheme}://{rest}"))
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_fetched_by_another_program() {
        for (address, fetched) in [
            (
                "https://a.example/x.ics",
                "curl -sSfL 'https://a.example/x.ics' |",
            ),
            (
                "webcal://a.example/x?y=1&z",
                "curl -sSfL 'https://a.example/x?y=1&z' |",
            ),
            ("HTTP://a.example/", "curl -sSfL 'http://a.example/' |"),
        ] {
            let failure = refuse_address(Path::new(address))
                .err()
                .map(|f| f.to_string());
            let failure = failure.unwrap_or_default();
            assert!(failure.contains(fetched), "{failure}");
        }
        assert!(refuse_address(Path::new("a.vcf")).is_ok());
    }
}
