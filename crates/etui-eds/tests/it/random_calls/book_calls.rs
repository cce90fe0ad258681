//! Random calls to an address book. A seed decides everything.

use std::collections::BTreeMap;

use etui_testkit::rng::SplitMix64;

use super::book_session::BookCall;

/// Texts with traps of case folding, decomposition, escaping and patterns.
const WORDS: &[&str] = &[
    "Ada",
    "ada",
    "Müller",
    "MÜLLER",
    "Mueller",
    "Straße",
    "STRASSE",
    "İstanbul",
    "ﬁn",
    "Søren",
    "Łukasz",
    "Ångström",
    "Zoë",
    "Жанна",
    "王伟",
    "ΣΊΣΥΦΟΣ",
    "Σίσυφος",
    "O’Brien",
    "O'Brien",
    "de la Cruz",
    "Anna Maria",
    "x_y%z",
    "100%",
    "say \"hi\"",
    "back\\slash",
    "a*b",
    "Smith-Jones",
    "ẞ",
    "ŉandi",
    "Jürgen",
    "ǅ",
    "1st",
    "42",
    "Å",
    "naïve",
    "e\u{301}t\u{e9}",
    "Bob",
];
const EMAILS: &[&str] = &[
    "ada@example.org",
    "Ada@Example.ORG",
    "bob.smith@mail.example.com",
    "x_y%z@example.org",
    "müller@exämple.de",
    "a+b@example.org",
    "\"odd one\"@example.org",
    "no-at-sign",
    "",
    "Ada Byron <ada@example.org>",
];
const PHONES: &[&str] = &[
    "+49 30 1234567",
    "030 1234567",
    "1234567",
    "+1-408-765-5050",
    "408.765.5050",
    "(408) 765 5050",
    "+49 408 765-5050",
    "765-5050",
    "0049 30 1234567",
    "112",
    "1-800-FLOWERS",
    "ask me",
    "",
    "+49 89 7888 99",
    "tel:+1-408-765-5050",
    "+44 20 7946 0958",
    "020 7946 0958 ext. 3",
];
const FIELDS: &[&str] = &[
    "x-evolution-any-field",
    "id",
    "file_as",
    "full_name",
    "given_name",
    "family_name",
    "nickname",
    "email",
    "email_1",
    "email_2",
    "phone",
    "home_phone",
    "business_phone",
    "mobile_phone",
    "org",
    "org_unit",
    "office",
    "title",
    "role",
    "manager",
    "assistant",
    "homepage_url",
    "blog_url",
    "categories",
    "category_list",
    "caluri",
    "fburl",
    "spouse",
    "note",
    "im_jabber",
    "im_jabber_home_1",
    "im_aim",
    "address",
    "address_home",
    "address_label_home",
    "name_or_org",
    "birth_date",
    "anniversary",
    "wants_html",
    "list",
    "list_show_addresses",
    "photo",
    "geo",
    "sip",
    "x509Cert",
    "Rev",
    "mailer",
    "url",
    "calurl",
    "N",
    "FN",
    "X-CUSTOM",
    "NICKNAME",
    "nonsense",
];
const PROPERTIES: &[&str] = &[
    "N", "FN", "EMAIL", "TEL", "X-CUSTOM", "NOTE", "PHOTO", "ORG", "NONE",
];
/// A PNG of one dot, and another picture by its name only.
const PICTURES: &[&str] = &[
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
    "R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7",
];

/// Makes calls and remembers which contacts they made.
pub struct BookCalls {
    rng: SplitMix64,
    cards: BTreeMap<String, String>,
    next: usize,
    /// Whether the round has cursors; every second has.
    has_cursors: bool,
    /// Whether the cursor of a slot has a field in descending order.
    is_descending: [bool; 2],
}

impl BookCalls {
    pub fn new(seed: u64, round: u64) -> Self {
        Self {
            rng: SplitMix64::stream(seed, round),
            cards: BTreeMap::new(),
            next: 0,
            has_cursors: round % 2 == 1,
            is_descending: [false; 2],
        }
    }

    pub fn round(&mut self, count: usize) -> Vec<BookCall> {
        let mut calls: Vec<BookCall> = (0..4).map(|_| self.create(3)).collect();
        calls.extend((4..count).map(|_| self.call()));
        calls
    }

