//! Tables with headings of other languages and charsets, and columns that nothing recognizes.

use encoding_rs::{
    BIG5, EUC_KR, Encoding, GBK, SHIFT_JIS, WINDOWS_1250, WINDOWS_1251, WINDOWS_1252,
};
use etui_tables::{
    ColumnField, CsvError, CsvOptions, CsvProgram, CsvReader, ForeignContact, ForeignItem,
    LdifReader,
};

const OUTLOOK: &str = include_str!("../../data/outlook.tsv");
const THUNDERBIRD: &str = include_str!("../../data/thunderbird.tsv");

fn read(text: &[u8], options: &CsvOptions) -> (CsvProgram, Vec<ForeignContact>) {
    let mut reader = CsvReader::open(text, options).unwrap();
    let items = reader.by_ref().map(|item| match item.unwrap() {
        ForeignItem::Contact(contact) => contact,
        ForeignItem::Rejected(record) => panic!("{record:?}"),
    });
    let items = items.collect();
    (reader.program(), items)
}

fn csv(text: &str) -> ForeignContact {
    read(text.as_bytes(), &CsvOptions::default()).1.remove(0)
}

/// The properties of a card, without its UID and labels of columns.
fn properties(contact: &ForeignContact) -> Vec<String> {
    let text = String::from_utf8_lossy(contact.card.text()).replace("\r\n ", "");
    let lines = text.lines().filter(|line| !line.starts_with("UID:"));
    let lines = lines.filter(|line| !line.contains("X-ABLABEL"));
    lines.map(str::to_owned).collect()
}

/// A value that a column of this English heading may have.
fn cell(heading: &str, number: usize) -> String {
    match heading {
        "birthday" | "anniversary" => "17.5.1980".to_owned(),
        "birth year" => "1980".to_owned(),
        "birth month" => "5".to_owned(),
        "birth day" => "9".to_owned(),
        "gender" => "F".to_owned(),
        heading if heading.contains("mail") => format!("a{number}@b.example"),
        heading if heading.contains("phone") || heading.contains("fax") => {
            format!("+49 30 23125{number:02}")
        }
        _ => format!("value {number}"),
    }
}

#[test]
fn headings_of_every_language_mean_the_same() {
    for (table, program) in [
        (OUTLOOK, CsvProgram::Outlook),
        (THUNDERBIRD, CsvProgram::Thunderbird),
    ] {
        let mut rows = table.lines().filter(|line| !line.starts_with('#'));
        let languages: Vec<&str> = rows.next().unwrap().split('\t').collect();
        assert_eq!(
            languages[1..],
            "de fr es it nl sv pl pt-BR pt-PT"
                .split(' ')
                .collect::<Vec<_>>()
        );
        let rows: Vec<Vec<&str>> = rows.map(|row| row.split('\t').collect()).collect();
        for (column, language) in languages.iter().enumerate().skip(1) {
            // A heading, the first of its versions, and the English one.
            let known = rows.iter().filter(|row| !row[column].is_empty());
            let known: Vec<(&str, &str)> = known
                .map(|row| (row[column].split('|').next().unwrap(), row[0]))
                .collect();
            let cells: Vec<String> = known
                .iter()
                .enumerate()
                .map(|(number, (_, english))| cell(english, number))
                .collect();
            let quoted = |names: Vec<&str>| format!("\"{}\"", names.join("\";\""));
            let table = |names| format!("{}\n{}\n", quoted(names), cells.join(";"));
            let translated = table(known.iter().map(|(heading, _)| *heading).collect());
            let english = table(known.iter().map(|(_, english)| *english).collect());
            let (found, contacts) = read(translated.as_bytes(), &CsvOptions::default());
            assert_eq!(found, program, "{language}");
            assert_eq!(contacts[0].warnings, [""; 0], "{language}");
            assert_eq!(
                properties(&contacts[0]),
                properties(&csv(&english)),
                "{language}"
            );
        }
    }
}

