//! The requests: pages of the list and of searches, positions, letters and counts.

use etui::RecordId;
use etui::contacts::{Column, Columns, Contacts, Field, Filter, MatchMode, Query, SortOrder};
use etui::text::phone::MatchType;
use etui_testkit::people::{Person, varied_person};
use etui_testkit::rng::SplitMix64;

use etui_lab::Error;

/// Contacts on a page.
pub const PAGE: u64 = 50;
/// Letters of a typed name.
const MAX_TYPED: usize = 12;
/// Requests that advice compares.
pub const FIRST_PAGE: &str = "first page of the list";
pub const WHOLE_LIST: &str = "all of the list";

pub enum Request {
    Query(Box<Query>),
    Position(RecordId),
    Letters,
    Count,
}

impl Request {
    /// Sends it; returns the number of rows.
    pub fn send(&self, contacts: &Contacts) -> Result<usize, Error> {
        Ok(match self {
            Request::Query(query) => contacts.query(query)?.len(),
            Request::Position(id) => usize::from(contacts.position(*id)?.is_some()),
            Request::Letters => contacts.letters()?.len(),
            Request::Count => usize::from(contacts.count()? > 0),
        })
    }
}

/// Every kind of request with its name.
#[derive(Default)]
struct RequestList(Vec<(String, MakeRequest)>);

/// Makes a request, of which no two are alike.
pub type MakeRequest = Box<dyn Fn(&mut QuerySource) -> Request>;

impl RequestList {
    fn add(
        &mut self,
        name: impl Into<String>,
        make: impl Fn(&mut QuerySource) -> Request + 'static,
    ) {
        self.0.push((name.into(), Box::new(make)));
    }

    /// Adds a request for the first page of a query.
    fn page(
        &mut self,
        name: impl Into<String>,
        make: impl Fn(&mut QuerySource) -> Query + 'static,
    ) {
        self.add(name, move |source| {
            Request::Query(Box::new(make(source).limit(PAGE)))
        });
    }

    /// Adds a request for the first page that a filter matches.
    fn filter(
        &mut self,
        name: impl Into<String>,
        make: impl Fn(&mut QuerySource) -> Filter + 'static,
    ) {
        self.page(name, move |source| Query::new(make(source)));
    }
}

const MATCHES: [(&str, MatchMode); 4] = [
    ("equal", MatchMode::Words),
    ("prefix", MatchMode::Prefix),
    ("suffix", MatchMode::Suffix),
    ("substring", MatchMode::Contains),
];