    fn call(&mut self) -> BookCall {
        match self.rng.below(100) {
            0..6 => self.create(2),
            6..16 => self.modify(),
            16..20 => self.remove(),
            20..24 => BookCall::Get(self.any_uid()),
            24..36 => BookCall::List(self.query()),
            36..70 => BookCall::Uids(self.query()),
            70..73 => BookCall::ContainsEmail(self.address_text()),
            73..79 => self.open_view(),
            79..80 => BookCall::CloseView(self.rng.below(2) as usize),
            80..100 if !self.has_cursors => BookCall::Uids(self.query()),
            80..84 => self.open_cursor(),
            84..95 => {
                let slot = self.rng.below(2) as usize;
                // In the stock server, the position of a cursor in descending order gets lost.
                let origins = match self.is_descending[slot] {
                    true => [1, 1, 1, 2],
                    false => [0, 0, 1, 2],
                };
                BookCall::Step {
                    slot,
                    stale: self.rng.chance(30),
                    flags: self.rng.pick(&[3, 3, 3, 2, 1]),
                    origin: self.rng.pick(&origins),
                    count: self.rng.pick(&[1, 2, 3, 5, 50, -1, -2, -4, -50, 0]),
                }
            }
            95..98 => BookCall::Letter {
                slot: self.rng.below(2) as usize,
                index: self.rng.below(28),
                other_locale: self.rng.chance(100),
            },
            98 => BookCall::CursorQuery(self.rng.below(2) as usize, self.cursor_query()),
            _ => BookCall::CloseCursor(self.rng.below(2) as usize),
        }
    }

    fn word(&mut self) -> String {
        let word = self.rng.pick(WORDS);
        match self.rng.below(12) {
            0 => word.to_uppercase(),
            1 => format!("{word} {}", self.rng.pick(WORDS)),
            2 => word.to_lowercase(),
            _ => word.to_owned(),
        }
    }

    fn escaped_word(&mut self) -> String {
        let word = self.word();
        word.replace('\\', "\\\\").replace([';', ','], "\\,")
    }

    /// A word, or nothing.
    fn part(&mut self) -> String {
        match self.rng.chance(250) {
            true => String::new(),
            false => self.escaped_word(),
        }
    }

    fn card(&mut self, uid: Option<&str>) -> String {
        let mut lines = vec!["BEGIN:VCARD".to_owned(), "VERSION:3.0".to_owned()];
        lines.extend(uid.map(|uid| format!("UID:{uid}")));
        if !self.rng.chance(80) {
            let name = self.part();
            lines.push(format!("FN:{name}"));
        }
        if !self.rng.chance(100) {
            let (family, given) = (self.part(), self.part());
            lines.push(match self.rng.below(3) {
                0 => format!("N:{family};{given}"),
                _ => format!("N:{family};{given};;;"),
            });
        }
        for _ in 0..self.rng.below(4) {
            let email = self.rng.pick(EMAILS);
            let kind = self.rng.pick(&[
                "",
                ";TYPE=HOME",
                ";TYPE=WORK,INTERNET",
                ";TYPE=WORK;TYPE=PREF",
            ]);
            lines.push(format!("EMAIL{kind}:{email}"));
        }
        for _ in 0..self.rng.below(3) {
            let phone = self.rng.pick(PHONES);
            let kind = self.rng.pick(&[
                "",
                ";TYPE=HOME,VOICE",
                ";TYPE=WORK;TYPE=VOICE",
                ";TYPE=CELL",
                ";TYPE=HOME;TYPE=FAX",
            ]);
            lines.push(format!("TEL{kind}:{phone}"));
        }
        for (name, chance) in [
            ("NICKNAME", 300),
            ("ORG", 250),
            ("TITLE", 150),
            ("ROLE", 60),
            ("NOTE", 300),
            ("CATEGORIES", 250),
            ("URL", 100),
            ("X-JABBER;TYPE=HOME", 120),
            ("X-AIM;TYPE=WORK", 60),
            ("X-EVOLUTION-FILE-AS", 300),
            ("X-EVOLUTION-SPOUSE", 60),
            ("X-EVOLUTION-MANAGER", 60),
            ("X-CUSTOM", 100),
            ("X-SIP", 50),
            ("LABEL;TYPE=HOME", 60),
        ] {
            if self.rng.chance(chance) {
                let value = self.part();
                let value = match name {
                    "ORG" if self.rng.chance(500) => format!("{value};{}", self.part()),
                    "CATEGORIES" if self.rng.chance(500) => format!("{value},{}", self.part()),
                    "NOTE" if self.rng.chance(300) => {
                        format!("{value}\\nsecond line {}", self.part())
                    }
                    _ => value,
                };
                lines.push(format!("{name}:{value}"));
            }
        }
        if self.rng.chance(150) {
            let street = self.part();
            lines.push(format!("ADR;TYPE=HOME:;;{street};Berlin;;10115;Germany"));
        }
        if self.rng.chance(100) {
            lines.push("BDAY:1815-12-10".to_owned());
        }
        if self.rng.chance(60) {
            lines.push("GEO:52.5;13.4".to_owned());
        }
        if self.rng.chance(80) {
            let shown = self.rng.pick(&["TRUE", "FALSE"]);
            lines.push("X-EVOLUTION-LIST:TRUE".to_owned());
            lines.push(format!("X-EVOLUTION-LIST-SHOW-ADDRESSES:{shown}"));
        }
        if self.rng.chance(80) {
            lines.push("X-MOZILLA-HTML:TRUE".to_owned());
        }
        if self.rng.chance(120) {
            let picture = self.rng.pick(PICTURES);
            let kind = if picture.starts_with('i') {
                "PNG"
            } else {
                "GIF"
            };
            lines.push(format!("PHOTO;ENCODING=b;TYPE={kind}:{picture}"));
        }
        if self.rng.chance(200) {
            lines.push("REV:2020-01-02T03:04:05Z".to_owned());
        }
        lines.push("END:VCARD".to_owned());
        lines.join("\r\n") + "\r\n"
    }

