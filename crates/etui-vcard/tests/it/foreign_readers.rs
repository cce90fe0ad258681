//! Random cards of every version, converted and read by two other libraries: python-vobject and
//! ical.js. The expected values are those that the cards were made of.
//!
//! `scripts/need python3-vobject node npm` installs what it takes, and npm ical.js; without, the test prints
//! a message and is skipped. `ETUI_TEST_SEED` sets the seed.

use std::path::{Path, PathBuf};
use std::process::Command;

use etui_testkit::rng::SplitMix64;
use etui_vcard::Card;

const CARDS: u64 = 2000;
/// The version of ical.js that `npm` installs.
const ICAL_JS: &str = "ical.js@2.2.1";

#[derive(Clone, Copy, PartialEq, Debug)]
enum Version {
    V2,
    V3,
    V4,
}

/// A property as it is meant.
struct Meant {
    name: &'static str,
    types: Vec<&'static str>,
    /// Components, each a list.
    parts: Vec<Vec<String>>,
    /// The address as text, or the text to sort by.
    parameter: Option<String>,
}

impl Meant {
    fn text(name: &'static str, text: &str) -> Self {
        Self {
            name,
            types: Vec::new(),
            parts: vec![vec![text.to_owned()]],
            parameter: None,
        }
    }
}

/// Makes a card, as it is meant and as a program of the version writes it.
struct Maker {
    rng: SplitMix64,
    version: Version,
    text: String,
}

const LETTERS: &[&str] = &["a", "b", "Q", "z", "ü", "ß", "Ж", "山", "é", "😀", "0", "7"];
const SPECIAL: &[&str] = &[
    ",", ";", "\\", ":", "\"", "'", "^", "=", "\n", " ", ".", "(", "\\n", "C:\\new", "&", "|",
];

impl Maker {
    /// A text without blanks at its ends.
    fn value(&mut self, words: u32) -> String {
        let mut out = String::new();
        for _ in 0..=self.rng.below(words) {
            if !out.is_empty() {
                out.push(' ');
            }
            for _ in 0..=self.rng.below(6) {
                out.push_str(self.rng.pick(LETTERS));
            }
            if self.rng.chance(400) {
                out.push_str(self.rng.pick(SPECIAL));
            }
        }
        let end = self.rng.pick(LETTERS);
        // ical.js cannot tell a backslash before a semicolon from an escape (see the reader).
        format!("{}{end}", out.trim()).replace("\\;", ";")
    }

    fn name(&mut self) -> String {
        let letters = ["A", "e", "n", "o", "r", "S", "t", "ö"];
        (0..3 + self.rng.below(5))
            .map(|_| self.rng.pick(&letters))
            .collect()
    }

