//! The top of the page: what to change on this machine, whether the studies' findings still show,
//! the contents, and how to read the rest.

use super::super::{
    AdviceList, LOSS, LOSS_MEANS, Report, ReportSection, advice_figures, advice_lists, by_study,
    missing_studies, short_name, sign_of, verdict_lists, verdict_sentence,
};
use super::{put, section_anchor, write_badge, write_sign, write_status};
use crate::{Advice, ArmRole, FindingStatus};

pub(super) fn write_top(out: &mut String, report: &Report) {
    out.push_str(
        "<header id=\"top\">\n<h1>Storage on this machine: what to change</h1>\n\
         <p class=\"lead\">",
    );
    put!(out, "{}</p>\n<p class=\"facts\">", lead(report));
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
    out.push_str("<a href=\"#machine\">machine and method</a></p>\n</header>\n<main>\n");
    write_changes(out, report);
    write_contents(out, report);
    write_legend(out, report);
}

/// Returns a sentence on the experiments, for a reader new to them.
fn lead(report: &Report) -> String {
    let studies = report.sections.iter().any(|of| of.about.study.is_some());
    let compared = match studies || report.sections.is_empty() {
        true => {
            "Experiments ran on this machine: studies of slow storage on personal devices, repeated as \
             they found things, with each of their cures, and with etui, a store for personal data."
        }
        false => {
            "Experiments ran on this machine with etui, a store for personal data, and with other \
             programs and settings beside it."
        }
    };
    format!("{compared} First comes what that means for programs here, then the figures.")
}

/// Writes all advice, then the verdict of each experiment.
fn write_changes(out: &mut String, report: &Report) {
    out.push_str("<section id=\"change\">\n<h2>What to change on this machine</h2>\n");
    if report.sections.is_empty() {
        out.push_str("<p>There are no results yet.</p>\n</section>\n");
        return;
    }
    let lists = advice_lists(report);
    if !lists.iter().any(|list| list.worth) {
        out.push_str("<p>Nothing that was measured here is worth changing.</p>\n");
    }
    for list in lists {
        if !list.title.is_empty() {
            put!(out, "<h3>{}</h3>\n", list.title);
        }
        write_advice_list(out, &list);
    }
    for (title, sections) in verdict_lists(report) {
        put!(out, "<h3>{}</h3>\n<ul class=\"verdicts\">\n", title);
        for section in sections {
            write_verdict(out, section);
        }
        out.push_str("</ul>\n");
    }
    let missing = missing_studies(report);
    if !missing.is_empty() {
        put!(out, "<p class=\"small\">{}</p>\n", missing);
    }
    out.push_str("</section>\n");
}

fn write_advice_list(out: &mut String, list: &AdviceList<'_>) {
    let class = if list.worth { "changes" } else { "keeps" };
    put!(out, "<ol class=\"{class}\">\n");
    for (section, advice) in &list.all {
        out.push_str("<li>");
        write_advice(out, advice);
        put!(
            out,
            "<p class=\"small\">{}: {}. <a href=\"#{}\">Figures: {}</a></p></li>\n",
            advice.measured,
            advice_figures(advice),
            section_anchor(section),
            short_name(&section.about)
        );
    }
    out.push_str("</ol>\n");
}

/// Writes advice and how it is followed.
pub(super) fn write_advice(out: &mut String, advice: &Advice) {
    put!(
        out,
        "<p class=\"do\"><b>{}:</b> {}.</p>\n",
        advice.change,
        advice.gain
    );
    if !advice.how.is_empty() {
        put!(out, "<p class=\"how\">How: {}.</p>\n", advice.how);
    }
}

fn write_verdict(out: &mut String, section: &ReportSection) {
    put!(
        out,
        "<li><a href=\"#{}\">{}</a>: ",
        section_anchor(section),
        short_name(&section.about)
    );
    write_sign(out, section);
    put!(out, "{}", verdict_sentence(section));
    let mut apart = Vec::new();
    match section.losses().len() {
        0 => {}
        1 => apart.push("1 figure better than etui's".to_owned()),
        losses => apart.push(format!("{losses} figures better than etui's")),
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
        put!(out, " <span class=\"apart\">({})</span>", apart.join(", "));
    }
    out.push_str("</li>\n");
}

/// Writes the contents: studies, and the experiments of each.
fn write_contents(out: &mut String, report: &Report) {
    out.push_str(
        "<nav id=\"contents\" aria-label=\"Contents\">\n<h2>Contents</h2>\n<ul>\n\
         <li><a href=\"#change\">What to change on this machine</a></li>\n",
    );
    for (study, sections) in by_study(report) {
        let title = study.map_or("Further experiments", crate::Study::title);
        put!(out, "<li>{}\n<ul>\n", title);
        for section in sections {
            put!(
                out,
                "<li><a href=\"#{}\">{}</a></li>\n",
                section_anchor(section),
                section.about.title
            );
        }
        out.push_str("</ul></li>\n");
    }
    out.push_str("<li><a href=\"#machine\">Machine and method</a></li>\n</ul>\n</nav>\n");
}

/// Whether a role is among the rows or the charts of a report.
fn is_shown(report: &Report, role: ArmRole) -> bool {
    let mut shown = report.sections.iter().map(|section| &section.presentation);
    shown.any(|of| {
        let rows = of.tables.iter().flat_map(|table| &table.rows);
        let series = of.charts.iter().flat_map(|chart| &chart.series);
        let roles = rows.map(|row| row.role);
        roles.chain(series.map(|one| one.role)).any(|of| of == role)
    })
}

/// Explains the signs; those of roles and findings, if they are on the page.
fn write_legend(out: &mut String, report: &Report) {
    if report.sections.is_empty() {
        return;
    }
    out.push_str("<section class=\"legend\">\n<h2>How to read the figures</h2>\n<ul>\n");
    for (role, words) in [
        (ArmRole::AsFound, "as the study found it"),
        (ArmRole::Cure, "one of its cures alone"),
        (ArmRole::AllCures, "all its cures together"),
        (ArmRole::Unsafe, "data may be lost: a bound, no cure"),
        (ArmRole::Peer, "another product"),
        (ArmRole::Etui, "this project, durable"),
        (
            ArmRole::Variant,
            "etui with another setting, or a part of it",
        ),
    ] {
        if !is_shown(report, role) {
            continue;
        }
        out.push_str("<li>");
        write_badge(out, role);
        put!(out, " {words}</li>\n");
    }
    put!(
        out,
        "</ul>\n<ul>\n<li><span class=\"loss\">{LOSS} 1.3x</span> {LOSS_MEANS}, by so much</li>\n\
         <li><b>0.82x</b> ratio to the figure marked <em>base</em></li>\n\
         <li><b>(398\u{2013}411)</b> lowest and highest repetition</li>\n</ul>\n"
    );
    write_statuses(out, report);
    out.push_str("</section>\n");
}

fn write_statuses(out: &mut String, report: &Report) {
    if !report.sections.iter().any(|of| sign_of(of).is_some()) {
        return;
    }
    out.push_str("<ul>\n");
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
    out.push_str("</ul>\n");
}
