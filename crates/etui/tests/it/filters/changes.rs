//! Random changes: generated people and unusual cards are added, edited, removed and restored, singly
//! and in batches, in two address books. Some steps merge the index.

use etui::contacts::{Card, Contacts};
use etui::{Error, Store};
use etui_testkit::people::{Version, person};
use etui_testkit::rng::SplitMix64;

/// The name of the second address book.
pub const SECOND: &str = "Work";
/// Number of people; about two thirds are in the default address book at a time.
const PEOPLE: u32 = 2_000;
/// Number of unusual cards.
const ODD: u32 = 150;
/// Seed of the generated people.
const SEED: u64 = 23;

/// A word longer than the longest term.
pub const LONG_WORD: &str =
    "donaudampfschifffahrtselektrizitaetenhauptbetriebswerkbauunterbeamtengesellschaft";

/// Makes random changes to the address books.
pub struct Changer {
    rng: SplitMix64,
}

impl Changer {
    pub fn new(seed: u64) -> Self {
        Self {
            rng: SplitMix64::new(seed),
        }
    }

    /// Fills both address books.
    pub fn fill(&mut self, store: &Store) {
        let book = store.contacts().unwrap();
        let people: Vec<Card> = (0..PEOPLE * 2 / 3).map(|i| edited_person(i, 0)).collect();
        book.save_many(&people).unwrap();
        let odd: Vec<Card> = (0..ODD).map(|i| odd_card(i, i)).collect();
        book.save_many(&odd).unwrap();
        let second = store.collections::<Card>().create(SECOND).unwrap();
        second.save_many(people.iter().take(200)).unwrap();
        second.save_many(odd.iter().take(60)).unwrap();
    }

    /// Makes one change.
    pub fn step(&mut self, store: &Store) {
        let book = if self.rng.chance(850) {
            store.contacts().unwrap()
        } else {
            store.collection::<Card>(Some(SECOND)).unwrap()
        };
        match self.rng.below(1_000) {
            0..400 => {
                book.save(&self.card()).unwrap();
            }
            400..440 => {
                let cards: Vec<Card> = self.several(|own| own.card());
                book.save_many(&cards).unwrap();
            }
            440..690 => allow_missing(book.remove(&self.uid())),
            690..710 => {
                let uids = self.several(Self::uid);
                book.remove_many(&uids).unwrap();
            }
            710..960 => allow_missing(book.restore(&self.uid())),
            960..980 => {
                let uids = self.several(Self::uid);
                book.restore_many(&uids).unwrap();
            }
            980..995 => self.undo(&book),
            _ => store.maintenance().merge_index().unwrap(),
        }
    }

    fn several<T>(&mut self, mut one: impl FnMut(&mut Self) -> T) -> Vec<T> {
        let count = 2 + self.rng.below(30);
        (0..count).map(|_| one(self)).collect()
    }

    /// Removes a contact and restores it at once.
    fn undo(&mut self, book: &Contacts) {
        let uid = self.uid();
        allow_missing(book.remove(&uid));
        allow_missing(book.restore(&uid));
    }

    fn card(&mut self) -> Card {
        if self.rng.chance(150) {
            odd_card(self.rng.below(ODD), self.rng.below(1_000))
        } else {
            // A third of the saves are unedited, so that people do not end as mixtures.
            let edits = match self.rng.below(3) {
                0 => 0,
                _ => 1 + self.rng.below(10_000),
            };
            edited_person(self.rng.below(PEOPLE), edits)
        }
    }

    fn uid(&mut self) -> String {
        if self.rng.chance(100) {
            format!("odd-{}", self.rng.below(ODD))
        } else {
            person(SEED, self.rng.below(PEOPLE).into()).uid
        }
    }
}

/// Accepts a missing contact, or one without a previous version.
fn allow_missing<T>(result: etui::Result<T>) {
    match result {
        Ok(_) | Err(Error::NoRecord { .. } | Error::NothingToUndo { .. }) => {}
        Err(error) => panic!("{error}"),
    }
}

/// Returns a person with the edit of this number (0: none).
fn edited_person(index: u32, edits: u32) -> Card {
    let mut someone = person(SEED, index.into());
    if edits > 0 {
        let other = person(SEED, u64::from(index) * 10_007 + u64::from(edits));
        match edits % 8 {
            0 => (someone.family, someone.formatted) = (other.family, other.formatted),
            1 => someone.phones = other.phones,
            2 => someone.emails = other.emails,
            3 => someone.note = other.note,
            4 => someone.nickname = other.nickname,
            5 => {
                someone.organisation = other.organisation;
                someone.department = other.department.filter(|_| someone.organisation.is_some());
            }
            6 => someone.categories = other.categories,
            _ => {
                // Properties that neither lists nor searches show.
                someone.title = other.title.filter(|_| someone.organisation.is_some());
                someone.birthday = other.birthday;
            }
        }
        if edits.is_multiple_of(16) {
            someone.version = Version::V4;
        }
    }
    Card::parse(someone.to_text()).unwrap()
}

