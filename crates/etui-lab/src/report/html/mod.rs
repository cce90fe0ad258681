//! The report as one page: a single file without scripts, images or fonts from anywhere, well
//! formed as XML too.
//!
//! A summary, then each experiment in one order:
//! question, the study's results, method, verdict, tables, charts, losses, parts not run.

mod axis;
mod bars;
mod growth;
mod tables;

use super::{
    LOSS, LOSS_MEANS, METHOD, Report, ReportSection, by_study, glance, machine_facts,
    missing_studies, section_name, sign_of, status_words, verdict_sentence,
};
use crate::{ArmRole, ChartKind, FindingStatus};

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

/// More losses of an experiment are listed folded.
const OPEN_LOSSES: usize = 10;

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
         <title>The five studies on this machine</title>\n\
         <style>\n{STYLE}</style>\n</head>\n<body>\n"
    );
    bars::write_patterns(&mut out);
    write_top(&mut out, report);
    out.push_str("<main>\n");
    let mut charts = 0;
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
            write_experiment(&mut out, section, &mut charts);
        }
        out.push_str("</section>\n");
    }
    write_foot(&mut out, report);
    out.push_str("</main>\n</body>\n</html>\n");
    out
}

/// The name by which links find an experiment.
fn section_anchor(section: &ReportSection) -> String {
    let name = section.about.name.chars();
    let safe = name.map(|c| if c.is_ascii_alphanumeric() { c } else { '-' });
    format!("x-{}", safe.collect::<String>())
}