/// Returns every kind of request with its name.
pub fn list_requests() -> Vec<(String, MakeRequest)> {
    let mut all = RequestList::default();
    for (name, field) in [
        ("name", Field::Name),
        ("given name", Field::Given),
        ("e-mail", Field::Email),
        ("phone", Field::Phone),
        ("org", Field::Organization),
    ] {
        for (order, sort) in [
            ("index order", SortOrder::Unordered),
            ("list order", SortOrder::List),
        ] {
            for (how_name, how) in MATCHES {
                let query = move |source: &mut QuerySource| Query::new(source.filter(field, how));
                let name = format!("{order}: {name} {how_name}");
                all.page(name, move |source| query(source).sort(sort));
            }
            all.page(format!("{order}: {name} present"), move |_| {
                Query::new(Filter::Present(field)).sort(sort)
            });
        }
    }
    all.filter("list order: e-mail host", |source| {
        let address = source.value(Field::Email);
        let host = address.rsplit('@').next().unwrap_or_default();
        Filter::text(Field::Email, MatchMode::Suffix, format!("@{host}"))
    });
    // Matches at the far end of the list, or none.
    all.filter("far end: last initials", |source| {
        let last = char::from(b't' + source.below(6) as u8);
        let more = source.filter(Field::Given, MatchMode::Prefix);
        initial_filter('a', last).not().and(more.not())
    });
    all.page("far end: from the end of the list", |source| {
        let initial: String = source.word(Field::Family).into_iter().take(1).collect();
        let filter = Filter::text(Field::Family, MatchMode::Prefix, initial);
        Query::new(filter).sort(SortOrder::ListReversed)
    });
    all.filter("far end: two words that are never adjacent", |source| {
        let fields = [Field::Given, Field::Organization, Field::Note];
        let field = source.choose(&fields).unwrap_or(Field::Given);
        let (a, b) = (source.word(field), source.word(field));
        let text: String = a.into_iter().chain([' ']).chain(b).collect();
        Filter::text(field, MatchMode::Words, text)
    });
    all.filter("far end: digits within numbers", |source| {
        let text = format!("{:04}", source.below(10_000));
        Filter::text(Field::Phone, MatchMode::Contains, text)
    });
    all.filter("far end: substrings of notes", |source| {
        source.filter(Field::Note, MatchMode::Contains)
    });
    all.filter("far end: substrings of other names", |source| {
        let one = source.filter(Field::Name, MatchMode::Contains);
        let other = source.piece(Field::Email, Some(2));
        let other = Filter::text(Field::Email, MatchMode::Contains, other);
        one.or(other).and(initial_filter('a', 'x').not())
    });
    for conditions in 2..=4 {
        all.filter(format!("any {conditions} conditions"), move |source| {
            let first = source.any_filter();
            (1..conditions).fold(first, |filter, _| {
                let other = source.any_filter();
                match source.rng.chance(700) {
                    true => filter.and(other),
                    false => filter.or(other),
                }
            })
        });
    }
    for (name, strength) in [
        ("exact", MatchType::Exact),
        ("national", MatchType::Nsn),
        ("short", MatchType::ShortNsn),
    ] {
        all.filter(format!("same phone number, {name}"), move |source| {
            Filter::phone(source.value(Field::Phone), strength)
        });
    }
    for (name, field, from) in [
        ("anywhere", Field::Any, Field::Name),
        ("name", Field::Name, Field::Name),
        ("e-mail", Field::Email, Field::Email),
        ("org", Field::Organization, Field::Organization),
    ] {
        for length in 1..=5 {
            all.filter(format!("substring of {length}, {name}"), move |source| {
                Filter::text(field, MatchMode::Contains, source.piece(from, Some(length)))
            });
        }
    }
    for (name, sort) in [
        ("", SortOrder::List),
        (", from the end", SortOrder::ListReversed),
    ] {
        all.page(format!("page at a position{name}"), move |source| {
            let offset = u64::from(source.below(source.size));
            Query::all().sort(sort).offset(offset)
        });
    }
    all.page(FIRST_PAGE, |_| Query::all());
    all.add(WHOLE_LIST, |_| Request::Query(Box::new(Query::all())));
    all.add("position of a contact", |source| {
        Request::Position(RecordId(1 + i64::from(source.below(source.size))))
    });
    all.add("letters", |_| Request::Letters);
    all.add("count of all", |_| Request::Count);
    for (name, column) in [("UIDs", Column::Uid), ("vCards", Column::Card)] {
        all.add(format!("all {name} of a domain"), move |source| {
            let hosts = ["@example.org", "@example.com", "@example.net"];
            let host = source.choose(&hosts).unwrap_or_default();
            let query = Query::new(Filter::text(Field::Email, MatchMode::Suffix, host));
            Request::Query(Box::new(query.sort(SortOrder::Unordered).columns(column)))
        });
    }
    for (name, field, how) in [
        ("given name prefix", Field::Given, MatchMode::Prefix),
        ("e-mail suffix", Field::Email, MatchMode::Suffix),
        ("name substring", Field::Name, MatchMode::Contains),
    ] {
        all.add(format!("count of {name}"), move |source| {
            let query = Query::new(source.filter(field, how)).sort(SortOrder::Unordered);
            Request::Query(Box::new(query.columns(Columns::NONE)))
        });
    }
    for length in 1..=MAX_TYPED {
        all.filter(format!("keystroke {length} of a name"), move |source| {
            loop {
                if let Ok(filter) = source.typed_name(length).parse::<Filter>() {
                    return filter;
                }
            }
        });
    }
    all.0
}

/// Family names that begin with one of these letters.
fn initial_filter(from: char, to: char) -> Filter {
    let prefixes = (from..=to).map(|c| Filter::text(Field::Family, MatchMode::Prefix, c));
    Filter::Or(prefixes.collect())
}

/// Draws search terms from the people of the store.
pub struct QuerySource {
    rng: SplitMix64,
    size: u32,
}

impl QuerySource {
    /// Draws from a store of `size` people.
    pub fn new(seed: u64, size: u64) -> Self {
        Self {
            rng: SplitMix64::new(seed),
            size: u32::try_from(size).unwrap_or(u32::MAX),
        }
    }

    fn below(&mut self, limit: u32) -> u32 {
        self.rng.below(limit.max(1))
    }

    fn choose<T: Clone>(&mut self, all: &[T]) -> Option<T> {
        let at = self.below(u32::try_from(all.len()).unwrap_or(1));
        all.get(at as usize).cloned()
    }