    fn types(&mut self, of: &[&'static str]) -> Vec<&'static str> {
        let mut types: Vec<_> = of
            .iter()
            .copied()
            .filter(|_| self.rng.chance(400))
            .collect();
        types.sort_unstable();
        types
    }

    /// One component; a list only where the version has lists.
    fn component(&mut self) -> Vec<String> {
        let count = match self.version {
            _ if self.rng.chance(400) => return vec![String::new()],
            Version::V2 => 1,
            _ => 1 + usize::from(self.rng.chance(200)),
        };
        (0..count).map(|_| self.value(2)).collect()
    }

    fn property(&mut self, name: &'static str) -> Meant {
        let mut meant = Meant::text(name, "");
        match name {
            "N" => meant.parts = (0..5).map(|_| vec![self.name()]).collect(),
            "ORG" => {
                meant.parts = (0..=self.rng.below(3))
                    .map(|_| vec![self.value(3)])
                    .collect()
            }
            "ADR" => {
                meant.parts = (0..7).map(|_| self.component()).collect();
                meant.parts[2] = vec![self.value(4)];
                meant.types = self.types(&["home", "work"]);
                // Programs write `\n` for the line breaks of LABEL, so a backslash there is no text.
                let label = self.value(5).replace('\\', "/");
                meant.parameter = self.rng.chance(400).then_some(label);
            }
            "TEL" => {
                meant.parts = vec![vec![format!("+49 30 {}", 10_000 + self.rng.below(80_000))]];
                meant.types = self.types(&["cell", "fax", "home", "pref", "voice", "work"]);
            }
            "EMAIL" => {
                meant.parts = vec![vec![format!("a{}@b.example", self.rng.below(1000))]];
                meant.types = self.types(&["home", "pref", "work"]);
            }
            "URL" => {
                meant.parts = vec![vec![format!(
                    "https://a.example/?q={}",
                    self.rng.below(1000)
                )]]
            }
            "NICKNAME" | "CATEGORIES" => {
                let count = 1 + self.rng.below(3);
                meant.parts = vec![(0..count).map(|_| self.value(2)).collect()];
                if self.version == Version::V2 {
                    // A comma separates there.
                    meant.parts[0]
                        .iter_mut()
                        .for_each(|entry| *entry = entry.replace(',', "."));
                }
            }
            "BDAY" | "ANNIVERSARY" => {
                let (month, day) = (1 + self.rng.below(12), 1 + self.rng.below(28));
                let year = self.rng.chance(700).then(|| 1900 + self.rng.below(120));
                let year = year.map_or_else(|| "--".to_owned(), |year| year.to_string());
                meant.parts = vec![vec![format!("{year}{month:02}{day:02}")]];
            }
            "GEO" => {
                meant.parts = vec![vec![format!(
                    "{}.5;-{}.25",
                    self.rng.below(90),
                    self.rng.below(180)
                )]]
            }
            "PHOTO" => {
                let bytes = (0..3 * (20 + self.rng.below(60))).map(|_| self.rng.below(256));
                meant.parts = vec![vec![bytes.map(|byte| format!("{byte:02x}")).collect()]];
            }
            "KIND" => meant.parts = vec![vec![self.rng.pick(&["group", "org"]).to_owned()]],
            "UID" => meant.parts = vec![vec![format!("urn:uuid:{:08x}", self.rng.below(u32::MAX))]],
            "X-TEST" => meant.parts = vec![vec![format!("x{}", self.rng.below(1000))]],
            _ => meant.parts = vec![vec![self.value(12)]],
        }
        if name == "ORG" && self.version == Version::V2 && meant.parts.len() == 1 {
            // An encoded semicolon alone is a separator there.
            meant.parts[0][0] = meant.parts[0][0].replace(';', ".");
        }
        meant
    }

    /// Writes a property.
    fn write(&mut self, meant: &Meant) {
        let Meant {
            name,
            types,
            parts,
            parameter,
        } = meant;
        let (v2, v4) = (self.version == Version::V2, self.version == Version::V4);
        let raw = parts[0][0].clone();
        match *name {
            "PHOTO" => {
                let data = base64(&bytes_of(&raw));
                match self.version {
                    Version::V2 => self.text.push_str(&format!(
                        "PHOTO;ENCODING=BASE64;TYPE=JPEG:\r\n {data}\r\n\r\n"
                    )),
                    Version::V3 => self.line(&format!("PHOTO;ENCODING=b;TYPE=JPEG:{data}")),
                    Version::V4 => self.line(&format!("PHOTO:data:image/jpeg;base64,{data}")),
                }
            }
            "BDAY" | "ANNIVERSARY" => {
                let name = if !v4 && *name == "ANNIVERSARY" {
                    "X-EVOLUTION-ANNIVERSARY"
                } else {
                    name
                };
                match raw.strip_prefix("--") {
                    Some(day) if v4 => self.line(&format!("{name}:--{day}")),
                    Some(day) if v2 => {
                        self.line(&format!("{name}:1604-{}-{}", &day[..2], &day[2..]))
                    }
                    Some(day) => self.line(&format!(
                        "{name};X-APPLE-OMIT-YEAR=1604:1604-{}-{}",
                        &day[..2],
                        &day[2..]
                    )),
                    None if v4 => self.line(&format!("{name}:{raw}")),
                    None => self.line(&format!(
                        "{name}:{}-{}-{}",
                        &raw[..4],
                        &raw[4..6],
                        &raw[6..]
                    )),
                }
            }
            "GEO" if v4 => self.line(&format!("GEO:geo:{}", raw.replace(';', ","))),
            "GEO" if v2 => self.line(&format!("GEO:{}", raw.replace(';', ","))),
            "GEO" | "UID" | "URL" | "X-TEST" => self.line(&format!("{name}:{raw}")),
            "KIND" if !v4 && raw == "org" => self.line("X-ABShowAs:COMPANY"),
            "KIND" if !v4 => self.line("X-ADDRESSBOOKSERVER-KIND:group"),
            _ => {
                let mut head = (*name).to_owned();
                match self.version {
                    Version::V2 => types
                        .iter()
                        .for_each(|kind| head.push_str(&format!(";{}", kind.to_uppercase()))),
                    Version::V3 if !types.is_empty() => {
                        head.push_str(&format!(";TYPE={}", types.join(",")))
                    }
                    Version::V4 => {
                        let kinds: Vec<_> = types
                            .iter()
                            .copied()
                            .filter(|kind| *kind != "pref")
                            .collect();
                        if !kinds.is_empty() {
                            head.push_str(&format!(";TYPE=\"{}\"", kinds.join(",")));
                        }
                        if types.contains(&"pref") {
                            head.push_str(";PREF=1");
                        }
                        if let Some(text) = parameter {
                            let text = text
                                .replace('^', "^^")
                                .replace('"', "^'")
                                .replace('\n', "^n");
                            let name = if *name == "N" { "SORT-AS" } else { "LABEL" };
                            head.push_str(&format!(";{name}=\"{text}\""));
                        }
                    }
                    Version::V3 => {}
                }
                self.write_text(&head, parts);
                match (parameter, *name) {
                    (Some(text), "N") if !v4 => {
                        self.write_text("SORT-STRING", &[vec![text.clone()]])
                    }
                    (Some(text), _) if !v4 => {
                        let head = head.replace("ADR", "LABEL");
                        self.write_text(&head, &[vec![text.clone()]]);
                    }
                    _ => {}
                }
            }
        }
    }

    /// Writes a value of text.
    fn write_text(&mut self, head: &str, parts: &[Vec<String>]) {
        let name = head.split(';').next().unwrap();
        let is_structured = ["N", "ADR", "ORG"].contains(&name);
        let all = parts.iter().flatten();
        if self.version != Version::V2 {
            let special: &[char] = match (is_structured, self.version) {
                (false, Version::V4) => &['\\', ','],
                _ => &['\\', ',', ';'],
            };
            let escape = |text: &String| {
                let escaped = text.chars().map(|c| match c {
                    '\n' => "\\n".to_owned(),
                    c if special.contains(&c) => format!("\\{c}"),
                    c => c.to_string(),
                });
                escaped.collect::<String>()
            };
            let parts: Vec<String> = parts
                .iter()
                .map(|list| list.iter().map(escape).collect::<Vec<_>>().join(","))
                .collect();
            return self.line(&format!("{head}:{}", parts.join(";")));
        }
        // 2.1 has `\;` in components, and quoted-printable.
        let is_plain = all
            .clone()
            .all(|text| text.is_ascii() && !text.contains(['\n', '\\']));
        if is_plain && self.rng.chance(700) {
            let parts: Vec<String> = parts
                .iter()
                .map(|list| list.join(","))
                .map(|text| match is_structured {
                    true => text.replace(';', "\\;"),
                    false => text,
                })
                .collect();
            let line = format!("{head}:{}", parts.join(";"));
            // A fold is at a blank, which stays.
            let at = line.find(' ').filter(|_| self.rng.chance(400));
            match at {
                Some(at) => self
                    .text
                    .push_str(&format!("{}\r\n{}\r\n", &line[..at], &line[at..])),
                None => self.text.push_str(&format!("{line}\r\n")),
            }
            return;
        }
        let is_literal = !all
            .clone()
            .any(|text| text.contains('\n') || !text.is_ascii())
            && self.rng.chance(500);
        if is_literal
            && !all.clone().any(|text| {
                ["\\;", "\\,", "\\:"].iter().any(|x| text.contains(x)) || text.ends_with('\\')
            })
        {
            let parts: Vec<String> = parts
                .iter()
                .map(|list| list.join(","))
                .map(|text| match is_structured {
                    true => text.replace(';', "\\;"),
                    false => text,
                })
                .collect();
            return self
                .text
                .push_str(&format!("{head}:{}\r\n", parts.join(";")));
        }
        let is_indented = self.rng.chance(300);
        let parts: Vec<String> = parts
            .iter()
            .map(|list| {
                list.iter()
                    .map(|text| quote(text, is_indented))
                    .collect::<Vec<_>>()
                    .join(",")
            })
            .collect();
        let value = parts.join(";");
        // Separators that are all encoded.
        let value = match ["N", "ADR", "ORG"].contains(&name)
            && !value.contains("=3B")
            && self.rng.chance(200)
        {
            true => value.replace(';', "=3B"),
            false => value,
        };
        self.text
            .push_str(&format!("{head};CHARSET=UTF-8;ENCODING=QUOTED-PRINTABLE:"));
        let mut rest = value.as_str();
        while !rest.is_empty() {
            let width = (20 + self.rng.below(50)) as usize;
            let mut at = width.min(rest.len());
            // Not within `=XX`.
            while at < rest.len()
                && (1..=2).any(|back| rest.as_bytes().get(at - back) == Some(&b'='))
            {
                at += 1;
            }
            let (line, more) = rest.split_at(at);
            self.text.push_str(line);
            rest = more;
            if !rest.is_empty() {
                self.text
                    .push_str(self.rng.pick(&["=\r\n", "= \r\n", "=\r\n"]));
                if is_indented {
                    self.text.push(' ');
                } else if let Some(more) = rest.strip_prefix(' ') {
                    self.text.push_str("=20");
                    rest = more;
                }
            }
        }
        self.text.push_str("\r\n");
    }

    /// Writes a line, folded at random.
    fn line(&mut self, line: &str) {
        let mut rest = line;
        loop {
            let mut at = (30 + self.rng.below(45) as usize).min(rest.len());
            while !rest.is_char_boundary(at) {
                at -= 1;
            }
            let (head, more) = rest.split_at(at);
            self.text.push_str(head);
            self.text.push_str("\r\n");
            if more.is_empty() || self.version == Version::V2 {
                // 2.1 is not folded there.
                if !more.is_empty() {
                    self.text.truncate(self.text.len() - 2);
                    self.text.push_str(more);
                    self.text.push_str("\r\n");
                }
                return;
            }
            self.text.push(' ');
            rest = more;
        }
    }
}

/// Quoted-printable of a text.
fn quote(text: &str, all_blanks: bool) -> String {
    let plain = |byte: u8| {
        byte.is_ascii_alphanumeric() || b",.'()&^:".contains(&byte) || byte == b' ' && !all_blanks
    };
    text.replace('\n', "\r\n")
        .bytes()
        .map(|byte| match plain(byte) {
            true => char::from(byte).to_string(),
            false => format!("={byte:02X}"),
        })
        .collect()
}

fn bytes_of(hex: &str) -> Vec<u8> {
    let bytes = hex.as_bytes().chunks(2);
    let bytes = bytes.map(|hex| std::str::from_utf8(hex).unwrap());
    bytes
        .map(|hex| u8::from_str_radix(hex, 16).unwrap())
        .collect()
}

fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let groups = bytes.chunks(3).map(|group| {
        let bits = group
            .iter()
            .fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte));
        [18, 12, 6, 0].map(|shift| char::from(ALPHABET[(bits >> shift & 63) as usize]))
    });
    groups.flatten().collect()
}

