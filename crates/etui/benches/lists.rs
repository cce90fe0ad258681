//! Lists and searches as an application asks for them: one call each, its transaction included.
//!
//! `cargo bench -p etui --bench lists [-- SIZE...] [--only TEXT]`: 12,800 contacts, and 1,000,000 if
//! `ETUI_BENCH_MILLION=1`; only rows whose name contains TEXT. Their stores are made once and kept (`ETUI_BENCH_DIR`).
//!
//! Times are processor time of the thread, but for the first column.
//! `ETUI_BENCH_EXPLAIN=1` explains the slowest query of a row that misses its target.
//!
//! Warm: the file is in the page cache, every record was read by this process, and other queries
//! of the same kind went before. Every
//! query is another one, drawn by a fixed seed from the people that the store holds, those
//! alone excepted of which there are not so many.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![allow(missing_docs)]

#[allow(dead_code)] // What the other benchmarks need of it.
mod support;

use std::hint::black_box;
use std::time::{Duration, Instant};

use etui::contacts::{Column, Columns, Contacts, Field, Filter, MatchMode, Query, SortOrder};
use etui::text::phone::Strength;
use etui::{RecordId, Store};
use etui_testkit::people::{Person, varied_person};
use etui_testkit::rng::SplitMix64;
use rustix::time::{ClockId, clock_gettime};
use support::{SIZE, kept, options};

/// Queries of a row that are timed, and that go before them.
const TIMED: usize = 200;
const BEFORE: usize = 40;
/// Contacts on a screen.
const PAGE: u64 = 50;
/// Letters typed.
const LETTERS: usize = 12;
const FRAME: Duration = Duration::from_millis(16);

fn main() {
    let mut arguments = std::env::args().skip(1).filter(|a| a != "--bench");
    let (mut sizes, mut only) = (Vec::new(), String::new());
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--only" => only = arguments.next().expect("a row's name, or a piece of it"),
            size => sizes.push(size.parse().expect("a size")),
        }
    }
    if sizes.is_empty() {
        sizes.push(SIZE);
        if std::env::var_os("ETUI_BENCH_MILLION").is_some() {
            sizes.push(1_000_000);
        }
    }
    for size in sizes {
        lists(size, &only);
    }
}

/// How long a call took: the processor time of the thread is what the call needs, since nothing
/// here waits; what others on the machine take away is in the clock's time alone.
#[derive(Clone, Copy)]
struct Took {
    clock: Duration,
    cpu: Duration,
}

fn took<T>(call: impl FnOnce() -> T) -> (Took, T) {
    let (clock, cpu) = (Instant::now(), cpu());
    let result = call();
    let took = Took {
        cpu: self::cpu() - cpu,
        clock: clock.elapsed(),
    };
    (took, result)
}

/// The thread's processor time so far.
fn cpu() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(
        time.tv_sec.unsigned_abs(),
        time.tv_nsec.unsigned_abs() as u32,
    )
}

/// What a row must keep to, in processor time.
#[derive(Clone, Copy)]
enum Target {
    /// Its median.
    Median(Duration),
    /// Every query.
    Worst(Duration),
    /// Nothing is demanded.
    None,
}

struct Bench<'s> {
    contacts: Contacts<'s>,
    size: usize,
    only: &'s str,
    rng: SplitMix64,
}

fn lists(size: usize, only: &str) {
    let path = kept(size);
    let mut file = std::fs::File::open(&path).expect("opening");
    std::io::copy(&mut file, &mut std::io::sink()).expect("reading");
    let mut options = options();
    options.read_only = true;
    options.create = false;
    let store = Store::open_with(&path, &options).expect("opening");
    // Every record's page is mapped then, as in a process that has run for a while.
    let snapshot = store.snapshot().expect("a snapshot");
    let reader = snapshot.contacts().expect("the book");
    reader
        .for_each(|_, text| {
            black_box(text);
            Ok(())
        })
        .expect("reading");
    drop(snapshot);
    let mut bench = Bench {
        contacts: store.contacts().expect("the book"),
        size,
        only,
        rng: SplitMix64::new(42),
    };
    println!("## {size} contacts, {TIMED} queries a row, a different one each time\n");
    println!("| | median, clock | median | 99 % | slowest | rows | target | |");
    println!("|---|---|---|---|---|---|---|---|");
    bench.index_order();
    bench.spread();
    bench.far_end();
    bench.hunt();
    bench.phones();
    bench.substrings();
    bench.positions();
    bench.whole_answers();
    bench.counts();
    println!();
    bench.typing();
}

