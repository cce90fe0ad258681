//! Contacts as CSV and back: the missing parts are the reported losses.

use etui_tables::{CsvFormat, CsvOptions, CsvPlan, CsvReader, ForeignItem, Loss, LossKind};
use etui_vcard::{Card, PropertyRef};
use proptest::prelude::*;

/// A property for comparison.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Compared {
    name: String,
    value: String,
    types: Vec<String>,
    label: Option<String>,
    is_preferred: bool,
}

/// The value without notation: components by their lines, dates as they are read, texts trimmed.
fn comparable_value(property: &PropertyRef<'_>) -> String {
    let name = property.name();
    if matches!(name, "ADR" | "N" | "ORG") {
        let components = property.components();
        let components = components.iter().map(|texts| {
            let separator = if name == "ADR" { "\n" } else { " " };
            let texts = texts.iter().map(|t| t.trim()).filter(|t| !t.is_empty());
            texts.collect::<Vec<_>>().join(separator)
        });
        let joined = components.collect::<Vec<_>>().join(";");
        return joined.trim_end_matches(';').to_owned();
    }
    property.value().trim().to_owned()
}

fn compared(property: &PropertyRef<'_>) -> Compared {
    let mut types = property.types();
    // The default of a phone number.
    types.retain(|kind| kind != "voice");
    types.dedup();
    Compared {
        name: property.name().to_ascii_uppercase(),
        value: comparable_value(property),
        types,
        label: property.label().map(str::to_owned),
        is_preferred: property.is_preferred(),
    }
}

/// The properties of a card for comparison; those that a table has once are joined.
fn all_compared(card: &Card) -> Vec<Compared> {
    let refs = card.property_refs();
    let is_single = |p: &&PropertyRef<'_>| {
        p.has_content() && !["UID", "NOTE", "CATEGORIES", "NICKNAME", "N"].contains(&p.name())
    };
    let mut all: Vec<Compared> = refs.iter().filter(is_single).map(compared).collect();
    let mut categories = card.categories();
    let mut seen: Vec<String> = Vec::new();
    categories.retain(|c| {
        !seen.contains(c) && {
            seen.push(c.clone());
            true
        }
    });
    let single = |name: &str, value: String| Compared {
        name: name.to_owned(),
        value,
        types: Vec::new(),
        label: None,
        is_preferred: false,
    };
    all.extend(
        card.note()
            .map(|note| single("NOTE", note.trim().to_owned())),
    );
    all.extend(categories.into_iter().map(|c| single("CATEGORIES", c)));
    all.extend(card.nicknames().into_iter().map(|n| single("NICKNAME", n)));
    all.sort();
    all
}

/// The types that a label without its property's group is read as.
fn types_read_from(property: &str, label: &str) -> Vec<String> {
    let types: &[&str] = match (property, label) {
        ("RELATED", "Friend") => &["friend"],
        ("EMAIL" | "TEL" | "URL" | "ADR", "Home") => &["home"],
        ("EMAIL" | "TEL" | "URL" | "ADR", "Work Fax") => &["work", "fax"],
        _ => &[],
    };
    types.iter().map(|kind| (*kind).to_owned()).collect()
}

