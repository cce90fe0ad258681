//! Phone numbers that look real and ring nowhere, as far as that is possible.
//!
//! The first [`FICTITIOUS`] people of a book have numbers from the ranges
//! that regulators keep free for fiction:
//!
//! | country | ranges | named by |
//! |---|---|---|
//! | North America | any area code, 555-0100 to 555-0199 | NANPA |
//! | United Kingdom | 020 7946 0xxx, 0121/0161/0113/0131 496 0xxx, 01632 960xxx, 07700 900xxx | Ofcom |
//! | Germany | 030 23125 xxx, 069 90009 xxx, 040 66969 xxx, 0221 4710 xxx, 089 99998 xxx, 0171 39200xx, 0176 040690xx | Bundesnetzagentur |
//! | France | 01 99 00, 02 61 91, 03 53 01, 04 65 71, 05 36 49, 06 39 98 | Arcep |
//! | Sweden | 08-465 004 xx, 031-390 06 xx, 040-628 04 xx, 0980-319 2xx, 070-174 06 05 to 99 | PTS |
//!
//! Elsewhere no range is set aside, and numbers are plausible ones around the
//! digits 555. These ranges are too small for a large book, so everyone after
//! the first [`FICTITIOUS`] has numbers of the same shape with more free
//! digits, most of them different from each other.

/// How many people of a book have numbers only from the ranges above, where
/// their country has any.
pub const FICTITIOUS: u64 = 20_000;

use super::locales::Locale;
use super::text::fill;
use crate::rng::SplitMix64;

/// A landline or mobile number in one of the ways in which it is written.
pub(super) fn phone_number(
    locale: &Locale,
    mobile: bool,
    index: u64,
    rng: &mut SplitMix64,
) -> String {
    let shape = rng.pick(match (mobile, index < FICTITIOUS) {
        (false, true) => &locale.fixed,
        (false, false) => &locale.fixed_wide,
        (true, true) => &locale.mobile,
        (true, false) => &locale.mobile_wide,
    });
    let mut number = String::with_capacity(shape.len() + 4);
    fill(shape, rng, &mut number);
    number
}
