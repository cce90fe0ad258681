//! The edits of our text, with what is taken from the other.

use std::collections::HashSet;
use std::ops::Range;

use super::elements::Element;
use super::tree::Component;
use crate::edit::{fold_line, line_ending};
use crate::lines::{ContentLines, parse_params};

#[derive(Debug)]
pub(super) struct Splices<'t> {
    ours: &'t str,
    theirs: &'t str,
    edits: Vec<(Range<usize>, String)>,
}

/// The groups (`item1`) of a component of ours, so that one that is added gets a name of its own.
#[derive(Debug)]
pub(super) struct Groups {
    used: HashSet<String>,
    /// No smaller number is free.
    next: usize,
}

impl Groups {
    pub(super) fn of(component: &Component) -> Self {
        let all = component.lines.iter();
        Self {
            used: all
                .filter_map(|line| Some(line.group.as_ref()?.0.clone()))
                .collect(),
            next: 1,
        }
    }

    /// Returns the name for a group: its own, or a free one.
    fn take(&mut self, group: &str) -> String {
        let mut name = group.to_owned();
        while !self.used.insert(name.clone()) {
            name = format!("item{}", self.next);
            self.next += 1;
        }
        name
    }

    fn release(&mut self, element: &Element<'_>) {
        for line in &element.lines {
            if let Some((group, _)) = &line.group {
                self.used.remove(group);
            }
        }
    }
}

impl<'t> Splices<'t> {
    pub(super) fn new(ours: &'t str, theirs: &'t str) -> Self {
        Self {
            ours,
            theirs,
            edits: Vec::new(),
        }
    }