/// Removes the reported losses from the properties of a card.
fn without_losses(mut all: Vec<Compared>, losses: &[Loss]) -> Vec<Compared> {
    for loss in losses {
        let is_joined = ["NOTE", "CATEGORIES", "NICKNAME"].contains(&loss.property.as_str());
        let is_head = !matches!(loss.kind, LossKind::Property | LossKind::Part(_));
        if ["UID", "FN"].contains(&loss.property.as_str()) || is_joined && is_head {
            continue;
        }
        let is_meant = |c: &Compared| {
            let lost = loss.value.trim();
            c.name == loss.property
                && match c.name.as_str() {
                    // A part of it may be removed already.
                    "ORG" => lost.starts_with(&c.value),
                    "ADR" | "N" => lost.trim_end_matches(';') == c.value,
                    _ => lost == c.value,
                }
        };
        match &loss.kind {
            LossKind::Property => {
                // Of two values, the later one is lost.
                let at = all.iter().rposition(is_meant);
                all.remove(at.unwrap_or_else(|| panic!("{loss}")));
            }
            LossKind::Types(types) => {
                let has = |c: &Compared| types.iter().any(|t| c.types.contains(t));
                let at = all.iter().position(|c| is_meant(c) && has(c));
                let at = at.unwrap_or_else(|| panic!("{loss}"));
                all[at].types.retain(|kind| !types.contains(kind));
            }
            LossKind::Label(label) => {
                let has = |c: &Compared| c.label.as_ref() == Some(label);
                let at = all.iter().position(|c| is_meant(c) && has(c));
                let one = &mut all[at.unwrap_or_else(|| panic!("{loss}"))];
                one.label = None;
                one.types.extend(types_read_from(&loss.property, label));
            }
            LossKind::Parameter(name) if name == "PREF" => {
                let at = all.iter().position(|c| is_meant(c) && c.is_preferred);
                all[at.unwrap_or_else(|| panic!("{loss}"))].is_preferred = false;
            }
            LossKind::Parameter(_) => {}
            LossKind::Part(part)
                if ["CATEGORIES", "NICKNAME"].contains(&loss.property.as_str()) =>
            {
                let is_part = |c: &Compared| c.name == loss.property && c.value == *part;
                let at = all
                    .iter()
                    .position(is_part)
                    .unwrap_or_else(|| panic!("{loss}"));
                all.remove(at);
            }
            LossKind::Part(part) if loss.property == "ORG" => {
                // Of another organization, a part of the same text may be kept.
                let ends = |c: &Compared| is_meant(c) && c.value.ends_with(part.as_str());
                let at = all
                    .iter()
                    .position(ends)
                    .unwrap_or_else(|| panic!("{loss}"));
                let kept = all[at].value.len() - part.len();
                all[at].value.truncate(kept);
                all[at].value = all[at].value.trim_end_matches(';').to_owned();
            }
            kind => panic!("{kind:?} is not generated: {loss}"),
        }
    }
    all.sort();
    all
}

/// Writes a card with Google's columns and reads it again.
fn round_trip(format: CsvFormat, cards: &[Card]) -> (Vec<Card>, Vec<Vec<Loss>>) {
    let mut plan = CsvPlan::new(format);
    cards.iter().for_each(|card| plan.add(card));
    let mut out = Vec::new();
    let mut writer = plan.writer(&mut out).unwrap();
    let losses = cards
        .iter()
        .map(|card| writer.write(card).unwrap())
        .collect();
    writer.finish().unwrap();
    let reader = CsvReader::open(&out[..], &CsvOptions::default()).unwrap();
    let read = reader.map(|item| match item.unwrap() {
        ForeignItem::Contact(contact) => contact.card,
        ForeignItem::Rejected(row) => panic!("{row:?}\n{}", String::from_utf8_lossy(&out)),
    });
    (read.collect(), losses)
}

fn card(body: &String) -> Card {
    Card::parse(format!(
        "BEGIN:VCARD\r\nVERSION:4.0\r\nUID:1\r\n{body}END:VCARD\r\n"
    ))
    .unwrap()
}

/// A text of a card, not escaped, that begins with a letter.
fn text() -> impl Strategy<Value = String> {
    "[A-Za-zäß山][A-Za-z0-9 äß山',.\"*+=@()/-]{0,12}".prop_map(|text| text.trim().to_owned())
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\")
        .replace(',', "\\,")
        .replace(';', "\\;")
        .replace('\n', "\\n")
}

fn value() -> impl Strategy<Value = String> {
    text().prop_map(|text| escaped(&text))
}

fn types() -> impl Strategy<Value = String> {
    let words = [
        "home", "work", "cell", "fax", "pager", "voice", "isdn", "text",
    ];
    let types = proptest::sample::subsequence(words.to_vec(), 0..3);
    (types, any::<bool>()).prop_map(|(types, is_preferred)| {
        let mut head = String::new();
        if !types.is_empty() {
            head = format!(";TYPE={}", types.join(","));
        }
        if is_preferred {
            head.push_str(";PREF=1");
        }
        head
    })
}

