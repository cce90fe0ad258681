//! Phone numbers: parsing, comparing and searching.
//!
//! [`PhoneNumber::parse`] converts a number as people write it to the digits of
//! ITU-T E.164. A [`Region`] completes national numbers.
//!
//! ```
//! use etui_text::phone::{PhoneNumber, Region, MatchType};
//!
//! let germany = Region::parse("DE");
//! let written = PhoneNumber::parse("030 / 12 34 56", germany).unwrap();
//! let calling = PhoneNumber::parse("+49 (0)30 123456", None).unwrap();
//! assert_eq!(written.digits(), "4930123456");
//! assert!(written.matches(&calling, MatchType::Exact));
//! ```
//!
//! The steps follow E.164, RFC 3966 (`tel:` URIs) and libphonenumber's metadata
//! (`phone/plans.rs`):
//!
//! 1. `tel:` and its parameters, decimal digits of any script, an extension.
//! 2. Letters by the keypad (E.161) if there are three and three digits before
//!    them that are no whole number of the region; other letters are dropped, and
//!    with a whole number before them all that follows: a remark, as in
//!    `0171 3920001 private`.
//! 3. A plus or the region's international prefix, then a country calling code
//!    (no code is the beginning of another); a `(0)` after it is dropped where
//!    national numbers do not begin with 0.
//! 4. Otherwise the calling code of the region, if only that makes a possible
//!    number; otherwise the region's own country.
//! 5. The trunk prefix goes, unless the number was possible with it and is not
//!    without it.
//!
//! Deliberate differences from libphonenumber:
//!
//! - Numbers dialled in short (110, 911, 116 and so on) and numbers that work
//!   within an area only (555 0123 in the United States) stay as dialled; the
//!   library puts the calling code before them, which nobody can call.
//! - "Possible" looks at the first digit and the length, not at the library's
//!   full patterns. Of the recorded reference, only numbers that begin with the
//!   region's calling code, without plus, come out differently for it (NL, PK).
//! - In Germany and Austria nine digits and more that begin with the calling code
//!   are a number without its plus, not one without its trunk prefix.
//! - `(0)` goes wherever a national number cannot begin with 0 (`+34 (0)91...`,
//!   and Hungary, whose trunk prefix is 06); the library keeps that 0.
//! - Mexican numbers lose the mobile 1, 044 and 045 of before 2019 and the trunk
//!   prefix 01 of before 2019, which address books still hold.
//! - Without a region, 00 is an international prefix if eight digits follow the
//!   calling code. The library refuses such numbers, and every other that it
//!   cannot complete; here they stay as dialled.
//! - `p` and `w` (pause and wait) between digits begin an extension.
//! - A remark after a whole number is none of its digits; the library dials its letters.
//! - Addresses of other kinds (`sip:`, `xmpp:`) are no numbers.
//! - A number with digits beyond [`MAX_DIGITS`] keeps those, and no country.

mod dial_string;
mod forms;
mod plan_table;
mod plans;
mod written;

use dial_string::DialString;
use plan_table::{CODES, INTERNATIONAL, PLANS, SHAPES, TRUNK};
use plans::{MAIN, NumberingPlan};

pub use forms::{prefix_forms, suffix_forms};
pub use written::WrittenNumber;

/// The largest number of digits kept. E.164 allows 15; longer numbers dial through
/// to an extension.
pub const MAX_DIGITS: usize = 40;
/// The digits that are kept of an extension.
const MAX_EXTENSION: usize = 20;
/// The longest national significant number; E.164 has 15 with the country code,
/// German ones are known to be longer.
const MAX_NATIONAL: usize = 17;

/// A region, by ISO 3166-1, whose dialling rules complete national numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Region(u8);

impl Region {
    /// The region of an ISO 3166-1 alpha-2 code, in either case. None for codes
    /// that no numbering plan is known for.
    pub fn parse(code: &str) -> Option<Region> {
        let &[a, b] = code.as_bytes() else {
            return None;
        };
        let wanted = [a.to_ascii_uppercase(), b.to_ascii_uppercase()];
        let (codes, _) = CODES.as_bytes().as_chunks::<2>();
        let row = codes.binary_search(&wanted).ok()?;
        u8::try_from(row).ok().map(Region)
    }

