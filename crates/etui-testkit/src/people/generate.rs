//! [`person`]: one person from a seed and a number.

use super::locales::{LOCALES, Locale};
use super::text::{fill, native, push_slug, zipf};
use super::words::WORDS;
use super::{Address, Birthday, Kind, Person, Version, phone};
use crate::rng::{SplitMix64, mix64};

/// How many companies there are for each language.
const COMPANIES: u32 = 4000;

/// The names of one person as list entries, before anything is made of them.
struct NamePool {
    given: &'static str,
    family: &'static str,
    /// A second family name or a middle name.
    additional: &'static str,
}

struct CompanyName {
    name: String,
    domain: String,
}

/// Person number `index` of the book `seed`.
///
/// Of a thousand people 80 have nothing but a name and a number; 550 have an
/// e-mail address and 200 two, 280 one at `example.org`; 850 a phone number
/// and 400 more than one; 450 an organisation, 300 a postal address, 250 a
/// birthday, 150 a note, 100 a nickname, 120 categories, 30 a photo.
pub fn person(seed: u64, index: u64) -> Person {
    let mut rng = SplitMix64::stream(seed, index);
    let uid = uid(&mut rng);
    let version = match rng.below(100) {
        0..48 => Version::V3,
        48..90 => Version::V4,
        _ => Version::V21,
    };
    let locale_number = locale_number(&mut rng);
    // The lists are never empty and the number comes from their sum.
    let locale = &LOCALES[locale_number];
    let names = names(locale, &mut rng);

    let mut someone = Person {
        index,
        uid,
        version,
        family: native(names.family).to_owned(),
        given: native(names.given).to_owned(),
        additional: native(names.additional).to_owned(),
        revision: revision(&mut rng),
        ..Person::default()
    };

    let spare = rng.chance(80);
    if !spare {
        let company = rng
            .chance(of_the_rest(450))
            .then(|| company(locale_number, &mut rng));
        details(&mut someone, locale, &names, &mut rng);
        emails(&mut someone, locale, &names, company.as_ref(), &mut rng);
        if let Some(company) = company {
            employment(&mut someone, locale, company, &mut rng);
        }
        match rng.below(1000) {
            n if n < of_the_rest(400) => {
                let count = 2 + rng.below(5) as usize / 3;
                phones(&mut someone, locale, count, &mut rng);
            }
            n if n < of_the_rest(850 - 80) => phones(&mut someone, locale, 1, &mut rng),
            _ => {}
        }
    } else {
        phones(&mut someone, locale, 1, &mut rng);
    }
    someone.formatted = formatted_name(&someone, locale.family_first);
    someone
}

/// Converts per mille of all people to per mille of the 920 with more than a name and a number.
fn of_the_rest(per_mille: u32) -> u32 {
    per_mille * 1000 / 920
}

/// 122 random bits in the shape of a version 4 UUID.
fn uid(rng: &mut SplitMix64) -> String {
    let high = rng.next_u64() & !0xF000 | 0x4000;
    let low = rng.next_u64() & !(0b11 << 62) | 0b10 << 62;
    format!(
        "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
        high >> 32,
        high >> 16 & 0xFFFF,
        high & 0xFFFF,
        low >> 48,
        low & 0xFFFF_FFFF_FFFF
    )
}

fn locale_number(rng: &mut SplitMix64) -> usize {
    let total = LOCALES.iter().map(|locale| locale.weight).sum();
    let mut drawn = rng.below(total);
    for (number, locale) in LOCALES.iter().enumerate() {
        if drawn < locale.weight {
            return number;
        }
        drawn -= locale.weight;
    }
    0
}

