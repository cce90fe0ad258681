//! Cards that two sides changed.

use std::collections::BTreeSet;

use etui_contentline::lines::ContentLines;
use etui_contentline::merge::{MergeConflict, MergeWinner};
use etui_vcard::{Card, CardSide};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

fn card(version: &str, lines: &[String]) -> Card {
    let lines: String = lines.iter().map(|line| format!("{line}\r\n")).collect();
    Card::parse(format!(
        "BEGIN:VCARD\r\nVERSION:{version}\r\nFN:Ada\r\n{lines}END:VCARD\r\n"
    ))
    .unwrap()
}

fn merged(
    base: &Card,
    ours: &Card,
    theirs: &Card,
    winner: MergeWinner,
) -> (Card, Vec<MergeConflict>) {
    let base = Some(base);
    let (ours, theirs) = (
        CardSide { base, card: ours },
        CardSide { base, card: theirs },
    );
    Card::merge_three_way(ours, theirs, winner).unwrap()
}

/// Returns the lines without their groups' names, and with the labels of a group in the line that they describe.
fn lines(card: &Card) -> BTreeSet<String> {
    let text = String::from_utf8_lossy(card.text()).into_owned();
    let mut labels = Vec::new();
    let mut lines = Vec::new();
    for line in ContentLines::of_text(&text) {
        let unfolded = String::from_utf8_lossy(&line.unfolded()).into_owned();
        let group = line
            .group
            .map(|group| String::from_utf8_lossy(group).into_owned());
        let bare = match &group {
            Some(group) => unfolded[group.len() + 1..].to_owned(),
            None => unfolded,
        };
        match bare.starts_with("X-ABLabel") {
            true => labels.push((group, bare)),
            false => lines.push((group, bare)),
        }
    }
    let said = lines.into_iter().map(|(group, line)| {
        let own = labels
            .iter()
            .filter(|(of, _)| group.is_some() && *of == group);
        let own: Vec<_> = own.map(|(_, label)| label.as_str()).collect();
        format!("{line} {}", own.join(" "))
    });
    said.collect()
}

/// A line, or two of a group, whose name is `GROUP`.
type Value = Vec<String>;

/// What a side does to a card.
#[derive(Clone, Debug)]
enum Edit {
    Remove(usize),
    Replace(usize, String),
    Describe(usize, u8),
    Add(Value),
}

fn value() -> impl Strategy<Value = Value> {
    const PLAIN: &[&str] = &[
        "NOTE:",
        "TITLE:",
        "TEL:",
        "TEL;TYPE=home:",
        "EMAIL:",
        "ORG:",
        "X-A:",
        "URL:",
        "BDAY:",
    ];
    let plain = (select(PLAIN), 1..5).prop_map(|(name, value)| vec![format!("{name}{value}")]);
    let labelled =
        (select(&["TEL:", "URL:", "ADR:;;"][..]), 1..5, 1..4).prop_map(|(name, value, label)| {
            vec![
                format!("GROUP.{name}{value}"),
                format!("GROUP.X-ABLabel:{label}"),
            ]
        });
    prop_oneof![4 => plain, 1 => labelled]
}

fn edits() -> impl Strategy<Value = Vec<Edit>> {
    let edit = prop_oneof![
        any::<usize>().prop_map(Edit::Remove),
        (any::<usize>(), 5..8u8).prop_map(|(at, to)| Edit::Replace(at, to.to_string())),
        (any::<usize>(), 1..4u8).prop_map(|(at, how)| Edit::Describe(at, how)),
        value().prop_map(Edit::Add),
    ];
    vec(edit, 0..5)
}

/// Returns what a value is known by: the name and the text of its first line.
fn identity(value: &Value) -> (String, String) {
    let line = value[0].replace("GROUP.", "");
    let (head, text) = line.split_once(':').unwrap_or_default();
    let name = head.split(';').next().unwrap_or_default();
    (name.to_owned(), text.to_owned())
}

/// Appends a value, unless it is there: nobody has a number twice.
fn add(values: &mut Vec<Value>, value: Value) {
    if !values
        .iter()
        .any(|other| identity(other) == identity(&value))
    {
        values.push(value);
    }
}

fn edited(values: &[Value], edits: &[Edit]) -> Vec<Value> {
    let mut values = values.to_vec();
    for edit in edits {
        let at = |index: &usize| index % values.len().max(1);
        match edit {
            Edit::Remove(index) if !values.is_empty() => {
                let index = at(index);
                values.remove(index);
            }
            Edit::Replace(index, to) if !values.is_empty() => {
                let index = at(index);
                let mut value = values.remove(index);
                let head = value[0].find(':').map_or(0, |colon| colon + 1);
                value[0].replace_range(head.., to);
                add(&mut values, value);
            }
            Edit::Describe(index, how) if !values.is_empty() => {
                let index = at(index);
                let line = &mut values[index][0];
                if !line.contains("X-SEEN") {
                    *line = line.replacen(':', &format!(";X-SEEN={how}:"), 1);
                }
            }
            Edit::Add(value) => add(&mut values, value.clone()),
            _ => {}
        }
    }
    values
}

