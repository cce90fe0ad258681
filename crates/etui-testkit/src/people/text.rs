//! Small text tools: templates, romanised forms, skewed choices.

use crate::rng::SplitMix64;

const AREA_CODES: [&str; 48] = [
    "202", "203", "205", "206", "207", "212", "213", "214", "215", "217", "301", "302", "303",
    "305", "307", "312", "313", "314", "315", "316", "401", "402", "404", "405", "406", "410",
    "412", "413", "414", "415", "501", "502", "503", "504", "505", "512", "513", "602", "603",
    "605", "612", "615", "701", "702", "703", "704", "713", "808",
];

/// Writes `template` with a digit for each `#`, a house number for each `%`
/// and a North American area code for each `@`.
pub(super) fn fill(template: &str, rng: &mut SplitMix64, out: &mut String) {
    for c in template.chars() {
        match c {
            '#' => out.push(char::from(b'0' + rng.below(10) as u8)),
            '%' => out.push_str(&(1 + rng.below(180)).to_string()),
            '@' => out.push_str(rng.pick(&AREA_CODES)),
            c => out.push(c),
        }
    }
}

const LONGEST_LIST: usize = 64;

/// `SUMS[k]` is the sum of the first `k` weights `1 / (rank + 3)`, in
/// millionths: the head of a list is about ten times as frequent as its end,
/// as names are in a population (Zipf's law, flattened at the head).
const SUMS: [u32; LONGEST_LIST + 1] = {
    let mut sums = [0; LONGEST_LIST + 1];
    let mut rank = 0;
    while rank < LONGEST_LIST {
        sums[rank + 1] = sums[rank] + 1_000_000 / (rank as u32 + 3);
        rank += 1;
    }
    sums
};

/// A position in a list of `length` entries, the first ones more often.
pub(super) fn zipf(length: usize, rng: &mut SplitMix64) -> usize {
    let length = length.min(LONGEST_LIST);
    let drawn = rng.below(SUMS[length]);
    SUMS[..=length]
        .partition_point(|sum| *sum <= drawn)
        .saturating_sub(1)
}

/// Returns the displayed form of a list entry, the part before the `/`.
pub(super) fn native(entry: &'static str) -> &'static str {
    entry.split_once('/').map_or(entry, |(native, _)| native)
}

/// Writes the form of a list entry for an e-mail address: lower-case ASCII
/// letters, digits and hyphens. Words are joined by `joint`.
pub(super) fn push_slug(entry: &str, umlauts: bool, joint: &str, out: &mut String) {
    let latin = entry.split_once('/').map_or(entry, |(_, latin)| latin);
    let start = out.len();
    let mut gap = false;
    for c in latin.chars() {
        let plain = match c {
            'a'..='z' | '0'..='9' => "",
            'A'..='Z' => "",
            ' ' | '-' | '&' | '.' | ',' => {
                gap = out.len() > start;
                continue;
            }
            'ä' | 'Ä' if umlauts => "ae",
            'ö' | 'Ö' if umlauts => "oe",
            'ü' | 'Ü' if umlauts => "ue",
            c => match fold(c) {
                "" => continue,
                plain => plain,
            },
        };
        if gap {
            out.push_str(joint);
            gap = false;
        }
        if plain.is_empty() {
            out.push(c.to_ascii_lowercase());
        } else {
            out.push_str(plain);
        }
    }
}

/// The ASCII letters nearest to a Latin letter of the lists; empty for a
/// character that has no place in an address.
fn fold(c: char) -> &'static str {
    match c {
        'à' | 'á' | 'â' | 'ã' | 'ä' | 'å' | 'ą' | 'À' | 'Á' | 'Ä' | 'Å' => "a",
        'æ' | 'Æ' => "ae",
        'ç' | 'ć' | 'č' | 'Ç' | 'Č' => "c",
        'ď' | 'Ď' => "d",
        'è' | 'é' | 'ê' | 'ë' | 'ę' | 'ě' | 'É' => "e",
        'ğ' => "g",
        'ì' | 'í' | 'î' | 'ï' | 'ı' | 'İ' | 'Í' => "i",
        'ł' | 'Ł' => "l",
        'ñ' | 'ń' | 'ň' => "n",
        'ò' | 'ó' | 'ô' | 'õ' | 'ö' | 'ø' | 'ő' | 'Ó' | 'Ö' | 'Ø' | 'Ő' => "o",
        'œ' => "oe",
        'ř' | 'Ř' => "r",
        'ś' | 'ş' | 'š' | 'Ś' | 'Ş' | 'Š' => "s",
        'ß' => "ss",
        'ť' => "t",
        'ù' | 'ú' | 'û' | 'ü' | 'ů' | 'ű' | 'Ú' | 'Ü' => "u",
        'ý' | 'ÿ' => "y",
        'ź' | 'ż' | 'ž' | 'Ź' | 'Ż' | 'Ž' => "z",
        _ => "",
    }
}