fn escape(text: &str) -> String {
    let pairs = [
        ("\\", "\\\\"),
        ("\n", "\\n"),
        ("|", "\\p"),
        (",", "\\c"),
        ("\t", "\\t"),
    ];
    pairs
        .iter()
        .fold(text.to_owned(), |text, (plain, escaped)| {
            text.replace(plain, escaped)
        })
}

/// The lines that a reader prints for the card in a version. `is_vobject`: what it does not read is left
/// out (see the reader).
fn expected(card: &[Meant], version: Version, is_vobject: bool) -> Vec<String> {
    let v4 = version == Version::V4;
    let mut lines = Vec::new();
    for meant in card {
        let raw = &meant.parts[0][0];
        let (name, value) = match meant.name {
            "PHOTO" | "GEO" if v4 && is_vobject => continue,
            "PHOTO" if v4 => {
                let bytes = bytes_of(raw);
                (
                    "PHOTO;".to_owned(),
                    escape(&format!("data:image/jpeg;base64,{}", base64(&bytes))),
                )
            }
            "PHOTO" => ("PHOTO;".to_owned(), raw.clone()),
            "GEO" if v4 => (
                "GEO;".to_owned(),
                escape(&format!("geo:{}", raw.replace(';', ","))),
            ),
            "ANNIVERSARY" if !v4 => (
                "DATE X-EVOLUTION-ANNIVERSARY;".to_owned(),
                raw.replace("--", ""),
            ),
            "BDAY" | "ANNIVERSARY" => (format!("DATE {};", meant.name), raw.replace("--", "")),
            "KIND" if v4 => ("KIND;".to_owned(), raw.clone()),
            "KIND" if raw == "org" => ("X-ABSHOWAS;".to_owned(), "COMPANY".to_owned()),
            "KIND" => ("X-ADDRESSBOOKSERVER-KIND;".to_owned(), raw.clone()),
            // python-vobject reads the first entry alone.
            "NICKNAME" if is_vobject => ("NICKNAME;".to_owned(), escape(raw)),
            name => {
                let parts = meant.parts.iter().map(|list| {
                    list.iter()
                        .map(|text| escape(text))
                        .collect::<Vec<_>>()
                        .join(",")
                });
                (
                    format!("{name};{}", meant.types.join(",")),
                    parts.collect::<Vec<_>>().join("|"),
                )
            }
        };
        lines.push(format!("{name}\t{value}"));
        if let Some(text) = &meant.parameter {
            let types: Vec<_> = meant.types.clone();
            lines.push(match (meant.name, v4) {
                ("N", true) => format!("N SORT-AS\t{}", escape(text)),
                ("N", false) => format!("SORT-STRING;\t{}", escape(text)),
                (_, true) => format!("ADR LABEL\t{}", escape(text)),
                (_, false) => format!("LABEL;{}\t{}", types.join(","), escape(text)),
            });
        }
    }
    lines.sort();
    lines
}

