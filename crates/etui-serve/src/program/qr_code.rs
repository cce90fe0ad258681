//! QR codes on a terminal.

use etui_program::{Failure, Result};
use qrcode::render::unicode::Dense1x2;
use qrcode::{EcLevel, QrCode};

/// Black on white (SGR 38 and 48, of the 256 colours), so that a camera reads it on any terminal.
const BLACK_ON_WHITE: &str = "\x1b[38;5;16;48;5;231m";
const RESET: &str = "\x1b[0m";

/// Returns the lines of a code, two modules of height in each. Without colour it is drawn for a terminal with
/// light text on a dark ground.
pub fn qr_code(text: &str, colour: bool) -> Result<String> {
    let code = QrCode::with_error_correction_level(text, EcLevel::L);
    let code = code.map_err(|e| Failure::Other(format!("no QR code: {e}")))?;
    let mut renderer = code.render::<Dense1x2>();
    if !colour {
        renderer
            .dark_color(Dense1x2::Light)
            .light_color(Dense1x2::Dark);
    }
    let lines = renderer.build();
    let lines = lines.lines().map(|line| match colour {
        true => format!("{BLACK_ON_WHITE}{line}{RESET}"),
        false => line.to_owned(),
    });
    Ok(lines.collect::<Vec<_>>().join("\n"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_code_is_square_and_has_a_margin() {
        let link = "caldavs://ada:0123-4567-89ab-cdef-ghjk-mnpq-rstv@dav.example.org/";
        let code = qr_code(link, false).unwrap();
        let lines: Vec<&str> = code.lines().collect();
        let width = lines[0].chars().count();
        // Version 4 (33 modules) and 4 of margin on each side.
        assert_eq!((width, lines.len()), (41, 21));
        assert!(lines[0].chars().all(|c| c == '█'));
        assert_eq!(qr_code(link, true).unwrap().matches(RESET).count(), 21);
    }
}
