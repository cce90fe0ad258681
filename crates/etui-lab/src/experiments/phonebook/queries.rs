//! The queries, in each product's words.
//!
//! The products do not mean the same by "begins with": the server compares the beginning of a
//! whole name as it is written, etui that of each word; the server compares a number as it is
//! written, etui its digits with the country before them. So each query is one for which, among
//! these people, all have the same answer, up to the size that is named with it.

use etui::contacts::{Field, Filter, MatchMode};
use etui::text::phone::MatchType;

use crate::peers::plain::PlainLookup;

/// A query.
#[derive(Debug, Clone)]
pub struct ContactQuery {
    /// Its name in the results, e.g. `name_prefix`.
    pub name: &'static str,
    /// Title.
    pub title: &'static str,
    /// The largest book in which all products give the same answer; in a larger one it is left
    /// out.
    pub largest: u64,
    /// For the server.
    pub sexp: String,
    /// For etui.
    pub filter: Filter,
    /// For plain SQLite.
    pub lookup: PlainLookup,
}

const CHECKED: u64 = 12_800;
const CHECKED_FURTHER: u64 = 102_400;

/// All of them.
pub fn all_queries() -> Vec<ContactQuery> {
    let text = |field, how, text: &str| Filter::text(field, how, text);
    let query = |name, title, largest, sexp: &str, filter, lookup| ContactQuery {
        name,
        title,
        largest,
        sexp: sexp.to_owned(),
        filter,
        lookup,
    };
    vec![
        query(
            "name_exact",
            "name is",
            CHECKED,
            "(is \"full_name\" \"James Davis\")",
            text(Field::Display, MatchMode::Whole, "James Davis"),
            PlainLookup::term('w', "davis").and_keys(" james davis "),
        ),
        query(
            "name_prefix",
            "name begins",
            CHECKED,
            "(beginswith \"full_name\" \"katal\")",
            Filter::name_prefix("katal"),
            PlainLookup::prefix('w', "katal").and_keys(" katal"),
        ),
        query(
            "name_suffix",
            "name ends",
            CHECKED,
            "(endswith \"full_name\" \"katalin\")",
            Filter::name_suffix("katalin"),
            PlainLookup::keys("katalin "),
        ),
        query(
            "name_contains",
            "name contains",
            CHECKED_FURTHER,
            "(contains \"full_name\" \"sab\")",
            text(Field::Name, MatchMode::Contains, "sab"),
            PlainLookup::keys("sab"),
        ),
        query(
            "email_exact",
            "e-mail is",
            CHECKED_FURTHER,
            "(is \"email\" \"thomas.mueller2164@example.org\")",
            Filter::email("thomas.mueller2164@example.org"),
            PlainLookup::term('e', "thomas.mueller2164@example.org"),
        ),
        query(
            "email_prefix",
            "e-mail begins",
            CHECKED_FURTHER,
            "(beginswith \"email\" \"barb\")",
            Filter::email_prefix("barb"),
            PlainLookup::prefix('e', "barb"),
        ),
        query(
            "email_suffix",
            "e-mail ends",
            CHECKED_FURTHER,
            "(endswith \"email\" \"@example.org\")",
            Filter::email_suffix("@example.org"),
            PlainLookup::keys("@example.org "),
        ),
        query(
            "email_contains",
            "e-mail contains",
            CHECKED_FURTHER,
            "(contains \"email\" \".sch\")",
            text(Field::Email, MatchMode::Contains, ".sch"),
            PlainLookup::keys(".sch"),
        ),
        query(
            "phone_equal",
            "same phone number",
            CHECKED_FURTHER,
            "(eqphone \"phone\" \"+49 171 3920043\")",
            Filter::phone("+49 171 3920043", MatchType::Exact),
            PlainLookup::term('p', "491713920043"),
        ),
        query(
            "phone_prefix",
            "phone begins",
            CHECKED_FURTHER,
            "(beginswith \"phone\" \"+49 171 39200\")",
            Filter::phone_prefix("+49 171 39200"),
            PlainLookup::prefix('p', "4917139200"),
        ),
        query(
            "phone_suffix",
            "phone ends",
            CHECKED_FURTHER,
            "(endswith \"phone\" \"900158\")",
            Filter::phone_suffix("900158"),
            PlainLookup::prefix('r', "851009"),
        ),
        query(
            "phone_contains",
            "phone contains",
            CHECKED,
            "(contains \"phone\" \"23125\")",
            text(Field::Phone, MatchMode::Contains, "23125"),
            PlainLookup::keys("23125"),
        ),
    ]
}