    /// Replaces values of ours by some of theirs, or places these after `last`, or at the end of the component's
    /// properties.
    pub(super) fn replace(
        &mut self,
        component: &Component,
        groups: &mut Groups,
        old: &[&Element<'_>],
        new: &[&Element<'_>],
        last: Option<&Element<'_>>,
    ) {
        for element in old {
            groups.release(element);
        }
        let text: String = new
            .iter()
            .map(|element| self.rendered(element, groups))
            .collect();
        let mut old_lines = old.iter().flat_map(|element| &element.lines);
        match old_lines.next() {
            Some(first) => {
                self.edits.push((first.span.clone(), text));
                for line in old_lines {
                    self.edits.push((line.span.clone(), String::new()));
                }
            }
            None => self.insert(component, last, text),
        }
    }

    /// Describes a value of ours as the other side does now, whose server had another description of it than we
    /// have: what it had not, stays.
    pub(super) fn describe(
        &mut self,
        component: &Component,
        groups: &mut Groups,
        own: &Element<'_>,
        base: &Element<'_>,
        new: &Element<'_>,
    ) {
        let said = |element: &Element<'_>| -> HashSet<String> {
            element
                .lines
                .iter()
                .skip(1)
                .map(|label| label.said())
                .collect()
        };
        let (own_labels, labels_before, labels) = (said(own), said(base), said(new));
        let (Some(line), Some(described)) = (own.lines.first(), new.lines.first()) else {
            return;
        };
        let is_new_label = |label: &String| !labels_before.contains(label);
        let is_quoted = |parameters: &[String]| {
            let mut all = parameters.iter();
            all.any(|one| one.to_ascii_lowercase().ends_with("=quoted-printable"))
        };
        if is_quoted(&line.parameters)
            || is_quoted(&described.parameters)
            || (line.group.is_none() && labels.iter().any(is_new_label))
        {
            return self.replace(component, groups, &[own], &[new], None);
        }
        let before = base
            .lines
            .first()
            .map_or(&[][..], |line| &line.parameters[..]);
        let mut text = format!("{}{}", line.group_text(), described.head());
        text.truncate(text.len().saturating_sub(1));
        for parameter in &line.parameters {
            if !before.contains(parameter) && !described.parameters.contains(parameter) {
                let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
                let quote = if value.contains([',', ';', ':']) {
                    "\""
                } else {
                    ""
                };
                text.push_str(&format!(";{name}={quote}{value}{quote}"));
            }
        }
        text.push(':');
        // A value in another notation goes with the parameters that say so.
        let notation = |parameters: &[String]| -> Vec<String> {
            let is_notation =
                |one: &&String| one.starts_with("VALUE=") || one.starts_with("ENCODING=");
            parameters.iter().filter(is_notation).cloned().collect()
        };
        let is_same = notation(&line.parameters) == notation(&described.parameters);
        text.push_str(if is_same {
            line.value_text()
        } else {
            described.value_text()
        });
        let mut lines = self.folded(&text);
        for label in new.lines.iter().skip(1) {
            let is_there = own_labels.contains(&label.said());
            if is_new_label(&label.said()) && !is_there {
                let text = format!(
                    "{}{}{}",
                    line.group_text(),
                    label.head(),
                    label.value_text()
                );
                lines.push_str(&self.folded(&text));
            }
        }
        self.edits.push((line.span.clone(), lines));
        for label in own.lines.iter().skip(1) {
            let said = label.said();
            if labels_before.contains(&said) && !labels.contains(&said) {
                self.edits.push((label.span.clone(), String::new()));
            }
        }
    }

    fn folded(&self, line: &str) -> String {
        let folded = fold_line(line, self.ending().as_bytes());
        String::from_utf8_lossy(&folded).into_owned()
    }

    /// Replaces the lines of some values of ours by one line.
    pub(super) fn write_line(
        &mut self,
        component: &Component,
        old: &[&Element<'_>],
        line: Option<&str>,
        last: Option<&Element<'_>>,
    ) {
        let text = line.map(|line| self.folded(line)).unwrap_or_default();
        let mut lines = old.iter().flat_map(|element| &element.lines);
        match lines.next() {
            Some(first) => {
                self.edits.push((first.span.clone(), text));
                let rest = lines.map(|line| (line.span.clone(), String::new()));
                self.edits.extend(rest);
            }
            None => self.insert(component, last, text),
        }
    }

    /// Returns the values of the parameters in what is taken from the other side, such as names of zones.
    pub(super) fn taken_parameters(&self) -> HashSet<String> {
        let mut all = HashSet::new();
        for (_, text) in &self.edits {
            for line in ContentLines::of_text(text) {
                let parameters = line.unfolded_params();
                let values = parse_params(&parameters).filter_map(|parameter| parameter.value);
                all.extend(values.map(|value| String::from_utf8_lossy(value).into_owned()));
            }
        }
        all
    }

    fn insert(&mut self, component: &Component, last: Option<&Element<'_>>, mut text: String) {
        let ends = last.map(|element| element.lines.iter().map(|line| line.span.end).max());
        let at = ends.flatten().unwrap_or(component.properties_end);
        let later = component.lines.partition_point(|line| line.span.end < at);
        let before = component
            .lines
            .get(later)
            .filter(|line| line.span.end == at);
        if before.is_some_and(|line| line.is_open) {
            // An empty line ends the quoted-printable value before the new line.
            text.insert_str(0, self.ending());
        }
        self.edits.push((at..at, text));
    }

    pub(super) fn remove(&mut self, place: Range<usize>) {
        self.edits.push((place, String::new()));
    }

    /// Places a component of theirs at the end of one of ours.
    pub(super) fn add_component(&mut self, around: &Component, new: &Component) {
        let text = self.foreign(new.span.clone());
        self.edits.push((around.end..around.end, text));
    }

    fn rendered(&self, element: &Element<'_>, groups: &mut Groups) -> String {
        let group = element.lines.iter().find_map(|line| line.group.as_ref());
        let group = group.map(|(name, _)| groups.take(name));
        let mut out = String::new();
        for line in &element.lines {
            let text = self.foreign(line.span.clone());
            match (&group, &line.group) {
                (Some(name), Some((own, len))) if name != own => {
                    out.push_str(name);
                    out.push_str(text.get(*len..).unwrap_or_default());
                }
                _ => out.push_str(&text),
            }
            if line.is_open {
                out.push_str(self.ending());
            }
        }
        out
    }

    /// Returns a part of theirs, with the line ends of ours.
    fn foreign(&self, place: Range<usize>) -> String {
        let text = self.theirs.get(place).unwrap_or_default();
        let ending = self.ending();
        let mut out = text.replace("\r\n", "\n").replace('\r', "\n");
        if ending != "\n" {
            out = out.replace('\n', ending);
        }
        if !out.ends_with(ending) {
            out.push_str(ending);
        }
        out
    }

    fn ending(&self) -> &'static str {
        match line_ending(self.ours.as_bytes()) {
            b"\n" => "\n",
            b"\r" => "\r",
            _ => "\r\n",
        }
    }

    /// Returns our text with the edits.
    pub(super) fn apply(mut self) -> String {
        let ending = self.ending();
        // Stable: new lines at one place keep their order, and are before the line there that is replaced.
        self.edits
            .sort_by_key(|(place, _)| (place.start, place.end));
        let mut out = String::with_capacity(self.ours.len() + 128);
        let mut from = 0;
        for (place, new) in &self.edits {
            // A component that is removed takes the edits within it along.
            if place.start < from {
                continue;
            }
            out.push_str(self.ours.get(from..place.start).unwrap_or_default());
            if !new.is_empty() && !out.is_empty() && !out.ends_with(['\n', '\r']) {
                // The last line of the text may have no line end.
                out.push_str(ending);
            }
            out.push_str(new);
            from = place.end;
        }
        out.push_str(self.ours.get(from..).unwrap_or_default());
        out
    }
}

/// Returns the lines of a property as they are told.
pub(super) fn told(elements: &[Element<'_>]) -> Vec<String> {
    elements.iter().flat_map(Element::unfolded).collect()
}
