//! Names that do not run out: a made-up name for every rank, drawn as seldom as its rank says.
//!
//! The lists of [`super::locales`] hold a few hundred names, so that in a book of a million every
//! name is that of thousands. Among real people most names are rare, and a larger book has more of
//! them. Here the frequency of a name is about one over its rank (Zipf's law) over 2^20 ranks:
//! an octave of ranks is drawn first, each as likely as the others, then a rank in it. Only integer
//! arithmetic, as in all of this crate.

use super::Person;
use super::generate::{formatted_name, person};
use super::text::push_slug;
use crate::rng::SplitMix64;

/// Octaves of ranks of family names, given names, and words of notes and companies.
const FAMILIES: u32 = 20;
const GIVEN: u32 = 15;
const WORDS: u32 = 17;

const ONSETS: [&str; 24] = [
    "b", "br", "d", "dr", "f", "g", "gr", "h", "j", "k", "kl", "l", "m", "n", "p", "pr", "r", "s",
    "sch", "st", "t", "tr", "v", "z",
];
const VOWELS: [&str; 10] = ["a", "e", "i", "o", "u", "ei", "au", "ö", "é", "ia"];
const ENDINGS: [&str; 20] = [
    "", "n", "r", "s", "l", "er", "mann", "son", "ski", "ez", "ini", "eau", "sen", "ova", "berg",
    "ley", "ic", "ard", "ton", "ues",
];

/// Person number `index` of the varied book `seed`: [`person`]; every other one with a
/// name in Latin letters has a family name of this supply, every fifth a given name, and some a
/// word in the note and the company's name.
pub fn varied_person(seed: u64, index: u64) -> Person {
    let mut someone = person(seed, index);
    let mut rng = SplitMix64::stream(!seed, index);
    let latin = |text: &str| !text.is_empty() && text.chars().all(|c| c < '\u{250}');
    let family_first = formatted_name(&someone, false) != someone.formatted;
    if latin(&someone.formatted) {
        if rng.chance(500) {
            let new = name(rank(FAMILIES, &mut rng), 0);
            rename_in_emails(&mut someone, |old| &old.family, &new);
            someone.family = new;
        }
        if rng.chance(200) {
            let new = name(rank(GIVEN, &mut rng), 1);
            rename_in_emails(&mut someone, |old| &old.given, &new);
            someone.given = new;
        }
        someone.formatted = formatted_name(&someone, family_first);
    }
    if let Some(company) = someone.organisation.as_mut().filter(|c| latin(c))
        && rng.chance(300)
    {
        *company = format!("{} {company}", name(rank(WORDS, &mut rng), 2));
    }
    if let Some(note) = &mut someone.note {
        for _ in 0..rng.below(4) {
            note.push(' ');
            note.push_str(&name(rank(WORDS, &mut rng), 3));
        }
    }
    someone
}

/// Replaces the old name by the new one in e-mail addresses.
fn rename_in_emails(someone: &mut Person, old: impl Fn(&Person) -> &String, new: &str) {
    let slug = |text: &str, umlauts, joint| {
        let mut slug = String::new();
        push_slug(text, umlauts, joint, &mut slug);
        slug
    };
    // As `generate` writes family names and given names.
    let forms = [(false, ""), (true, ""), (false, "-"), (true, "-")]
        .map(|(umlauts, joint)| slug(old(someone), umlauts, joint));
    let new = slug(new, false, "");
    for (_, email) in &mut someone.emails {
        let Some((user, domain)) = email.split_once('@') else {
            continue;
        };
        let user = user.to_ascii_lowercase();
        let mut found = forms.iter().filter(|form| !form.is_empty());
        if let Some(form) = found.find(|form| user.contains(*form)) {
            *email = format!("{}@{domain}", user.replacen(form, &new, 1));
        }
    }
}

/// A rank from 1 to 2^octaves.
fn rank(octaves: u32, rng: &mut SplitMix64) -> u32 {
    let first = 1 << rng.below(octaves);
    first + rng.below(first)
}

/// The name of a rank; other ones for each kind. The most frequent are the shortest.
fn name(rank: u32, kind: u32) -> String {
    // Odd, so that every rank below 2^24 has a number of its own, far from its neighbour's.
    let mut number = rank.wrapping_mul(0x9E_3779 + 2 * 1_000_003 * kind) & 0xFF_FFFF;
    let mut digit = |base: usize| {
        let digit = number as usize % base;
        number /= base as u32;
        digit
    };
    let ending = ENDINGS[digit(ENDINGS.len())];
    let mut name = String::with_capacity(16);
    let syllables = if rank < 1 << 10 { 2 } else { 3 };
    for _ in 0..syllables {
        name.push_str(ONSETS[digit(ONSETS.len())]);
        name.push_str(VOWELS[digit(VOWELS.len())]);
    }
    name.push_str(ending);
    if let Some(first) = name.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    name
}
