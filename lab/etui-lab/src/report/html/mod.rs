//! The report as one page: a single file without scripts, images or fonts from anywhere, well
//! formed as XML too.
//!
//! - `top`: what to change on this machine, the contents, how to read it;
//! - `section`: an experiment: question, advice and verdict, charts, tables, and folded below them
//!   losses, notes, the study's results, the method;
//! - `tables`, `bars`, `growth`: figures.

mod bars;
mod growth;
mod section;
mod tables;
mod top;

use super::{
    LOSS, LOSS_MEANS, METHOD, Report, ReportSection, by_study, machine_facts, sign_of, status_words,
};
use crate::{ArmRole, FindingStatus};

/// Adds to the page. Arguments are text and are escaped; names in braces are written as they are:
/// numbers, classes, markup. Writing to a `String` cannot fail.
macro_rules! put {
    ($out:expr, $format:literal $(, $text:expr)* $(,)?) => {{
        use std::fmt::Write as _;
        let _ = write!($out, $format $(, $crate::report::text::HtmlText(&$text))*);
    }};
}
use put;

/// How the page looks.
const STYLE: &str = include_str!("style.css");

/// Nothing may be loaded or run, whatever should slip into the page.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; \
                      base-uri 'none'; form-action 'none'";

/// The report as a page.
pub fn to_html(report: &Report) -> String {
    let mut out = String::with_capacity(64 * 1024);
    put!(
        out,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\"/>\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n\
         <meta name=\"color-scheme\" content=\"light dark\"/>\n\
         <link rel=\"icon\" href=\"data:,\"/>\n\
         <title>Storage on this machine: what to change</title>\n\
         <style>\n{STYLE}</style>\n</head>\n<body>\n"
    );
    top::write_top(&mut out, report);
    for (study, sections) in by_study(report) {
        out.push_str("<section class=\"study\">\n");
        match study {
            Some(study) => {
                let (title, source) = (study.title(), study.source());
                put!(
                    out,
                    "<h2>{}</h2>\n<p class=\"source\">{}</p>\n",
                    title,
                    source
                );
            }
            None => out.push_str("<h2>Further experiments</h2>\n"),
        }
        for section in sections {
            section::write_experiment(&mut out, section);
        }
        out.push_str("</section>\n");
    }
    write_foot(&mut out, report);
    out.push_str(
        "</main>\n<a class=\"to-contents\" href=\"#contents\">Contents</a>\n</body>\n</html>\n",
    );
    out
}

/// The name by which links find an experiment.
fn section_anchor(section: &ReportSection) -> String {
    let name = section.about.name.chars();
    let safe = name.map(|c| if c.is_ascii_alphanumeric() { c } else { '-' });
    format!("x-{}", safe.collect::<String>())
}

/// Begins a table that scrolls in its box; `label` is for screen readers. A heading of figures is
/// on the right.
fn begin_table(out: &mut String, label: &str, class: &str, headings: &[(&str, bool)]) {
    begin_scrolling(out, label, "");
    put!(out, "<table class=\"{class}\">\n");
    write_headings(out, headings);
}

fn begin_scrolling(out: &mut String, label: &str, tall: &str) {
    put!(
        out,
        "<div class=\"scroll{tall}\" tabindex=\"0\" role=\"region\" aria-label=\"{}\">\n",
        label
    );
}

fn write_headings(out: &mut String, headings: &[(&str, bool)]) {
    out.push_str("<thead><tr>");
    for (heading, figure) in headings {
        let class = if *figure { " class=\"figure\"" } else { "" };
        put!(out, "<th scope=\"col\"{class}>{}</th>", heading);
    }
    out.push_str("</tr></thead>\n<tbody>\n");
}

fn end_table(out: &mut String) {
    out.push_str("</tbody>\n</table>\n</div>\n");
}

/// The sign of a verdict: a disc that is full, half full, empty or dashed, and the word.
fn write_status(out: &mut String, of: FindingStatus) {
    let circle = "<circle cx=\"7\" cy=\"7\" r=\"5.5\"";
    let (class, inside) = match of {
        FindingStatus::Yes => ("yes", " class=\"full\"/>"),
        FindingStatus::Partly => (
            "partly",
            "/><path d=\"M7 1.5a5.5 5.5 0 0 0 0 11z\" class=\"full\"/>",
        ),
        FindingStatus::No => ("no", "/>"),
        FindingStatus::Open => ("open", " stroke-dasharray=\"2 2.3\"/>"),
    };
    put!(
        out,
        "<span class=\"sign {class}\"><svg width=\"14\" height=\"14\" viewBox=\"0 0 14 14\" \
         aria-hidden=\"true\">{circle}{inside}</svg>{}</span>",
        status_words(of)
    );
}

/// Writes the sign of a section's finding, if it has one.
fn write_sign(out: &mut String, section: &ReportSection) {
    if let Some(shown) = sign_of(section) {
        write_status(out, shown);
        out.push(' ');
    }
}

/// Writes the way back to the contents.
fn write_back(out: &mut String) {
    out.push_str("<p class=\"back\"><a href=\"#contents\">Back to the contents</a></p>\n");
}

/// The class that gives a role's colour.
fn role_class(role: ArmRole) -> &'static str {
    match role {
        ArmRole::AsFound => "r-found",
        ArmRole::Cure => "r-cure",
        ArmRole::AllCures => "r-all",
        ArmRole::Unsafe => "r-unsafe",
        ArmRole::Peer => "r-peer",
        ArmRole::Etui => "r-etui",
        ArmRole::Variant => "r-variant",
    }
}

fn write_badge(out: &mut String, role: ArmRole) {
    let class = role_class(role);
    put!(
        out,
        "<span class=\"badge {class}\"><i></i>{}</span>",
        role.label()
    );
}

fn write_notes<T: std::fmt::Display>(out: &mut String, notes: &[T]) {
    out.push_str("<ul class=\"notes\">\n");
    for note in notes {
        put!(out, "<li>{}</li>\n", note);
    }
    out.push_str("</ul>\n");
}

fn write_definitions<T: std::fmt::Display>(out: &mut String, class: &str, items: Vec<(T, String)>) {
    put!(out, "<dl class=\"{class}\">\n");
    for (term, text) in items {
        put!(out, "<dt>{}</dt><dd>{}</dd>\n", term, or_dash(&text));
    }
    out.push_str("</dl>\n");
}

fn or_dash(text: &str) -> &str {
    if text.is_empty() { "\u{2013}" } else { text }
}

fn write_foot(out: &mut String, report: &Report) {
    out.push_str("<section id=\"machine\" class=\"study\">\n<h2>Machine and method</h2>\n");
    write_back(out);
    out.push_str("<h4>How the figures are taken</h4>\n");
    write_notes(out, &METHOD);
    out.push_str("<h4>The machine</h4>\n");
    write_definitions(out, "facts", machine_facts(&report.header));
    let tools = report.header.tools.iter();
    let tools: Vec<_> = tools
        .map(|(name, version)| (name, version.clone()))
        .collect();
    if !tools.is_empty() {
        out.push_str("<h4>Tools found</h4>\n");
        write_definitions(out, "facts", tools);
    }
    out.push_str("</section>\n");
}