    /// The region that a locale's tag names: `de_DE.UTF-8`, `en-US`, `zh-Hant-TW`.
    /// None if it names none (`C`, `eo`, `es-419`).
    pub fn from_locale(tag: &str) -> Option<Region> {
        let tag = tag.split(['.', '@']).next()?;
        tag.split(['_', '-'])
            .skip(1)
            .take_while(|part| part.len() > 1)
            .find_map(Region::parse)
    }

    /// The ISO 3166-1 alpha-2 code, in capitals.
    pub fn code(self) -> &'static str {
        let at = usize::from(self.0) * 2;
        CODES.get(at..at + 2).unwrap_or_default()
    }

    /// The country calling code (49).
    pub fn country_code(self) -> Option<u16> {
        self.plan().map(|plan| plan.country)
    }

    fn plan(self) -> Option<&'static NumberingPlan> {
        PLANS.get(usize::from(self.0))
    }
}

/// The strength of a comparison of two numbers ([`PhoneNumber::matches`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MatchType {
    /// The same E.164 digits; the same digits as dialled when neither has a country.
    Exact,
    /// The same national significant number, and not two different countries.
    Nsn,
    /// The last seven digits of the national numbers, all of them if one has fewer;
    /// at least three.
    ShortNsn,
}

/// A parsed number: its digits and the length of its country calling code. Held
/// inline, without allocation.
#[derive(Clone, Copy)]
pub struct PhoneNumber {
    digits: Digits<MAX_DIGITS>,
    country_len: u8,
    extension: Digits<MAX_EXTENSION>,
}

impl PhoneNumber {
    /// Parses a number as written; `region` completes one without country.
    /// Returns `None` if there is no digit in it (or `*` or `#` at the beginning, for service
    /// codes such as `*100#`).
    pub fn parse(text: &str, region: Option<Region>) -> Option<PhoneNumber> {
        if is_other_address(text) {
            return None;
        }
        let mut reading = DialString::of(text);
        if let Some(number) = reading
            .without_remark()
            .filter(|n| n.is_whole_number(region))
        {
            reading = number;
        }
        if reading.digits.is_empty() {
            return None;
        }
        let extension = reading.extension;
        let whole = !reading.service && !reading.overlong;
        match whole.then(|| resolve_number(&reading, region)).flatten() {
            Some((plan, national)) => {
                let mut digits = Digits::of_number(plan.country);
                let country_len = digits.len;
                digits.extend(national.bytes());
                Some(PhoneNumber {
                    digits,
                    country_len,
                    extension,
                })
            }
            None => Some(PhoneNumber {
                digits: reading.digits,
                country_len: 0,
                extension,
            }),
        }
    }

    /// Restores a number from its stored [`PhoneNumber::digits`], the length of its country calling
    /// code and its extension.
    pub fn from_parts(digits: &[u8], country_len: u8, extension: &[u8]) -> PhoneNumber {
        PhoneNumber {
            digits: Digits::of(digits),
            // Damaged keys may have fewer digits.
            country_len: country_len.min(digits.len() as u8),
            extension: Digits::of(extension),
        }
    }

    /// How many of the digits are the country calling code; 0 when it is not known.
    pub fn country_len(&self) -> u8 {
        self.country_len
    }

    /// The digits of E.164, without plus: country calling code and national
    /// significant number. When the country is not known, the digits as dialled:
    /// short codes and service codes (`110`, `*100#`), national numbers read
    /// without a region.
    pub fn digits(&self) -> &str {
        self.digits.as_str()
    }

    /// The number in E.164's international form (`+4930...`), if the country is known.
    pub fn e164(&self) -> Option<String> {
        (self.country_len > 0).then(|| format!("+{}", self.digits()))
    }

    /// The country calling code (49), if known.
    pub fn country_code(&self) -> Option<u16> {
        self.digits()
            .get(..usize::from(self.country_len))?
            .parse()
            .ok()
    }

