//! The queries, in each product's words.
//!
//! The products mean different things by "begins with": the server compares the beginning of a
//! whole name as it is written, etui that of each word; the server compares a number as it is
//! written, etui its digits with the country before them. So each query is one for which, among
//! these people, all have the same answer, up to the size that is named with it.

use etui::contacts::{Field, Filter, MatchMode};
use etui::text::phone::MatchType;

use crate::peers::plain::PlainLookup;

#[derive(Debug, Clone)]
pub struct ContactQuery {
    /// Its name in the results, e.g. `name_prefix`.
    pub name: &'static str,
    pub title: &'static str,
    /// The largest book in which all products give the same answer; in a larger one it is left
    /// out.
    pub largest: u64,
    pub sexp: &'static str,
    pub filter: Filter,
    pub lookup: PlainLookup,
}

const CHECKED: u64 = 12_800;
const CHECKED_FURTHER: u64 = 102_400;

pub fn all_queries() -> Vec<ContactQuery> {
    use MatchMode::{Contains, Whole};
    let text = |field, how, text: &str| Filter::text(field, how, text);
    let (term, prefix, keys) = (PlainLookup::term, PlainLookup::prefix, PlainLookup::keys);
    let queries = [
        (
            ("name_exact", "name is", CHECKED),
            r#"(is "full_name" "James Davis")"#,
            text(Field::Display, Whole, "James Davis"),
            term('w', "davis").and_keys(" james davis "),
        ),
        (
            ("name_prefix", "name begins", CHECKED),
            r#"(beginswith "full_name" "katal")"#,
            Filter::text(Field::Name, MatchMode::Prefix, "katal"),
            prefix('w', "katal").and_keys(" katal"),
        ),
        (
            ("name_suffix", "name ends", CHECKED),
            r#"(endswith "full_name" "katalin")"#,
            Filter::text(Field::Name, MatchMode::Suffix, "katalin"),
            keys("katalin "),
        ),
        (
            ("name_contains", "name contains", CHECKED_FURTHER),
            r#"(contains "full_name" "sab")"#,
            text(Field::Name, Contains, "sab"),
            keys("sab"),
        ),
        (
            ("email_exact", "e-mail is", CHECKED_FURTHER),
            r#"(is "email" "thomas.mueller2164@example.org")"#,
            Filter::text(
                Field::Email,
                MatchMode::Words,
                "thomas.mueller2164@example.org",
            ),
            term('e', "thomas.mueller2164@example.org"),
        ),
        (
            ("email_prefix", "e-mail begins", CHECKED_FURTHER),
            r#"(beginswith "email" "barb")"#,
            Filter::text(Field::Email, MatchMode::Prefix, "barb"),
            prefix('e', "barb"),
        ),
        (
            ("email_suffix", "e-mail ends", CHECKED_FURTHER),
            r#"(endswith "email" "@example.org")"#,
            Filter::text(Field::Email, MatchMode::Suffix, "@example.org"),
            keys("@example.org "),
        ),
        (
            ("email_contains", "e-mail contains", CHECKED_FURTHER),
            r#"(contains "email" ".sch")"#,
            text(Field::Email, Contains, ".sch"),
            keys(".sch"),
        ),
        (
            ("phone_equal", "same phone number", CHECKED_FURTHER),
            r#"(eqphone "phone" "+49 171 3920043")"#,
            Filter::phone("+49 171 3920043", MatchType::Exact),
            term('p', "491713920043"),
        ),
        (
            ("phone_prefix", "phone begins", CHECKED_FURTHER),
            r#"(beginswith "phone" "+49 171 39200")"#,
            Filter::text(Field::Phone, MatchMode::Prefix, "+49 171 39200"),
            prefix('p', "4917139200"),
        ),
        (
            ("phone_suffix", "phone ends", CHECKED_FURTHER),
            r#"(endswith "phone" "900158")"#,
            Filter::text(Field::Phone, MatchMode::Suffix, "900158"),
            prefix('r', "851009"),
        ),
        (
            ("phone_contains", "phone contains", CHECKED),
            r#"(contains "phone" "23125")"#,
            text(Field::Phone, Contains, "23125"),
            keys("23125"),
        ),
    ];
    let queries = queries.map(
        |((name, title, largest), sexp, filter, lookup)| ContactQuery {
            name,
            title,
            largest,
            sexp,
            filter,
            lookup,
        },
    );
    queries.to_vec()
}