fn make_card(seed: u64, index: u64) -> (Vec<Meant>, String) {
    let mut rng = SplitMix64::stream(seed, index);
    let version = [Version::V2, Version::V3, Version::V4][rng.below(3) as usize];
    let mut maker = Maker {
        rng,
        version,
        text: String::new(),
    };
    let mut card = vec![maker.property("UID"), maker.property("N")];
    if maker.rng.chance(300) {
        card[1].parameter = Some(maker.name());
    }
    let once = ["NOTE", "BDAY", "ANNIVERSARY", "GEO", "PHOTO", "KIND"];
    let many = [
        "ORG",
        "TITLE",
        "TEL",
        "EMAIL",
        "URL",
        "NICKNAME",
        "CATEGORIES",
        "X-TEST",
    ];
    for name in once.into_iter().chain(many) {
        for _ in 0..if once.contains(&name) { 1 } else { 2 } {
            if maker.rng.chance(400) {
                let meant = maker.property(name);
                card.push(meant);
            }
        }
    }
    if maker.rng.chance(600) {
        let meant = maker.property("ADR");
        card.push(meant);
    }
    let mut fn_text = Meant::text("FN", &maker.value(3));
    // A card of 2.1 may lack FN; then it is the name in its order.
    let is_missing = version == Version::V2 && maker.rng.chance(300);
    if is_missing {
        let name: Vec<&str> = [3, 1, 2, 0, 4]
            .iter()
            .map(|&at| card[1].parts[at][0].as_str())
            .collect();
        fn_text.parts = vec![vec![name.join(" ")]];
    }
    card.push(fn_text);
    maker.text.push_str(match version {
        Version::V2 => "BEGIN:VCARD\r\nVERSION:2.1\r\n",
        Version::V3 => "BEGIN:VCARD\r\nVERSION:3.0\r\n",
        Version::V4 => "BEGIN:VCARD\r\nVERSION:4.0\r\n",
    });
    for meant in &card {
        if !(is_missing && meant.name == "FN") {
            maker.write(meant);
        }
    }
    maker.text.push_str("END:VCARD\r\n");
    (card, maker.text)
}

