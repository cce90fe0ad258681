//! A record as components with the lines that are their own.

use std::ops::Range;

use super::MergeRules;
use crate::edit::is_one_of;
use crate::lines::{ContentLine, ContentLines, Delimiter, parse_params};
use crate::values::{property_params, property_value};

/// Components within each other; what is deeper is one value of the component around it. RFC 5545 has three.
const MAX_DEPTH: usize = 8;

/// A component, or the whole text with the components in it.
#[derive(Debug, Default)]
pub(super) struct Component {
    /// The name in upper case; empty for the text.
    pub(super) name: String,
    /// What tells it from others of its name.
    pub(super) key: String,
    /// From BEGIN to END.
    pub(super) span: Range<usize>,
    /// Where a new property is placed: at the first component within, else at END.
    pub(super) properties_end: usize,
    /// Where a new component is placed: at END.
    pub(super) end: usize,
    pub(super) lines: Vec<Line>,
    pub(super) children: Vec<Self>,
}

/// A property line, or a component that is deeper than [`MAX_DEPTH`].
#[derive(Debug)]
pub(super) struct Line {
    pub(super) span: Range<usize>,
    /// The group in lower case, and its length as written.
    pub(super) group: Option<(String, usize)>,
    /// The name in upper case.
    pub(super) name: String,
    /// Parameters in one order and notation.
    pub(super) parameters: Vec<String>,
    /// The value as written, unfolded.
    pub(super) value: String,
    /// The value as it is compared.
    pub(super) compared: String,
    /// The line without folds.
    pub(super) unfolded: String,
    /// Where the value begins in it.
    pub(super) value_at: usize,
    /// A quoted-printable value that is continued on the next line, if there were one.
    pub(super) is_open: bool,
}

impl Component {
    /// Parses a text of any kind; END lines that are missing are at its end.
    pub(super) fn parse(text: &str, rules: &MergeRules) -> Self {
        let mut open = vec![Self::begin(String::new(), 0..text.len(), text.len())];
        let mut deeper = 0usize;
        for line in ContentLines::of_text(text) {
            if line.span.is_empty() || line.raw().trim_ascii().is_empty() {
                continue;
            }
            match line.delimiter() {
                Some((Delimiter::Begin, name)) if open.len() <= MAX_DEPTH => {
                    let name = String::from_utf8_lossy(name).to_ascii_uppercase();
                    open.push(Self::begin(name, line.span.clone(), text.len()));
                    continue;
                }
                Some((Delimiter::Begin, _)) => {
                    deeper += 1;
                    if deeper == 1 {
                        push_line(&mut open, Line::new(&line, rules));
                        continue;
                    }
                }
                // An END without its BEGIN stays where it is, as a line.
                Some((Delimiter::End, _)) if deeper == 0 && open.len() > 1 => {
                    close(&mut open, line.span.start, line.span.end, rules);
                    continue;
                }
                _ => {}
            }
            match deeper {
                0 => push_line(&mut open, Line::new(&line, rules)),
                _ => extend_line(&mut open, &line),
            }
            if matches!(line.delimiter(), Some((Delimiter::End, _))) {
                deeper = deeper.saturating_sub(1);
            }
        }
        while open.len() > 1 {
            close(&mut open, text.len(), text.len(), rules);
        }
        let mut root = open.pop().unwrap_or_default();
        root.properties_end = root.end;
        root
    }

    fn begin(name: String, span: Range<usize>, end: usize) -> Self {
        Self {
            name,
            span,
            properties_end: end,
            end,
            ..Self::default()
        }
    }

    /// Returns name and key, as people are shown it.
    pub(super) fn label(&self) -> String {
        format!("{} {}", self.name, self.key).trim().to_owned()
    }

    /// Sets the key: the values of the properties that the rules name, else everything in it.
    fn set_key(&mut self, rules: &MergeRules) {
        let known = rules.keys.iter().find(|(name, _)| *name == self.name);
        self.key = match known {
            Some((_, properties)) => {
                let values = properties.iter().filter_map(|name| {
                    let line = self.lines.iter().find(|line| line.name == *name)?;
                    Some(match line.parameters.is_empty() {
                        true => line.compared.clone(),
                        false => format!("{};{}", line.compared, line.parameters.join(";")),
                    })
                });
                values.collect::<Vec<_>>().join(" ")
            }
            None => {
                let lines = self.lines.iter().map(Line::said);
                let children = self.children.iter().map(Self::label);
                let mut all: Vec<String> = lines.chain(children).collect();
                all.sort_unstable();
                all.join("\n")
            }
        };
    }
}

