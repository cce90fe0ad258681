//! A card for programs that know vCard 3.0 only: [`Card::to_v3`], with the properties of 4.0 under the
//! names that those programs read, and the parts that are lost.
//!
//! ```text
//! ANNIVERSARY:20111202               item1.X-ABDATE:2011-12-02
//!                                    item1.X-ABLabel:_$!<Anniversary>!$_
//!                                    X-ANNIVERSARY:2011-12-02
//! RELATED;VALUE=text;TYPE=spouse:Pat item2.X-ABRELATEDNAMES:Pat
//!                                    item2.X-ABLabel:_$!<Spouse>!$_
//! GENDER:F;grrrl                     X-GENDER:Female          (lost: the words)
//! BDAY:1815                          none                     (lost: a date without a day)
//! ```

use std::collections::{HashMap, HashSet};

use etui_contentline::charset::repair_charset;
use etui_contentline::edit::{fold_line, is_one_of};

use crate::card::Card;
use crate::property::Property;
use crate::v3::{KEPT_PARAMETERS, PropertyLine, V3Line, property_lines, v3_lines};
use crate::v4::ConvertedCard;
use crate::writer::{COMPONENT, escape_value};

/// Labels of Apple's related names, by the TYPE of RELATED (RFC 6350 §6.6.6).
const RELATIONS: &[(&str, &str)] = &[
    ("spouse", "Spouse"),
    ("child", "Child"),
    ("parent", "Parent"),
    ("sibling", "Sibling"),
    ("friend", "Friend"),
    ("sweetheart", "Partner"),
    ("agent", "Assistant"),
];

/// Values of `X-GENDER`, by the sex of GENDER (RFC 6350 §6.2.7).
const GENDERS: &[(&str, &str)] = &[("F", "Female"), ("M", "Male"), ("O", "Other")];

/// Parameters whose loss changes nothing: they describe the notation, or are in the value or in TYPE then.
const NOTATION: &[&str] = &[
    "VALUE",
    "MEDIATYPE",
    "LABEL",
    "SORT-AS",
    "CALSCALE",
    "ALTID",
];

impl Card {
    /// Returns the card as vCard 3.0, and the parts that are not in it. One of version 3.0 is as it is, in
    /// UTF-8.
    ///
    /// As [`Card::to_v3`], for a program that does not send the card back: anniversaries, relations and
    /// the sex are under the names that Apple's, Google's and Android's programs give them.
    #[must_use]
    pub fn convert_to_v3(&self) -> ConvertedCard {
        let text = repair_charset(&self.text);
        if self.property("VERSION").is_some_and(|v| v.trim() == "3.0") {
            return ConvertedCard {
                text: text.into_owned(),
                losses: Vec::new(),
            };
        }
        let all = property_lines(&text);
        let lines = v3_lines(&all, self);
        let mut losses = self.lost_in_v3(&all, &lines);
        let labels = self.group_labels();
        let mut groups = FreeGroups::of(self);
        let mut out = String::with_capacity(text.len() + 64);
        out.push_str("BEGIN:VCARD\r\nVERSION:3.0\r\n");
        let mut push = |line: &str| {
            out.push_str(&String::from_utf8_lossy(&fold_line(line, b"\r\n")));
        };
        for line in &lines {
            let source = line.source.and_then(|index| all.get(index));
            let own = source.filter(|_| line.parameter.is_none());
            match own.and_then(|own| familiar_lines(&own.property, line, &labels, &mut groups)) {
                Some((lines, loss)) => {
                    lines.iter().for_each(|line| push(line));
                    losses.extend(loss);
                }
                None => push(&line.text),
            }
        }
        out.push_str("END:VCARD\r\n");
        ConvertedCard { text: out, losses }
    }