    fn draw_person(&mut self) -> Person {
        let index = self.below(self.size);
        varied_person(1, u64::from(index))
    }

    /// Draws a value of at least three characters.
    fn value(&mut self, field: Field) -> String {
        loop {
            let person = self.draw_person();
            let value = match field {
                Field::Family => person.family,
                Field::Given => person.given,
                Field::Organization => person.organisation.unwrap_or_default(),
                Field::Email => self
                    .choose(&person.emails)
                    .map_or_else(String::new, |(_, v)| v),
                Field::Phone => self
                    .choose(&person.phones)
                    .map_or_else(String::new, |(_, v)| v),
                Field::Note => person.note.unwrap_or_default(),
                _ if self.rng.chance(500) => person.family,
                _ => person.given,
            };
            if value.chars().count() >= 3 {
                return value;
            }
        }
    }

    /// Draws a word of a value; addresses and numbers are whole.
    fn word(&mut self, field: Field) -> Vec<char> {
        loop {
            let value = self.value(field);
            let word: Vec<char> = match field {
                Field::Email => value.chars().collect(),
                Field::Phone => value.chars().filter(char::is_ascii_digit).collect(),
                _ => {
                    let words: Vec<&str> = value.split_whitespace().collect();
                    let word = self.choose(&words).unwrap_or_default();
                    word.chars().filter(|c| c.is_alphanumeric()).collect()
                }
            };
            if word.len() >= 3 {
                return word;
            }
        }
    }

    /// Draws a substring of this length, or of 3 to 6 characters.
    fn piece(&mut self, field: Field, length: Option<usize>) -> String {
        let word = self.word(field);
        let length = length.unwrap_or(3 + self.below(4) as usize).min(word.len());
        let at = self.below((word.len() - length + 1) as u32) as usize;
        word.into_iter().skip(at).take(length).collect()
    }

    fn text(&mut self, field: Field, how: MatchMode) -> String {
        match (field, how) {
            (Field::Email | Field::Phone, MatchMode::Words) => self.value(field),
            // A host with up to four characters before it.
            (Field::Email, MatchMode::Suffix) => {
                let address = self.value(field);
                let (user, host) = address.split_once('@').unwrap_or(("", &address));
                let kept = self.below(5) as usize;
                let skipped = user.chars().count().saturating_sub(kept);
                let end: String = user.chars().skip(skipped).collect();
                format!("{end}@{host}")
            }
            (_, MatchMode::Words | MatchMode::Whole) => self.word(field).into_iter().collect(),
            (_, MatchMode::Contains) => self.piece(field, None),
            (_, MatchMode::Prefix) => {
                let length = 2 + self.below(4) as usize;
                self.word(field).into_iter().take(length).collect()
            }
            (_, MatchMode::Suffix) => {
                let word = self.word(field);
                let length = 3 + self.below(4) as usize;
                let skipped = word.len().saturating_sub(length);
                word.into_iter().skip(skipped).collect()
            }
        }
    }

    fn filter(&mut self, field: Field, how: MatchMode) -> Filter {
        let text = self.text(field, how);
        Filter::text(field, how, text)
    }

    /// Draws one condition of any kind.
    fn any_filter(&mut self) -> Filter {
        const FIELDS: [Field; 10] = [
            Field::Any,
            Field::Name,
            Field::Display,
            Field::Family,
            Field::Given,
            Field::Nickname,
            Field::Organization,
            Field::Email,
            Field::Phone,
            Field::Note,
        ];
        let field = self.choose(&FIELDS).unwrap_or(Field::Any);
        let filter = match self.below(7) {
            5 => Filter::Present(field),
            6 => {
                let length = 1 + self.below(2) as usize;
                let text = self.piece(field, Some(length));
                Filter::text(field, MatchMode::Contains, text)
            }
            at => {
                let how = MATCHES.get(at as usize);
                self.filter(field, how.map_or(MatchMode::Whole, |(_, how)| *how))
            }
        };
        match self.rng.chance(300) {
            true => filter.not(),
            false => filter,
        }
    }

    /// Draws the first letters of a name as they are typed.
    fn typed_name(&mut self, length: usize) -> String {
        loop {
            let person = self.draw_person();
            let name = format!("{} {}", person.given, person.family);
            let letters = name.chars().filter(|c| c.is_alphabetic() || *c == ' ');
            let name: Vec<char> = letters.collect();
            if name.len() >= MAX_TYPED {
                return name.into_iter().take(length).collect();
            }
        }
    }
}
