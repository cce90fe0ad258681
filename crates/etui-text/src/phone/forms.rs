//! The digits that a typed part of a number can mean.

use super::dial_string::DialString;
use super::plan_table::{INTERNATIONAL, TRUNK};
use super::{
    Digits, MAX_DIGITS, Region, can_begin, international_part, is_pattern_start, resolve_number,
    strip_international_prefix, strip_pattern, table_row,
};

/// Adds the forms of a partial number that need no rules of a country: as typed,
/// or without plus or international prefix if `least` digits remain. Returns true
/// if national rules apply as well.
fn push_plain_forms(
    forms: &mut Vec<String>,
    reading: &DialString,
    region: Option<Region>,
    least: usize,
) -> bool {
    let typed = reading.digits.bytes();
    if typed.is_empty() {
        return false;
    }
    if reading.plus {
        push_form(forms, &[&international_part(reading, typed)]);
        return false;
    }
    push_form(forms, &[typed]);
    if reading.service {
        return false;
    }
    let plan = region.and_then(Region::plan);
    let international = plan.map_or("00", |plan| table_row(&INTERNATIONAL, plan.international));
    match strip_international_prefix(international, typed) {
        Some(rest) if rest.len() >= least => {
            push_form(forms, &[&international_part(reading, rest)]);
            false
        }
        _ => true,
    }
}

/// Returns the prefixes of [`PhoneNumber::digits`](super::PhoneNumber::digits) that a typed prefix can mean,
/// without duplicates: as E.164 digits and as a national number of `region`, with
/// or without trunk prefix. `030` in Germany: `030` (numbers without
/// country) and `4930`; `30`: `30` (Greece) and `4930`; `+4930` and `0049 30`:
/// `4930`. Empty if nothing was typed that can begin a number.
pub fn prefix_forms(typed: &str, region: Option<Region>) -> Vec<String> {
    let reading = DialString::parse_part(typed);
    let typed = reading.digits.bytes();
    let mut forms = Vec::new();
    if !push_plain_forms(&mut forms, &reading, region, 1) {
        return forms;
    }
    let plan = region.and_then(Region::plan);
    let Some(plan) = plan else {
        return forms;
    };
    let country = Digits::<MAX_DIGITS>::of_number(plan.country);
    let mut national = |digits: &[u8]| {
        push_form(&mut forms, &[country.bytes(), digits]);
        // A mobile number of Argentina is dialled without the 9 within the country.
        if plan.country == 54 {
            push_form(&mut forms, &[country.bytes(), b"9", digits]);
        }
    };
    let mut trunk = false;
    for rule in table_row(&TRUNK, plan.trunk).split('|') {
        if let Some((area, local)) = rule.strip_prefix('=').and_then(|rule| rule.split_once(':')) {
            if is_pattern_start(local, typed) {
                national(&[area.as_bytes(), typed].concat());
            }
        } else if !rule.contains('>')
            && let Some(rest) = strip_pattern(rule, typed)
        {
            trunk = true;
            national(rest);
        }
    }
    if !trunk || can_begin(plan, typed) {
        national(typed);
    }
    if let Some((plan, digits)) = resolve_number(&reading, region) {
        push_form(
            &mut forms,
            &[
                Digits::<MAX_DIGITS>::of_number(plan.country).bytes(),
                digits.bytes(),
            ],
        );
    }
    forms
}

/// Returns the suffixes of [`PhoneNumber::digits`](super::PhoneNumber::digits) that a typed suffix, or a number
/// on a display, can mean, without duplicates: the digits as they are,
/// without international prefix, and without trunk prefix if three digits remain.
/// `4711`: `4711`; `030 1234` in Germany: `0301234` and `301234`.
pub fn suffix_forms(typed: &str, region: Option<Region>) -> Vec<String> {
    let reading = DialString::parse_part(typed);
    let typed = reading.digits.bytes();
    let mut forms = Vec::new();
    if !push_plain_forms(&mut forms, &reading, region, 3) {
        return forms;
    }
    let plan = region.and_then(Region::plan);
    for rule in table_row(&TRUNK, plan.map_or(0, |plan| plan.trunk)).split('|') {
        if !rule.contains(['=', '>'])
            && !rule.is_empty()
            && let Some(rest) = strip_pattern(rule, typed)
            && rest.len() >= 3
        {
            push_form(&mut forms, &[rest]);
        }
    }
    forms
}

fn push_form(forms: &mut Vec<String>, parts: &[&[u8]]) {
    let form: String = parts.concat().into_iter().map(char::from).collect();
    if !forms.contains(&form) {
        forms.push(form);
    }
}