    /// The national significant number; all digits when the country is not known.
    pub fn national_number(&self) -> &str {
        self.digits()
            .get(usize::from(self.country_len)..)
            .unwrap_or_default()
    }

    /// The digits to be dialled when connected.
    pub fn extension(&self) -> Option<&str> {
        (!self.extension.is_empty()).then(|| self.extension.as_str())
    }

    /// Returns true if the numbers are equal by `strength`. Different extensions make
    /// different numbers, except for [`MatchType::ShortNsn`]; a missing extension
    /// equals any.
    pub fn matches(&self, other: &PhoneNumber, strength: MatchType) -> bool {
        if strength != MatchType::ShortNsn
            && let (Some(mine), Some(theirs)) = (self.extension(), other.extension())
            && mine != theirs
        {
            return false;
        }
        match strength {
            MatchType::Exact => {
                self.country_len == other.country_len && self.digits() == other.digits()
            }
            MatchType::Nsn => match (self.country_len, other.country_len) {
                (0, 0) => self.digits() == other.digits(),
                (0, _) => other.is_dialled_as(self),
                (_, 0) => self.is_dialled_as(other),
                _ => self.country_len == other.country_len && self.digits() == other.digits(),
            },
            MatchType::ShortNsn => {
                last_seven(self.national_number()) == last_seven(other.national_number())
                    && self
                        .national_number()
                        .len()
                        .min(other.national_number().len())
                        >= 3
            }
        }
    }

    /// Returns true if `dialled`, a number without country, can be this number: in
    /// full, or within the country with or without trunk prefix.
    fn is_dialled_as(&self, dialled: &PhoneNumber) -> bool {
        let digits = dialled.digits();
        if digits == self.digits() || digits == self.national_number() {
            return true;
        }
        let plan = self.country_code().and_then(main_plan);
        plan.and_then(|plan| strip_trunk_prefix(plan, digits.as_bytes()))
            .is_some_and(|national| national.as_str() == self.national_number())
    }
}

impl std::fmt::Debug for PhoneNumber {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PhoneNumber")
            .field("country", &self.country_code())
            .field("national", &self.national_number())
            .field("extension", &self.extension())
            .finish()
    }
}

/// Schemes of addresses that are no phone numbers.
const OTHER_SCHEMES: &[&str] = &[
    "sip:", "sips:", "xmpp:", "im:", "mailto:", "http:", "https:", "skype:", "jabber:",
];

/// Returns true for the address of something other than a phone.
fn is_other_address(text: &str) -> bool {
    let text = text.trim_start();
    // Few numbers begin with a letter.
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && OTHER_SCHEMES.iter().any(|scheme| {
            let head = text.get(..scheme.len());
            head.is_some_and(|head| head.eq_ignore_ascii_case(scheme))
        })
}

/// Digits of the shortest number before a remark where the region's numbers are not known: fewer may
/// be the start of a number in letters, `1-800-FLOWERS`.
const MIN_UNKNOWN_NUMBER: usize = 7;

impl DialString {
    /// Returns true if the digits are a whole number of the region, or long enough for one if it is not
    /// known.
    fn is_whole_number(&self, region: Option<Region>) -> bool {
        match region {
            Some(_) => resolve_number(self, region).is_some(),
            None => self.digits.bytes().len() >= MIN_UNKNOWN_NUMBER,
        }
    }
}

fn last_seven(national: &str) -> &str {
    national
        .get(national.len().saturating_sub(7)..)
        .unwrap_or(national)
}

/// Returns the decimal digits of a text, of any script, as ASCII.
pub fn decimal_digits(text: &str) -> Vec<u8> {
    let digit = |c: char| match c {
        '0'..='9' => Some(c as u8),
        c => dial_string::decimal_digit(c),
    };
    text.chars().filter_map(digit).collect()
}