#[test]
fn every_version_of_a_heading_is_known() {
    for (table, names) in [
        (
            OUTLOOK,
            ["first name", "last name", "e-mail address", "company"],
        ),
        (
            THUNDERBIRD,
            ["first name", "last name", "primary email", "display name"],
        ),
    ] {
        let rows = table.lines().filter(|line| !line.starts_with('#')).skip(1);
        let rows: Vec<Vec<&str>> = rows.map(|row| row.split('\t').collect()).collect();
        for row in &rows {
            for (column, headings) in row.iter().enumerate().skip(1) {
                for heading in headings.split('|').filter(|heading| !heading.is_empty()) {
                    let own = |name: &str| {
                        let row = rows.iter().find(|row| row[0] == name).unwrap();
                        row[column].split('|').next().unwrap()
                    };
                    let mut header: Vec<&str> = names.iter().map(|name| own(name)).collect();
                    header.push(heading);
                    let text = format!("{}\nA;B;C;D;0171 3920001\n", header.join(";"));
                    // A phone number is never refused in a column that is known.
                    let opened = CsvReader::open(text.as_bytes(), &CsvOptions::default());
                    assert!(opened.is_ok(), "{heading}");
                }
            }
        }
    }
}

#[test]
fn common_headings_of_other_languages() {
    for (header, given, family) in [
        ("Vorname;Name;Handy;E-Mail", "Ada", "Byron"),
        ("Prénom;Nom;Portable;Courriel", "Ada", "Byron"),
        ("Nombre;Apellidos;Móvil;Correo electrónico", "Ada", "Byron"),
        ("Voornaam;Achternaam;Mobiel;E-mailadres", "Ada", "Byron"),
        ("Förnamn;Efternamn;Mobilnummer;E-post", "Ada", "Byron"),
        ("Imię;Nazwisko;Komórka;E-mail", "Ada", "Byron"),
        ("Имя;Фамилия;Телефон;E-mail", "Ada", "Byron"),
    ] {
        let contact = csv(&format!("{header}\nAda;Byron;0171 3920001;ada@b.example\n"));
        let name = contact.card.name();
        assert_eq!(
            (name.given.as_str(), name.family.as_str()),
            (given, family),
            "{header}"
        );
        assert_eq!(
            contact.card.property("TEL").as_deref(),
            Some("0171 3920001"),
            "{header}"
        );
        assert_eq!(
            contact.card.property("EMAIL").as_deref(),
            Some("ada@b.example"),
            "{header}"
        );
        assert_eq!(contact.card.display_name(), "Ada Byron");
    }
}

#[test]
fn two_columns_of_one_kind_are_two_values() {
    let contact = csv(
        "Vorname;Nachname;Mobil;Handy;Mail;E-Mail\nA;B;0171 1;0172 2;a@b.example;c@d.example\n",
    );
    let phones: Vec<_> = contact.card.phones().into_iter().map(|p| p.value).collect();
    assert_eq!(phones, ["0171 1", "0172 2"]);
    let text = String::from_utf8_lossy(contact.card.text()).into_owned();
    assert!(
        text.contains("a@b.example") && text.contains("c@d.example"),
        "{text}"
    );
}

#[test]
fn dates_of_zeros_are_none() {
    for zeros in ["0.0.00", "0/0/00", "00.00.0000", "0000-00-00"] {
        let contact = csv(&format!(
            "Vorname;Nachname;Geburtstag;Jahrestag;Frei\nA;B;{zeros};{zeros};{zeros}\n"
        ));
        let text = String::from_utf8_lossy(contact.card.text()).into_owned();
        assert!(!text.contains(zeros), "{text}");
        assert_eq!(contact.card.property("BDAY"), None);
    }
    // A number is no date.
    let contact = csv("Vorname;Nachname;Kinderzahl\nA;B;0\n");
    assert_eq!(contact.card.property("X-CUSTOM").as_deref(), Some("0"));
}

fn unmapped(text: &str) -> Vec<(String, &'static str)> {
    match CsvReader::open(text.as_bytes(), &CsvOptions::default()) {
        Err(CsvError::Unmapped { columns }) => {
            columns.into_iter().map(|c| (c.name, c.field)).collect()
        }
        Err(error) => panic!("{error}"),
        Ok(_) => Vec::new(),
    }
}