/// Up to 100,000 contacts the first target, else the second.
fn target(size: usize, small: Duration, large: Duration) -> Duration {
    if size > 100_000 { large } else { small }
}

const fn us(n: u64) -> Duration {
    Duration::from_micros(n)
}

const fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// The ways to compare that a row is made for.
const WAYS: [(&str, MatchMode); 4] = [
    ("exact", MatchMode::Words),
    ("prefix", MatchMode::Prefix),
    ("suffix", MatchMode::Suffix),
    ("contains", MatchMode::Contains),
];

impl Bench<'_> {
    fn someone(&mut self) -> Person {
        let index = self.rng.below(self.size as u32);
        varied_person(1, u64::from(index))
    }

    /// One of a person's values in the field; of a person who has one.
    fn value(&mut self, field: Field) -> String {
        loop {
            let someone = self.someone();
            let value = match field {
                Field::Family => someone.family,
                Field::Given => someone.given,
                Field::Organization => someone.organisation.unwrap_or_default(),
                Field::Email => self.one_of(someone.emails),
                Field::Phone => self.one_of(someone.phones),
                Field::Note => someone.note.unwrap_or_default(),
                _ if self.rng.chance(500) => someone.family,
                _ => someone.given,
            };
            if value.chars().count() >= 3 {
                return value;
            }
        }
    }

    fn one_of<K>(&mut self, values: Vec<(K, String)>) -> String {
        let at = self.rng.below(values.len() as u32) as usize;
        let value = values.into_iter().nth(at);
        value.map(|(_, value)| value).unwrap_or_default()
    }

    /// A word of a value; addresses and numbers are whole. `None`: one too short.
    fn word(&mut self, field: Field) -> Vec<char> {
        loop {
            let value = self.value(field);
            let word: Vec<char> = match field {
                Field::Email => value.chars().collect(),
                Field::Phone => value.chars().filter(char::is_ascii_digit).collect(),
                _ => {
                    let words: Vec<&str> = value.split_whitespace().collect();
                    let word = words[self.rng.below(words.len() as u32) as usize];
                    word.chars().filter(|c| c.is_alphanumeric()).collect()
                }
            };
            if word.len() >= 3 {
                return word;
            }
        }
    }

    /// A piece of 3 to 6 characters, or as many as `length` says.
    fn piece(&mut self, field: Field, length: Option<usize>) -> String {
        let word = self.word(field);
        let most = length.unwrap_or(3 + self.rng.below(4) as usize);
        let length = most.min(word.len());
        let at = self.rng.below((word.len() - length + 1) as u32) as usize;
        word[at..at + length].iter().collect()
    }

    /// What is looked for in a field in this way.
    fn text(&mut self, field: Field, how: MatchMode) -> String {
        match (field, how) {
            (Field::Email | Field::Phone, MatchMode::Words) => self.value(field),
            // A number, or a host with a piece of what stands before it, or it alone.
            (Field::Email, MatchMode::Suffix) => {
                let address = self.value(field);
                let (user, host) = address.split_once('@').expect("an address");
                let user: Vec<char> = user.chars().collect();
                let kept = self.rng.below(5).min(user.len() as u32) as usize;
                let end: String = user[user.len() - kept..].iter().collect();
                format!("{end}@{host}")
            }
            (_, MatchMode::Words | MatchMode::Whole) => self.word(field).into_iter().collect(),
            (_, MatchMode::Contains) => self.piece(field, None),
            (_, MatchMode::Prefix) => {
                let word = self.word(field);
                let length = (2 + self.rng.below(4) as usize).min(word.len());
                word[..length].iter().collect()
            }
            (_, MatchMode::Suffix) => {
                let word = self.word(field);
                let length = (3 + self.rng.below(4) as usize).min(word.len());
                word[word.len() - length..].iter().collect()
            }
        }
    }

    fn filter(&mut self, field: Field, how: MatchMode) -> Filter {
        let text = self.text(field, how);
        Filter::text(field, how, text)
    }

    /// A row of queries, each made by `make`.
    fn row(&mut self, what: &str, target: Target, mut make: impl FnMut(&mut Self) -> Query) {
        if !what.contains(self.only) {
            return;
        }
        let queries: Vec<Query> = (0..BEFORE + TIMED).map(|_| make(self)).collect();
        let mut slowest = (Duration::ZERO, 0);
        let mut at = 0;
        self.times(what, target, |contacts| {
            let query = &queries[at];
            let (time, found) = took(|| contacts.query(query).expect("a query"));
            if at >= BEFORE {
                slowest = slowest.max((time.cpu, at));
            }
            at += 1;
            (time, found.len())
        });
        if let Target::Worst(most) | Target::Median(most) = target
            && slowest.0 > most
            && std::env::var_os("ETUI_BENCH_EXPLAIN").is_some()
        {
            let plan = self.contacts.explain(&queries[slowest.1]).expect("a plan");
            eprintln!("{what}, slowest, {:?}:\n{plan}\n", slowest.0);
        }
    }

    /// A row of calls; `call` tells how long each took, and how many rows came.
    fn times(
        &mut self,
        what: &str,
        target: Target,
        mut call: impl FnMut(&Contacts<'_>) -> (Took, usize),
    ) {
        if !what.contains(self.only) {
            return;
        }
        for _ in 0..BEFORE {
            black_box(call(&self.contacts));
        }
        let (mut times, mut rows) = (Vec::new(), Vec::new());
        for _ in 0..TIMED {
            let (time, count) = call(&self.contacts);
            times.push(time);
            rows.push(count);
        }
        rows.sort_unstable();
        print_row(what, target, &times, &rows[rows.len() / 2].to_string());
    }

    fn index_order(&mut self) {
        let most = Target::Median(target(self.size, us(25), us(50)));
        let fields = [
            ("name", Field::Name),
            ("e-mail", Field::Email),
            ("phone", Field::Phone),
            ("org", Field::Organization),
        ];
        for (name, field) in fields {
            for (way, how) in WAYS {
                self.row(&format!("index order: {name} {way}"), most, |bench| {
                    let filter = bench.filter(field, how);
                    Query::new(filter).sort(SortOrder::Unordered).limit(PAGE)
                });
            }
            self.row(&format!("index order: {name} present"), most, |_| {
                Query::new(Filter::Present(field))
                    .sort(SortOrder::Unordered)
                    .limit(PAGE)
            });
        }
    }

    /// In list order: what says nothing of where in the list a contact stands.
    fn spread(&mut self) {
        let most = Target::Median(target(self.size, us(200), ms(3)));
        let fields = [
            ("given name", Field::Given),
            ("e-mail", Field::Email),
            ("phone", Field::Phone),
            ("org", Field::Organization),
        ];
        for (name, field) in fields {
            for (way, how) in WAYS {
                self.row(&format!("list order: {name} {way}"), most, |bench| {
                    Query::new(bench.filter(field, how)).limit(PAGE)
                });
            }
            self.row(&format!("list order: {name} present"), most, |_| {
                Query::new(Filter::Present(field)).limit(PAGE)
            });
        }
        self.row("list order: e-mail host", most, |bench| {
            let address = bench.value(Field::Email);
            let (_, host) = address.split_once('@').expect("an address");
            Query::new(Filter::email_suffix(format!("@{host}"))).limit(PAGE)
        });
        self.row("list order: name not, given name", most, |bench| {
            let given = bench.filter(Field::Given, MatchMode::Prefix);
            let name = bench.filter(Field::Family, MatchMode::Prefix);
            Query::new(given.and(name.not())).limit(PAGE)
        });
    }

    /// Filters whose matches all stand at the end of the list, or are none.
    fn far_end(&mut self) {
        let most = Target::Worst(target(self.size, ms(5), ms(50)));
        self.row("far end: family name", most, |bench| {
            Query::new(bench.filter(Field::Family, MatchMode::Words)).limit(PAGE)
        });
        // What the last of the list are called, the scripts behind Latin among them.
        let last: Vec<String> = self
            .contacts
            .query(&Query::all().sort(SortOrder::ListReversed).limit(5_000))
            .expect("the end of the list")
            .iter()
            .map(|row| row.name().to_owned())
            .collect();
        let word = |bench: &mut Self| loop {
            let name = &last[bench.rng.below(last.len() as u32) as usize];
            let Some(word) = name.split_whitespace().last() else {
                continue;
            };
            let length = 1 + bench.rng.below(3) as usize;
            return word.chars().take(length).collect::<String>();
        };
        self.row("far end: names of the last letters begin", most, |bench| {
            let text = word(bench);
            Query::new(Filter::text(Field::Family, MatchMode::Prefix, text)).limit(PAGE)
        });
        self.row(
            "far end: from the list's end, first letters",
            most,
            |bench| {
                let text: String = bench.text(Field::Family, MatchMode::Words);
                let text: String = text.chars().take(1).collect();
                let filter = Filter::text(Field::Family, MatchMode::Prefix, text);
                Query::new(filter).sort(SortOrder::ListReversed).limit(PAGE)
            },
        );
        let letters = |from: char, to: char| {
            let all = (from..=to)
                .map(|c| Filter::text(Field::Family, MatchMode::Prefix, c))
                .collect();
            Filter::Or(all)
        };
        self.row("far end: of no letter but the last", most, |bench| {
            let last = b't' + bench.rng.below(6) as u8;
            let filter = letters('a', last as char).not();
            let more = bench.filter(Field::Given, MatchMode::Prefix);
            Query::new(filter.and(more.not())).limit(PAGE)
        });
        self.row("far end: present, family of no letter", most, |bench| {
            let field = [Field::Email, Field::Phone, Field::Name][bench.rng.below(3) as usize];
            let present = Filter::Present(field);
            let last = b'v' + bench.rng.below(4) as u8;
            Query::new(present.and(letters('a', last as char).not())).limit(PAGE)
        });
        // Both words are frequent, side by side they never stand: candidates, no match.
        self.row("far end: words that are not side by side", most, |bench| {
            let field = bench.rng.below(3) as usize;
            let field = [Field::Given, Field::Organization, Field::Note][field];
            let (a, b) = (bench.word(field), bench.word(field));
            let text: String = a.into_iter().chain([' ']).chain(b).collect();
            Query::new(Filter::text(field, MatchMode::Words, text)).limit(PAGE)
        });
        self.row("far end: whole names with another's word", most, |bench| {
            let given: String = bench.word(Field::Given).into_iter().collect();
            let filter = Filter::text(Field::Display, MatchMode::Whole, given);
            Query::new(filter).limit(PAGE)
        });
        self.row("far end: numbers that contain", most, |bench| {
            let text = format!("{:04}", bench.rng.below(10_000));
            Query::new(Filter::text(Field::Phone, MatchMode::Contains, text)).limit(PAGE)
        });
        self.row("far end: notes that contain", most, |bench| {
            Query::new(bench.filter(Field::Note, MatchMode::Contains)).limit(PAGE)
        });
        self.row("far end: two pieces, of other names", most, |bench| {
            let one = bench.filter(Field::Name, MatchMode::Contains);
            let other = bench.piece(Field::Email, Some(2));
            let other = Filter::text(Field::Email, MatchMode::Contains, other);
            let family = letters('a', 'x').not();
            Query::new(one.or(other).and(family)).limit(PAGE)
        });
    }

    /// Anything with anything.
    fn hunt(&mut self) {
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
        fn leaf(bench: &mut Bench<'_>) -> Filter {
            let field = FIELDS[bench.rng.below(FIELDS.len() as u32) as usize];
            let whole = ("", MatchMode::Whole);
            let at = bench.rng.below(7) as usize;
            let filter = match at {
                5 => Filter::Present(field),
                6 => {
                    let length = 1 + bench.rng.below(2) as usize;
                    let text = bench.piece(field, Some(length));
                    Filter::text(field, MatchMode::Contains, text)
                }
                _ => bench.filter(field, WAYS.get(at).unwrap_or(&whole).1),
            };
            match bench.rng.chance(300) {
                true => filter.not(),
                false => filter,
            }
        }
        let most = Target::Worst(target(self.size, ms(5), ms(50)));
        for part in ["two", "three", "four"] {
            self.row(&format!("any filters, {part} together"), most, |bench| {
                let mut filter = leaf(bench);
                let more = match part {
                    "two" => 1,
                    "three" => 2,
                    _ => 3,
                };
                for _ in 0..more {
                    let other = leaf(bench);
                    filter = match bench.rng.chance(700) {
                        true => filter.and(other),
                        false => filter.or(other),
                    };
                }
                Query::new(filter).limit(PAGE)
            });
        }
    }

    fn phones(&mut self) {
        let most = Target::Median(target(self.size, us(12), us(25)));
        for (name, strength) in [
            ("exact", Strength::Exact),
            ("national", Strength::National),
            ("short", Strength::Short),
        ] {
            self.row(&format!("phone equality, {name}"), most, |bench| {
                let number = bench.value(Field::Phone);
                Query::new(Filter::phone(number, strength)).limit(PAGE)
            });
        }
    }

    fn substrings(&mut self) {
        let long = target(self.size, ms(1), ms(10));
        let short = target(self.size, us(1_500), ms(20));
        for (name, field, from) in [
            ("anywhere", Field::Any, Field::Name),
            ("name", Field::Name, Field::Name),
            ("e-mail", Field::Email, Field::Email),
            ("org", Field::Organization, Field::Organization),
        ] {
            for (length, most) in [(1, short), (2, short), (3, long), (4, long), (5, long)] {
                self.row(
                    &format!("substring of {length}, {name}"),
                    Target::Median(most),
                    |bench| {
                        let text = bench.piece(from, Some(length));
                        Query::new(Filter::text(field, MatchMode::Contains, text)).limit(PAGE)
                    },
                );
            }
        }
    }

    fn positions(&mut self) {
        let most = Target::Median(us(60));
        if self.size <= 100_000 {
            self.row("whole partial list", Target::Median(ms(3)), |_| {
                Query::all()
            });
        }
        self.row(
            "first page of the list",
            Target::Median(target(self.size, us(200), ms(3))),
            |_| Query::all().limit(PAGE),
        );
        self.row("page at position N", most, |bench| {
            let offset = bench.rng.below(bench.size as u32);
            Query::all().offset(u64::from(offset)).limit(PAGE)
        });
        self.row("page at position N, from the end", most, |bench| {
            let offset = bench.rng.below(bench.size as u32);
            let query = Query::all().sort(SortOrder::ListReversed);
            query.offset(u64::from(offset)).limit(PAGE)
        });
        let (mut rng, size) = (self.rng.clone(), self.size);
        self.times("position of a contact", most, |contacts| {
            let id = RecordId(1 + i64::from(rng.below(size as u32)));
            let (time, position) = took(|| contacts.position(id).expect("a position"));
            (time, usize::from(position.is_some()))
        });
        self.times("letters", most, |contacts| {
            let (time, letters) = took(|| contacts.letters().expect("letters"));
            (time, letters.len())
        });
        self.times("count of all", most, |contacts| {
            let (time, _) = took(|| black_box(contacts.count().expect("a count")));
            (time, 1)
        });
    }

    /// Answers without end, as found, of everybody at a mail domain.
    fn whole_answers(&mut self) {
        for (name, column) in [("UIDs", Column::Uid), ("vCards", Column::Card)] {
            self.row(&format!("all of a domain: {name}"), Target::None, |bench| {
                let digit = bench.rng.below(10);
                let host = ["example.org", "example.com", "example.net"];
                let host = host[bench.rng.below(3) as usize];
                let filter = Filter::email_suffix(format!("@{host}"));
                let other = Filter::phone_suffix(format!("{digit}{digit}{digit}{digit}"));
                let query = Query::new(filter.or(other));
                query.sort(SortOrder::Unordered).columns(column)
            });
        }
    }

    fn counts(&mut self) {
        let none = Target::None;
        for (name, field, how) in [
            ("given name begins", Field::Given, MatchMode::Prefix),
            ("e-mail ends", Field::Email, MatchMode::Suffix),
            ("name contains", Field::Name, MatchMode::Contains),
        ] {
            self.row(&format!("count: {name}"), none, |bench| {
                Query::new(bench.filter(field, how))
                    .sort(SortOrder::Unordered)
                    .columns(Columns::NONE)
            });
        }
    }

    /// Names typed letter by letter, a page of the list after each.
    fn typing(&mut self) {
        if !"typing".contains(self.only) {
            return;
        }
        let mut times = vec![Vec::new(); LETTERS];
        let mut slowest = (Duration::ZERO, String::new());
        for round in 0..BEFORE + TIMED {
            let name = loop {
                let someone = self.someone();
                let name = format!("{} {}", someone.given, someone.family);
                let name: Vec<char> = name
                    .chars()
                    .filter(|c| c.is_alphabetic() || *c == ' ')
                    .collect();
                if name.len() >= LETTERS {
                    break name;
                }
            };
            for (at, times) in times.iter_mut().enumerate() {
                let typed: String = name[..=at].iter().collect();
                let (time, _) = took(|| {
                    let filter = typed.parse().expect("words");
                    let found = self.contacts.query(&Query::new(filter).limit(PAGE));
                    black_box(found.expect("a query"))
                });
                if round >= BEFORE {
                    times.push(time);
                    if time.cpu > slowest.0 {
                        slowest = (time.cpu, typed);
                    }
                }
            }
        }
        println!("Typing {TIMED} names, a page of the list after each letter:\n");
        println!("| letter | median, clock | median | 99 % | slowest | | target | |");
        println!("|---|---|---|---|---|---|---|---|");
        for (at, times) in times.iter().enumerate() {
            print_row(&(at + 1).to_string(), Target::Worst(FRAME), times, "");
        }
        println!("\nThe slowest: \"{}\", {}.\n", slowest.1, shown(slowest.0));
        if std::env::var_os("ETUI_BENCH_EXPLAIN").is_some() {
            let query = Query::new(slowest.1.parse().expect("words")).limit(PAGE);
            eprintln!("{}\n", self.contacts.explain(&query).expect("a plan"));
        }
    }
}