/// Returns the E.164 form of the digits typed after a plus.
fn international_part(reading: &DialString, typed: &[u8]) -> Vec<u8> {
    let Some((plan, rest)) = split_country(typed) else {
        return typed.to_vec();
    };
    let country = Digits::<MAX_DIGITS>::of_number(plan.country);
    let full = strip_optional_zero(plan, rest, reading);
    let national = match full.split_first() {
        Some((b'0', rest)) if table_row(&TRUNK, plan.trunk) == "0" && !can_begin(plan, b"0") => {
            rest
        }
        _ => full,
    };
    [country.bytes(), national].concat()
}

/// Returns the plan and national significant number of a dial string; `None` if the
/// number is kept as dialled.
fn resolve_number(
    reading: &DialString,
    region: Option<Region>,
) -> Option<(&'static NumberingPlan, Digits<MAX_DIGITS>)> {
    let dialled = reading.digits.bytes();
    let home = region.and_then(Region::plan);
    if reading.plus
        && let Some((plan, rest)) = split_country(dialled)
    {
        return resolve_international(plan, rest, reading);
    }
    let Some(home) = home else {
        let (plan, rest) = split_country(dialled.strip_prefix(b"00")?)?;
        return (!reading.plus && rest.len() >= 8)
            .then(|| resolve_international(plan, rest, reading))
            .flatten();
    };
    if let Some(rest) =
        strip_international_prefix(table_row(&INTERNATIONAL, home.international), dialled)
    {
        let (plan, rest) = split_country(rest)?;
        return resolve_international(plan, rest, reading);
    }
    if reading.plus {
        return None;
    }
    let country = Digits::<MAX_DIGITS>::of_number(home.country);
    if let Some(rest) = dialled.strip_prefix(country.bytes()) {
        let stripped = strip_by_trunk_rule(home, rest);
        let rest = stripped.as_ref().map_or(rest, Digits::bytes);
        if (!has_length(home.own, dialled.len()) && is_possible(home, rest))
            || dialled.len() > max_length(home)
        {
            let plan = main_plan(home.country)?;
            return resolve_international(plan, rest, reading);
        }
    }
    let stripped = strip_trunk_prefix(home, dialled);
    if stripped.is_none() && dialled.len() < usize::from(home.short) {
        return None;
    }
    let national = stripped.unwrap_or_else(|| Digits::of(dialled));
    let length = national.bytes().len();
    // The masks have a bit for each length; the lowest set bit is that of the least.
    let too_short = (1 << length.min(31)) < (home.lengths & home.lengths.wrapping_neg());
    let local = has_length(home.local, length);
    (!too_short && !local && length <= MAX_NATIONAL).then_some((home, national))
}

/// Returns the digits after the calling code, without a misplaced trunk prefix.
fn resolve_international(
    plan: &'static NumberingPlan,
    rest: &[u8],
    reading: &DialString,
) -> Option<(&'static NumberingPlan, Digits<MAX_DIGITS>)> {
    let rest = strip_optional_zero(plan, rest, reading);
    let national = strip_trunk_prefix(plan, rest).unwrap_or_else(|| Digits::of(rest));
    (2..=MAX_NATIONAL)
        .contains(&national.bytes().len())
        .then_some((plan, national))
}

/// Strips the zero of `+49 (0)30` where a national number cannot begin with it.
fn strip_optional_zero<'a>(plan: &NumberingPlan, rest: &'a [u8], reading: &DialString) -> &'a [u8] {
    let at = reading.digits.bytes().len() - rest.len();
    match rest.split_first() {
        Some((b'0', tail)) if reading.optional_zero == Some(at) && !can_begin(plan, b"0") => tail,
        _ => rest,
    }
}

/// Strips trunk prefix or carrier code, or completes a local number with its area
/// code; `None` if neither applies or the rest has no possible length.
fn strip_trunk_prefix(plan: &NumberingPlan, number: &[u8]) -> Option<Digits<MAX_DIGITS>> {
    let national = strip_by_trunk_rule(plan, number)?;
    let length = national.bytes().len();
    let fits = !has_length(plan.local, length)
        && (has_length(plan.lengths, length) || length > max_length(plan));
    fits.then_some(national)
}