/// Returns the card with these values.
fn card_of(version: &str, values: &[Value]) -> Card {
    let each = values.iter().enumerate();
    let lines = each.flat_map(|(at, value)| {
        let group = format!("item{at}");
        value.iter().map(move |line| line.replace("GROUP", &group))
    });
    card(version, &lines.collect::<Vec<_>>())
}

proptest! {
    #[test]
    fn nothing_that_anybody_wrote_is_lost(
        values in vec(value(), 0..8),
        ours in edits(),
        theirs in edits(),
        version in select(&["3.0", "4.0"][..]),
    ) {
        let mut base = Vec::new();
        for value in values {
            add(&mut base, value);
        }
        let (ours, theirs) = (edited(&base, &ours), edited(&base, &theirs));
        let [base, ours, theirs] = [&base, &ours, &theirs].map(|values| card_of(version, values));

        let (result, conflicts) = merged(&base, &ours, &theirs, MergeWinner::Ours);
        let all = lines(&result);
        let told: Vec<&String> = conflicts.iter().flat_map(|c| c.ours.iter().chain(&c.theirs)).collect();
        for side in [&ours, &theirs] {
            for line in lines(side).difference(&lines(&base)) {
                let first = line.split(' ').next().unwrap_or_default();
                prop_assert!(
                    all.contains(line) || told.iter().any(|told| told.ends_with(first)),
                    "{line} is not in {all:?}, nor in {conflicts:?}"
                );
            }
        }

        // It commutes.
        let (other, mirrored) = merged(&base, &theirs, &ours, MergeWinner::Theirs);
        prop_assert_eq!(&all, &lines(&other));
        prop_assert_eq!(conflicts.len(), mirrored.len());

        // A side that changed nothing takes what the other has, and what is merged already stays.
        prop_assert_eq!(&merged(&base, &ours, &base, MergeWinner::Ours).0, &ours);
        prop_assert_eq!(lines(&merged(&base, &base, &theirs, MergeWinner::Ours).0), lines(&theirs));
        let again = merged(&base, &result, &theirs, MergeWinner::Ours).0;
        prop_assert_eq!(&again, &result);
        let again = merged(&base, &result, &ours, MergeWinner::Ours).0;
        prop_assert_eq!(&again, &result);
    }
}

#[test]
fn a_server_that_has_another_version_changes_what_it_can_say() {
    let base = card(
        "4.0",
        &["TEL;PREF=2;TYPE=cell:1".to_owned(), "GENDER:F".to_owned()],
    );
    let ours = card(
        "4.0",
        &[
            "TEL;PREF=2;TYPE=cell:1".to_owned(),
            "GENDER:F".to_owned(),
            "NOTE:x".to_owned(),
        ],
    );
    let served = Card::parse(base.to_v3()).unwrap();
    let mut theirs = served.clone();
    theirs.set("TITLE", "Countess").unwrap();
    let sides = |theirs| {
        let ours = CardSide {
            base: Some(&base),
            card: &ours,
        };
        let theirs = CardSide {
            base: Some(&served),
            card: theirs,
        };
        Card::merge_three_way(ours, theirs, MergeWinner::Theirs).unwrap()
    };
    assert_eq!(sides(&served), (ours.clone(), vec![]));
    let (merged, conflicts) = sides(&theirs);
    let text = String::from_utf8_lossy(merged.text()).into_owned();
    for line in [
        "VERSION:4.0",
        "TEL;PREF=2;TYPE=cell:1",
        "GENDER:F",
        "NOTE:x",
        "TITLE:Countess",
    ] {
        assert!(
            text.contains(&format!("{line}\r\n")),
            "{line} is not in {text}"
        );
    }
    assert!(conflicts.is_empty());
}

#[test]
fn what_a_server_makes_of_a_card_in_its_version_is_no_change() {
    let lines = |lines: &[&str]| {
        lines
            .iter()
            .map(|line| (*line).to_owned())
            .collect::<Vec<_>>()
    };
    let own = [
        "X-FOO:1",
        "TEL:+49 30 1",
        "PHOTO:data:image/jpeg;base64,/9j/4AAQSkZJRg==",
    ];
    let served = ["TEL:+49301", "PHOTO;VALUE=uri:https://example.org/1.jpg"];
    let base = card("4.0", &lines(&own));
    let served_card = card("3.0", &lines(&served));
    let theirs = card("3.0", &lines(&[&served[..], &["TITLE:x"]].concat()));
    let (merged, conflicts) = Card::merge_three_way(
        CardSide {
            base: Some(&base),
            card: &base,
        },
        CardSide {
            base: Some(&served_card),
            card: &theirs,
        },
        MergeWinner::Theirs,
    )
    .unwrap();
    let text = String::from_utf8_lossy(merged.text()).into_owned();
    for line in own.iter().chain(&["TITLE:x"]) {
        assert!(
            text.contains(&format!("{line}\r\n")),
            "{line} is not in {text}"
        );
    }
    assert_eq!(conflicts, []);
}