#[test]
fn a_column_of_addresses_or_numbers_is_never_a_custom_field_in_silence() {
    let found = |name: &str, field| vec![(name.to_owned(), field)];
    for (text, expected) in [
        (
            "Name,Email,Zweitadresse\nA,a@b.example,c@d.example\n",
            found("Zweitadresse", "email"),
        ),
        (
            "Name,Email,Durchwahl\nA,a@b.example,+49 30 2312501\n",
            found("Durchwahl", "phone"),
        ),
        (
            "Name,Email,Tel. Büro\nA,a@b.example,2312501\n",
            found("Tel. Büro", "phone"),
        ),
        (
            "Name,Email,x\nA,a@b.example,\nB,b@b.example,070 1234567\nC,,\n",
            found("x", "phone"),
        ),
        (
            "Namensfeld;Mobil;Mail\nAsa;070 1234567;a@b.example\n",
            found("Namensfeld", "name"),
        ),
        (
            "Name,Email,Kundennummer\nA,a@b.example,12345678\n",
            Vec::new(),
        ),
        ("Name,Email,Seit\nA,a@b.example,2020-05-01\n", Vec::new()),
        (
            "Name,Email,Bemerkt\nA,a@b.example,call +49 30 2312501\n",
            Vec::new(),
        ),
        // The program's own columns for it.
        (
            "First Name,Last Name,E-mail Address,User 1\nA,B,a@b.example,+49 30 2312501\n",
            Vec::new(),
        ),
    ] {
        assert_eq!(unmapped(text), expected, "{text}");
    }
    let text = "Name,Email,Durchwahl\nA,a@b.example,+49 30 2312501\n";
    let phone = ColumnField::Property {
        name: "TEL".to_owned(),
        types: vec!["work".to_owned()],
        component: None,
    };
    let mapped = CsvOptions {
        map: vec![("Durchwahl".to_owned(), phone)],
        ..CsvOptions::default()
    };
    let contact = read(text.as_bytes(), &mapped).1.remove(0);
    assert_eq!(contact.card.phones().len(), 1);
    let forced = CsvOptions {
        keeps_unmapped: true,
        ..CsvOptions::default()
    };
    let contact = read(text.as_bytes(), &forced).1.remove(0);
    assert_eq!(
        contact.card.property("X-CUSTOM").as_deref(),
        Some("+49 30 2312501")
    );
    // After the rows that are looked at, each contact says it.
    let late = format!(
        "Name,Email,x\n{}Z,z@b.example,c@d.example\n",
        "A,a@b.example,\n".repeat(600)
    );
    let last = read(late.as_bytes(), &CsvOptions::default())
        .1
        .pop()
        .unwrap();
    assert!(
        last.warnings[0].contains("c@d.example"),
        "{:?}",
        last.warnings
    );
}

fn encoded(charset: &'static Encoding, text: &str) -> Vec<u8> {
    let (bytes, _, had_unmappable) = charset.encode(text);
    assert!(!had_unmappable, "{text}");
    bytes.into_owned()
}