fn strip_by_trunk_rule(plan: &NumberingPlan, number: &[u8]) -> Option<Digits<MAX_DIGITS>> {
    let changed = if plan.country == 54 {
        argentine_mobile(number)
    } else {
        None
    };
    let changed = changed.or_else(|| {
        table_row(&TRUNK, plan.trunk)
            .split('|')
            .find_map(|rule| apply_trunk_rule(rule, number))
    })?;
    (changed.bytes() != number
        && (is_possible(plan, changed.bytes()) || !is_possible(plan, number)))
    .then_some(changed)
}

/// Applies one rule of [`TRUNK`].
fn apply_trunk_rule(rule: &str, number: &[u8]) -> Option<Digits<MAX_DIGITS>> {
    if let Some((area, local)) = rule.strip_prefix('=').and_then(|rule| rule.split_once(':')) {
        strip_pattern(local, number)?;
        let mut changed = Digits::of(area.as_bytes());
        changed.extend(number);
        return Some(changed);
    }
    let (prefix, follows) = rule.split_once('>').unwrap_or((rule, ""));
    let rest = strip_pattern(prefix, number)?;
    strip_pattern(follows, rest)?;
    Some(Digits::of(rest))
}

/// A mobile number dialled within Argentina has 15 between area code (2 to 4
/// digits, Buenos Aires being 11) and subscriber, together 12 digits; in E.164 it
/// has 9 before the area code instead.
fn argentine_mobile(number: &[u8]) -> Option<Digits<MAX_DIGITS>> {
    let number = number.strip_prefix(b"0").unwrap_or(number);
    if number.len() != 12 {
        return None;
    }
    let areas = if number.starts_with(b"11") {
        2..=2
    } else {
        3..=4
    };
    areas.into_iter().find_map(|area| {
        let (area, rest) = number.split_at_checked(area)?;
        let mut changed = Digits::of(b"9");
        changed.extend(area);
        changed.extend(rest.strip_prefix(b"15")?);
        Some(changed)
    })
}

/// Returns the digits after an international prefix. No calling code begins with 0.
fn strip_international_prefix<'a>(prefixes: &str, number: &'a [u8]) -> Option<&'a [u8]> {
    let rest = prefixes
        .split('|')
        .filter(|prefix| !prefix.is_empty())
        .find_map(|prefix| strip_pattern(prefix, number))?;
    (rest.first() != Some(&b'0')).then_some(rest)
}

/// Splits digits into the plan of their calling code and the rest.
fn split_country(number: &[u8]) -> Option<(&'static NumberingPlan, &[u8])> {
    let mut code = 0u16;
    for (i, digit) in number.iter().take(3).enumerate() {
        code = code * 10 + u16::from(digit.wrapping_sub(b'0'));
        // No calling code begins with 0.
        if code == 0 {
            return None;
        }
        if let Some(plan) = main_plan(code) {
            return Some((plan, number.get(i + 1..)?));
        }
    }
    None
}

fn main_plan(country: u16) -> Option<&'static NumberingPlan> {
    let row = MAIN.get(usize::from(country))?.checked_sub(1)?;
    PLANS.get(usize::from(row))
}

/// Returns true if the plan has numbers with that first digit and length.
fn is_possible(plan: &NumberingPlan, number: &[u8]) -> bool {
    let Some(first) = number.first() else {
        return false;
    };
    plan_shapes(plan).any(|(firsts, lengths)| {
        has_length(u32::from(firsts), usize::from(first.wrapping_sub(b'0')))
            && has_length(lengths, number.len())
    })
}

/// Returns true if a national number of this plan can begin with that digit.
fn can_begin(plan: &NumberingPlan, number: &[u8]) -> bool {
    // 31: a bit that no plan has.
    let first = number.first().map_or(31, |first| first.wrapping_sub(b'0'));
    plan_shapes(plan).any(|(firsts, _)| has_length(u32::from(firsts), usize::from(first)))
}

fn plan_shapes(plan: &NumberingPlan) -> impl Iterator<Item = (u16, u32)> {
    let (start, count) = plan.shapes;
    SHAPES
        .iter()
        .copied()
        .skip(usize::from(start))
        .take(usize::from(count))
}