/// Returns a card of a rare kind.
fn odd_card(index: u32, variant: u32) -> Card {
    let n = variant;
    let body = match index % 30 {
        0 => format!("TEL:+49 30 23125 {:03}\r\n", n % 1_000),
        1 => format!("EMAIL:nobody{n}@example.org\r\n"),
        2 => format!("ORG:Only & Sons;Unit {n};R&D, Labs\r\n"),
        3 => "N:Müller;Anna;;;\r\nFN:Anna Müller\r\n".to_owned(),
        4 => "N:MULLER;ANNA;;;\r\nFN:ANNA MULLER\r\n".to_owned(),
        5 => format!("NOTE:only a note {n}\r\n"),
        6 => format!("X-ODD:{n}\r\n"),
        7 => format!("FN:...\r\nN:-;!;;;\r\nNICKNAME:?\r\nX-ODD:{n}\r\n"),
        8 => format!("N:山田;太郎;;;\r\nFN:山田・太郎\r\nNICKNAME:やまだ,ガク{n}\r\n"),
        9 => format!("N:Иванова;Ёлка;Петровна;;\r\nFN:Ёлка Иванова\r\nNOTE:кот {n}\r\n"),
        10 => format!("FN:🎉 Party {n} 🎊\r\nNICKNAME:🎉\r\nCATEGORIES:🎉,party\r\n"),
        11 => format!("N:김;민준;;;\r\nFN:김민준\r\nORG:한국 {n}\r\n"),
        12 => format!("N:عمر;خالد;;;\r\nFN:خالد عمر\r\nTEL:٠٣٠١٢٣٤٥{}\r\n", n % 10),
        13 => format!(
            "N:राम;कि;;;\r\nFN:कि राम\r\nTEL:+91 98765 4321{}\r\n",
            n % 10
        ),
        14 => format!(
            "N:O'Brien-Nuñez y García;José María;Ángel de la Cruz;Dr.;Jr.\r\n\
             FN:Dr. José María O’Brien-Nuñez y García\r\nNICKNAME:Pepe,Chema,Peppo {n}\r\n"
        ),
        15 => format!(
            "FN:Many Numbers\r\nTEL;TYPE=HOME:030 23125-{:03}\r\nTEL;TYPE=CELL,PREF:0171 39200{:02}\r\n\
             TEL:+44 20 7946 0{:03}\r\nTEL:(212) 555-01{:02}\r\nTEL:110\r\nTEL:*100#\r\nTEL:n/a\r\n\
             TEL:+49 30 23125 001 ext. {}\r\n",
            n % 1_000,
            n % 100,
            n % 1_000,
            n % 100,
            n % 5
        ),
        16 => format!(
            "FN:Many Addresses\r\nEMAIL:first{n}@example.org\r\n\
             EMAIL;TYPE=PREF:Préféré+list{n}@exämple.com\r\nEMAIL:o'brien.{n}@mail.example\r\n\
             EMAIL:a_b-c.{n}@example.net\r\n"
        ),
        17 => format!(
            "N:{LONG_WORD};{};;;\r\nFN:{LONG_WORD} {n}\r\n",
            "n".repeat(90)
        ),
        18 => format!(
            "N:Note;Long;;;\r\nFN:Long Note\r\nNOTE:begins{n} {} ends{n}\r\n",
            "lorem ipsum dolor sit amet ".repeat(400)
        ),
        19 => format!(
            "FN:{}\r\nNOTE:first {n}\r\nNOTE:second müller\r\n",
            "Many Names ".repeat(30)
        ),
        20 => format!("FN:Anna  Maria\t{n}\r\nNOTE:  spaces   and\\ntabs\\, commas\\; 4711 \r\n"),
        21 => "FN:a\r\nN:b;c;;;\r\nNICKNAME:d\r\nORG:e\r\n".to_owned(),
        22 => format!("N:;Only Given;;;\r\nFN:Only Given\r\nCATEGORIES:VIP,Überweisungen {n}\r\n"),
        23 => format!("N:Only Family;;;;\r\nNICKNAME:Nick {n},Nack\r\n"),
        24 => format!(
            "N:;;Only Additional;;\r\nTEL:+54 9 11 {:04}-1234\r\n",
            2_000 + n
        ),
        25 => format!(
            "FN:Dialled\r\nTEL:0111520{:02}1234\r\nTEL:12{n}\r\nTEL:+1 555 0100\r\n",
            n % 100
        ),
        26 => format!(
            "FN:Straße ﬁne Ａｎｎａ\r\nORG:ÆTHER Łódź;Þing {n};...\r\nNOTE:Vietnamese Nguyễn Đặng\r\n"
        ),
        27 => format!("FN:Digits 4711{n}\r\nORG:{n} Acme 3000\r\nEMAIL:4711{n}@example.org\r\n"),
        28 => format!("ORG:;Unit without a name {n}\r\nEMAIL:   \r\nTEL:   \r\n"),
        _ => format!("N:van der Berg;Jan-Willem;;;\r\nFN:Jan-Willem van der Berg\r\nX-ODD:{n}\r\n"),
    };
    Card::parse(format!(
        "BEGIN:VCARD\r\nVERSION:3.0\r\nUID:odd-{index}\r\n{body}END:VCARD\r\n"
    ))
    .unwrap()
}