/// A property, with a label in some cases. The number makes its group.
fn property(number: usize) -> impl Strategy<Value = String> {
    let plain = prop_oneof![
        (
            prop_oneof![Just("EMAIL"), Just("TEL"), Just("URL")],
            types(),
            text()
        )
            .prop_map(|(name, types, text)| format!(
                "{name}{types}:{}",
                match name {
                    "URL" => text.replace(['\\', ',', ';'], ""),
                    _ => escaped(&text),
                }
            )),
        (
            types(),
            proptest::collection::vec(proptest::option::of(value()), 7)
        )
            .prop_filter_map("empty", |(types, parts)| {
                let parts: Vec<String> = parts.into_iter().map(Option::unwrap_or_default).collect();
                let is_empty = parts.iter().all(String::is_empty);
                (!is_empty).then(|| format!("ADR{types}:{}", parts.join(";")))
            }),
        (value(), value(), value(), 1_usize..4)
            .prop_map(|(a, b, c, n)| { format!("ORG:{}", [a, b, c][..n].join(";")) }),
        (
            prop_oneof![
                Just("NOTE"),
                Just("TITLE"),
                Just("ROLE"),
                Just("HOBBY"),
                Just("X-HOBBY"),
                Just("CATEGORIES"),
                Just("NICKNAME"),
                Just("X-CUSTOM"),
                Just("X-ABDATE"),
                Just("RELATED;TYPE=spouse;VALUE=text"),
                Just("RELATED;VALUE=text"),
                Just("X-PHONETIC-FIRST-NAME"),
                Just("PRODID"),
                Just("TZ"),
                Just("LANG"),
                Just("TITLE;LANGUAGE=de"),
                Just("IMPP;TYPE=home"),
                Just("X-EVOLUTION-X"),
            ],
            value()
        )
            .prop_map(|(name, value)| match name {
                name if name.starts_with("IMPP") => format!("{name}:xmpp:ada@example.org"),
                "X-ABDATE" => format!("{name}:2011-06-03"),
                name => format!("{name}:{value}"),
            }),
        prop_oneof![
            Just("BDAY:18151210"),
            Just("BDAY:--0229"),
            Just("BDAY:1815"),
            Just("BDAY;VALUE=text:circa 1815"),
            Just("ANNIVERSARY:20110603"),
            Just("PHOTO:data:image/png;base64,iVBORw0KGgo="),
            Just("PHOTO:https://example.org/a.png"),
            Just("MEMBER:mailto:a@example.org"),
            Just("KIND:org"),
            Just("GENDER:F;grrl"),
            Just("REV:20200101T000000Z"),
            Just("RELATED:urn:uuid:1"),
            Just("NOTE:two\\nlines"),
        ]
        .prop_map(str::to_owned),
    ];
    let labels = prop_oneof![
        Just("Boat"),
        Just("Home"),
        Just("Work Fax"),
        Just("Other"),
        Just("X-A"),
        Just("Anniversary"),
        Just("Friend"),
        Just("Summer house")
    ];
    (plain, proptest::option::weighted(0.2, labels)).prop_map(move |(line, label)| match label {
        Some(label) => {
            format!("item{number}.{line}\r\nitem{number}.X-ABLABEL:{label}\r\n")
        }
        None => format!("{line}\r\n"),
    })
}

/// The lines of a card.
fn cards() -> impl Strategy<Value = String> {
    let name = (text(), text(), proptest::option::of(text()), any::<bool>());
    let properties = (0..6_usize).map(property).collect::<Vec<_>>();
    (name, properties, 0..6_usize).prop_map(|((given, family, other, has_n), lines, count)| {
        let display = match other {
            Some(other) => other,
            None => format!("{given} {family}"),
        };
        let mut all = vec![format!("FN:{}\r\n", escaped(&display))];
        if has_n {
            all.push(format!("N:{};{};;;\r\n", escaped(&family), escaped(&given)));
        }
        all.extend(lines.into_iter().take(count));
        all.concat()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_google_table_loses_the_reported_parts(cards in proptest::collection::vec(cards(), 1..4)) {
        let cards: Vec<Card> = cards.iter().map(card).collect();
        let (read, losses) = round_trip(CsvFormat::Google, &cards);
        prop_assert_eq!(read.len(), cards.len());
        for ((card, read), losses) in cards.iter().zip(&read).zip(&losses) {
            let expected = without_losses(all_compared(card), losses);
            prop_assert_eq!(all_compared(read), expected, "{:?}", losses);
            // The components of a name are kept; a name without components is split.
            if card.property("N").is_some() {
                prop_assert_eq!(read.name(), card.name());
            }
        }
    }

    #[test]
    fn any_card_is_written(cards in proptest::collection::vec(cards(), 1..4)) {
        let cards: Vec<Card> = cards.iter().map(card).collect();
        let (read, _) = round_trip(CsvFormat::Outlook, &cards);
        prop_assert_eq!(read.len(), cards.len());
        for (card, read) in cards.iter().zip(&read) {
            prop_assert_eq!(read.note().map(|n| n.trim().to_owned()), card.note().map(|n| n.trim().to_owned()));
        }
    }
}