fn has_length(mask: u32, length: usize) -> bool {
    length < 32 && mask >> length & 1 == 1
}

fn max_length(plan: &NumberingPlan) -> usize {
    // The highest set bit is that of the greatest length.
    plan.lengths.checked_ilog2().unwrap_or(0) as usize
}

fn table_row(table: &[&'static str], at: u8) -> &'static str {
    table.get(usize::from(at)).copied().unwrap_or_default()
}

/// Strips the digit sequence `pattern` (written as in [`plans`]) from the front of
/// `number`.
fn strip_pattern<'a>(pattern: &str, number: &'a [u8]) -> Option<&'a [u8]> {
    match match_pattern(pattern, number) {
        PatternMatch::Matched(rest) => Some(rest),
        PatternMatch::Ended | PatternMatch::Differs => None,
    }
}

/// Returns true if `number` is a prefix of the digit sequence `pattern`.
fn is_pattern_start(pattern: &str, number: &[u8]) -> bool {
    match match_pattern(pattern, number) {
        PatternMatch::Matched(rest) => rest.is_empty(),
        PatternMatch::Ended => true,
        PatternMatch::Differs => false,
    }
}

enum PatternMatch<'a> {
    Matched(&'a [u8]),
    /// The number ended before the pattern.
    Ended,
    Differs,
}

fn match_pattern<'a>(pattern: &str, mut number: &'a [u8]) -> PatternMatch<'a> {
    let mut pattern = pattern.as_bytes();
    while let Some((&item, rest)) = pattern.split_first() {
        pattern = rest;
        if item == b'$' {
            return if number.is_empty() {
                PatternMatch::Matched(number)
            } else {
                PatternMatch::Differs
            };
        }
        let Some((digit, tail)) = number.split_first() else {
            return PatternMatch::Ended;
        };
        number = tail;
        let matches = if item == b'[' {
            let end = pattern.iter().position(|&c| c == b']').unwrap_or(0);
            let (class, rest) = pattern.split_at_checked(end).unwrap_or((pattern, &[]));
            pattern = rest.get(1..).unwrap_or_default();
            class.contains(digit)
        } else {
            item == b'x' || item == *digit
        };
        if !matches {
            return PatternMatch::Differs;
        }
    }
    PatternMatch::Matched(number)
}

/// Up to N ASCII digits (or `*` and `#`) in place.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Digits<const N: usize> {
    bytes: [u8; N],
    len: u8,
}

impl<const N: usize> Digits<N> {
    const EMPTY: Self = Digits {
        bytes: [0; N],
        len: 0,
    };

    fn of(bytes: &[u8]) -> Self {
        let mut digits = Self::EMPTY;
        digits.extend(bytes);
        digits
    }

    fn of_number(number: u16) -> Self {
        let mut digits = Self::EMPTY;
        for power in [100, 10, 1] {
            if number >= power {
                digits.push(b'0' + (number / power % 10) as u8);
            }
        }
        digits
    }

    /// Appends one; false if there is no room.
    fn push(&mut self, byte: u8) -> bool {
        match self.bytes.get_mut(usize::from(self.len)) {
            Some(place) => {
                *place = byte;
                self.len += 1;
                true
            }
            None => false,
        }
    }

    fn extend(&mut self, bytes: &[u8]) {
        let room = self
            .bytes
            .get_mut(usize::from(self.len)..)
            .unwrap_or_default();
        let count = room.len().min(bytes.len());
        if let (Some(places), Some(bytes)) = (room.get_mut(..count), bytes.get(..count)) {
            places.copy_from_slice(bytes);
            self.len += count as u8;
        }
    }

    fn is_empty(&self) -> bool {
        self.len == 0
    }

    fn bytes(&self) -> &[u8] {
        self.bytes.get(..usize::from(self.len)).unwrap_or_default()
    }

    fn as_str(&self) -> &str {
        std::str::from_utf8(self.bytes()).unwrap_or_default()
    }
}