    /// Returns the properties and parameters that have no line in vCard 3.0.
    fn lost_in_v3(&self, all: &[PropertyLine<'_>], lines: &[V3Line]) -> Vec<String> {
        let sources: HashSet<usize> = lines.iter().filter_map(|line| line.source).collect();
        let mut losses = Vec::new();
        for (index, PropertyLine { property, .. }) in all.iter().enumerate() {
            if !property.has_content() && !property.is_named("N") {
                continue;
            }
            if !sources.contains(&index) {
                losses.push(match property.date() {
                    Some(date) if date.day.is_none() => format!("{} {date}", property.name),
                    _ => property.name.clone(),
                });
                continue;
            }
            let year = property.written_placeholder_year();
            losses.extend(year.map(|year| format!("{} year {year:04}", property.name)));
            for parameter in &property.parameters {
                let is_kept = parameter.is_type()
                    || is_one_of(KEPT_PARAMETERS, &parameter.name)
                    || is_one_of(NOTATION, &parameter.name)
                    || parameter.name.to_ascii_uppercase().starts_with("X-")
                    || parameter.is_named("PREF") && property.is_preferred();
                if !is_kept {
                    let name = parameter.name.to_ascii_uppercase();
                    losses.push(format!("{} {name}", property.name));
                }
            }
        }
        losses.extend(self.has_agent().then(|| "AGENT".to_owned()));
        losses
    }
}

/// Returns the lines under which programs of vCard 3.0 know a property of 4.0, and what they leave out;
/// `None` for other properties.
fn familiar_lines(
    property: &Property,
    line: &V3Line,
    labels: &HashMap<String, String>,
    groups: &mut FreeGroups,
) -> Option<(Vec<String>, Option<String>)> {
    if property.is_named("ANNIVERSARY") {
        let (head, value) = line.text.split_once(':')?;
        let parameters = head
            .split_once(';')
            .map_or(String::new(), |(_, p)| format!(";{p}"));
        let group = groups.next();
        let lines = vec![
            format!("{group}.X-ABDATE{parameters}:{value}"),
            format!("{group}.X-ABLabel:_$!<Anniversary>!$_"),
            format!("X-ANNIVERSARY{parameters}:{value}"),
        ];
        return Some((lines, None));
    }
    if property.is_named("GENDER") {
        let sex = property.component(0, "");
        let words = property.component(1, ",");
        let (_, name) = GENDERS
            .iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(sex.trim()))?;
        let loss = (!words.trim().is_empty()).then(|| "GENDER words".to_owned());
        return Some((vec![format!("X-GENDER:{name}")], loss));
    }
    let is_text = property
        .value_type()
        .is_some_and(|kind| kind.eq_ignore_ascii_case("TEXT"));
    if property.is_named("RELATED") && is_text {
        let text = escape_value(property.first_text()?.trim(), COMPONENT);
        let types = property.types();
        let known = RELATIONS
            .iter()
            .find(|(kind, _)| types.iter().any(|own| own == kind));
        let (group, label) = match (property.label(labels), known) {
            // Its group has the label already.
            (Some(_), _) if property.group.is_some() => (property.group.clone()?, None),
            (Some(label), _) => (groups.next(), Some(escape_value(&label, COMPONENT))),
            (None, Some((_, label))) => (groups.next(), Some(format!("_$!<{label}>!$_"))),
            (None, None) => match types.first() {
                Some(kind) => (groups.next(), Some(escape_value(kind, COMPONENT))),
                None => (groups.next(), None),
            },
        };
        let mut lines = vec![format!("{group}.X-ABRELATEDNAMES:{text}")];
        lines.extend(label.map(|label| format!("{group}.X-ABLabel:{label}")));
        return Some((lines, (types.len() > 1).then(|| "RELATED types".to_owned())));
    }
    None
}

/// Names of groups that a card does not use: `item1`, `item2`, ...
struct FreeGroups {
    used: HashSet<String>,
    next: usize,
}

impl FreeGroups {
    fn of(card: &Card) -> Self {
        let groups = card.properties.iter().filter_map(|p| p.group.as_deref());
        Self {
            used: groups.map(str::to_ascii_lowercase).collect(),
            next: 0,
        }
    }

    fn next(&mut self) -> String {
        loop {
            self.next += 1;
            let name = format!("item{}", self.next);
            if !self.used.contains(&name) {
                return name;
            }
        }
    }
}