fn print_row(what: &str, target: Target, times: &[Took], rows: &str) {
    let sorted = |of: fn(&Took) -> Duration| {
        let mut all: Vec<Duration> = times.iter().map(of).collect();
        all.sort_unstable();
        all
    };
    let clock = sorted(|t| t.clock)[times.len() / 2];
    let times = sorted(|t| t.cpu);
    let median = times[times.len() / 2];
    let most = times[times.len() * 99 / 100];
    let slowest = times[times.len() - 1];
    let (wanted, mark) = match target {
        Target::Median(wanted) if median > wanted => (shown(wanted), "MISSED"),
        Target::Median(wanted) if most > wanted => (shown(wanted), "99 % over it"),
        Target::Median(wanted) => (shown(wanted), ""),
        Target::Worst(wanted) if slowest > wanted => (shown(wanted), "MISSED"),
        Target::Worst(wanted) => (shown(wanted), ""),
        Target::None => (String::new(), ""),
    };
    println!(
        "| {what} | {} | {} | {} | {} | {rows} | {wanted} | {mark} |",
        shown(clock),
        shown(median),
        shown(most),
        shown(slowest)
    );
}

fn shown(time: Duration) -> String {
    let us = time.as_secs_f64() * 1e6;
    match us {
        ..100.0 => format!("{us:.1} us"),
        100.0..1e3 => format!("{us:.0} us"),
        _ => format!("{:.2} ms", us / 1e3),
    }
}