fn write_top(out: &mut String, report: &Report) {
    out.push_str(
        "<header>\n<h1>The five studies on this machine</h1>\n\
         <p class=\"lead\">Five teams, on five generations of devices, measured why storage on \
         a personal device was slow, and what helps. Here each study is repeated as it found \
         things, with each of its cures alone, with all of them, and with etui, side by side \
         in one run.</p>\n<p class=\"facts\">",
    );
    let header = &report.header;
    let cores = match header.cores {
        0 => String::new(),
        1 => "1 core".to_owned(),
        cores => format!("{cores} cores"),
    };
    let quick = if header.quick { "quick run" } else { "" };
    let facts = [
        &header.processor,
        &*cores,
        &header.system,
        &header.started,
        quick,
    ];
    for fact in facts.iter().filter(|fact| !fact.is_empty()) {
        put!(out, "{} \u{b7} ", fact);
    }
    out.push_str("<a href=\"#machine\">machine and method</a></p>\n");
    write_summary(out, report);
    write_legend(out);
    out.push_str("</header>\n");
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

fn write_summary(out: &mut String, report: &Report) {
    if report.sections.is_empty() {
        out.push_str("<p>There are no results yet.</p>\n");
        return;
    }
    begin_scrolling(out, "Summary", "");
    out.push_str("<table class=\"summary\">\n<caption>What it comes to</caption>\n");
    let mut headings = vec![("Study and question", false), ("Result here", false)];
    headings.extend(glance::ROLES.map(|(_, title)| (title, true)));
    write_headings(out, &headings);
    for (study, sections) in by_study(report) {
        for section in &sections {
            summary_row(out, section, &section_name(study, &sections, section));
        }
    }
    end_table(out);
    let missing = missing_studies(report);
    if !missing.is_empty() {
        put!(out, "<p class=\"small\">{}</p>\n", missing);
    }
}

fn summary_row(out: &mut String, section: &ReportSection, called: &str) {
    put!(
        out,
        "<tr><th scope=\"row\"><a href=\"#{}\">{}</a><span class=\"question\">{}</span></th>",
        section_anchor(section),
        called,
        section.about.question
    );
    out.push_str("<td class=\"result\">");
    write_sign(out, section);
    put!(out, "<span>{}</span>", verdict_sentence(section));
    let glance = glance::select_glance(&section.presentation);
    if let Some(glance) = &glance {
        put!(
            out,
            "<span class=\"small\">Figures: {}</span>",
            glance.measure
        );
    }
    let mut apart = Vec::new();
    match section.losses().len() {
        0 => {}
        1 => apart.push(format!("{LOSS} 1 loss")),
        losses => apart.push(format!("{LOSS} {losses} losses")),
    }
    match section.parts_not_run() {
        0 => {}
        1 => apart.push("1 part not run".to_owned()),
        parts => apart.push(format!("{parts} parts not run")),
    }
    if !section.failed.is_empty() {
        apart.push(format!("{} failed", section.failed.len()));
    }
    if !apart.is_empty() {
        put!(
            out,
            "<span class=\"small\">{}</span>",
            apart.join(" \u{b7} ")
        );
    }
    out.push_str("</td>");
    for (at, (_, title)) in glance::ROLES.iter().enumerate() {
        match glance.as_ref().and_then(|g| g.of.get(at)?.as_ref()) {
            Some((figure, arm, lost)) => {
                put!(
                    out,
                    "<td class=\"figure\" data-title=\"{title}\"><b>{}</b>",
                    figure
                );
                if *lost {
                    loss_mark(out);
                }
                put!(out, "<span class=\"small\">{}</span></td>", arm);
            }
            None => put!(
                out,
                "<td class=\"figure none\" data-title=\"{title}\">\u{2013}</td>"
            ),
        }
    }
    out.push_str("</tr>\n");
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

fn loss_mark(out: &mut String) {
    put!(
        out,
        "<span class=\"loss\" title=\"{LOSS_MEANS}\">{LOSS}<span class=\"unseen\"> \
         {LOSS_MEANS}</span></span>"
    );
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

fn write_legend(out: &mut String) {
    out.push_str("<section class=\"legend\" aria-label=\"How to read it\">\n<ul>\n");
    for (role, words) in [
        (ArmRole::AsFound, "as the study found it"),
        (ArmRole::Cure, "one of its cures alone"),
        (ArmRole::AllCures, "all its cures together"),
        (ArmRole::Unsafe, "data may be lost: a bound, no cure"),
        (ArmRole::Peer, "another product"),
        (ArmRole::Etui, "this project"),
    ] {
        out.push_str("<li>");
        write_badge(out, role);
        put!(out, " {words}</li>\n");
    }
    put!(
        out,
        "</ul>\n<ul>\n<li><span class=\"loss\">{LOSS}</span> {LOSS_MEANS}</li>\n\
         <li><b>0.82x</b> ratio to the figure marked <em>base</em></li>\n\
         <li><b>(398\u{2013}411)</b> lowest and highest repetition</li>\n</ul>\n<ul>\n"
    );
    for (of, words) in [
        (FindingStatus::Yes, "the finding shows here too"),
        (FindingStatus::Partly, "or on some stacks only"),
        (FindingStatus::No, "the verdict says why"),
        (FindingStatus::Open, "too little was run"),
    ] {
        out.push_str("<li>");
        write_status(out, of);
        put!(out, " {words}</li>\n");
    }
    out.push_str("</ul>\n</section>\n");
}

fn write_experiment(out: &mut String, section: &ReportSection, charts: &mut usize) {
    let about = &section.about;
    put!(
        out,
        "<article id=\"{}\">\n<h3>{} <code>{}</code></h3>\n<p class=\"asks\">{}</p>\n",
        section_anchor(section),
        about.title,
        about.name,
        about.question
    );
    write_published(out, section);
    write_method(out, section);
    out.push_str("<div class=\"verdict\">\n<p>");
    write_sign(out, section);
    put!(out, "{}</p>\n</div>\n", verdict_sentence(section));
    for (at, table) in section.presentation.tables.iter().enumerate() {
        tables::write_table(out, table, at);
    }
    for chart in &section.presentation.charts {
        *charts += 1;
        match chart.kind {
            ChartKind::Growth => growth::write_growth(out, chart, *charts),
            ChartKind::Bars | ChartKind::Stacked => bars::write_bars(out, chart),
        }
    }
    write_losses(out, section);
    let notes = &section.presentation.verdict.notes;
    if !notes.is_empty() {
        out.push_str("<h4>Notes</h4>\n");
        write_notes(out, notes);
    }
    let [not_run, failed, stacks] = section.lists();
    for (title, items) in [not_run, failed] {
        if !items.is_empty() {
            put!(out, "<h4>{title}</h4>\n");
            write_definitions(out, "not-run", items);
        }
    }
    if !stacks.1.is_empty() {
        put!(out, "<details>\n<summary>{}</summary>\n", stacks.0);
        write_definitions(out, "not-run", stacks.1);
        out.push_str("</details>\n");
    }
    out.push_str("</article>\n");
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

/// The method's first sentence; the others are opened by the reader.
fn write_method(out: &mut String, section: &ReportSection) {
    let about = &section.about;
    let (first, rest) = first_sentence(about.method);
    out.push_str("<h4>How it is done here</h4>\n");
    if !first.is_empty() {
        put!(out, "<p>{}</p>\n", first);
    }
    if rest.is_empty() && about.same_answer.is_empty() && section.parameters.is_empty() {
        return;
    }
    out.push_str("<details class=\"method\">\n<summary>The method in full</summary>\n");
    if !rest.is_empty() {
        put!(out, "<p>{}</p>\n", rest);
    }
    if !about.same_answer.is_empty() {
        put!(out, "<p><b>Same answer:</b> {}</p>\n", about.same_answer);
    }
    if !section.parameters.is_empty() {
        put!(out, "<p><b>Run with:</b> {}.</p>\n", section.settings());
    }
    out.push_str("</details>\n");
}

/// A text's first sentence, and the rest; all of it if it is short.
fn first_sentence(text: &str) -> (&str, &str) {
    let ends = text.match_indices(". ").map(|(at, _)| at + 1);
    let end = ends.into_iter().find(|end| {
        let next = text.get(end + 1..).and_then(|rest| rest.chars().next());
        *end > 40 && next.is_some_and(char::is_uppercase)
    });
    match end.filter(|_| text.len() > 300) {
        Some(end) => text.split_at(end),
        None => (text, ""),
    }
}

fn write_published(out: &mut String, section: &ReportSection) {
    if section.about.found.is_empty() {
        return;
    }
    let title = "What was found then";
    put!(out, "<h4>{title}</h4>\n");
    let headings = ["Finding", "Cure", "The study's figure"].map(|heading| (heading, false));
    begin_table(out, title, "found", &headings);
    for found in section.about.found {
        put!(out, "<tr><td>{}</td>", found.finding);
        for (title, words) in [("Cure", found.cure), ("Figure", found.figure)] {
            let class = if words.is_empty() {
                " class=\"none\""
            } else {
                ""
            };
            put!(
                out,
                "<td data-title=\"{title}\"{class}>{}</td>",
                or_dash(words)
            );
        }
        out.push_str("</tr>\n");
    }
    end_table(out);
}

fn or_dash(text: &str) -> &str {
    if text.is_empty() { "\u{2013}" } else { text }
}

fn write_losses(out: &mut String, section: &ReportSection) {
    let losses = section.losses();
    if losses.is_empty() {
        return;
    }
    put!(out, "<h4>Losses</h4>\n<p>Where {LOSS_MEANS}:</p>\n");
    // A long list is opened by the reader.
    let open = match losses.len() > OPEN_LOSSES {
        true => "",
        false => " open=\"open\"",
    };
    for of_table in losses.chunk_by(|a, b| a.0 == b.0) {
        let title = of_table.first().map_or("", |loss| loss.0);
        put!(
            out,
            "<details{open}>\n<summary>{}: {}</summary>\n<ul class=\"losses\">\n",
            title,
            of_table.len()
        );
        for (_, words) in of_table {
            put!(
                out,
                "<li><span class=\"loss\" aria-hidden=\"true\">{LOSS}</span> {}</li>\n",
                words
            );
        }
        out.push_str("</ul>\n</details>\n");
    }
}

fn write_foot(out: &mut String, report: &Report) {
    out.push_str("<section id=\"machine\" class=\"study\">\n<h2>Machine and method</h2>\n");
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