/// Runs a reader; `None` with a message if it is not installed.
fn read_with(is_vobject: bool, file: &Path) -> Option<Vec<Vec<String>>> {
    let readers = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/readers");
    let mut command = match is_vobject {
        true => {
            let mut command = Command::new("/usr/bin/python3");
            command.arg(readers.join("vobject_reader.py"));
            command
        }
        false => {
            let mut command = Command::new("node");
            command
                .arg(readers.join("ical_js_reader.mjs"))
                .arg(ical_js()?);
            command
        }
    };
    let found = match is_vobject {
        true => Command::new("/usr/bin/python3")
            .args(["-c", "import vobject"])
            .output(),
        false => Command::new("node").arg("--version").output(),
    };
    if !found.is_ok_and(|found| found.status.success()) {
        eprintln!("skipped: scripts/need python3-vobject node npm");
        return None;
    }
    let output = command.arg(file).env("PYTHONUTF8", "1").output().unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let text = String::from_utf8(output.stdout).unwrap();
    let cards = text.split("=\n").filter(|card| !card.is_empty());
    Some(
        cards
            .map(|card| {
                let mut lines: Vec<String> = card.lines().map(str::to_owned).collect();
                lines.sort();
                lines
            })
            .collect(),
    )
}

/// Returns the file of ical.js, which npm installs in the build folder once.
fn ical_js() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("ical.js");
    let file = folder.join("node_modules/ical.js/dist/ical.js");
    if !file.exists() {
        std::fs::create_dir_all(&folder).unwrap();
        let install = [
            "install",
            "--silent",
            "--no-audit",
            "--no-fund",
            "--ignore-scripts",
            ICAL_JS,
        ];
        let _ = Command::new("npm")
            .args(install)
            .arg("--prefix")
            .arg(&folder)
            .output();
    }
    let is_there = file.exists();
    if !is_there {
        eprintln!("skipped: npm could not install {ICAL_JS}");
    }
    is_there.then_some(file)
}

#[test]
fn other_libraries_read_the_values_that_were_meant() {
    let seed = std::env::var("ETUI_TEST_SEED").ok();
    let seed = seed.map_or(1, |seed| seed.parse().expect("ETUI_TEST_SEED is a number"));
    let cards: Vec<_> = (0..CARDS).map(|index| make_card(seed, index)).collect();
    for version in [Version::V3, Version::V4] {
        let converted: Vec<String> = cards
            .iter()
            .map(|(_, text)| {
                let card = Card::parse(text.as_bytes()).unwrap();
                if version == Version::V4 {
                    card.to_v4()
                } else {
                    card.to_v3()
                }
            })
            .collect();
        let file =
            Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("foreign-readers-{version:?}.vcf"));
        std::fs::write(&file, converted.concat()).unwrap();
        for is_vobject in [true, false] {
            let Some(read) = read_with(is_vobject, &file) else {
                continue;
            };
            assert_eq!(read.len(), cards.len());
            for (index, (card, text)) in cards.iter().enumerate() {
                let expected = expected(card, version, is_vobject);
                assert_eq!(
                    read[index], expected,
                    "seed {seed}, card {index}, vobject {is_vobject}\n{text}\n{}",
                    converted[index]
                );
            }
        }
    }
}