    fn create(&mut self, most: u32) -> BookCall {
        let mut cards = Vec::new();
        for _ in 0..=self.rng.below(most) {
            // The stock server's cursors count contacts that were refused.
            if !self.has_cursors && self.rng.chance(60) {
                let uid = self.any_uid().replace("made-", "again-");
                let card = self.card(Some(&uid));
                cards.push((uid, card));
                continue;
            }
            self.next += 1;
            // Cursors order equal contacts by UID.
            let (uid, card) = match !self.has_cursors && self.rng.chance(200) {
                true => (format!("made-{}-", self.next), self.card(None)),
                false => {
                    let uid = match self.rng.below(6) {
                        0 => format!("UID {}", self.next),
                        1 => format!("uid-Ü{}", self.next),
                        _ => format!("uid-{}", self.next),
                    };
                    let card = self.card(Some(&uid));
                    (uid, card)
                }
            };
            self.cards.insert(uid.clone(), card.clone());
            cards.push((uid, card));
        }
        BookCall::Create(cards)
    }

    fn modify(&mut self) -> BookCall {
        let mut cards = Vec::new();
        for _ in 0..=u32::from(self.rng.chance(80)) {
            let uid = self.any_uid();
            let card = match self.rng.chance(500) {
                true => self.card(Some(&uid)),
                // The card that is there, with another note.
                false => {
                    let old = self.cards.get(&uid).cloned();
                    let old = old.unwrap_or_else(|| self.card(Some(&uid)));
                    let line = format!("NOTE:{}\r\nEND:VCARD", self.part());
                    let lines = old.split_inclusive('\n');
                    let old: String = lines.filter(|line| !line.starts_with("NOTE")).collect();
                    let old = match old.contains("\r\nUID:") {
                        true => old,
                        false => old.replace("END:VCARD", &format!("UID:{uid}\r\nEND:VCARD")),
                    };
                    old.replace("END:VCARD", &line)
                }
            };
            if self.cards.contains_key(&uid) {
                self.cards.insert(uid, card.clone());
            }
            cards.push(card);
        }
        if self.rng.chance(20) {
            cards.push(self.card(None));
        }
        BookCall::Modify(cards)
    }

    fn remove(&mut self) -> BookCall {
        let mut uids = Vec::new();
        for _ in 0..=self.rng.below(2) {
            let uid = self.any_uid();
            self.cards.remove(&uid);
            uids.push(uid);
        }
        BookCall::Remove(uids)
    }

    /// The UID of a contact, seldom one that nobody has.
    fn any_uid(&mut self) -> String {
        let count = self.cards.len() as u32;
        if count == 0 || self.rng.chance(60) {
            return "nobody".to_owned();
        }
        let at = self.rng.below(count) as usize;
        self.cards.keys().nth(at).cloned().unwrap_or_default()
    }

    fn address_text(&mut self) -> String {
        match self.rng.below(4) {
            0 => format!("Somebody <{}>", self.rng.pick(EMAILS)),
            1 => format!("{}, {}", self.rng.pick(EMAILS), self.rng.pick(EMAILS)),
            2 => self.rng.pick(EMAILS).to_uppercase(),
            _ => self.rng.pick(EMAILS).to_owned(),
        }
    }

    fn open_view(&mut self) -> BookCall {
        let all = "(contains \"x-evolution-any-field\" \"\")".to_owned();
        BookCall::OpenView {
            slot: self.rng.below(2) as usize,
            query: match self.rng.chance(400) {
                true => all,
                false => self.query(),
            },
            fields: match self.rng.below(5) {
                0 => vec!["id", "Rev"],
                1 => vec!["x-evolution-uids-only"],
                2 => vec!["full_name", "id"],
                _ => vec![],
            },
            initial: !self.rng.chance(150),
        }
    }

