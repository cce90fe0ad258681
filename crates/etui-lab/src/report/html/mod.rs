//! The report as one page: a single file without scripts, images or fonts from anywhere, well
//! formed as XML too.
//!
//! A summary, then each experiment in one order:
//! question, the study's results, method, verdict, tables, charts, losses, parts not run.

mod axis;
mod bars;
mod growth;
mod tables;

use super::text::HtmlText;
use super::{
    LOSS, LOSS_MEANS, METHOD, Report, ReportSection, by_study, glance, machine_facts,
    missing_studies, section_name, sign_of, status_words, verdict_sentence,
};
use crate::{ArmRole, FindingStatus, Study};

/// Adds to the page. Writing to a `String` cannot fail.
macro_rules! put {
    ($out:expr, $($arg:tt)*) => {{
        use std::fmt::Write as _;
        let _ = write!($out, $($arg)*);
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
         <title>The five studies on this machine</title>\n\
         <style>\n{STYLE}</style>\n</head>\n<body>\n"
    );
    bars::write_patterns(&mut out);
    write_top(&mut out, report);
    out.push_str("<main>\n");
    let mut charts = 0;
    for (study, sections) in by_study(report) {
        put!(out, "<section class=\"study\">\n<h2>");
        match study {
            Some(study) => put!(
                out,
                "{}</h2>\n<p class=\"source\">{}</p>\n",
                HtmlText(study.title()),
                HtmlText(study.source())
            ),
            None => out.push_str("Further experiments</h2>\n"),
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
    out.push_str("<header>\n<h1>The five studies on this machine</h1>\n");
    out.push_str(
        "<p class=\"lead\">Five teams, on five generations of devices, measured why storage on \
         a personal device was slow, and what helps. Here each study is repeated as it found \
         things, with each of its cures alone, with all of them, and with etui, side by side \
         in one run.</p>\n",
    );
    let header = &report.header;
    let facts: Vec<String> = [
        header.processor.clone(),
        match header.cores {
            0 => String::new(),
            1 => "1 core".to_owned(),
            cores => format!("{cores} cores"),
        },
        header.system.clone(),
        header.started.clone(),
        if header.quick { "quick run" } else { "" }.to_owned(),
    ]
    .into_iter()
    .filter(|fact| !fact.is_empty())
    .collect();
    out.push_str("<p class=\"facts\">");
    for fact in facts {
        put!(out, "{} \u{b7} ", HtmlText(&fact));
    }
    out.push_str("<a href=\"#machine\">machine and method</a></p>\n");
    write_summary(out, report);
    write_legend(out);
    out.push_str("</header>\n");
}

fn write_summary(out: &mut String, report: &Report) {
    if report.sections.is_empty() {
        out.push_str("<p>There are no results yet.</p>\n");
        return;
    }
    out.push_str(
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Summary\">\n\
         <table class=\"summary\">\n<caption>What it comes to</caption>\n<thead><tr>\
         <th scope=\"col\">Study and question</th><th scope=\"col\">Result here</th>",
    );
    for (_, title) in glance::ROLES {
        put!(out, "<th scope=\"col\" class=\"figure\">{title}</th>");
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    for (study, sections) in by_study(report) {
        for section in &sections {
            summary_row(out, section, &section_name(study, &sections, section));
        }
    }
    out.push_str("</tbody>\n</table>\n</div>\n");
    let missing: Vec<&str> = missing_studies(report)
        .into_iter()
        .map(Study::title)
        .collect();
    if !missing.is_empty() {
        put!(
            out,
            "<p class=\"small\">Not among these results: {}.</p>\n",
            HtmlText(&missing.join("; "))
        );
    }
}

fn summary_row(out: &mut String, section: &ReportSection, called: &str) {
    let about = &section.about;
    put!(
        out,
        "<tr><th scope=\"row\"><a href=\"#{}\">{}</a><span class=\"question\">{}</span></th>",
        section_anchor(section),
        HtmlText(called),
        HtmlText(about.question)
    );
    out.push_str("<td class=\"result\">");
    if let Some(shown) = sign_of(section) {
        write_status(out, shown);
        out.push(' ');
    }
    put!(out, "<span>{}</span>", HtmlText(verdict_sentence(section)));
    let glance = glance::select_glance(&section.presentation);
    if let Some(glance) = &glance {
        put!(
            out,
            "<span class=\"small\">Figures: {}</span>",
            HtmlText(&glance.measure)
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
            HtmlText(&apart.join(" \u{b7} "))
        );
    }
    out.push_str("</td>");
    for (at, (_, title)) in glance::ROLES.iter().enumerate() {
        match glance.as_ref().and_then(|g| g.of.get(at)?.as_ref()) {
            Some((figure, arm, lost)) => {
                put!(
                    out,
                    "<td class=\"figure\" data-title=\"{title}\"><b>{}</b>",
                    HtmlText(figure)
                );
                if *lost {
                    loss_mark(out);
                }
                put!(out, "<span class=\"small\">{}</span></td>", HtmlText(arm));
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
    let (class, inside) = match of {
        FindingStatus::Yes => (
            "yes",
            "<circle cx=\"7\" cy=\"7\" r=\"5.5\" class=\"full\"/>",
        ),
        FindingStatus::Partly => (
            "partly",
            "<circle cx=\"7\" cy=\"7\" r=\"5.5\"/><path d=\"M7 1.5a5.5 5.5 0 0 0 0 11z\" \
             class=\"full\"/>",
        ),
        FindingStatus::No => ("no", "<circle cx=\"7\" cy=\"7\" r=\"5.5\"/>"),
        FindingStatus::Open => (
            "open",
            "<circle cx=\"7\" cy=\"7\" r=\"5.5\" stroke-dasharray=\"2 2.3\"/>",
        ),
    };
    put!(
        out,
        "<span class=\"sign {class}\"><svg width=\"14\" height=\"14\" viewBox=\"0 0 14 14\" \
         aria-hidden=\"true\">{inside}</svg>{}</span>",
        status_words(of)
    );
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
    put!(
        out,
        "<span class=\"badge {}\"><i></i>{}</span>",
        role_class(role),
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
    out.push_str("</ul>\n<ul>\n");
    put!(
        out,
        "<li><span class=\"loss\">{LOSS}</span> {LOSS_MEANS}</li>\n\
         <li><b>0.82x</b> ratio to the figure marked <em>base</em></li>\n\
         <li><b>(398\u{2013}411)</b> lowest and highest repetition</li>\n"
    );
    out.push_str("</ul>\n<ul>\n");
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
        HtmlText(about.title),
        HtmlText(about.name),
        HtmlText(about.question)
    );
    write_published(out, section);
    write_method(out, section);
    let verdict = &section.presentation.verdict;
    out.push_str("<div class=\"verdict\">\n<p>");
    if let Some(shown) = sign_of(section) {
        write_status(out, shown);
        out.push(' ');
    }
    put!(out, "{}</p>\n</div>\n", HtmlText(verdict_sentence(section)));
    for (at, table) in section.presentation.tables.iter().enumerate() {
        tables::write_table(out, table, at);
    }
    for chart in &section.presentation.charts {
        *charts += 1;
        match chart.kind {
            crate::ChartKind::Growth => growth::write_growth(out, chart, *charts),
            crate::ChartKind::Bars => bars::write_bars(out, chart),
            crate::ChartKind::Stacked => bars::write_stacked(out, chart),
        }
    }
    write_losses(out, section);
    if !verdict.notes.is_empty() {
        out.push_str("<h4>Notes</h4>\n<ul class=\"notes\">\n");
        for note in &verdict.notes {
            put!(out, "<li>{}</li>\n", HtmlText(note));
        }
        out.push_str("</ul>\n");
    }
    not_run(out, section);
    write_failed(out, section);
    write_stacks(out, section);
    out.push_str("</article>\n");
}

/// The method's first sentence; the others are opened by the reader.
fn write_method(out: &mut String, section: &ReportSection) {
    let about = &section.about;
    let (first, rest) = first_sentence(about.method);
    out.push_str("<h4>How it is done here</h4>\n");
    if !first.is_empty() {
        put!(out, "<p>{}</p>\n", HtmlText(first));
    }
    if rest.is_empty() && about.same_answer.is_empty() && section.parameters.is_empty() {
        return;
    }
    out.push_str("<details class=\"method\">\n<summary>The method in full</summary>\n");
    if !rest.is_empty() {
        put!(out, "<p>{}</p>\n", HtmlText(rest));
    }
    if !about.same_answer.is_empty() {
        put!(
            out,
            "<p><b>Same answer:</b> {}</p>\n",
            HtmlText(about.same_answer)
        );
    }
    if !section.parameters.is_empty() {
        put!(
            out,
            "<p><b>Run with:</b> {}.</p>\n",
            HtmlText(&section.settings())
        );
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
    out.push_str(
        "<h4>What was found then</h4>\n<div class=\"scroll\" tabindex=\"0\" role=\"region\" \
         aria-label=\"What was found then\">\n<table class=\"found\">\n<thead><tr>\
         <th scope=\"col\">Finding</th><th scope=\"col\">Cure</th>\
         <th scope=\"col\">The study's figure</th></tr></thead>\n<tbody>\n",
    );
    for found in section.about.found {
        put!(out, "<tr><td>{}</td>", HtmlText(found.finding));
        for (title, words) in [("Cure", found.cure), ("Figure", found.figure)] {
            let class = if words.is_empty() {
                " class=\"none\""
            } else {
                ""
            };
            put!(
                out,
                "<td data-title=\"{title}\"{class}>{}</td>",
                HtmlText(or_dash(words))
            );
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody>\n</table>\n</div>\n");
}

fn or_dash(text: &str) -> &str {
    if text.is_empty() { "\u{2013}" } else { text }
}

fn write_losses(out: &mut String, section: &ReportSection) {
    let losses = section.losses();
    if losses.is_empty() {
        return;
    }
    put!(
        out,
        "<h4>Losses</h4>\n<p>Where {LOSS_MEANS}:</p>\n<ul class=\"losses\">\n"
    );
    let mut table = "";
    for (at, loss) in losses.iter().enumerate() {
        if at == 0 || loss.table != table {
            if at > 0 {
                out.push_str("</ul></li>\n");
            }
            put!(out, "<li>{}<ul>\n", HtmlText(loss.table));
            table = loss.table;
        }
        put!(
            out,
            "<li><span class=\"loss\" aria-hidden=\"true\">{LOSS}</span> {}</li>\n",
            HtmlText(&loss.words())
        );
    }
    out.push_str("</ul></li>\n</ul>\n");
}

fn not_run(out: &mut String, section: &ReportSection) {
    let reasons = section.not_run_by_reason();
    if reasons.is_empty() {
        return;
    }
    out.push_str("<h4>Not run here</h4>\n<dl class=\"not-run\">\n");
    for (reason, parts) in reasons {
        put!(
            out,
            "<dt>{}</dt><dd>{}</dd>\n",
            HtmlText(&parts.join(", ")),
            HtmlText(reason)
        );
    }
    out.push_str("</dl>\n");
}

fn write_failed(out: &mut String, section: &ReportSection) {
    if section.failed.is_empty() {
        return;
    }
    out.push_str("<h4>Failed</h4>\n<dl class=\"not-run\">\n");
    for (work, arm, message) in &section.failed {
        put!(
            out,
            "<dt>{}: {}</dt><dd>{}</dd>\n",
            HtmlText(work),
            HtmlText(arm),
            HtmlText(message)
        );
    }
    out.push_str("</dl>\n");
}

fn write_stacks(out: &mut String, section: &ReportSection) {
    let told: Vec<_> = section
        .stacks
        .iter()
        .filter(|(_, details)| !details.is_empty())
        .collect();
    if told.is_empty() {
        return;
    }
    out.push_str("<details>\n<summary>Storage stacks</summary>\n<dl class=\"not-run\">\n");
    for (name, details) in told {
        let each: Vec<String> = details.iter().map(|(k, v)| format!("{k}: {v}")).collect();
        put!(
            out,
            "<dt>{}</dt><dd>{}</dd>\n",
            HtmlText(name),
            HtmlText(&each.join("; "))
        );
    }
    out.push_str("</dl>\n</details>\n");
}

fn write_foot(out: &mut String, report: &Report) {
    out.push_str("<section id=\"machine\" class=\"study\">\n<h2>Machine and method</h2>\n");
    out.push_str("<h4>How the figures are taken</h4>\n<ul class=\"notes\">\n");
    for sentence in METHOD {
        put!(out, "<li>{}</li>\n", HtmlText(sentence));
    }
    out.push_str("</ul>\n<h4>The machine</h4>\n<dl class=\"facts\">\n");
    for (name, value) in machine_facts(&report.header) {
        put!(out, "<dt>{name}</dt><dd>{}</dd>\n", HtmlText(&value));
    }
    out.push_str("</dl>\n");
    if !report.header.tools.is_empty() {
        out.push_str("<h4>Tools found</h4>\n<dl class=\"facts\">\n");
        for (name, version) in &report.header.tools {
            put!(
                out,
                "<dt>{}</dt><dd>{}</dd>\n",
                HtmlText(name),
                HtmlText(or_dash(version))
            );
        }
        out.push_str("</dl>\n");
    }
    out.push_str("</section>\n");
}
