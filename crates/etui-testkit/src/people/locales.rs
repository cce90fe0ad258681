//! Names, places and number shapes of the languages that the people speak.
//!
//! `locales.txt` has a block of lists for each language. An entry in another script than Latin
//! is followed by `/` and its romanised form, which e-mail addresses are made of. In the templates
//! for house numbers, post codes and phone numbers `#` is one digit, `%` a house number and `@` a
//! North American area code.

use std::sync::LazyLock;

use crate::text::{List, field, list};

/// One language.
pub(super) struct Locale {
    /// People per thousand.
    pub weight: u32,
    /// The family name is written before the given name.
    pub family_first: bool,
    /// ä becomes ae in addresses, as in German, and not a.
    pub umlauts: bool,
    pub men: List,
    pub women: List,
    pub families: List,
    /// The same families as women bear them.
    pub families_of_women: List,
    pub country: &'static str,
    /// `city:region:post code`.
    pub places: List,
    pub streets: List,
    pub trades: List,
    /// Legal forms; `*` is the name.
    pub forms: List,
    pub titles: List,
    /// Landline numbers: from ranges kept free for fiction where the country's regulator has
    /// named some, see [`super::phone`].
    pub fixed: List,
    /// Landline numbers of the same shape with more free digits.
    pub fixed_wide: List,
    pub mobile: List,
    pub mobile_wide: List,
}

/// All languages.
pub(super) static LOCALES: LazyLock<Vec<Locale>> = LazyLock::new(|| {
    let blocks = include_str!("locales.txt").split("\n\n");
    blocks.map(parse_locale).collect()
});

fn parse_locale(block: &'static str) -> Locale {
    let list = |name| list(block, name);
    let families_of_women = match list("families_of_women") {
        same if same.is_empty() => list("families"),
        own => own,
    };
    Locale {
        weight: field(block, "weight").parse().unwrap_or(0),
        family_first: field(block, "family_first") == "true",
        umlauts: field(block, "umlauts") == "true",
        men: list("men"),
        women: list("women"),
        families: list("families"),
        families_of_women,
        country: field(block, "country"),
        places: list("places"),
        streets: list("streets"),
        trades: list("trades"),
        forms: list("forms"),
        titles: list("titles"),
        fixed: list("fixed"),
        fixed_wide: list("fixed_wide"),
        mobile: list("mobile"),
        mobile_wide: list("mobile_wide"),
    }
}