fn push_line(open: &mut [Component], line: Line) {
    if let Some(component) = open.last_mut() {
        component.lines.push(line);
    }
}

/// Appends a line to the last one, which is a whole component.
fn extend_line(open: &mut [Component], line: &ContentLine<'_>) {
    let last = open.last_mut().and_then(|within| within.lines.last_mut());
    if let Some(whole) = last {
        whole.span.end = line.span.end;
        let unfolded = line.unfolded();
        for text in [&mut whole.unfolded, &mut whole.value, &mut whole.compared] {
            text.push('\n');
            text.push_str(&String::from_utf8_lossy(&unfolded));
        }
    }
}

fn close(open: &mut Vec<Component>, end: usize, span_end: usize, rules: &MergeRules) {
    if let Some(mut component) = open.pop() {
        component.end = end;
        component.span.end = span_end;
        let first = component.children.first();
        component.properties_end = first.map_or(end, |child| child.span.start);
        component.set_key(rules);
        if let Some(around) = open.last_mut() {
            around.children.push(component);
        }
    }
}

impl Line {
    fn new(line: &ContentLine<'_>, rules: &MergeRules) -> Self {
        let name = String::from_utf8_lossy(&line.unfolded_name()).to_ascii_uppercase();
        let value = property_value(line).into_owned();
        let compared = match is_one_of(rules.caseless, &name) {
            true => value.to_lowercase(),
            false => value.clone(),
        };
        let group = line.group.map(|group| {
            let text = String::from_utf8_lossy(group).to_ascii_lowercase();
            (text, group.len())
        });
        let unfolded = String::from_utf8_lossy(&line.unfolded()).into_owned();
        let value_len = String::from_utf8_lossy(&line.unfolded_value()).len();
        Self {
            span: line.span.clone(),
            value_at: unfolded.len().saturating_sub(value_len),
            unfolded,
            group,
            parameters: compared_parameters(&property_params(line)),
            name,
            compared,
            value,
            is_open: line.is_quoted_printable() && line.raw().trim_ascii_end().ends_with(b"="),
        }
    }

    /// Returns group and dot as they are written.
    pub(super) fn group_text(&self) -> &str {
        let len = self.group.as_ref().map_or(0, |(_, len)| len + 1);
        self.unfolded.get(..len).unwrap_or_default()
    }

    /// Returns name and parameters as they are written, with the colon.
    pub(super) fn head(&self) -> &str {
        let from = self.group_text().len();
        self.unfolded.get(from..self.value_at).unwrap_or_default()
    }

    /// Returns the value as it is written, without folds.
    pub(super) fn value_text(&self) -> &str {
        self.unfolded.get(self.value_at..).unwrap_or_default()
    }

    /// Returns everything but the group.
    pub(super) fn said(&self) -> String {
        format!(
            "{};{}:{}",
            self.name,
            self.parameters.join(";"),
            self.compared
        )
    }
}

/// Returns the parameters in one order; names in upper case, types in lower case and each by itself, as
/// vCard 2.1 writes them without a name.
fn compared_parameters(text: &str) -> Vec<String> {
    let mut all = Vec::new();
    for parameter in parse_params(text.as_bytes()) {
        let name = String::from_utf8_lossy(parameter.name).to_ascii_uppercase();
        let value = parameter.value.map(String::from_utf8_lossy);
        match value {
            None if name.is_empty() => {}
            None => all.push(format!("TYPE={}", name.to_ascii_lowercase())),
            Some(types) if name == "TYPE" => {
                let each = types.split(',').map(|one| one.trim_matches('"').trim());
                all.extend(each.map(|one| format!("TYPE={}", one.to_ascii_lowercase())));
            }
            Some(value) => all.push(format!("{name}={}", value.trim_matches('"'))),
        }
    }
    all.sort_unstable();
    all.dedup();
    all
}