    fn open_cursor(&mut self) -> BookCall {
        let (keys, types) = match self.rng.below(10) {
            0 => (vec!["full_name"], vec!["ascending"]),
            1 => (vec!["file_as"], vec!["descending"]),
            2 => (
                vec!["nickname", "family_name"],
                vec!["ascending", "descending"],
            ),
            3 => (vec!["email"], vec!["ascending"]),
            4 => (vec!["full_name"], vec!["sideways"]),
            5 => (vec!["full_name", "file_as"], vec!["ascending"]),
            6 => (vec![], vec![]),
            _ => (
                vec!["family_name", "given_name"],
                vec!["ascending", "ascending"],
            ),
        };
        let slot = self.rng.below(2) as usize;
        self.is_descending[slot] |= types.contains(&"descending");
        BookCall::OpenCursor {
            slot,
            query: self.cursor_query(),
            keys,
            types,
        }
    }

    /// A query that the stock server understands: of a cursor with a bad regular expression, it
    /// crashes.
    fn cursor_query(&mut self) -> String {
        let field = self
            .rng
            .pick(&["full_name", "family_name", "email", "nickname"]);
        match self.rng.below(5) {
            0 => format!(
                "(contains \"{field}\" \"{}\")",
                self.rng.pick(&["a", "e", "Mü", "@"])
            ),
            1 => format!(
                "(beginswith \"{field}\" \"{}\")",
                self.rng.pick(&["a", "M", "S", "x"])
            ),
            _ => String::new(),
        }
    }

    fn query(&mut self) -> String {
        match self.rng.below(100) {
            0..4 => String::new(),
            4..14 => format!("(and {} {})", self.term(), self.term()),
            14..24 => format!("(or {} {})", self.term(), self.term()),
            24..30 => format!("(not {})", self.term()),
            30..33 => format!(
                "(and {} (not (or {} {})))",
                self.term(),
                self.term(),
                self.term()
            ),
            33..36 => self
                .rng
                .pick(&[
                    "(and)",
                    "(or)",
                    "#t",
                    "(",
                    "()",
                    "nonsense",
                    "(nonsense \"a\" \"b\")",
                    "(is \"a\")",
                    "(exists)",
                    "(not)",
                    "\"text\"",
                    "(is \"full_name\" \"Ada\"",
                    "(is \"full_name\" 7)",
                    "; a comment\n(exists \"email\")",
                    "(exists \"email\") (exists \"phone\")",
                    "  ",
                ])
                .to_owned(),
            _ => self.term(),
        }
    }

    fn term(&mut self) -> String {
        let field = self.rng.pick(FIELDS);
        let quote = |text: &str| text.replace('\\', "\\\\").replace('"', "\\\"");
        match self.rng.below(100) {
            0..70 => {
                let text = quote(&self.search_text(field));
                let name = self.rng.pick(&["contains", "is", "beginswith", "endswith"]);
                format!("({name} \"{field}\" \"{text}\")")
            }
            70..80 => format!("(exists \"{field}\")"),
            80..84 => format!("(exists_vcard \"{}\")", self.rng.pick(PROPERTIES)),
            84..94 => {
                let name = self
                    .rng
                    .pick(&["eqphone", "eqphone_national", "eqphone_short"]);
                let phone = self.rng.pick(PHONES);
                let field = self.rng.pick(&["phone", "phone", "phone", "home_phone"]);
                format!("({name} \"{field}\" \"{phone}\")")
            }
            _ => {
                let name = self.rng.pick(&["regex_normal", "regex_raw"]);
                let pattern = self.rng.pick(&[
                    "^ada",
                    "Ada",
                    "b.*b",
                    "^$",
                    "[a-m]+$",
                    "(",
                    "strasse|müller",
                    "^.{3}$",
                    "\\\\d+",
                ]);
                format!("({name} \"{field}\" \"{pattern}\")")
            }
        }
    }

    /// A text of a card, a piece of one, or a word.
    fn search_text(&mut self, field: &str) -> String {
        let text = match field {
            // Parts of UIDs that the services made would differ.
            "id" => return self.any_uid(),
            _ if field.starts_with("email") => self.rng.pick(EMAILS).to_owned(),
            _ if field.ends_with("phone") => self.rng.pick(PHONES).to_owned(),
            "birth_date" => "1815-12-10".to_owned(),
            "list" | "wants_html" | "list_show_addresses" => {
                self.rng.pick(&["TRUE", "FALSE", "true"]).to_owned()
            }
            _ => self.word(),
        };
        let chars: Vec<char> = text.chars().collect();
        match self.rng.below(10) {
            0 => String::new(),
            1..4 if chars.len() > 2 => {
                let from = self.rng.below(chars.len() as u32 - 1) as usize;
                let length = 1 + self.rng.below((chars.len() - from) as u32) as usize;
                chars[from..].iter().take(length).collect()
            }
            4 => text.to_uppercase(),
            _ => text,
        }
    }
}