fn at(list: &[&'static str], place: usize) -> &'static str {
    list.get(place).copied().unwrap_or_default()
}

fn common(list: &[&'static str], rng: &mut SplitMix64) -> &'static str {
    at(list, zipf(list.len(), rng))
}

fn names(locale: &Locale, rng: &mut SplitMix64) -> NamePool {
    let (given, families) = if rng.chance(500) {
        (&locale.women, &locale.families_of_women)
    } else {
        (&locale.men, &locale.families)
    };
    NamePool {
        given: common(given, rng),
        family: common(families, rng),
        additional: if !locale.family_first && rng.chance(140) {
            common(given, rng)
        } else {
            ""
        },
    }
}

fn revision(rng: &mut SplitMix64) -> String {
    let (year, month, day) = (2012 + rng.below(14), 1 + rng.below(12), 1 + rng.below(28));
    let (hour, minute, second) = (rng.below(24), rng.below(60), rng.below(60));
    format!("{year}{month:02}{day:02}T{hour:02}{minute:02}{second:02}Z")
}

/// Returns the name to show.
pub(super) fn formatted_name(someone: &Person, family_first: bool) -> String {
    let (first, second) = if family_first {
        (&someone.family, &someone.given)
    } else {
        (&someone.given, &someone.family)
    };
    // Chinese, Japanese and Korean names are written without a space.
    let joined = family_first && !first.starts_with(|c: char| c < '\u{2000}');
    let mut text = String::with_capacity(48);
    let parts = [
        someone.prefix.as_str(),
        first,
        someone.additional.as_str(),
        second,
        someone.suffix.as_str(),
    ];
    for part in parts.into_iter().filter(|part| !part.is_empty()) {
        if !text.is_empty() && (!joined || part != second) {
            text.push(' ');
        }
        text.push_str(part);
    }
    text
}

fn details(someone: &mut Person, locale: &Locale, names: &NamePool, rng: &mut SplitMix64) {
    if !locale.family_first && rng.chance(70) {
        let second = native(common(&locale.families, rng));
        if !second.contains(' ') && second != someone.family {
            someone.family.push('-');
            someone.family.push_str(second);
        }
    }
    if rng.chance(60) {
        someone.prefix = rng.pick(&WORDS.prefixes).to_owned();
    }
    if rng.chance(8) {
        someone.suffix = rng.pick(&["Jr.", "Sr.", "III", "MSc", "PhD"]).to_owned();
    }
    if rng.chance(of_the_rest(100)) {
        someone.nickname = Some(nickname(names, rng));
    }
    if rng.chance(of_the_rest(300)) {
        someone.addresses.push(address(locale, Kind::Home, rng));
    }
    if rng.chance(of_the_rest(250)) {
        someone.birthday = Some(Birthday {
            year: (!rng.chance(100)).then(|| 1932 + rng.below(84) as u16),
            month: 1 + rng.below(12) as u8,
            day: 1 + rng.below(28) as u8,
        });
    }
    if rng.chance(of_the_rest(120)) {
        for _ in 0..1 + rng.below(3) {
            let category = at(&WORDS.categories, zipf(WORDS.categories.len(), rng));
            if !someone.categories.contains(&category) {
                someone.categories.push(category);
            }
        }
    }
    if rng.chance(of_the_rest(150)) {
        let mut note = String::with_capacity(256);
        for _ in 0..1 + rng.below(6) {
            if !note.is_empty() {
                note.push(if rng.chance(300) { '\n' } else { ' ' });
            }
            note.push_str(&rng.pick(&WORDS.notes).replace('¶', "\n"));
        }
        someone.note = Some(note);
    }
    if rng.chance(of_the_rest(30)) {
        someone.photo = Some(rng.next_u64());
    }
}

fn nickname(names: &NamePool, rng: &mut SplitMix64) -> String {
    let given = native(names.given);
    if given.is_ascii() && given.len() > 4 && rng.chance(500) {
        let mut nickname: String = given.chars().take(3).collect();
        nickname.push_str(rng.pick(&["i", "y", "o", "ie"]));
        nickname
    } else {
        rng.pick(&WORDS.nicknames).to_owned()
    }
}

fn address(locale: &Locale, kind: Kind, rng: &mut SplitMix64) -> Address {
    let mut place = common(&locale.places, rng).split(':');
    let mut part = || place.next().unwrap_or_default();
    let (city, region, shape) = (part(), part(), part());
    let mut street = String::with_capacity(32);
    fill(rng.pick(&locale.streets), rng, &mut street);
    let mut code = String::with_capacity(10);
    fill(shape, rng, &mut code);
    Address {
        kind,
        street,
        city: city.to_owned(),
        region: region.to_owned(),
        code,
        country: if rng.chance(750) {
            locale.country.to_owned()
        } else {
            String::new()
        },
    }
}

/// Most people work for few companies: the product of two uniform numbers
/// falls near 0 far more often than near 1.
fn company(locale_number: usize, rng: &mut SplitMix64) -> CompanyName {
    let (a, b) = (rng.below(1 << 16), rng.below(1 << 16));
    let number = (u64::from(a) * u64::from(b) * u64::from(COMPANIES)) >> 32;
    // A company does not depend on the seed, so its employees share it.
    let mut own = SplitMix64::new(mix64(number << 8 | locale_number as u64));
    let locale = &LOCALES[locale_number];
    let trade = own.pick(&locale.trades);
    let head = if own.chance(450) && !trade.contains('/') {
        own.pick(&WORDS.company_heads)
    } else {
        own.pick(&locale.families)
    };
    let form = own.pick(&locale.forms);

    // Chinese, Japanese and Korean words are joined without a space.
    let gap = if native(head).starts_with(|c: char| c < '\u{2000}') {
        " "
    } else {
        ""
    };
    let mut name = String::with_capacity(48);
    for part in form.split_inclusive('*') {
        match part.strip_suffix('*') {
            Some(before) => {
                name.push_str(before);
                name.push_str(native(head));
                name.push_str(gap);
                name.push_str(native(trade));
            }
            None => name.push_str(part),
        }
    }
    let mut domain = String::with_capacity(40);
    push_slug(head, locale.umlauts, "-", &mut domain);
    domain.push('-');
    push_slug(trade, locale.umlauts, "-", &mut domain);
    domain.push_str(".example");
    CompanyName { name, domain }
}

fn employment(someone: &mut Person, locale: &Locale, company: CompanyName, rng: &mut SplitMix64) {
    if rng.chance(400) {
        someone.department = Some(rng.pick(&WORDS.departments).to_owned());
    }
    if rng.chance(750) {
        someone.title = Some(rng.pick(&locale.titles).to_owned());
    }
    if rng.chance(300) {
        let start = rng.pick(&["https://www.", "http://www.", "https://"]);
        someone.url = Some(format!("{start}{}/", company.domain));
    }
    if !someone.addresses.is_empty() && rng.chance(400) {
        someone.addresses.push(address(locale, Kind::Work, rng));
    }
    someone.organisation = Some(company.name);
}

fn emails(
    someone: &mut Person,
    locale: &Locale,
    names: &NamePool,
    company: Option<&CompanyName>,
    rng: &mut SplitMix64,
) {
    let drawn = rng.below(1000);
    if drawn >= of_the_rest(550) {
        return;
    }
    let second = drawn < of_the_rest(200);
    // 510 of 1000 with an address have one at example.org: 280 of 550.
    let first = match rng.below(1000) {
        0..510 => Some("example.org"),
        510..640 => Some("example.com"),
        640..740 => Some("example.net"),
        _ => None,
    };
    let work = company.map_or("mail.example", |company| company.domain.as_str());
    match first {
        Some(domain) => push_email(someone, locale, names, (Kind::Home, domain), rng),
        None if company.is_some() => {
            push_email(someone, locale, names, (Kind::Work, work), rng);
        }
        None => push_email(someone, locale, names, (Kind::Home, work), rng),
    }
    if second {
        let other = match first {
            Some(_) if company.is_some() => (Kind::Work, work),
            Some("example.com") => (Kind::Home, "example.net"),
            _ => (Kind::Home, "example.com"),
        };
        push_email(someone, locale, names, other, rng);
    }
}

fn push_email(
    someone: &mut Person,
    locale: &Locale,
    names: &NamePool,
    (kind, domain): (Kind, &str),
    rng: &mut SplitMix64,
) {
    let mut given = String::with_capacity(16);
    push_slug(names.given, locale.umlauts, "-", &mut given);
    let mut family = String::with_capacity(16);
    push_slug(names.family, locale.umlauts, "", &mut family);
    let initial = given.get(..1).unwrap_or("x");

    let mut email = String::with_capacity(given.len() + family.len() + domain.len() + 8);
    // A public provider has given away the short addresses long ago.
    let crowded = kind == Kind::Home;
    let (parts, digits, numbered): ([&str; 3], u32, u32) = match rng.below(100) {
        0..50 => ([&given, ".", &family], 10_000, 750),
        50..68 => ([initial, ".", &family], 100_000, 850),
        68..80 => ([initial, "", &family], 100_000, 850),
        80..88 => ([&family, "_", &given], 10_000, 750),
        88..94 => ([&given, "", ""], 3_000_000, 980),
        _ => ([&family, "", ""], 3_000_000, 980),
    };
    parts.into_iter().for_each(|part| email.push_str(part));
    if crowded && rng.chance(numbered) {
        email.push_str(&rng.below(digits).to_string());
    } else if !crowded && rng.chance(150) {
        email.push_str(&(2 + rng.below(30)).to_string());
    }
    if rng.chance(15) {
        email.push_str("+lists");
    }
    if rng.chance(40)
        && let Some(start) = email.get_mut(..1)
    {
        start.make_ascii_uppercase();
    }
    email.push('@');
    email.push_str(domain);
    someone.emails.push((kind, email));
}

fn phones(someone: &mut Person, locale: &Locale, count: usize, rng: &mut SplitMix64) {
    let works = someone.organisation.is_some();
    for place in 0..count {
        let kind = match (place, rng.below(10)) {
            (0, 0..6) => Kind::Cell,
            (0, 6..8) => Kind::Home,
            (0, _) => Kind::Work,
            (1, 0..5) if works => Kind::Work,
            (1, _) => Kind::Home,
            (_, 0..4) if works => Kind::Fax,
            _ => Kind::Cell,
        };
        let number = phone::phone_number(locale, kind == Kind::Cell, someone.index, rng);
        someone.phones.push((kind, number));
    }
}