#[test]
fn charsets_are_detected() {
    for (charset, name, text) in [
        (
            WINDOWS_1251,
            "Иванова",
            "Имя;Фамилия;E-mail;Телефон\nОльга;Иванова;o@i.example;+7 495 1234567\n",
        ),
        (
            WINDOWS_1251,
            "Петров",
            "First Name,Last Name,Email,Notes\nИван,Петров,i@p.example,Московская область\n",
        ),
        (
            WINDOWS_1250,
            "Wójcik",
            "Imię;Nazwisko;Telefon służbowy;Adres e-mail;Województwo\nŁukasz;Wójcik;22 1234567;l@w.example;łódzkie\n",
        ),
        (
            WINDOWS_1252,
            "Müller",
            "Vorname;Nachname;Straße geschäftlich\nJörg;Müller;Hauptstraße 1\n",
        ),
        (
            SHIFT_JIS,
            "山田",
            "姓,名,First Name,Last Name,住所\nx,y,太郎,山田,東京都渋谷区\n",
        ),
        (
            GBK,
            "王",
            "First Name,Last Name,Company,Notes\n小明,王,北京科技有限公司,你好世界\n",
        ),
        (
            BIG5,
            "陳",
            "First Name,Last Name,Company,Notes\n小明,陳,台灣電力公司,您好世界\n",
        ),
        (
            EUC_KR,
            "김",
            "First Name,Last Name,Company,Notes\n영희,김,한국전력공사,안녕하세요\n",
        ),
    ] {
        let bytes = encoded(charset, text);
        let mut reader = CsvReader::open(bytes.as_slice(), &CsvOptions::default()).unwrap();
        let Some(Ok(ForeignItem::Contact(contact))) = reader.next() else {
            panic!("{text}");
        };
        assert_eq!(
            reader.charset().map(|c| c.name()),
            Some(charset.name()),
            "{text}"
        );
        assert_eq!(contact.card.name().family, name, "{text}");
        // The charset that is given decides.
        let given = CsvOptions {
            charset: Some(charset.name().parse().unwrap()),
            ..CsvOptions::default()
        };
        let same = read(&bytes, &given).1.remove(0);
        assert_eq!(same.card.text(), contact.card.text());
    }
}

#[test]
fn utf_8_has_no_other_charset() {
    for text in [
        "Name,Email\nAda,a@b.example\n",
        "Name,Email\nИван,a@b.example\n",
    ] {
        let mut reader = CsvReader::open(text.as_bytes(), &CsvOptions::default()).unwrap();
        assert_eq!(reader.by_ref().count(), 1);
        assert_eq!(reader.charset(), None, "{text}");
    }
    // A line of another program in a file of UTF-8, and UTF-8 in one of Windows-1252.
    let mixed =
        b"Name,Email\nM\xC3\xBCller,a@b.example\nJ\xF6rg,b@b.example\n\xC3\x84nne,c@b.example\n";
    let contacts = read(mixed, &CsvOptions::default()).1;
    let names: Vec<String> = contacts
        .iter()
        .map(|c| c.card.display_name().to_string())
        .collect();
    assert_eq!(names, ["Müller", "Jörg", "Änne"]);
}

#[test]
fn ldif_in_another_charset() {
    let text =
        "dn: cn=Olga\ncn: Ольга Иванова\nsn: Иванова\nl: Москва\no: Московский университет\n";
    let bytes = encoded(WINDOWS_1251, text);
    let mut reader = LdifReader::new(bytes.as_slice());
    let Some(Ok(ForeignItem::Contact(contact))) = reader.next() else {
        panic!("no contact");
    };
    assert_eq!(contact.card.name().family, "Иванова");
    assert_eq!(reader.charset().map(|c| c.name()), Some("windows-1251"));
    let given = "koi8-r".parse().unwrap();
    let bytes = encoded(encoding_rs::KOI8_R, text);
    let mut reader = LdifReader::with_charset(bytes.as_slice(), Some(given));
    let Some(Ok(ForeignItem::Contact(contact))) = reader.next() else {
        panic!("no contact");
    };
    assert_eq!(contact.card.name().family, "Иванова");
}

#[test]
fn names_of_charsets() {
    for (name, charset) in [
        ("cp932", "Shift_JIS"),
        ("CP1251", "windows-1251"),
        ("latin1", "windows-1252"),
        ("utf-8", "UTF-8"),
        ("cp949", "EUC-KR"),
    ] {
        let found: etui_tables::TableCharset = name.parse().unwrap();
        assert_eq!(found.name(), charset);
    }
    assert!("cp0".parse::<etui_tables::TableCharset>().is_err());
}

#[test]
fn the_group_of_all_contacts_is_no_label() {
    for group in [
        "* My Contacts",
        "* myContacts",
        "* Meine Kontakte",
        "* Mes contacts",
        "* Mis contactos",
    ] {
        let text = format!(
            "Name,Given Name,Group Membership,E-mail 1 - Value\nA,A,{group} ::: School,a@b.example\n"
        );
        assert_eq!(
            csv(&text).card.property("CATEGORIES").as_deref(),
            Some("School"),
            "{group}"
        );
    }
}
